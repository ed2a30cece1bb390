package badinput_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha1"
	"encoding/base64"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	public    = "https://calls.example.com/base"
	twilioKey = "the token of the twilio account"
	formType  = "application/x-www-form-urlencoded"
	mostBody  = 64 << 10
)

// telnyxKey is a key made from one byte, the same for every run.
func telnyxKey(b byte) ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed(bytes.Repeat([]byte{b}, ed25519.SeedSize))
}

// webhook is one request, and what must come of it.
type webhook struct {
	method, path, body string
	headers            map[string][]string
	cut                bool // the body ends before it should
	status             int  // of the answer; 0: any, for there may be none
	signed             bool // rightly, by an account of ours
}

// kept reports whether it must be there, just so, once and for all.
func (w webhook) kept() bool { return w.status == http.StatusOK }

// signTwilio is Twilio's rule, without any of the carrier's own code.
func signTwilio(key, target, body string) string {
	form, _ := url.ParseQuery(body)
	mac := hmac.New(sha1.New, []byte(key))
	mac.Write([]byte(target))
	for _, name := range slices.Sorted(maps.Keys(form)) {
		mac.Write([]byte(name + form.Get(name)))
	}
	return base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

func twilioHook(path, body string) webhook {
	return webhook{method: http.MethodPost, path: path, body: body, status: http.StatusOK, signed: true, headers: map[string][]string{
		"X-Twilio-Signature": {signTwilio(twilioKey, public+path, body)}, "Content-Type": {formType},
	}}
}

func telnyxHook(path, body string, at time.Time) webhook {
	stamp := strconv.FormatInt(at.Unix(), 10)
	return webhook{method: http.MethodPost, path: path, body: body, status: http.StatusOK, signed: true, headers: map[string][]string{
		"Telnyx-Timestamp":         {stamp},
		"Telnyx-Signature-Ed25519": {base64.StdEncoding.EncodeToString(ed25519.Sign(telnyxKey(1), []byte(stamp+"|"+body)))},
	}}
}

// badWebhooks are n of them: nonsense that is rightly signed, and everything else that can be wrong.
func badWebhooks(g generator, n int, now time.Time) []webhook {
	all := make([]webhook, 0, n)
	for i := range n {
		var w webhook
		if i%2 == 0 {
			path := "/webhooks/twilio/" + of(g, []string{"status", "message", "status/unknown-token", "status/0198c0de-1234-7890-abcd-1234567890ab", "status?x=%zz&y", "message?"})
			w = twilioHook(path, g.form(i))
			if i%4 == 0 {
				w = g.spoilTwilio(w)
			}
		} else {
			path := "/webhooks/telnyx/" + of(g, []string{"call", "message", "call/unknown-token", "call/0198c0de-1234-7890-abcd-1234567890ab"})
			w = telnyxHook(path, g.event(i), now)
			if i%4 == 1 {
				w = g.spoilTelnyx(w, now)
			}
		}
		all = append(all, w)
	}
	return all
}

// form is one that can be read, whatever it says.
func (g generator) form(i int) string {
	callSID, line := fmt.Sprintf("CA%032x", 1<<40+i/8), url.QueryEscape(line(i))
	fields := []string{
		"AccountSid=AC1", "CallSid=" + of(g, []string{callSID, callSID, callSID, "CA", "%00", "SM1"}), "MessageSid=" + of(g, []string{"SM" + callSID[2:], "MM", "%ff"}),
		"CallStatus=" + of(g, []string{"queued", "ringing", "completed", "failed", "hovering", "COMPLETED", "%00", "-1", "completed%0aX"}),
		"Direction=" + of(g, []string{"inbound", "outbound-api", "outbound-", "sideways", ""}),
		"From=" + of(g, []string{line, "%2B14155550123", "anonymous", "%2B266696687", "client%3Ax", "%00%ff", "%2B1", strings.Repeat("9", 5000)}),
		"To=" + of(g, []string{line, "%2B14155550123", "", "sip%3Aa%40b", "%F0%9F%98%80"}),
		"Timestamp=" + of(g, []string{"Mon%2C+30+Nov+2026+10%3A00%3A00+%2B0000", "Mon%2C+01+Jan+0000+00%3A00%3A00+%2B2359", "Fri%2C+31+Dec+9999+23%3A59%3A59+-2359", "yesterday", "1e999"}),
		"CallDuration=" + of(g, []string{"0", "2147483647", "2147483648", "-1", "99999999999999999999", "NaN"}),
		"SequenceNumber=" + of(g, []string{"0", "-1", strings.Repeat("8", 1000)}), "Body=" + url.QueryEscape(g.text()),
		strings.Repeat("a[b]", g.IntN(500)) + "=1", "%00=%00", "%ff%fe=", "=", "x" + url.QueryEscape(g.bytes(20)) + "=y",
	}
	g.Shuffle(len(fields), func(a, b int) { fields[a], fields[b] = fields[b], fields[a] })
	body := fmt.Sprintf("nth=%d&", i) + strings.Join(fields[:3+g.IntN(len(fields)-3)], "&")
	if i%100 == 2 { // as large as it may be
		body += "&z=" + strings.Repeat("z", mostBody-len(body)-3)
	}
	return body
}

// event is JSON that can be read, whatever it says.
func (g generator) event(i int) string {
	id := fmt.Sprintf(`"v3:the_call_that_is_number_%d_here"`, i/8)
	line := strconv.Quote(line(i))
	nothing := []string{"null", "7", "-1e400", `"\u0000"`, `"\ud800"`, "[]", "{}", "true", `"` + strings.Repeat("9", 3000) + `"`, strings.Repeat("[", 50) + strings.Repeat("]", 50), "\"\xff\xfe\""}
	member := func(name string, good ...string) string {
		return strconv.Quote(name) + ":" + of(g, append(good, of(g, nothing)))
	}
	payload := []string{
		member("call_control_id", id, id, id), member("id", `"text `+strconv.Itoa(i)+`"`), member("from", line, `"+14155550123"`, `{"phone_number":`+line+`}`), member("to", line, `"+14155550123"`, `[{"phone_number":`+line+`}]`),
		member("direction", `"incoming"`, `"outgoing"`, `"inbound"`), member("client_state", `"MDE5OGMwZGU="`), member("hangup_cause", `"user_busy"`), member("text", `"hi"`, strconv.Quote(strings.Repeat("t", 5_000))), member("call_control_id", id),
	}
	g.Shuffle(len(payload), func(a, b int) { payload[a], payload[b] = payload[b], payload[a] })
	data := []string{
		member("event_type", `"call.hangup"`, `"call.initiated"`, `"call.answered"`, `"message.received"`, `"call."`), member("occurred_at", `"2026-11-30T10:00:00Z"`, `"0000-01-01T00:00:00+23:59"`, `"9999-12-31T23:59:59-23:59"`),
		member("id", `"x"`), `"payload":{` + strings.Join(payload[:g.IntN(len(payload)+1)], ",") + "}",
	}
	return fmt.Sprintf(`{"nth":%d,"data":{%s},"meta":%s}`, i, strings.Join(data, ","), of(g, nothing))
}

// spoil makes what any webhook can be worse by.
func (g generator) spoil(w webhook, signature string) webhook {
	w.headers = maps.Clone(w.headers)
	switch g.IntN(11) {
	case 0:
		w.cut, w.status = true, 0
	case 1:
		w.body += strings.Repeat(" ", mostBody)
		w.status = http.StatusRequestEntityTooLarge
	case 2:
		delete(w.headers, signature)
		w.status = http.StatusForbidden
	case 3:
		w.headers[signature] = []string{of(g, []string{"=", "AAAA", "\xff", strings.Repeat("A", 5000), base64.StdEncoding.EncodeToString([]byte(g.bytes(20))), base64.StdEncoding.EncodeToString([]byte(g.bytes(64)))})}
		w.status = http.StatusForbidden
	case 4:
		w.headers[signature] = append(w.headers[signature], w.headers[signature]...) // which of the two?
		w.status = http.StatusForbidden
	case 5:
		w.method, w.status = of(g, []string{"GET", "HEAD", "PUT", "DELETE", "OPTIONS", "BREW"}), http.StatusMethodNotAllowed
	case 6:
		w.headers["Content-Encoding"] = []string{of(g, []string{"gzip", "identity, gzip", "\x7f"})}
		w.status = http.StatusUnsupportedMediaType
	case 7:
		w.path, w.status = of(g, []string{"/webhooks/twilio/", "/webhooks/telnyx/nothing", "/webhooks/nobody/status", "/webhooks/twilio/status/a/b", "/webhooks/telnyx/call/%2e%2e", "/webhooks/sip/progress", "/webhooks/twilio/record", "/webhooks/twilio/status/" + strings.Repeat("a", 101)}), http.StatusNotFound
	default: // one bit of what was signed
		at := g.IntN(len("nth="))
		w.body = w.body[:at] + string(w.body[at]^1) + w.body[at+1:]
		w.status = http.StatusForbidden
	}
	w.signed = false
	return w
}

func (g generator) spoilTwilio(w webhook) webhook {
	switch g.IntN(5) {
	case 0: // signed for another address
		w.headers["X-Twilio-Signature"] = []string{signTwilio(twilioKey, public+w.path+"/other", w.body)}
		w.status, w.signed = http.StatusForbidden, false
	case 1: // by somebody else's account
		w.headers["X-Twilio-Signature"] = []string{signTwilio(twilioKey+" ", public+w.path, w.body)}
		w.status, w.signed = http.StatusForbidden, false
	case 2: // what can be read in two ways cannot be judged: a name twice, no form, called something else
		w = twilioHook(w.path, w.body+of(g, []string{"&nth=7", "&%zz", "&a;b", "&%", "&nth"}))
		w.status, w.signed = http.StatusBadRequest, false
	case 3:
		w.headers["Content-Type"] = []string{of(g, []string{"application/json", "text/plain", "multipart/form-data", "\u00e9"})}
		w.status, w.signed = http.StatusBadRequest, false
	default:
		return g.spoil(w, "X-Twilio-Signature")
	}
	return w
}

func (g generator) spoilTelnyx(w webhook, now time.Time) webhook {
	switch g.IntN(5) {
	case 0: // signed too long ago, or not yet
		w = telnyxHook(w.path, w.body, now.Add(of(g, []time.Duration{-time.Hour, time.Hour, -100 * 365 * 24 * time.Hour})))
		w.status, w.signed = http.StatusForbidden, false
	case 1:
		w.headers["Telnyx-Timestamp"] = []string{of(g, []string{"", "now", "99999999999999999999", "-1", "1e9", "+" + w.headers["Telnyx-Timestamp"][0]})}
		w.status, w.signed = http.StatusForbidden, false
	case 2, 3: // rightly signed, and nothing that can be taken apart: not kept, and said so
		w = telnyxHook(w.path, of(g, []string{w.body[:len(w.body)-1], "\ufeff" + w.body, "", "nonsense", strings.Repeat("[", 20_000), `{"data":[]}`, `{"data":"x"}`, `{"data":{"payload":7}}`, "7", g.bytes(100)}), now)
		w.status = http.StatusBadRequest
	default:
		return g.spoil(w, "Telnyx-Signature-Ed25519")
	}
	return w
}
