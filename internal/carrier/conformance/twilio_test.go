package conformance_test

import (
	"crypto/hmac"
	"crypto/sha1"
	"encoding/base64"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"chasephone/internal/carrier"
	"chasephone/internal/carrier/twilio"
	"chasephone/internal/drain"
)

const (
	twilioSID    = "AC00000000000000000000000000000001"
	twilioSecret = "secret-of-the-twilio-account"
	twilioCall   = "CA0123456789abcdef0123456789ABCDEF"
)

func newTwilio(t *testing.T, base string, tr *carrier.Transport) drain.Carrier {
	t.Helper()
	a, err := twilio.New(twilio.Config{AccountSID: twilioSID, AuthToken: twilioSecret, BaseURL: base, PublicURL: public}, tr)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// farTwilio speaks as Twilio does.
type farTwilio struct{ web }

func (farTwilio) secrets() []string {
	return []string{twilioSecret, base64.StdEncoding.EncodeToString([]byte(twilioSID + ":" + twilioSecret))}
}

func (farTwilio) tokens(m *message) []string {
	form, _ := url.ParseQuery(m.body)
	escaped, _ := strings.CutPrefix(form.Get("StatusCallback"), public+"/webhooks/twilio/status/")
	token, _ := url.PathUnescape(escaped)
	return []string{token}
}

func (farTwilio) named(*message) string { return twilioCall }

func (f farTwilio) placed(m *message) string { return f.placedAs(m, twilioCall) }

func (farTwilio) placedAs(_ *message, id string) string {
	return json(201, fmt.Sprintf(`{"sid":%q,"status":"queued"}`, id))
}

func (farTwilio) placedAsNobody(*message) string { return json(201, `{"status":"queued"}`) }

func (farTwilio) refused(_ *message, text string) string  { return twilioError(400, 21211, text) }
func (farTwilio) notNow(_ *message, text string) string   { return twilioError(429, 20429, text) }
func (farTwilio) ourFault(_ *message, text string) string { return twilioError(401, 20003, text) }

func twilioError(status, code int, text string) string {
	return json(status, fmt.Sprintf(`{"code":%d,"message":%q,"more_info":"https://www.twilio.com/docs","status":%d}`, code, text, status))
}

func (farTwilio) wrong(status int, text string) string {
	return twilioError(status, 20000+status, text)
}
func (farTwilio) id() string   { return twilioCall }
func (farTwilio) none() string { return `{"calls":[],"next_page_uri":null}` }

// signed is a webhook, signed by Twilio's rule and with nothing of the carrier's own code. Its
// time is in what is signed nowhere.
func (farTwilio) signed(key byte, target, body string, _ time.Time) (map[string]string, string) {
	secret := twilioSecret
	if key != ourKey {
		secret += "s"
	}
	form, _ := url.ParseQuery(body)
	mac := hmac.New(sha1.New, []byte(secret))
	mac.Write([]byte(target))
	for _, name := range slices.Sorted(maps.Keys(form)) {
		mac.Write([]byte(name + form.Get(name)))
	}
	return map[string]string{"Content-Type": "application/x-www-form-urlencoded"}, base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

func (farTwilio) signature() string { return "X-Twilio-Signature" }

func (farTwilio) webhook() string {
	return "AccountSid=" + twilioSID + "&CallSid=" + twilioCall + "&CallStatus=ringing&From=%2B14155550100&To=%2B14155550123"
}

func (farTwilio) covers() covers { return covers{url: true} }
