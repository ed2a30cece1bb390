package telnyx

import (
	"encoding/json"
	"errors"
	"strings"
	"time"

	"chasephone/internal/carrier"
)

// What a delivery is sent as.
const (
	kindCall    = "call"
	kindMessage = "message"
	kindRecord  = "record" // not sent: asked for
)

// Kinds are the webhooks that Telnyx sends: of calls, and of texts.
func Kinds() []string { return []string{kindCall, kindMessage} }

// Reply is what a webhook is answered with: Telnyx reads nothing but the status.
func Reply(string) (contentType, body string) { return "", "" }

// object is JSON whose members are read one by one, for not all of them need be of the type that is documented.
type object map[string]json.RawMessage

var errApart = errors.New("the body cannot be taken apart") // no more: a cause repeats parts of it

// Read says what a delivery says. It errs where the body cannot be taken apart; what it does not
// know is a Report about nothing. Calls and texts are told apart by what the event calls itself:
// one address may be given for both.
func Read(d carrier.Delivery) (carrier.Report, error) {
	switch d.Kind {
	case kindCall, kindMessage, kindRecord:
	default:
		return carrier.Report{}, nil
	}
	var whole struct {
		Data object `json:"data"`
	}
	if json.Unmarshal(d.Body, &whole) != nil {
		return carrier.Report{}, errApart
	}
	if d.Kind == kindRecord {
		return readRecord(whole.Data, d.Token), nil
	}
	var payload object
	if raw, ok := whole.Data["payload"]; ok && json.Unmarshal(raw, &payload) != nil {
		return carrier.Report{}, errApart
	}
	event := whole.Data.text("event_type")
	r := carrier.Report{}
	switch {
	case strings.HasPrefix(event, "call."):
		r = readCall(event, payload)
	case strings.HasPrefix(event, "message."):
		r = readMessage(payload)
	}
	if r.Kind != "" {
		r.At = date(whole.Data.text("occurred_at"))
	}
	r.Fields = fields(payload, whole.Data)
	return r, nil
}

// readCall reads what happened to a call. The token is the one in the client state, which is
// signed, and not the one in the path, which is not.
func readCall(event string, p object) carrier.Report {
	id := p.text("call_control_id")
	if !callID.MatchString(id) {
		return carrier.Report{}
	}
	r := carrier.Report{Kind: carrier.KindCall, ID: id, Token: tokenOf(p.text("client_state"))}
	switch {
	case p.text("direction") == "incoming":
		r.Direction = carrier.DirectionIn
	case p.text("direction") == "outgoing", r.Token != "": // most events do not say
		r.Direction = carrier.DirectionOut
	}
	r.Us, r.Them = carrier.Parties(r.Direction, carrier.Number(p.text("from")), carrier.Number(p.text("to")))
	r.Status = statusOf(event, r.Direction, p.text("hangup_cause"), p.text("sip_hangup_cause"))
	return r // Seconds stay 0: when it was answered is said by another event
}

// statusOf is "" for what does not change how far the call has come.
func statusOf(event, direction, cause, response string) carrier.Status {
	switch {
	case event == "call.initiated" && direction == carrier.DirectionIn:
		return carrier.StatusRinging
	case event == "call.initiated":
		return carrier.StatusInitiated
	case event == "call.answered":
		return carrier.StatusInProgress
	case event == "call.hangup":
		return endOf(cause, response)
	}
	return ""
}

func readMessage(p object) carrier.Report {
	id := p.text("id")
	if id == "" {
		return carrier.Report{}
	}
	r := carrier.Report{Kind: carrier.KindText, ID: carrier.Storable(id, carrier.LongestField), Text: carrier.Storable(p.text("text"), carrier.LongestText)}
	switch p.text("direction") {
	case "inbound":
		r.Direction = carrier.DirectionIn
	case "outbound":
		r.Direction = carrier.DirectionOut
	}
	r.Us, r.Them = carrier.Parties(r.Direction, carrier.Number(p.party("from")), carrier.Number(p.party("to")))
	return r
}

// readRecord reads a call as Telnyx shows it when it is asked, which is little: not from whom, not
// to whom, and not how it ended. One that lasted was answered; of one that did not, nothing is said.
func readRecord(p object, token string) carrier.Report {
	r := carrier.Report{Fields: fields(p, nil)}
	id := p.text("call_control_id")
	if !callID.MatchString(id) {
		return r
	}
	r.Kind, r.ID, r.Token = carrier.KindCall, id, tokenOf(p.text("client_state"))
	if r.Token == "" {
		r.Token = token
	}
	if r.Token != "" {
		r.Direction = carrier.DirectionOut
	}
	r.At = date(p.text("end_time"))
	if r.At.IsZero() {
		r.At = date(p.text("start_time"))
	}
	switch lasted := carrier.Seconds(p.text("call_duration")); {
	case p.text("is_alive") == "true":
		r.Status = carrier.StatusInitiated
	case p.text("end_time") != "" && lasted > 0:
		r.Status, r.Seconds = carrier.StatusCompleted, lasted
	}
	return r
}

// fields are the columns of the table that keeps what Telnyx sends, by Telnyx's names; the text's
// own id is message_id, for the event has an id, too.
func fields(payload, event object) map[string]string {
	out := map[string]string{}
	keep := func(name, value string) {
		if value != "" {
			out[name] = carrier.Storable(value, carrier.LongestField)
		}
	}
	for _, name := range []string{"id", "event_type", "occurred_at"} {
		keep(name, event.text(name))
	}
	for _, name := range []string{
		"call_control_id", "call_leg_id", "call_session_id", "connection_id", "client_state", "direction", "state", "start_time", "end_time",
		"hangup_cause", "hangup_source", "sip_hangup_cause", "is_alive", "call_duration", "messaging_profile_id", "type",
	} {
		keep(name, payload.text(name))
	}
	keep("message_id", payload.text("id"))
	keep("from", payload.party("from"))
	keep("to", payload.party("to"))
	return out
}

// text is a member that is a text, a number or a truth; "" for any other, and for one that is missing.
func (o object) text(name string) string {
	raw := o[name]
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	if len(raw) > 0 && strings.ContainsRune("-0123456789tf", rune(raw[0])) {
		return string(raw)
	}
	return ""
}

// party is a number as calls have it, or as texts have it: with more about it, and among several.
// Of several the first is taken.
func (o object) party(name string) string {
	type address struct {
		Number string `json:"phone_number"`
	}
	var one address
	var several []address
	switch {
	case json.Unmarshal(o[name], &one) == nil:
		return one.Number
	case json.Unmarshal(o[name], &several) == nil && len(several) > 0:
		return several[0].Number
	}
	return o.text(name)
}

// date reads ISO 8601, as Telnyx writes it; the zero time where it is something else.
func date(s string) time.Time { return carrier.Instant(time.RFC3339, s) }
