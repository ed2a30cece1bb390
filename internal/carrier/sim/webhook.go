package sim

import (
	"crypto/hmac"
	"crypto/sha1" //nolint:gosec // Twilio's choice
	"encoding/base64"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Sign is Twilio's X-Twilio-Signature: HMAC-SHA1, keyed with the account's auth token, over
// the URL and then every parameter's name and value, sorted by name.
func Sign(token, target string, form url.Values) string {
	mac := hmac.New(sha1.New, []byte(token))
	mac.Write([]byte(target))
	for _, name := range slices.Sorted(maps.Keys(form)) {
		for _, value := range form[name] {
			mac.Write([]byte(name + value))
		}
	}
	return base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// deliver posts one status webhook, if it was asked for. Whoever does not take it does not
// get it again, and does not hold up the end of the Server.
func (s *Server) deliver(c *call, e event) {
	if c.callback == "" || !slices.Contains(c.events, e.name) {
		return
	}
	form := url.Values{
		"AccountSid": {c.account}, "ApiVersion": {"2010-04-01"}, "CallSid": {c.sid}, "CallStatus": {e.status},
		"CallbackSource": {"call-progress-events"}, "Direction": {"outbound-api"},
		"To": {c.to}, "Called": {c.to}, "From": {c.from}, "Caller": {c.from},
		"SequenceNumber": {strconv.Itoa(e.number)}, "Timestamp": {date(e.at).(string)},
	}
	if e.name == "completed" {
		form.Set("CallDuration", "0")
		form.Set("Duration", "0")
	}
	//nolint:gosec // whoever places a call says where its webhooks go, as at Twilio
	r, err := http.NewRequestWithContext(s.alive, http.MethodPost, c.callback, strings.NewReader(form.Encode()))
	if err != nil {
		s.log.Warn("status webhook not sent", "call", c.sid, "error", err)
		return
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("User-Agent", "TwilioProxy/1.1")
	r.Header.Set("X-Twilio-Signature", Sign(c.token, c.callback, form))
	resp, err := s.client.Do(r) //nolint:gosec // the same
	if err != nil {
		var cause *url.Error
		if errors.As(err, &cause) {
			err = cause.Err // without the URL, which has the attempt's token
		}
		s.log.Warn("status webhook not taken", "call", c.sid, "event", e.name, "error", err)
		return
	}
	_ = resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		s.log.Warn("status webhook refused", "call", c.sid, "event", e.name, "status", resp.StatusCode)
	}
}
