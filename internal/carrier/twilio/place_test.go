package twilio

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"chasephone/internal/carrier"
	"chasephone/internal/phone"
)

const (
	testSID   = "AC00000000000000000000000000000001"
	testToken = "secret-of-the-account"
)

// stub is a Twilio that records the requests it gets and answers 201.
type stub struct {
	*httptest.Server
	requests chan *http.Request // their forms parsed
}

func newStub(t *testing.T) stub {
	t.Helper()
	requests := make(chan *http.Request, 10)
	s := stub{requests: requests, Server: httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := r.ParseForm(); err != nil {
			t.Error(err)
		}
		requests <- r
		w.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(w, created)
	}))}
	t.Cleanup(s.Close)
	return s
}

func newAccount(t testing.TB, base, public string) *Carrier {
	t.Helper()
	a, err := New(Config{AccountSID: testSID, AuthToken: testToken, BaseURL: base, PublicURL: public},
		carrier.NewTransport(carrier.Options{Carrier: Name, AllowLoopback: true}))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func testCall() carrier.Call {
	return carrier.Call{
		Token: "tok-en_1", To: phone.FromE164("+14155550123"), From: phone.FromE164("+14155550100"),
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
	callback := url.Values{
		"StatusCallback":       {"https://calls.example.com/base/webhooks/twilio/status/tok-en_1"},
		"StatusCallbackMethod": {"POST"},
		"StatusCallbackEvent":  {"initiated", "ringing", "answered", "completed"},
	}
	twiml := url.Values{
		"To": {"+14155550123"}, "From": {"+14155550100"},
		"Twiml": {"<Response><Say>Hello &lt;you&gt; &amp; yours</Say></Response>"},
	}
	for _, row := range []struct {
		name   string
		public string
		change func(*carrier.Call)
		want   []url.Values
	}{
		{name: "words", want: []url.Values{twiml}},
		{name: "with status webhooks", public: "https://calls.example.com/base/", want: []url.Values{twiml, callback}},
		{
			name: "the line's own URL speaks", change: func(c *carrier.Call) { c.URL = "https://voice.example.com/x?y=1&z=2" },
			want: []url.Values{{"To": {"+14155550123"}, "From": {"+14155550100"}, "Url": {"https://voice.example.com/x?y=1&z=2"}}},
		},
		{ // the case extension-glued-on: never part of the number
			name: "extension", change: func(c *carrier.Call) { c.Extension = "44" },
			want: []url.Values{twiml, {"SendDigits": {"wwww44"}}},
		},
		{
			name: "extension with keys", change: func(c *carrier.Call) { c.Extension = "*4w#" },
			want: []url.Values{twiml, {"SendDigits": {"wwww*4w#"}}},
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			server := newStub(t)
			call := testCall()
			if row.change != nil {
				row.change(&call)
			}
			answer := place(t, newAccount(t, server.URL, row.public), call)
			if answer != (carrier.Placed{CallID: goodSID, Status: "queued"}) {
				t.Fatalf("answer %#v", answer)
			}
			r := <-server.requests
			want := url.Values{}
			for _, part := range row.want {
				for k, v := range part {
					want[k] = v
				}
			}
			if fmt.Sprint(r.PostForm) != fmt.Sprint(want) {
				t.Errorf("sent %v\nwant %v", r.PostForm, want)
			}
			if user, password, _ := r.BasicAuth(); user != testSID || password != testToken {
				t.Errorf("authenticated as %q, %q", user, password)
			}
			if r.Method != http.MethodPost || r.RequestURI != "/2010-04-01/Accounts/"+testSID+"/Calls.json" ||
				r.Header.Get("Content-Type") != "application/x-www-form-urlencoded" {
				t.Errorf("%s %s, %v", r.Method, r.RequestURI, r.Header)
			}
			if n := len(server.requests); n != 0 {
				t.Errorf("%d more requests", n)
			}
		})
	}
}

// What could never be a call is answered without asking.
func TestPlaceWithoutRequest(t *testing.T) {
	t.Parallel()
	server := newStub(t)
	a := newAccount(t, server.URL, "")
	for _, row := range []struct {
		name   string
		change func(*carrier.Call)
		result carrier.Result
		code   string
	}{
		{"no number", func(c *carrier.Call) { c.To = phone.Number{} }, carrier.ResultRefused, "number_missing"},
		{"no caller number", func(c *carrier.Call) { c.From = phone.Number{} }, carrier.ResultNotPlaced, "caller_number_missing"},
		{"nothing to say", func(c *carrier.Call) { c.Script = " \n" }, carrier.ResultRefused, "script_missing"},
		{"too much to say", func(c *carrier.Call) { c.Script = strings.Repeat("&", 1000) }, carrier.ResultRefused, "script_too_long"},
		{"extension of letters", func(c *carrier.Call) { c.Extension = "4a" }, carrier.ResultRefused, "extension_invalid"},
		{"extension of pauses", func(c *carrier.Call) { c.Extension = "ww" }, carrier.ResultRefused, "extension_invalid"},
		{"extension too long", func(c *carrier.Call) { c.Extension = strings.Repeat("4", 29) }, carrier.ResultRefused, "extension_invalid"},
		{"too late", func(c *carrier.Call) { c.SendBy = time.Now() }, carrier.ResultNotPlaced, carrier.CodeSendByPassed},
	} {
		call := testCall()
		row.change(&call)
		answer := place(t, a, call)
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
