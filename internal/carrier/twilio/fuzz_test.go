package twilio

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha1"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"chasephone/internal/carrier"
	"chasephone/internal/phone"
)

// documented are the answers that Twilio says place no call, written down apart from the table that
// is tested: by them alone a call is sent again.
func documented(status int, code string) bool {
	switch code {
	case "429", "20429", "10004", "10001", "20005":
		return status/100 == 4 && status != 408 && (code != "429" || status == 429)
	case "20003":
		return status == 401 || status == 403
	case "21210":
		return status == 400
	}
	return status == 429 // which says it by itself, whatever code comes along
}

// Whatever comes, what is not on the list proves nothing, and only a whole body with a call's id is
// a call.
func FuzzClassify(f *testing.F) {
	f.Add(201, []byte(created), false)
	f.Add(200, []byte(`{"sid":null,"sid":"`+goodSID+`","status":{"x":1}}`), false)
	f.Add(400, []byte(envelope(21211, 400)), false)
	f.Add(400, []byte(envelope(21210, 400)), false)
	f.Add(401, []byte(envelope(20003, 401)), false)
	f.Add(429, []byte("<html>"), true)
	f.Add(429, []byte(created), false)
	f.Add(503, []byte(envelope(20429, 503)), false)
	f.Add(400, []byte(`{"code":2.0429e4,"message":"\u0000","status":400}`), false)
	f.Fuzz(func(t *testing.T, status int, body []byte, cut bool) {
		switch got := classify(carrier.Reply{Status: status, Body: body, Truncated: cut}).(type) {
		case carrier.Placed:
			if status != 200 && status != 201 && status != 202 || cut || !callSID.MatchString(got.CallID) || !json.Valid(body) {
				t.Errorf("%d %q (cut %v): %#v", status, body, cut, got)
			}
			checkText(t, got.Status)
		case carrier.Refused:
			if status != 400 || cut || !slices.Contains([]string{"21211", "21217", "21214", "21215", "21216"}, got.Code) {
				t.Errorf("%d %q (cut %v): %#v", status, body, cut, got)
			}
			checkText(t, got.Text)
		case carrier.NotPlaced:
			ours := got.Blame == carrier.BlameLine || got.Blame == carrier.BlameAccount
			if !documented(status, got.Code) || cut && status != 429 || !ours || !cut && bytes.Contains(body, []byte(`"sid":"`+goodSID)) && json.Valid(body) && bytes.Count(body, []byte("sid")) == 1 {
				t.Errorf("%d %q (cut %v): %#v", status, body, cut, got)
			}
			checkText(t, got.Text)
		case carrier.Unknown:
			if got.Stage != carrier.StageAnswered {
				t.Errorf("%#v", got)
			}
			checkText(t, got.Text)
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

// spelled is what Twilio signs, put together without the code that is tested.
func spelled(target string, body []byte) (string, bool) {
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return "", false
	}
	var pairs [][2]string
	for name, values := range form {
		if len(values) != 1 {
			return "", false
		}
		pairs = append(pairs, [2]string{name, values[0]})
	}
	slices.SortFunc(pairs, func(a, b [2]string) int { return strings.Compare(a[0], b[0]) })
	for _, pair := range pairs {
		target += pair[0] + pair[1]
	}
	return target, true
}

// What was signed is believed, and nothing made of it that Twilio would have signed otherwise.
func FuzzVerify(f *testing.F) {
	const body = "AccountSid=AC1&CallSid=" + goodSID + "&CallStatus=ringing&From=%2B14155550100&To=%2B14155550123"
	f.Add(hook, body, hook, body, "", formType)
	f.Add(hook, body, hook+"?x", body, "", formType)
	f.Add(hook, body, strings.Replace(hook, ".com/", ".com:443/", 1), body, "", "")
	f.Add(hook, body, hook, strings.Replace(body, "ringing", "completed", 1), "", formType)
	f.Add(hook, body, hook, body+"&CallStatus=completed", "", formType)
	f.Add(hook, "a=bc", hook, "ab=c", "", formType)
	f.Add(hook, body, hook, body, "=", "application/json")
	f.Add(hook, body, hook, "%zz", "AAAA", formType+"; charset=x")
	f.Add("://", "", "http://[::1]:80", "", "", "\x00")
	a, err := New(Config{AccountSID: "AC1", AuthToken: "secret"}, carrier.NewTransport(carrier.Options{}))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, target, body, target2, body2, more, contentType string) {
		signed, ok := spelled(target, []byte(body))
		if !ok {
			if a.Verify(sentWith(target, body, map[string]string{"X-Twilio-Signature": "AAAA"})) == nil {
				t.Errorf("%q is no form, and is believed", body)
			}
			return
		}
		mac := hmac.New(sha1.New, []byte("secret"))
		mac.Write([]byte(signed))
		signature := base64.StdEncoding.EncodeToString(mac.Sum(nil))
		if err := a.Verify(sentWith(target, body, map[string]string{"X-Twilio-Signature": signature, "Content-Type": formType})); err != nil {
			t.Errorf("%q at %q is signed, and is not believed: %v", body, target, err)
		}
		other := sentWith(target2, body2, map[string]string{"X-Twilio-Signature": signature + more, "Content-Type": contentType})
		if a.Verify(other) != nil {
			return
		}
		// Twilio's libraries take the URL with and without its port.
		same := false
		for _, at := range []string{target2, otherPort(target2)} {
			said, ok := spelled(at, []byte(body2))
			same = same || ok && said == signed
		}
		if !same || more != "" || contentType != "" && !strings.HasPrefix(strings.ToLower(strings.TrimSpace(contentType)), formType) {
			t.Errorf("%q at %q was signed; %q at %q (%q, %q) is believed", body, target, body2, target2, more, contentType)
		}
		if _, err := Read(carrier.Delivery{Kind: kindStatus, Body: other.Body}); err != nil {
			t.Errorf("%q is believed, and cannot be read: %v", body2, err)
		}
	})
}

// What is read can be stored, whatever came.
func FuzzRead(f *testing.F) {
	f.Add(uint8(0), "", []byte("CallSid="+goodSID+"&CallStatus=completed&CallDuration=99999999999&Timestamp=Mon%2C+01+Jan+0000+00%3A00%3A00+%2B2359&From=client%3Ax"))
	f.Add(uint8(0), "t", []byte("CallSid="+goodSID+"&CallStatus=hovering&Direction=%00&From=%2B2562533&To=\xff"))
	f.Add(uint8(1), "", []byte("MessageSid=SM0123456789abcdef0123456789abcdef&Body=%00%ff%F0%9F%98%80&From=%2B14155550123"))
	f.Add(uint8(2), "t", []byte(`{"sid":"`+goodSID+`","status":"canceled","date_created":"Fri, 31 Dec 9999 23:59:59 -2359","from":"\u0000"}`))
	f.Add(uint8(3), "", []byte("[[[["))
	f.Fuzz(func(t *testing.T, kind uint8, token string, body []byte) {
		kinds := []string{kindStatus, kindMessage, kindRecord, ""}
		d := carrier.Delivery{Kind: kinds[int(kind)%len(kinds)], Token: token, Body: body}
		r, err := Read(d)
		if err != nil {
			if r.Kind != "" || len(r.Fields) > 0 {
				t.Errorf("%q cannot be read, and says %+v", body, r)
			}
			return
		}
		checkReport(t, r)
		if r.Kind == carrier.KindCall && !IsCallID(r.ID) {
			t.Errorf("a call %q", r.ID)
		}
	})
}

func checkReport(t *testing.T, r carrier.Report) {
	t.Helper()
	if (r.Kind == "") != (r.ID == "") || r.Kind == "" && (r.Status != "" || r.Seconds != 0 || !r.Them.IsZero()) {
		t.Errorf("about nothing, and says %+v", r)
	}
	if r.Status != "" && r.Status.Rank() == 0 || r.Seconds < 0 || r.Seconds > 1<<31-1 || !storableTime(r.At) {
		t.Errorf("%+v", r)
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

// storableTime: JSON, too, can hold it.
func storableTime(at time.Time) bool {
	_, err := at.MarshalJSON()
	return err == nil
}

// Whatever a list says, it is calls or nothing is known; what it calls the next page leads to the
// same list, and not on for ever.
func FuzzFind(f *testing.F) {
	const asked = "/2010-04-01/Accounts/AC1/Calls.json"
	call := `{"sid":"` + goodSID + `","status":"ringing","direction":"outbound-api","to":"+14155550123","from":"+14155550100","date_created":"Mon, 30 Nov 2026 10:00:00 +0000"}`
	f.Add(200, []byte(`{"calls":[`+call+`],"next_page_uri":null}`))
	f.Add(200, []byte(`{"calls":[`+call+`,`+call+`],"next_page_uri":"`+asked+`?Page=1"}`))
	f.Add(200, []byte(`{"calls":[`+strings.Replace(call, "Mon, 30 Nov 2026 10:00:00 +0000", "Fri, 31 Dec 9999 23:59:59 -2359", 1)+`]}`))
	f.Add(200, []byte(`{"calls":[],"next_page_uri":"http://127.0.0.1/`+asked+`?x"}`))
	f.Add(200, []byte(call))
	f.Add(404, []byte(envelope(20404, 404)))
	f.Add(500, []byte{0})
	var status int
	var body []byte
	var paths []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		paths = append(paths, r.URL.Path)
		w.WriteHeader(status)
		_, _ = w.Write(body)
	}))
	f.Cleanup(server.Close)
	a, err := New(Config{AccountSID: "AC1", AuthToken: "secret", BaseURL: server.URL}, carrier.NewTransport(carrier.Options{AllowLoopback: true}))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, s int, b []byte) {
		if s < 200 || s > 999 {
			return // not to be said by this server
		}
		status, body, paths = s, b, nil
		sought := carrier.Sought{To: phone.FromE164("+14155550123"), From: phone.FromE164("+14155550100"), Since: time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)}
		found, err := a.Find(t.Context(), sought)
		if err != nil && len(found.Records) > 0 || len(paths) > maxPages {
			t.Errorf("%d %q: %+v, %v, asked %q", s, b, found, err, paths)
		}
		for _, p := range paths {
			if p != asked {
				t.Errorf("asked %q", p)
			}
		}
		for _, r := range found.Records {
			if !callSID.MatchString(r.CallID) || r.Status != "" && r.Status.Rank() == 0 {
				t.Errorf("%+v", r)
			}
		}
		if _, err := json.Marshal(found.Records); err != nil {
			t.Errorf("%q: %v", b, err)
		}
		raw, err := a.Fetch(t.Context(), goodSID)
		if err == nil && !bytes.Contains(raw, []byte("CA")) && !bytes.Contains(raw, []byte(`\u00`)) {
			t.Errorf("%q is taken for the call", raw)
		}
		if err := a.Cancel(t.Context(), goodSID); err == nil && s != 200 {
			t.Errorf("%d %q is taken for done", s, b)
		}
	})
}
