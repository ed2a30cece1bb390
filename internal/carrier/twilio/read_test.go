package twilio

import (
	"errors"
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"chasephone/internal/carrier"
	"chasephone/internal/phone"
)

const (
	ours       = "+14155550100"
	theirs     = "+14155550123"
	messageID  = "SM0123456789abcdef0123456789abcdef"
	aDate      = "Mon, 05 Jan 2026 10:00:00 +0000"
	aLaterDate = "Mon, 05 Jan 2026 10:01:30 +0000"
)

func at(minute, second int) time.Time { return time.Date(2026, 1, 5, 10, minute, second, 0, time.UTC) }

// form writes a form's body: name, value, name, value, ….
func form(pairs ...string) string {
	v := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		v.Set(pairs[i], pairs[i+1])
	}
	return v.Encode()
}

// report is a call's, with what a row changes.
func report(change func(*carrier.Report)) carrier.Report {
	r := carrier.Report{
		Kind: carrier.KindCall, ID: goodSID, Direction: carrier.DirectionOut,
		Us: phone.FromE164(ours), Them: phone.FromE164(theirs),
	}
	change(&r)
	return r
}

func TestRead(t *testing.T) {
	t.Parallel()
	nothing := carrier.Report{}
	for _, row := range []struct {
		name        string
		kind, token string
		body        string
		want        carrier.Report // without its fields
	}{
		{
			"ringing", "status", "tok",
			form("CallSid", goodSID, "CallStatus", "ringing", "Direction", "outbound-api", "From", ours, "To", theirs, "Timestamp", aDate),
			report(func(r *carrier.Report) { r.Token, r.Status, r.At = "tok", "ringing", at(0, 0) }),
		},
		{
			"answered", "status", "tok",
			form("CallSid", goodSID, "CallStatus", "in-progress", "Direction", "outbound-api", "From", ours, "To", theirs, "Timestamp", "Mon, 5 Jan 2026 11:00:00 +0100"),
			report(func(r *carrier.Report) { r.Token, r.Status, r.At = "tok", "in-progress", at(0, 0) }),
		},
		{
			"over", "status", "tok",
			form("CallSid", goodSID, "CallStatus", "completed", "Direction", "outbound-api", "From", ours, "To", theirs, "Timestamp", aDate, "CallDuration", "42", "Duration", "1"),
			report(func(r *carrier.Report) { r.Token, r.Status, r.At, r.Seconds = "tok", "completed", at(0, 0), 42 }),
		},
		{
			"not over, whatever it says of its length", "status", "tok",
			form("CallSid", goodSID, "CallStatus", "ringing", "From", ours, "To", theirs, "CallDuration", "42"),
			report(func(r *carrier.Report) { r.Token, r.Status = "tok", "ringing" }),
		},
		{
			"a length that is none", "status", "tok", form("CallSid", goodSID, "CallStatus", "busy", "From", ours, "To", theirs, "CallDuration", "-1"),
			report(func(r *carrier.Report) { r.Token, r.Status = "tok", "busy" }),
		},
		{
			"a length that no column holds", "status", "tok", form("CallSid", goodSID, "CallStatus", "busy", "From", ours, "To", theirs, "CallDuration", "99999999999"),
			report(func(r *carrier.Report) { r.Token, r.Status = "tok", "busy" }),
		},
		{
			"a status nobody knows", "status", "tok", form("CallSid", goodSID, "CallStatus", "Ringing", "From", ours, "To", theirs, "Timestamp", "now"),
			report(func(r *carrier.Report) { r.Token = "tok" }),
		},
		{
			"a call that somebody else placed", "status", "", form("CallSid", goodSID, "CallStatus", "initiated", "Direction", "outbound-dial", "From", ours, "To", theirs),
			report(func(r *carrier.Report) { r.Status = "initiated" }),
		},
		{
			"a call that came in", "status", "", form("CallSid", goodSID, "CallStatus", "completed", "Direction", "inbound", "From", theirs, "To", ours),
			report(func(r *carrier.Report) { r.Status, r.Direction = "completed", carrier.DirectionIn }),
		},
		{
			"from somebody who hides the number", "status", "", form("CallSid", goodSID, "CallStatus", "ringing", "Direction", "inbound", "From", "+266696687", "To", ours),
			report(func(r *carrier.Report) {
				r.Status, r.Direction, r.Them = "ringing", carrier.DirectionIn, phone.Number{}
			}),
		},
		{
			"from no telephone", "status", "", form("CallSid", goodSID, "CallStatus", "ringing", "Direction", "inbound", "From", "client:tom", "To", "sip:+14155550100@example.com"),
			report(func(r *carrier.Report) {
				r.Status, r.Direction, r.Us, r.Them = "ringing", carrier.DirectionIn, phone.Number{}, phone.Number{}
			}),
		},
		{
			"without a direction", "status", "", form("CallSid", goodSID, "CallStatus", "ringing", "From", theirs, "To", ours),
			carrier.Report{Kind: carrier.KindCall, ID: goodSID, Status: "ringing"},
		},
		{"no call's id", "status", "tok", form("CallSid", "CA1", "CallStatus", "completed"), carrier.Report{Token: "tok"}},
		{"an empty status", "status", "", "", nothing},

		{
			"a text", "message", "", form("MessageSid", messageID, "SmsSid", messageID, "SmsStatus", "received", "From", theirs, "To", ours, "Body", "STOP"),
			carrier.Report{Kind: carrier.KindText, ID: messageID, Direction: carrier.DirectionIn, Us: phone.FromE164(ours), Them: phone.FromE164(theirs), Text: "STOP"},
		},
		{
			"a text, by its name of old", "message", "", form("SmsSid", messageID, "From", "22122", "To", ours, "Body", "a\x00b\xff"),
			carrier.Report{Kind: carrier.KindText, ID: messageID, Direction: carrier.DirectionIn, Us: phone.FromE164(ours), Text: "a\ufffdb\ufffd"},
		},
		{
			"a long text", "message", "", form("MessageSid", messageID, "From", theirs, "To", ours, "Body", strings.Repeat("é", 5000)),
			carrier.Report{Kind: carrier.KindText, ID: messageID, Direction: carrier.DirectionIn, Us: phone.FromE164(ours), Them: phone.FromE164(theirs), Text: strings.Repeat("é", 4000)},
		},
		{
			"a text that went out", "message", "", form("MessageSid", messageID, "MessageStatus", "delivered", "From", ours, "To", theirs),
			carrier.Report{Kind: carrier.KindText, ID: messageID, Direction: carrier.DirectionOut, Us: phone.FromE164(ours), Them: phone.FromE164(theirs)},
		},
		{"no text's id", "message", "", form("MessageSid", goodSID, "Body", "x"), nothing},

		{
			"a record of a call in its queue", "record", "tok",
			`{"sid":"` + goodSID + `","status":"queued","direction":"outbound-api","from":"` + ours + `","to":"` + theirs + `","date_created":"` + aDate + `","start_time":null,"end_time":null,"duration":null,"price":null}`,
			report(func(r *carrier.Report) { r.Token, r.Status, r.At = "tok", "queued", at(0, 0) }),
		},
		{
			"a record of a call that is over", "record", "",
			`{"sid":"` + goodSID + `","status":"completed","direction":"outbound-api","from":"` + ours + `","to":"` + theirs + `","date_created":"x","start_time":"` + aDate + `","end_time":"` + aLaterDate + `","duration":"90"}`,
			report(func(r *carrier.Report) { r.Status, r.At, r.Seconds = "completed", at(1, 30), 90 }),
		},
		{
			"a record of a call that was never dialed", "record", "",
			`{"sid":"` + goodSID + `","status":"canceled","direction":"outbound-api","from":"` + ours + `","to":"` + theirs + `","date_created":"` + aDate + `","start_time":"","end_time":""}`,
			report(func(r *carrier.Report) { r.Status, r.At = "canceled", at(0, 0) }),
		},
		{"a record of something else", "record", "", `{"sid":"` + messageID + `","status":"sent","date_created":"` + aDate + `"}`, nothing},
		{"a kind nobody knows", "voicemail", "", "%zz", nothing},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			got, err := Read(carrier.Delivery{Kind: row.kind, Token: row.token, Body: []byte(row.body)})
			if err != nil {
				t.Fatal(err)
			}
			got.Fields = nil
			if !reflect.DeepEqual(got, row.want) {
				t.Errorf("read %+v\nwant %+v", got, row.want)
			}
		})
	}
}

