package telnyx

import (
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"chasephone/internal/carrier"
	"chasephone/internal/phone"
)

const (
	goodID  = "v3:MdI91X4lWFEs7IgbBEOT9M4AigoY08M0WWZFISt1Yw2axZ_IiE4pqg"
	created = `{"data":{"call_control_id":"` + goodID + `","call_leg_id":"2dc6fc34-f9e0-11ea-b68e-02420a0f7768",` +
		`"call_session_id":"2dc1b3c8-f9e0-11ea-bc5a-02420a0f7768","is_alive":false,"record_type":"call"}}`
	ours   = "+14155550100"
	theirs = "+14155550123"
	state  = "dG9rLWVuXzE=" // tok-en_1
)

// request is what a Telnyx was asked.
type request struct {
	*http.Request
	body string
}

// stub is a Telnyx that gives the answers in turn, the last one again and again.
type stub struct {
	*httptest.Server
	requests chan request
}

func newStub(t *testing.T, status int, bodies ...string) stub {
	t.Helper()
	s := stub{requests: make(chan request, 20)}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		if got := r.Header.Get("Authorization"); got != "Bearer "+testKey {
			t.Errorf("authorized by %q", got)
		}
		n := len(s.requests)
		s.requests <- request{r, string(raw)}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, bodies[min(n, len(bodies)-1)])
	}))
	t.Cleanup(s.Close)
	return s
}

func testCall() carrier.Call {
	return carrier.Call{
		Token: "tok-en_1", To: phone.FromE164(theirs), From: phone.FromE164(ours),
		Script: "Hello <you> & yours", SendBy: time.Now().Add(30 * time.Second),
	}
}

func place(t *testing.T, a *Carrier, call carrier.Call) carrier.Answer {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	return a.Place(ctx, call)
}

func TestPlaceSendsExactly(t *testing.T) {
	t.Parallel()
	words := map[string]string{
		"connection_id": testConnection, "to": theirs, "from": ours, "command_id": "tok-en_1", "client_state": state,
		"webhook_url": "https://calls.example.com/base/webhooks/telnyx/call/tok-en_1", "webhook_url_method": "POST",
	}
	recording := maps.Clone(words)
	recording["audio_url"] = "https://voice.example.com/x.mp3?y=1&z=2"
	quiet := maps.Clone(recording)
	delete(quiet, "webhook_url")
	delete(quiet, "webhook_url_method")
	speaks := func(c *carrier.Call) { c.URL = "https://voice.example.com/x.mp3?y=1&z=2" }
	for _, row := range []struct {
		name   string
		config func(*Config)
		change func(*carrier.Call)
		want   map[string]string
	}{
		{"words", func(*Config) {}, func(*carrier.Call) {}, words},
		{"the line's own recording", func(*Config) {}, speaks, recording},
		{"without webhooks", func(c *Config) { c.PublicURL, c.PublicKey = "", "" }, speaks, quiet},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			server := newStub(t, 200, created)
			call := testCall()
			row.change(&call)
			if answer := place(t, newAccount(t, server.URL, row.config), call); answer != (carrier.Placed{CallID: goodID}) {
				t.Fatalf("answer %#v", answer)
			}
			r := <-server.requests
			var got map[string]string
			if err := json.Unmarshal([]byte(r.body), &got); err != nil || !maps.Equal(got, row.want) {
				t.Errorf("sent %s, %v\nwant %v", r.body, err, row.want)
			}
			if r.Method != http.MethodPost || r.RequestURI != "/v2/calls" || r.Header.Get("Content-Type") != "application/json" {
				t.Errorf("%s %s, %v", r.Method, r.RequestURI, r.Header)
			}
			if n := len(server.requests); n != 0 {
				t.Errorf("%d more requests", n)
			}
		})
	}
}

// What could never be a call, or would be a silent one, is answered without asking.
func TestPlaceWithoutRequest(t *testing.T) {
	t.Parallel()
	server := newStub(t, 200, created)
	for _, row := range []struct {
		name   string
		config func(*Config)
		change func(*carrier.Call)
		result carrier.Result
		code   string
	}{
		{"no number", nil, func(c *carrier.Call) { c.To = phone.Number{} }, carrier.ResultRefused, "number_missing"},
		{"no caller number", nil, func(c *carrier.Call) { c.From = phone.Number{} }, carrier.ResultNotPlaced, "caller_number_missing"},
		{"nothing to say", nil, func(c *carrier.Call) { c.Script = " \n" }, carrier.ResultRefused, "script_missing"},
		{"too much to say", nil, func(c *carrier.Call) { c.Script = strings.Repeat("x", 3001) }, carrier.ResultRefused, "script_too_long"},
		{"extension", nil, func(c *carrier.Call) { c.Extension = "44" }, carrier.ResultRefused, "extension_unsupported"},
		{"words without webhooks", func(c *Config) { c.PublicURL = "" }, func(*carrier.Call) {}, carrier.ResultNotPlaced, "webhooks_missing"},
		{"words without a key", func(c *Config) { c.PublicKey = "" }, func(*carrier.Call) {}, carrier.ResultNotPlaced, "webhooks_missing"},
		{"too late", nil, func(c *carrier.Call) { c.SendBy = time.Now() }, carrier.ResultNotPlaced, carrier.CodeSendByPassed},
	} {
		call := testCall()
		row.change(&call)
		config := row.config
		if config == nil {
			config = func(*Config) {}
		}
		answer := place(t, newAccount(t, server.URL, config), call)
		code := ""
		switch answer := answer.(type) {
		case carrier.Refused:
			code = answer.Code
		case carrier.NotPlaced:
			code = answer.Code
		}
		if carrier.ResultOf(answer) != row.result || code != row.code {
			t.Errorf("%s: %#v", row.name, answer)
		}
	}
	if n := len(server.requests); n != 0 {
		t.Errorf("%d requests were made", n)
	}
}

func TestFits(t *testing.T) {
	t.Parallel()
	a := newAccount(t, "http://127.0.0.1:1")
	for _, row := range []struct {
		name   string
		script string
		want   bool
	}{
		{"short", "x", true},
		{"exactly", strings.Repeat("x", a.MaxScript()), true},
		{"one more", strings.Repeat("x", a.MaxScript()+1), false},
		{"letters of two bytes count once", strings.Repeat("é", a.MaxScript()), true},
		{"what JSON escapes counts once", strings.Repeat("<", a.MaxScript()), true},
		{"emoji count twice", strings.Repeat("😀", a.MaxScript()/2+1), false},
		{"bad bytes count", strings.Repeat("\xff", a.MaxScript()+1), false},
	} {
		if got := a.Fits(row.script); got != row.want {
			t.Errorf("%s: %v", row.name, got)
		}
	}
	if a.Name() != "telnyx" || a.CallsPerSecond() != 0 || a.QueuesFor() != 0 {
		t.Errorf("%s, %v, %v", a.Name(), a.CallsPerSecond(), a.QueuesFor())
	}
}
