package twilio

import (
	"encoding/json"
	"errors"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"chasephone/internal/carrier"
	"chasephone/internal/phone"
)

// What a delivery is sent as.
const (
	kindStatus  = "status"
	kindMessage = "message"
	kindRecord  = "record" // not sent: asked for
)

var messageSID = regexp.MustCompile(`^(SM|MM)[0-9a-fA-F]{32}$`)

// Kinds are the webhooks that Twilio sends: a call's status, and a text that came in.
func Kinds() []string { return []string{kindStatus, kindMessage} }

// Reply is what a webhook is answered with. To a message Twilio wants a document of what to do,
// and this one says: nothing. To a status it wants none.
func Reply(kind string) (contentType, body string) {
	if kind == kindMessage {
		return "text/xml", `<?xml version="1.0" encoding="UTF-8"?><Response/>`
	}
	return "", ""
}

// Read says what a delivery says. It errs where the body cannot be taken apart; what it does not
// know is a Report about nothing.
func Read(d carrier.Delivery) (carrier.Report, error) {
	switch d.Kind {
	case kindStatus, kindMessage:
		form, err := parse(d.Body)
		if err != nil {
			return carrier.Report{}, err
		}
		if d.Kind == kindStatus {
			return readStatus(form, d.Token), nil
		}
		return readMessage(form), nil
	case kindRecord:
		var r record
		if json.Unmarshal(d.Body, &r) != nil {
			return carrier.Report{}, errors.New("the call record cannot be taken apart") // the cause repeats parts of it
		}
		return r.report(d.Token), nil
	}
	return carrier.Report{}, nil
}

// readStatus reads a call's status: of an attempt where the path had its token, else of a call
// that came in, or that somebody else placed.
func readStatus(form url.Values, token string) carrier.Report {
	r := carrier.Report{Token: token, Fields: fields(form)}
	sid := form.Get("CallSid")
	if !callSID.MatchString(sid) {
		return r
	}
	r.Kind, r.ID = carrier.KindCall, sid
	r.Direction = direction(form.Get("Direction"), token)
	r.Us, r.Them = carrier.Parties(r.Direction, number(form.Get("From")), number(form.Get("To")))
	r.Status = status(form.Get("CallStatus"))
	r.At = date(form.Get("Timestamp"))
	if r.Status.Final() {
		r.Seconds = carrier.Seconds(form.Get("CallDuration"))
	}
	return r
}

// readMessage reads a text. One with a status other than received is ours, or somebody else's, on
// its way out.
func readMessage(form url.Values) carrier.Report {
	r := carrier.Report{Fields: fields(form)}
	sid := r.Fields["MessageSid"]
	if !messageSID.MatchString(sid) {
		return r
	}
	r.Kind, r.ID, r.Direction = carrier.KindText, sid, carrier.DirectionIn
	switch either(form, "MessageStatus", "SmsStatus") {
	case "", "receiving", "received":
	default:
		r.Direction = carrier.DirectionOut
	}
	r.Us, r.Them = carrier.Parties(r.Direction, number(form.Get("From")), number(form.Get("To")))
	r.At = date(form.Get("Timestamp"))
	r.Text = carrier.Storable(form.Get("Body"), carrier.LongestText)
	return r
}

// record is a call as Twilio shows it when it is asked.
type record struct {
	SID         string `json:"sid"`
	AccountSID  string `json:"account_sid"`
	CallStatus  string `json:"status"`
	Direction   string `json:"direction"`
	From        string `json:"from"`
	To          string `json:"to"`
	DateCreated string `json:"date_created"`
	StartTime   string `json:"start_time"`
	EndTime     string `json:"end_time"`
	Duration    string `json:"duration"`
}

func (c record) report(token string) carrier.Report {
	at := c.StartTime
	if s := status(c.CallStatus); s.Final() {
		at = c.EndTime
	}
	r := readStatus(url.Values{
		"AccountSid": {c.AccountSID}, "CallSid": {c.SID}, "CallStatus": {c.CallStatus}, "Direction": {c.Direction},
		"From": {c.From}, "To": {c.To}, "CallDuration": {c.Duration}, "Timestamp": {at},
	}, token)
	for _, earlier := range []string{c.StartTime, c.DateCreated} { // a call that was never dialed has nothing else
		if r.Kind != "" && r.At.IsZero() {
			r.At = date(earlier)
		}
	}
	return r
}

// fields are the columns of the table that keeps what Twilio sends, by Twilio's names.
func fields(form url.Values) map[string]string {
	out := map[string]string{}
	for _, name := range []string{
		"AccountSid", "CallSid", "MessageSid", "CallStatus", "Direction", "From", "To", "SequenceNumber", "Timestamp",
	} {
		value := form.Get(name)
		if name == "MessageSid" {
			value = either(form, name, "SmsSid") // its name of old
		}
		if value != "" {
			out[name] = carrier.Storable(value, carrier.LongestField)
		}
	}
	return out
}

func either(form url.Values, name, otherwise string) string {
	if v := form.Get(name); v != "" {
		return v
	}
	return form.Get(otherwise)
}

func status(word string) carrier.Status {
	if s := carrier.Status(word); s.Rank() > 0 {
		return s
	}
	return ""
}

// direction is "" where neither the word nor the token says it.
func direction(word, token string) string {
	switch {
	case word == "inbound":
		return carrier.DirectionIn
	case strings.HasPrefix(word, "outbound-"), token != "":
		return carrier.DirectionOut
	}
	return ""
}

// withheld is what Twilio puts where the caller's number should be: keyed on a telephone, the
// letters of ANONYMOUS, RESTRICTED, BLOCKED, UNKNOWN and UNAVAILABLE. Taken for numbers, they
// would make one person of everybody who hides theirs.
var withheld = []string{"+266696687", "+7378742833", "+2562533", "+8656696", "+86282452253"}

// number is the zero Number for what is no telephone number: "anonymous", "client:x", a SIP address.
func number(s string) phone.Number {
	if slices.Contains(withheld, s) {
		return phone.Number{}
	}
	return carrier.Number(s)
}

// date reads RFC 2822, as Twilio writes it; the zero time where it is something else.
func date(s string) time.Time { return carrier.Instant("Mon, 2 Jan 2006 15:04:05 -0700", s) }