// The table of Twilio's shape has them by Twilio's names.
func TestReadKeepsTheFields(t *testing.T) {
	t.Parallel()
	for kind, body := range map[string]string{
		"status": form("AccountSid", testSID, "CallSid", goodSID, "CallStatus", "ringing", "Direction", "outbound-api", "From", ours, "To", theirs,
			"SequenceNumber", "2", "Timestamp", aDate, "Other", "x"),
		"record": `{"sid":"` + goodSID + `","account_sid":"` + testSID + `","status":"ringing","direction":"outbound-api","from":"` + ours + `","to":"` + theirs + `","start_time":"` + aDate + `"}`,
	} {
		want := map[string]string{
			"AccountSid": testSID, "CallSid": goodSID, "CallStatus": "ringing", "Direction": "outbound-api", "From": ours, "To": theirs, "Timestamp": aDate,
		}
		if kind == "status" {
			want["SequenceNumber"] = "2"
		}
		if got, err := Read(carrier.Delivery{Kind: kind, Body: []byte(body)}); err != nil || !maps.Equal(got.Fields, want) {
			t.Errorf("%s: %v, %v\nwant %v", kind, got.Fields, err, want)
		}
	}
	got, err := Read(carrier.Delivery{Kind: "message", Body: []byte(form("SmsSid", "x\x00"+strings.Repeat("é", 600)))})
	if want := map[string]string{"MessageSid": "x\ufffd" + strings.Repeat("é", 498)}; err != nil || !maps.Equal(got.Fields, want) {
		t.Errorf("%v, %v", got.Fields, err)
	}
}

