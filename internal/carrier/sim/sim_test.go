package sim

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const (
	account = "AC00000000000000000000000000000001"
	secret  = "secret-of-the-account"
	calls   = "/2010-04-01/Accounts/" + account + "/Calls"
	plainTo = "+14155550123"
)

// company is a Server under test, over real HTTP.
type company struct {
	*Server
	url    string
	client *http.Client
}

func newCompany(t *testing.T, o Options) company {
	t.Helper()
	if o.StatusDelay == 0 {
		o.StatusDelay = time.Millisecond
	}
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(s.Handler())
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	server.Start()
	t.Cleanup(func() {
		server.CloseClientConnections()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		server.Close()
	})
	return company{s, server.URL, &http.Client{
		Timeout:       20 * time.Second,
		Transport:     &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

func form(to string) url.Values {
	return url.Values{"To": {to}, "From": {"+14155550100"}, "Twiml": {"<Response><Say>Hi &amp; bye</Say></Response>"}}
}

// do sends a request with the account's credentials; the body is read, and err tells a
// reply that broke off.
func (c company) do(t *testing.T, method, path string, body url.Values) (status int, reply []byte, err error) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, c.url+path, strings.NewReader(body.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	r.SetBasicAuth(account, secret)
	if body != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	resp, err := c.client.Do(r)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	reply, err = io.ReadAll(resp.Body)
	return resp.StatusCode, reply, err
}

// known is how many calls the company knows of.
func (c company) known() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.order)
}

// place creates a call that must succeed, and returns it.
func (c company) place(t *testing.T, body url.Values) map[string]any {
	t.Helper()
	status, reply, err := c.do(t, "POST", calls+".json", body)
	if err != nil || status != http.StatusCreated {
		t.Fatalf("status %d, %v: %s", status, err, reply)
	}
	return parse(t, reply)
}

func parse(t *testing.T, raw []byte) map[string]any {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatalf("%v: %s", err, raw)
	}
	return v
}

// eventually waits until ok.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("never: %s", what)
		}
	}
}

func TestPlaceACall(t *testing.T) {
	t.Parallel()
	c := newCompany(t, Options{})
	body := form(plainTo)
	body.Set("StatusCallback", "http://127.0.0.1:1/webhooks/twilio/status/tok1")
	body.Set("SendDigits", "wwww44")
	call := c.place(t, body)
	if call["to"] != plainTo || call["status"] != "queued" || call["start_time"] != nil || !strings.HasPrefix(call["sid"].(string), "CA") {
		t.Errorf("call %v", call)
	}
	r := c.Rings()
	want := Entry{Request: 1, Rang: true, Token: "tok1", To: plainTo, From: "+14155550100", Account: account, Say: "Hi & bye", SendDigits: "wwww44"}
	got := r.Entries[0]
	want.At, want.SID = got.At, call["sid"].(string)
	if got != want || r.Rings != 1 || r.ByTo[plainTo] != (Tally{1, 1}) || r.ByToken["tok1"] != (Tally{1, 1}) {
		t.Errorf("book %+v", r)
	}
}

