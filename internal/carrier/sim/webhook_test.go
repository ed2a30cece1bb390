package sim

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// The example of Twilio's own libraries' tests.
func TestSign(t *testing.T) {
	t.Parallel()
	form := url.Values{
		"CallSid": {"CA1234567890ABCDE"}, "Caller": {"+14158675309"}, "Digits": {"1234"},
		"From": {"+14158675309"}, "To": {"+18005551212"},
	}
	if got := Sign("12345", "https://mycompany.com/myapp.php?foo=1&bar=2", form); got != "RSOYDt4T1cUTdK1PDd93/VVr8B8=" {
		t.Errorf("signed %s", got)
	}
}

// hooks is what a daemon's webhook endpoint has taken: "initiated 0", "ringing 1", ….
type hooks struct {
	*httptest.Server
	mu   sync.Mutex
	seen []string
}

func newHooks(t *testing.T) *hooks {
	t.Helper()
	h := &hooks{}
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := r.ParseForm(); err != nil {
			t.Error(err)
		}
		if want := Sign(secret, h.URL+r.RequestURI, r.PostForm); r.Header.Get("X-Twilio-Signature") != want {
			t.Errorf("signature %q", r.Header.Get("X-Twilio-Signature"))
		}
		if r.URL.Path != "/status/tok1" || r.PostForm.Get("AccountSid") != account || r.PostForm.Get("To") != plainTo {
			t.Errorf("%s %v", r.URL, r.PostForm)
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		h.seen = append(h.seen, r.PostForm.Get("CallStatus")+" "+r.PostForm.Get("SequenceNumber"))
		w.WriteHeader(http.StatusNoContent)
	}))
	t.Cleanup(h.Close)
	return h
}

func (h *hooks) list() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.seen)
}

func (h *hooks) form() url.Values {
	f := form(plainTo)
	f.Set("StatusCallback", h.URL+"/status/tok1")
	f["StatusCallbackEvent"] = []string{"initiated", "ringing", "answered", "completed"}
	return f
}

func TestWebhooks(t *testing.T) {
	t.Parallel()
	all := []string{"initiated 0", "ringing 1", "in-progress 2", "completed 3"}
	for _, row := range []struct {
		name   string
		rule   Rule
		events []string // asked for; nil: all
		want   []string
		sorted bool // the order is not said
	}{
		{name: "normal", want: all},
		{name: "early", rule: Rule{Webhooks: Early}, want: all},
		{name: "early, and never answered", rule: Rule{Webhooks: Early, Final: "failed"}, want: []string{"initiated 0", "failed 1"}},
		{name: "late", rule: Rule{Webhooks: Late}, want: all, sorted: true},
		{name: "doubled", rule: Rule{Webhooks: Doubled}, want: []string{all[0], all[0], all[1], all[1], all[2], all[2], all[3], all[3]}},
		{name: "reversed", rule: Rule{Webhooks: Reversed}, want: []string{all[3], all[2], all[1], all[0]}},
		{name: "busy", rule: Rule{Final: "busy"}, want: []string{"initiated 0", "ringing 1", "busy 2"}},
		{name: "failed", rule: Rule{Final: "failed"}, want: []string{"initiated 0", "failed 1"}},
		{name: "the end only", events: []string{"completed"}, want: []string{"completed 3"}},
		{name: "as it is without events", events: []string{}, want: []string{"completed 3"}},
		{name: "of a call whose reply is lost", rule: Rule{Fault: "drop_reply"}, want: all},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			h := newHooks(t)
			row.rule.To = "*"
			c := newCompany(t, Options{Rules: []Rule{row.rule}})
			body := h.form()
			if row.events != nil {
				body["StatusCallbackEvent"] = row.events
			}
			_, _, _ = c.do(t, "POST", calls+".json", body)
			if row.rule.Webhooks == Early && len(h.list()) == 0 {
				t.Error("no webhook came before the answer")
			}
			eventually(t, "all webhooks", func() bool { return len(h.list()) >= len(row.want) })
			got := h.list()
			if row.sorted {
				slices.Sort(got)
				row.want = slices.Sorted(slices.Values(row.want))
			}
			if !slices.Equal(got, row.want) {
				t.Errorf("got %q\nwant %q", got, row.want)
			}
		})
	}
}

func TestSilent(t *testing.T) {
	t.Parallel()
	h := newHooks(t)
	c := newCompany(t, Options{Rules: []Rule{{To: "*", Webhooks: Silent}}})
	sid := c.place(t, h.form())["sid"]
	eventually(t, "the call is over", func() bool {
		_, raw, _ := c.do(t, "GET", fmt.Sprintf("%s/%s.json", calls, sid), nil)
		return strings.Contains(string(raw), `"status":"completed"`)
	})
	if got := h.list(); len(got) > 0 {
		t.Errorf("got %q", got)
	}
}

func TestCancelledCallTellsItsEnd(t *testing.T) {
	t.Parallel()
	h := newHooks(t)
	c := newCompany(t, Options{Rules: []Rule{{To: "*", Final: "queued"}}})
	sid := c.place(t, h.form())["sid"]
	if status, raw, _ := c.do(t, "POST", fmt.Sprintf("%s/%s.json", calls, sid), url.Values{"Status": {"canceled"}}); status != 200 {
		t.Fatalf("%d %s", status, raw)
	}
	eventually(t, "its webhook", func() bool { return slices.Equal(h.list(), []string{"canceled 0"}) })
}

// A call that was hung up while its last step was due ended as it was hung up.
func TestTheFirstEndStays(t *testing.T) {
	t.Parallel()
	c := newCompany(t, Options{})
	one := newCall(Entry{}, url.Values{}, secret, Rule{})
	c.end(one, "canceled")
	if e := c.step(one, event{name: "completed", status: "completed"}); e.status != "canceled" || one.status != "canceled" {
		t.Errorf("%+v, %s", e, one.status)
	}
}

// Nobody who takes webhooks slowly holds up the end.
func TestCloseWaitsForNobody(t *testing.T) {
	t.Parallel()
	asked := make(chan bool, 10)
	slow := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm() // a server sees its client go only once it has read the body
		asked <- true
		<-r.Context().Done()
	}))
	defer slow.Close()
	c := newCompany(t, Options{})
	body := form(plainTo)
	body.Set("StatusCallback", slow.URL+"/status/tok1")
	c.place(t, body)
	<-asked
	began := time.Now()
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("took %v", took)
	}
}