func TestReadErrs(t *testing.T) {
	t.Parallel()
	for _, d := range []struct{ kind, body string }{
		{"status", "%zz"},
		{"status", "a=1;b=2"},
		{"message", "Body=a&Body=b"},
	} {
		if _, err := Read(carrier.Delivery{Kind: d.kind, Body: []byte(d.body)}); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s %q: %v", d.kind, d.body, err)
		}
	}
	for _, body := range []string{"", "<html>", `[]`, `"x"`, `{"sid":7}`, `{"sid":"` + goodSID + `"`} {
		if _, err := Read(carrier.Delivery{Kind: "record", Body: []byte(body)}); err == nil {
			t.Errorf("record %q was read", body)
		}
	}
}

func TestReply(t *testing.T) {
	t.Parallel()
	if got := Kinds(); !slices.Equal(got, []string{"status", "message"}) {
		t.Errorf("%q", got)
	}
	if media, body := Reply("message"); media != "text/xml" || body != `<?xml version="1.0" encoding="UTF-8"?><Response/>` {
		t.Errorf("%q %q", media, body)
	}
	if media, body := Reply("status"); media != "" || body != "" {
		t.Errorf("%q %q", media, body)
	}
}

// Whatever comes, it is read without a panic, and nothing comes out that no column could hold.
func TestReadIsStorable(t *testing.T) {
	t.Parallel()
	names := []string{"CallSid", "CallStatus", "MessageSid", "SmsSid", "From", "To", "Body", "Direction", "Timestamp", "CallDuration", "SmsStatus", "X"}
	value := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{
		goodSID, messageID, "completed", "inbound", "outbound-api", ours, "\x00", "\xff\xfe", aDate, strings.Repeat("\x00", 5000),
	}))
	rapid.Check(t, func(t *rapid.T) {
		kind := rapid.SampledFrom([]string{"status", "message", "record", ""}).Draw(t, "kind")
		v := url.Values{}
		for range rapid.IntRange(0, 8).Draw(t, "parameters") {
			v.Set(rapid.SampledFrom(names).Draw(t, "name"), value.Draw(t, "value"))
		}
		body := rapid.OneOf(rapid.Just(v.Encode()), rapid.String()).Draw(t, "body")
		r, err := Read(carrier.Delivery{Kind: kind, Body: []byte(body)})
		if err != nil {
			return
		}
		for name, value := range r.Fields {
			checkStorable(t, name, value, 500)
		}
		checkStorable(t, "text", r.Text, 4000)
		checkStorable(t, "id", r.ID, 40)
		if r.Status != "" && r.Status.Rank() == 0 || r.Seconds < 0 || carrier.Number(r.Us.E164()) != r.Us {
			t.Fatalf("%+v", r)
		}
	})
}

func checkStorable(t *rapid.T, name, value string, most int) {
	if !utf8.ValidString(value) || strings.ContainsRune(value, 0) || utf8.RuneCountInString(value) > most {
		t.Fatalf("%s cannot be stored: %q", name, value)
	}
}
