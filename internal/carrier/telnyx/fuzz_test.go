package telnyx

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"chasephone/internal/carrier"
	"chasephone/internal/phone"
)

// documented are the answers that Telnyx says place no call, written down apart from the table that
// is tested: by them alone a call is sent again.
func documented(status int, body []byte) bool {
	var said struct {
		Errors []struct{ Code string }
	}
	if status == 429 {
		return true
	}
	if json.Unmarshal(body, &said) != nil || len(said.Errors) == 0 {
		return false
	}
	ours := map[int][]string{401: {"10009"}, 403: {"10010", "10039"}, 422: {"10002", "10016"}}[status]
	for _, e := range said.Errors {
		if !slices.Contains(ours, e.Code) {
			return false
		}
	}
	return status != 422 || bytes.Contains(body, []byte("from")) || bytes.Contains(body, []byte(`\u`)) // it is our caller number
}

// Whatever comes, what is not on the list proves nothing, and only a whole body with a call's id is
// a call.
func FuzzClassify(f *testing.F) {
	f.Add(200, []byte(created), false)
	f.Add(422, []byte(envelope("10002")), false)
	f.Add(422, []byte(`{"errors":[`+problemOf("10016", "/from")+`]}`), false)
	f.Add(422, []byte(envelope("10002", "10015")), false)
	f.Add(401, []byte(envelope("10009")), false)
	f.Add(403, []byte(envelope("10009")), false)
	f.Add(429, []byte("<html>"), true)
	f.Add(429, []byte(created), false)
	f.Add(200, []byte(`{"data":{"call_control_id":"v3:`+strings.Repeat("a", 300)+`"},"errors":null}`), false)
	f.Fuzz(func(t *testing.T, status int, body []byte, cut bool) {
		switch got := classify(carrier.Reply{Status: status, Body: body, Truncated: cut}).(type) {
		case carrier.Placed:
			if status != 200 && status != 201 || cut || !callID.MatchString(got.CallID) || !json.Valid(body) {
				t.Errorf("%d %q (cut %v): %#v", status, body, cut, got)
			}
		case carrier.Refused:
			if status != 422 || cut || got.Code != "10002" && got.Code != "10016" {
				t.Errorf("%d %q (cut %v): %#v", status, body, cut, got)
			}
			checkText(t, got.Code+got.Text)
		case carrier.NotPlaced:
			ours := got.Blame == carrier.BlameLine || got.Blame == carrier.BlameAccount
			if !documented(status, body) || cut && status != 429 || !ours {
				t.Errorf("%d %q (cut %v): %#v", status, body, cut, got)
			}
			checkText(t, got.Code+got.Text)
		case carrier.Unknown:
			if got.Stage != carrier.StageAnswered {
				t.Errorf("%#v", got)
			}
			checkText(t, got.Code+got.Text)
		default:
			t.Errorf("%#v", got)
		}
	})
}

// checkText: PostgreSQL can hold it, and it is not long.
func checkText(t *testing.T, s string) {
	t.Helper()
	const longest = carrier.LongestText
	if !utf8.ValidString(s) || strings.ContainsRune(s, 0) || utf8.RuneCountInString(s) > longest {
		t.Errorf("cannot be stored, or is too long: %q", s)
	}
}

// What was signed just now is believed, and nothing else: no other body, time or spelling of the
// signature.
func FuzzVerify(f *testing.F) {
	const body = `{"data":{"event_type":"call.answered"}}`
	f.Add(body, int64(0), body, int64(0), uint8(0), uint8(64), "")
	f.Add(body, int64(299), body+" ", int64(299), uint8(0), uint8(64), "")
	f.Add(body, int64(-400), body, int64(-400), uint8(3), uint8(1), "")
	for _, letter := range []uint8{1, 17, 33, 49} { // one of them changes only bits that base64 does not use
		f.Add(body, int64(0), body, int64(0), uint8(85), letter, "")
	}
	f.Add("", int64(-1<<63), "", int64(1<<62), uint8(87), uint8(64), "\n")
	key := signer(1)
	a := newAccount(f, "http://127.0.0.1:1")
	f.Fuzz(func(t *testing.T, body string, age int64, body2 string, age2 int64, at, letter uint8, more string) {
		const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
		stamp, stamp2 := strconv.FormatInt(now().Unix()-age, 10), strconv.FormatInt(now().Unix()-age2, 10)
		signature := base64.StdEncoding.EncodeToString(ed25519.Sign(key, []byte(stamp+"|"+body)))
		err := a.Verify(sentWith(stamp, signature, body))
		if fresh := age >= -300 && age <= 300; fresh != (err == nil) {
			t.Errorf("signed %d s ago: %v", age, err)
		}
		changed := []byte(signature)
		if letter < 64 {
			changed[int(at)%len(changed)] = alphabet[letter]
		}
		other := string(changed) + more
		if (other != signature || stamp2 != stamp || body2 != body) && a.Verify(sentWith(stamp2, other, body2)) == nil {
			t.Errorf("%q at %s was signed %s; %q at %s with %q is believed", body, stamp, signature, body2, stamp2, other)
		}
	})
}

