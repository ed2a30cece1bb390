package telnyx

import (
	"encoding/json"
	"maps"
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

const aDate = "2026-01-05T10:00:00.521992Z"

func at() time.Time { return time.Date(2026, 1, 5, 10, 0, 0, 521992000, time.UTC) }

// hook is a webhook with that payload; more is what its payload has besides.
func hook(event, more string) string {
	return `{"data":{"record_type":"event","event_type":"` + event + `","id":"0ccc7b54-4df3-4bca-a65a-3da1ecc777f0","occurred_at":"` + aDate +
		`","payload":{"call_control_id":"` + goodID + `","call_leg_id":"428c31b6","call_session_id":"428c31b7","connection_id":7267123456789012345` + more + `}},"meta":{"attempt":1}}`
}

const numbers = `,"client_state":"` + state + `","from":"` + ours + `","to":"` + theirs + `"`

// report is an attempt's, with what a row changes.
func report(change func(*carrier.Report)) carrier.Report {
	r := carrier.Report{
		Kind: carrier.KindCall, ID: goodID, Direction: carrier.DirectionOut, Token: "tok-en_1", At: at(),
		Us: phone.FromE164(ours), Them: phone.FromE164(theirs),
	}
	change(&r)
	return r
}

func TestRead(t *testing.T) {
	t.Parallel()
	is := func(s carrier.Status) carrier.Report { return report(func(r *carrier.Report) { r.Status = s }) }
	text := func(more string) string {
		return `{"data":{"event_type":"message.received","id":"e1","occurred_at":"` + aDate + `","payload":{"id":"7ee4241c","direction":"inbound","from":{"phone_number":"` + theirs +
			`","carrier":"T"},"to":[{"phone_number":"` + ours + `","status":"delivered"}]` + more + `}}}`
	}
	inText := func(words string) carrier.Report {
		return carrier.Report{
			Kind: carrier.KindText, ID: "7ee4241c", Direction: carrier.DirectionIn, Us: phone.FromE164(ours), Them: phone.FromE164(theirs), At: at(), Text: words,
		}
	}
	for _, row := range []struct {
		name       string
		kind, path string
		body       string
		want       carrier.Report // without its fields
	}{
		{"initiated", "call", "tok-en_1", hook("call.initiated", numbers+`,"direction":"outgoing","state":"bridging"`), is("initiated")},
		{"answered", "call", "tok-en_1", hook("call.answered", numbers), is("in-progress")},
		{"over", "call", "tok-en_1", hook("call.hangup", numbers+`,"hangup_cause":"normal_clearing","hangup_source":"callee","sip_hangup_cause":"200"`), is("completed")},
		{"declined", "call", "tok-en_1", hook("call.hangup", numbers+`,"hangup_cause":"call_rejected","sip_hangup_cause":"603"`), is("busy")},
		{"spoken", "call", "tok-en_1", hook("call.speak.ended", numbers), is("")},
		{"to a path that is another attempt's", "call", "another", hook("call.answered", numbers), is("in-progress")},
		{"at the address for texts", "message", "", hook("call.answered", numbers), is("in-progress")},
		{
			"without our state, whatever the path", "call", "another", hook("call.answered", `,"client_state":null,"from":"`+ours+`","to":"`+theirs+`"`),
			carrier.Report{Kind: carrier.KindCall, ID: goodID, Status: "in-progress", At: at()},
		},
		{
			"somebody else's state", "call", "", hook("call.answered", `,"client_state":"not base64","direction":"outgoing","from":"`+ours+`","to":"`+theirs+`"`),
			report(func(r *carrier.Report) { r.Token, r.Status = "", "in-progress" }),
		},
		{
			"a state that no token is", "call", "", hook("call.answered", `,"client_state":"AAE=","direction":"outgoing","from":"`+ours+`","to":"`+theirs+`"`),
			report(func(r *carrier.Report) { r.Token, r.Status = "", "in-progress" }),
		},
		{
			"a call that came in", "call", "", hook("call.initiated", `,"direction":"incoming","state":"parked","from":"`+theirs+`","to":"`+ours+`"`),
			report(func(r *carrier.Report) { r.Token, r.Direction, r.Status = "", carrier.DirectionIn, "ringing" }),
		},
		{
			"from somebody who hides the number", "call", "", hook("call.initiated", `,"direction":"incoming","from":"anonymous","to":"sip:x@example.com"`),
			report(func(r *carrier.Report) {
				r.Token, r.Direction, r.Status, r.Us, r.Them = "", carrier.DirectionIn, "ringing", phone.Number{}, phone.Number{}
			}),
		},
		{"no call's id", "call", "", strings.Replace(hook("call.answered", numbers), goodID, "x", 1), carrier.Report{}},
		{"without a payload", "call", "", `{"data":{"event_type":"call.answered"}}`, carrier.Report{}},
		{"another event", "call", "", `{"data":{"event_type":"fax.sent","payload":{"call_control_id":"` + goodID + `"}}}`, carrier.Report{}},
		{"nothing", "call", "", `{}`, carrier.Report{}},

		{"a text", "message", "", text(`,"text":"STOP"`), inText("STOP")},
		{"a text at the address for calls", "call", "", text(`,"text":"STOP"`), inText("STOP")},
		{"a text that cannot be stored", "message", "", text(`,"text":"a\u0000b\ud800c"`), inText("a\ufffdb\ufffdc")},
		{"a long text", "message", "", text(`,"text":"` + strings.Repeat("é", 5000) + `"`), inText(strings.Repeat("é", 4000))},
		{"a text without words", "message", "", text(""), inText("")},
		{
			"a text that went out", "message", "",
			`{"data":{"event_type":"message.finalized","payload":{"id":"7ee4241c","direction":"outbound","from":{"phone_number":"` + ours + `"},"to":[{"phone_number":"` + theirs + `"}],"text":"Hi"}}}`,
			carrier.Report{Kind: carrier.KindText, ID: "7ee4241c", Direction: carrier.DirectionOut, Us: phone.FromE164(ours), Them: phone.FromE164(theirs), Text: "Hi"},
		},

		{
			"a record of a call under way", "record", "", `{"data":{"call_control_id":"` + goodID + `","client_state":"` + state + `","is_alive":true,"start_time":"` + aDate + `"}}`,
			report(func(r *carrier.Report) { r.Status, r.Us, r.Them = "initiated", phone.Number{}, phone.Number{} }),
		},
		{
			"a record of a call that lasted", "record", "asked",
			`{"data":{"call_control_id":"` + goodID + `","is_alive":false,"call_duration":50,"start_time":"2026-01-05T09:00:00Z","end_time":"` + aDate + `"}}`,
			report(func(r *carrier.Report) {
				r.Token, r.Status, r.Seconds, r.Us, r.Them = "asked", "completed", 50, phone.Number{}, phone.Number{}
			}),
		},
		{
			"a record of a call that did not", "record", "asked", `{"data":{"call_control_id":"` + goodID + `","is_alive":false,"call_duration":0,"end_time":"` + aDate + `"}}`,
			report(func(r *carrier.Report) { r.Token, r.Us, r.Them = "asked", phone.Number{}, phone.Number{} }),
		},
		{
			"a record of a call that was just placed", "record", "", created,
			carrier.Report{Kind: carrier.KindCall, ID: goodID},
		},
		{"a record of something else", "record", "", `{"data":{"id":"x"}}`, carrier.Report{}},
		{"a kind nobody knows", "fax", "", "<html>", carrier.Report{}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			got, err := Read(carrier.Delivery{Kind: row.kind, Token: row.path, Body: []byte(row.body)})
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

func TestEndOf(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		cause, response string
		want            carrier.Status
	}{
		{"normal_clearing", "200", "completed"},
		{"normal_clearing", "", "completed"},
		{"normal_clearing", "unspecified", "completed"},
		{"normal_clearing", "487", "no-answer"},
		{"normal_clearing", "486", "busy"},
		{"time_limit", "", "completed"},
		{"user_busy", "486", "busy"},
		{"call_rejected", "603", "busy"},
		{"no_answer", "480", "no-answer"},
		{"timeout", "", "no-answer"},
		{"originator_cancel", "487", "canceled"},
		{"not_found", "404", "failed"},
		{"unspecified", "unspecified", "no-answer"},
		{"unspecified", "404", "failed"},
		{"unspecified", "200", "completed"},
		{"unspecified", "503", "no-answer"},
		{"a_new_cause", "", "no-answer"},
		{"", "", "no-answer"},
	} {
		if got := endOf(row.cause, row.response); got != row.want || !got.Final() {
			t.Errorf("%s, %s: %s, want %s", row.cause, row.response, got, row.want)
		}
	}
}

// The table of Telnyx's shape has them by Telnyx's names.
func TestReadKeepsTheFields(t *testing.T) {
	t.Parallel()
	got, err := Read(carrier.Delivery{Kind: "call", Body: []byte(hook("call.hangup", numbers+`,"hangup_cause":"timeout","hangup_source":"caller","tags":["x"],"state":"hangup"`))})
	want := map[string]string{
		"id": "0ccc7b54-4df3-4bca-a65a-3da1ecc777f0", "event_type": "call.hangup", "occurred_at": aDate,
		"call_control_id": goodID, "call_leg_id": "428c31b6", "call_session_id": "428c31b7", "connection_id": testConnection,
		"client_state": state, "from": ours, "to": theirs, "hangup_cause": "timeout", "hangup_source": "caller", "state": "hangup",
	}
	if err != nil || !maps.Equal(got.Fields, want) {
		t.Errorf("%v, %v\nwant %v", got.Fields, err, want)
	}
	got, err = Read(carrier.Delivery{Kind: "message", Body: []byte(`{"data":{"event_type":"message.received","id":"e1","payload":{"id":"m1","type":"SMS","direction":"inbound",` +
		`"from":{"phone_number":"` + theirs + `"},"to":[{"phone_number":"` + ours + `"}],"messaging_profile_id":"p1"}}}`)})
	want = map[string]string{
		"id": "e1", "event_type": "message.received", "message_id": "m1", "type": "SMS", "direction": "inbound", "from": theirs, "to": ours, "messaging_profile_id": "p1",
	}
	if err != nil || !maps.Equal(got.Fields, want) {
		t.Errorf("%v, %v\nwant %v", got.Fields, err, want)
	}
}

func TestReadErrs(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"call", "message", "record"} {
		for _, body := range []string{"", "<html>", "[]", `"x"`, `{"data":[]}`, `{"data":7}`, hook("call.answered", "")[:80]} {
			if r, err := Read(carrier.Delivery{Kind: kind, Body: []byte(body)}); err == nil {
				t.Errorf("%s %q was read: %+v", kind, body, r)
			}
		}
	}
	if _, err := Read(carrier.Delivery{Kind: "call", Body: []byte(`{"data":{"event_type":"call.answered","payload":[]}}`)}); err == nil {
		t.Error("a payload that is a list was read")
	}
}

func TestReply(t *testing.T) {
	t.Parallel()
	if got := Kinds(); !slices.Equal(got, []string{"call", "message"}) {
		t.Errorf("%q", got)
	}
	for _, kind := range Kinds() {
		if media, body := Reply(kind); media != "" || body != "" {
			t.Errorf("%q %q", media, body)
		}
	}
}

// Whatever comes, it is read without a panic, and nothing comes out that no column could hold.
func TestReadIsStorable(t *testing.T) {
	t.Parallel()
	names := []string{
		"call_control_id", "client_state", "from", "to", "direction", "id", "text", "hangup_cause", "is_alive", "call_duration", "end_time", "state",
	}
	value := rapid.OneOf(
		rapid.Map(rapid.String(), func(s string) any { return s }),
		rapid.SampledFrom([]any{
			nil, true, 7, -1.5e300,
			[]any{},
			map[string]any{"phone_number": ours},
			[]any{map[string]any{"phone_number": "\x00"}},
			goodID, state, ours, "incoming", "inbound", "\x00", "\xff", aDate, strings.Repeat("\x00", 5000),
		}),
	)
	rapid.Check(t, func(t *rapid.T) {
		kind := rapid.SampledFrom([]string{"call", "message", "record", ""}).Draw(t, "kind")
		payload := map[string]any{}
		for range rapid.IntRange(0, 8).Draw(t, "members") {
			payload[rapid.SampledFrom(names).Draw(t, "name")] = value.Draw(t, "value")
		}
		data := map[string]any{
			"payload": payload, "id": value.Draw(t, "event's id"), "occurred_at": value.Draw(t, "when"),
			"event_type": rapid.SampledFrom([]string{"call.hangup", "call.initiated", "message.received", "x"}).Draw(t, "event"),
		}
		if kind == "record" {
			data = payload
		}
		raw, err := json.Marshal(map[string]any{"data": data})
		if err != nil {
			t.Fatal(err)
		}
		body := rapid.OneOf(rapid.Just(string(raw)), rapid.String()).Draw(t, "body")
		r, err := Read(carrier.Delivery{Kind: kind, Body: []byte(body)})
		if err != nil {
			return
		}
		for name, value := range r.Fields {
			checkStorable(t, name, value, 500)
		}
		checkStorable(t, "text", r.Text, 4000)
		checkStorable(t, "id", r.ID, 500)
		checkStorable(t, "token", r.Token, 200)
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