func TestWhatTwilioRefuses(t *testing.T) {
	t.Parallel()
	c := newCompany(t, Options{})
	for _, row := range []struct {
		name, field, value string
		code               float64
	}{
		{"no To", "To", "", 21201},
		{"no From", "From", "", 21213},
		{"To is no number", "To", "4155550123", 21211},
		{"To too long", "To", "+1415555012301234", 21211},
		{"From is no number", "From", "me", 21212},
		{"nothing to say", "Twiml", "", 21205},
		{"Url is none", "Url", "speak", 21205},
		{"too much to say", "Twiml", strings.Repeat("x", 4001), 20001},
		{"keys that are none", "SendDigits", "4x", 21206},
		{"no callback", "StatusCallback", "nowhere", 21609},
	} {
		body := form(plainTo)
		body.Set(row.field, row.value)
		status, raw, err := c.do(t, "POST", calls+".json", body)
		reply := parse(t, raw)
		if err != nil || status != 400 || reply["code"] != row.code || reply["status"] != 400.0 || reply["message"] == "" {
			t.Errorf("%s: %d %v, %v", row.name, status, reply, err)
		}
	}
	for name, change := range map[string]func(*http.Request){
		"no credentials":    func(*http.Request) {},
		"empty token":       func(r *http.Request) { r.SetBasicAuth(account, "") },
		"another's account": func(r *http.Request) { r.SetBasicAuth("AC2", secret) },
	} {
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, c.url+calls+".json", strings.NewReader(form(plainTo).Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		change(r)
		resp, err := c.client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		raw, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if reply := parse(t, raw); resp.StatusCode != http.StatusUnauthorized || reply["code"] != 20003.0 {
			t.Errorf("%s: %d %v", name, resp.StatusCode, reply)
		}
	}
	if r := c.Rings(); r.Rings != 0 || r.Requests != 13 {
		t.Errorf("the book has %+v", r.Tally)
	}
}

func TestKnownAccountsOnly(t *testing.T) {
	t.Parallel()
	c := newCompany(t, Options{Accounts: map[string]string{account: "another"}})
	if status, raw, err := c.do(t, "POST", calls+".json", form(plainTo)); status != 401 {
		t.Errorf("%d %s, %v", status, raw, err)
	}
	c = newCompany(t, Options{Accounts: map[string]string{account: secret}})
	c.place(t, form(plainTo))
}

// What the carrier's own records say of a lost call: found by To and From.
func TestListAndFetch(t *testing.T) {
	t.Parallel()
	c := newCompany(t, Options{Rules: []Rule{{To: "*", Final: "queued"}}})
	first := c.place(t, form(plainTo))
	second := c.place(t, form(plainTo))
	c.place(t, form("+14155550124"))

	status, raw, err := c.do(t, "GET", calls+".json?To="+url.QueryEscape(plainTo)+"&From=%2B14155550100&PageSize=1", nil)
	list := parse(t, raw)
	if err != nil || status != 200 || len(list["calls"].([]any)) != 1 || list["calls"].([]any)[0].(map[string]any)["sid"] != second["sid"] {
		t.Fatalf("%d %s, %v", status, raw, err)
	}
	status, raw, err = c.do(t, "GET", list["next_page_uri"].(string), nil)
	list = parse(t, raw)
	if err != nil || status != 200 || list["next_page_uri"] != nil || list["calls"].([]any)[0].(map[string]any)["sid"] != first["sid"] {
		t.Errorf("%d %s, %v", status, raw, err)
	}
	status, raw, err = c.do(t, "GET", calls+"/"+first["sid"].(string)+".json", nil)
	if call := parse(t, raw); err != nil || status != 200 || call["status"] != "queued" {
		t.Errorf("%d %v, %v", status, call, err)
	}
	if status, _, _ = c.do(t, "GET", calls+"/CA00000000000000000000000000000000.json", nil); status != 404 {
		t.Errorf("a call that is none: %d", status)
	}
}

func TestCancelAndHangUp(t *testing.T) {
	t.Parallel()
	c := newCompany(t, Options{Rules: []Rule{{To: "*", Final: "queued"}}})
	call := c.place(t, form(plainTo))
	path := calls + "/" + call["sid"].(string) + ".json"
	if status, raw, _ := c.do(t, "POST", path, url.Values{"Status": {"paused"}}); status != 400 {
		t.Errorf("paused: %d %s", status, raw)
	}
	if status, raw, _ := c.do(t, "POST", path, url.Values{"Status": {"canceled"}}); status != 200 || parse(t, raw)["status"] != "canceled" {
		t.Errorf("canceled: %d %s", status, raw)
	}
	if status, raw, _ := c.do(t, "POST", path, url.Values{"Status": {"completed"}}); status != 400 || parse(t, raw)["code"] != 21220.0 {
		t.Errorf("completed after that: %d %s", status, raw)
	}
}

func TestLatency(t *testing.T) {
	t.Parallel()
	const latency = 50 * time.Millisecond
	c := newCompany(t, Options{Latency: latency})
	began := time.Now()
	c.place(t, form(plainTo))
	if took := time.Since(began); took < latency {
		t.Errorf("took %v", took)
	}
}

func TestLogHoldsNoNumber(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	c := newCompany(t, Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
	c.place(t, form(plainTo))
	_, _, _ = c.do(t, "POST", calls+".json", form("4155550123"))
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if text := log.String(); strings.Contains(text, "4155550123") || !strings.Contains(text, "+*********23") {
		t.Error(text)
	}
}

func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "rings.jsonl")
	c := newCompany(t, Options{Book: path, NoSync: true, PlainNumbers: true})
	const callers, each = 8, 25
	done := make(chan bool)
	for range callers {
		go func() {
			for range each {
				_, _, _ = c.do(t, "POST", calls+".json", form("+14155550000"))
			}
			done <- true
		}()
	}
	for range callers {
		<-done
	}
	r, err := ReadBook(path)
	if err != nil || r.ByTo["+14155550000"] != (Tally{callers * each, callers * each}) {
		t.Errorf("%+v, %v", r.ByTo, err)
	}
	for i, e := range r.Entries {
		if e.Request != i+1 {
			t.Fatalf("entry %d is request %d", i, e.Request)
		}
	}
}