// What is read can be stored, whatever came.
func FuzzRead(f *testing.F) {
	id := `"call_control_id":"v3:MdI91X4lWFEs7IgbBEOT9M4AigoY08M0WWZFISt1Yw2axZ_IiE4pqg"`
	f.Add(uint8(0), "", []byte(`{"data":{"event_type":"call.hangup","occurred_at":"0000-01-01T00:00:00+23:59","payload":{`+id+`,"client_state":"dA==","from":"+1","to":["\u0000"]}}}`))
	f.Add(uint8(0), "", []byte(`{"data":{"event_type":"call.initiated","payload":{`+id+`,"direction":"incoming","from":"+14155550123","sip_hangup_cause":4e99}}}`))
	f.Add(uint8(1), "", []byte(`{"data":{"event_type":"message.received","payload":{"id":"\u0000\ud800","text":"\u0000","from":{"phone_number":"+14155550123"},"to":[{"phone_number":"+14155550100"}],"direction":"inbound"}}}`))
	f.Add(uint8(2), "t", []byte(`{"data":{`+id+`,"is_alive":false,"call_duration":99999999999,"end_time":"9999-12-31T23:59:59-23:59"}}`))
	f.Add(uint8(0), "", []byte(`{"data":{"payload":null,"payload":[]}}`))
	f.Add(uint8(0), "", []byte(`null`))
	f.Fuzz(func(t *testing.T, kind uint8, token string, body []byte) {
		kinds := []string{kindCall, kindMessage, kindRecord, ""}
		r, err := Read(carrier.Delivery{Kind: kinds[int(kind)%len(kinds)], Token: token, Body: body})
		if err != nil {
			if r.Kind != "" || len(r.Fields) > 0 {
				t.Errorf("%q cannot be read, and says %+v", body, r)
			}
			return
		}
		checkReport(t, r, token)
		if r.Kind == carrier.KindCall && !IsCallID(r.ID) {
			t.Errorf("a call %q", r.ID)
		}
	})
}

func checkReport(t *testing.T, r carrier.Report, token string) {
	t.Helper()
	if (r.Kind == "") != (r.ID == "") || r.Kind == "" && (r.Status != "" || r.Seconds != 0 || r.Token != "" || !r.Them.IsZero()) {
		t.Errorf("about nothing, and says %+v", r)
	}
	_, timeErr := r.At.MarshalJSON()
	if r.Status != "" && r.Status.Rank() == 0 || r.Seconds < 0 || r.Seconds > 1<<31-1 || timeErr != nil {
		t.Errorf("%+v", r)
	}
	if r.Token != token && strings.Trim(r.Token, "!\"#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstuvwxyz{|}~") != "" {
		t.Errorf("token %q", r.Token)
	}
	for _, n := range []phone.Number{r.Us, r.Them} {
		if carrier.Number(n.E164()) != n {
			t.Errorf("a number %q", n.E164())
		}
	}
	checkText(t, r.ID)
	checkText(t, r.Text)
	for name, value := range r.Fields {
		if checkText(t, value); value == "" || utf8.RuneCountInString(value) > carrier.LongestField {
			t.Errorf("%s is %q", name, value)
		}
	}
}

// Whatever a list says, it is calls that can be written down, or nothing is known; it does not go
// on for ever.
func FuzzFind(f *testing.F) {
	event := `{"call_leg_id":"leg","name":"call.answered","event_timestamp":"2026-11-30T10:00:00Z","metadata":{"payload":{"call_control_id":"v3:MdI91X4lWFEs7IgbBEOT9M4AigoY08M0WWZFISt1Yw2axZ_IiE4pqg","client_state":"dA=="}}}`
	f.Add(200, []byte(`{"data":[`+event+`],"meta":{"total_pages":1}}`))
	f.Add(200, []byte(`{"data":[`+event+`],"meta":{"total_pages":99999999}}`))
	f.Add(200, []byte(`{"data":[{"call_leg_id":"\u0000","name":"x","event_timestamp":"0000-01-01T00:00:00+23:59","metadata":"{\"a\":1}"}]}`))
	f.Add(200, []byte(`{"data":[{"call_leg_id":"a","name":"call.hangup","metadata":[[[["{{"]]]]}]}`))
	f.Add(200, []byte(`{"data":{"call_control_id":"v3:MdI91X4lWFEs7IgbBEOT9M4AigoY08M0WWZFISt1Yw2axZ_IiE4pqg"}}`))
	f.Add(403, []byte(envelope("10010")))
	f.Add(500, []byte{0})
	var status, asked int
	var body []byte
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		w.WriteHeader(status)
		_, _ = w.Write(body)
	}))
	f.Cleanup(server.Close)
	a := newAccount(f, server.URL)
	f.Fuzz(func(t *testing.T, s int, b []byte) {
		if s < 200 || s > 999 {
			return // not to be said by this server
		}
		status, body, asked = s, b, 0
		found, err := a.Find(t.Context(), carrier.Sought{To: phone.FromE164("+14155550123"), From: phone.FromE164("+14155550100"), Since: time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)})
		if err != nil && len(found.Records) > 0 || asked > maxPages {
			t.Errorf("%d %q: %+v, %v, asked %d times", s, b, found, err, asked)
		}
		for _, r := range found.Records {
			checkText(t, r.CallID)
			checkText(t, r.Token)
			if r.CallID == "" || utf8.RuneCountInString(r.CallID) > carrier.LongestField || r.Status != "" && r.Status.Rank() == 0 {
				t.Errorf("%+v", r)
			}
		}
		if _, err := json.Marshal(found.Records); err != nil {
			t.Errorf("%q: %v", b, err)
		}
		const id = "v3:MdI91X4lWFEs7IgbBEOT9M4AigoY08M0WWZFISt1Yw2axZ_IiE4pqg"
		if raw, err := a.Fetch(t.Context(), id); err == nil && (s != 200 || !json.Valid(raw)) {
			t.Errorf("%q is taken for the call", raw)
		}
		if err := a.Cancel(t.Context(), id); err == nil && (s != 200 || !bytes.Contains(b, []byte("ok")) && !bytes.Contains(b, []byte(`\u00`))) {
			t.Errorf("%d %q is taken for done", s, b)
		}
	})
}
