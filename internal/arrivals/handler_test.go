package arrivals_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"chasephone/internal/arrivals"
	"chasephone/internal/carrier"
)

func header(name string, values ...string) func(*http.Request) {
	return func(r *http.Request) { r.Header[http.CanonicalHeaderKey(name)] = values }
}

func signed(secret, url, body string) func(*http.Request) {
	return header("X-Test-Signature", sign(secret, url, body))
}

// Every kind of delivery, what it is answered with and counted as, and whether it is kept.
func TestDeliveries(t *testing.T) {
	t.Parallel()
	const status = "/webhooks/acme/status"
	longest := strings.Repeat("t", 100)
	for name, one := range map[string]struct {
		path, body string
		change     func(*http.Request)
		status     int
		result     string
	}{
		"signed":                     {path: status, body: "a", status: 200, result: "kept"},
		"with a token":               {path: status + "/tok-en_1", body: "a", status: 200, result: "kept"},
		"the longest token":          {path: status + "/" + longest, body: "a", status: 200, result: "kept"},
		"prefix kept by the proxy":   {path: "/base" + status + "/tok", body: "a", status: 200, result: "kept"},
		"by another account":         {path: status, body: "a", change: signed("second", public+status, "a"), status: 200, result: "kept"},
		"of nobody here":             {path: status, body: "foreign", status: 200, result: "foreign"},
		"empty":                      {path: status, body: "", status: 200, result: "kept"},
		"identity is no encoding":    {path: status, body: "a", change: header("Content-Encoding", "Identity"), status: 200, result: "kept"},
		"signed with its query":      {path: status + "?x=1", body: "a", status: 200, result: "kept"},
		"query added":                {path: status + "?x=1", body: "a", change: signed("first", public+status, "a"), status: 403, result: "forged"},
		"a bare ? added":             {path: status + "?", body: "a", change: signed("first", public+status, "a"), status: 403, result: "forged"},
		"forged":                     {path: status, body: "a", change: header("X-Test-Signature", "00"), status: 403, result: "forged"},
		"another body":               {path: status, body: "a", change: signed("first", public+status, "b"), status: 403, result: "forged"},
		"another token":              {path: status + "/tok", body: "a", change: signed("first", public+status+"/other", "a"), status: 403, result: "forged"},
		"of old":                     {path: status, body: "a", change: signed("first of old", public+status, "a"), status: 403, result: "stale"},
		"unsigned":                   {path: status, body: "a", change: header("X-Test-Signature"), status: 400, result: "malformed"},
		"signed twice":               {path: status, body: "a", change: header("X-Test-Signature", sign("first", public+status, "a"), "00"), status: 400, result: "malformed"},
		"signed and unreadable":      {path: status, body: "?", status: 400, result: "malformed"},
		"as large as can be":         {path: status, body: strings.Repeat("x", mostBody), status: 200, result: "kept"},
		"too large":                  {path: status, body: strings.Repeat("x", mostBody+1), status: 413, result: "too_large"},
		"too large, length not said": {path: status, body: strings.Repeat("x", mostBody+1), change: func(r *http.Request) { r.ContentLength = -1 }, status: 413, result: "too_large"},
		"packed":                     {path: status, body: "a", change: header("Content-Encoding", "gzip"), status: 415, result: "refused"},
		"no such kind":               {path: "/webhooks/acme/statuses", body: "a", status: 404, result: "refused"},
		"no kind":                    {path: "/webhooks/acme", body: "a", status: 404, result: "refused"},
		"an empty token":             {path: status + "/", body: "a", status: 404, result: "refused"},
		"too long a token":           {path: status + "/" + longest + "t", body: "a", status: 404, result: "refused"},
		"an odd token":               {path: status + "/a.b", body: "a", status: 404, result: "refused"},
		"a token in disguise":        {path: status + "/a%2Db", body: "a", status: 404, result: "refused"},
		"one part too many":          {path: status + "/a/b", body: "a", status: 404, result: "refused"},
		"another prefix":             {path: "/other" + status, body: "a", status: 404},
		"two slashes":                {path: "/" + status, body: "a", status: 404},
		"no such carrier":            {path: "/webhooks/nobody/status", body: "a", status: 404},
		"something else":             {path: "/", body: "a", status: 404},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := serve(t, nil)
			var change []func(*http.Request)
			if one.change != nil {
				change = append(change, one.change)
			}
			response := d.post(t, one.path, one.body, change...)
			if response.StatusCode != one.status {
				t.Errorf("status %d, want %d", response.StatusCode, one.status)
			}
			total := 0
			for _, result := range []string{"kept", "foreign", "forged", "stale", "malformed", "too_large", "refused", "failed"} {
				n := d.count(t, "acme", result)
				if total += n; (result == one.result) != (n == 1) {
					t.Errorf("%d counted as %s", n, result)
				}
			}
			if kept := len(d.store.bodies()); (kept == 1) != (one.status == 200) {
				t.Errorf("%d kept", kept)
			}
			if h := response.Header; h.Get("Cache-Control") != "no-store" || h.Get("X-Content-Type-Options") != "nosniff" {
				t.Errorf("headers %v", h)
			}
		})
	}
}

func TestArrivalAsItIsKept(t *testing.T) {
	t.Parallel()
	d := serve(t, nil)
	const path = "/base/webhooks/acme/message/tok?x=1"
	response := d.post(t, path, "CA1", signed("second", "https://calls.example.com"+path, "CA1"), header("X-Twice", "a", "b"), header("X-Once", "a"))
	if text, err := io.ReadAll(response.Body); err != nil || string(text) != "<Response/>" || response.Header.Get("Content-Type") != "text/xml" {
		t.Errorf("%q, %v, %v", text, err, response.Header)
	}
	a := d.store.kept[0]
	if len(a.Accounts) != 1 || a.Accounts[0] != "acme/SECOND" || a.Report.ID != "CA1" || a.Report.Token != "tok" {
		t.Errorf("%+v", a)
	}
	got := a.Delivery
	if got.Kind != "message" || got.Token != "tok" || string(got.Body) != "CA1" || got.URL != public+"/webhooks/acme/message/tok?x=1" {
		t.Errorf("%+v", got)
	}
	if got.Header("x-once") != "a" || got.Header("X-Twice") != "" || got.Header("X-Never") != "" {
		t.Errorf("headers %q %q %q", got.Header("x-once"), got.Header("X-Twice"), got.Header("X-Never"))
	}
}

// Whoever sends a request chooses its Host and what it says of proxies: neither decides anything.
func TestHostDecidesNothing(t *testing.T) {
	t.Parallel()
	d := serve(t, nil)
	lies := []func(*http.Request){
		func(r *http.Request) { r.Host = "evil.example.com" },
		header("X-Forwarded-Host", "evil.example.com"), header("X-Forwarded-Proto", "http"),
		header("X-Forwarded-Prefix", "/x"), header("Forwarded", "host=evil.example.com;proto=http"),
	}
	if r := d.post(t, "/webhooks/acme/status", "a", lies...); r.StatusCode != 200 {
		t.Errorf("signed for PUBLIC_URL: %d", r.StatusCode)
	}
	lies = append(lies, signed("first", "http://evil.example.com/x/webhooks/acme/status", "b"))
	if r := d.post(t, "/webhooks/acme/status", "b", lies...); r.StatusCode != 403 {
		t.Errorf("signed for another host: %d", r.StatusCode)
	}
}

func TestOnlyPostChangesAnything(t *testing.T) {
	t.Parallel()
	d := serve(t, nil)
	methods := []string{"GET", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "post", "BREW"}
	for _, method := range methods {
		r := d.post(t, "/webhooks/acme/status", "a", func(r *http.Request) { r.Method = method })
		if r.StatusCode != 405 || r.Header.Get("Allow") != "POST" {
			t.Errorf("%s: %d, allow %q", method, r.StatusCode, r.Header.Get("Allow"))
		}
	}
	if n := d.count(t, "acme", "refused"); n != len(methods) || len(d.store.bodies()) != 0 {
		t.Errorf("%d refused, kept %v", n, d.store.bodies())
	}
}

func TestWithoutPublicURL(t *testing.T) {
	t.Parallel()
	d := serve(t, func(d *desk, _ *http.Server) { d.handler.PublicURL = "" })
	r := d.post(t, "/webhooks/acme/status", "a", signed("first", "/webhooks/acme/status", "a"))
	if text, err := io.ReadAll(r.Body); r.StatusCode != 404 || err != nil || !strings.Contains(string(text), "PUBLIC_URL is not set") {
		t.Errorf("%d %q %v", r.StatusCode, text, err)
	}
	if n := d.count(t, "acme", "refused"); n != 1 || len(d.store.bodies()) != 0 {
		t.Errorf("%d refused, kept %v", n, d.store.bodies())
	}
}

func TestPublicURLs(t *testing.T) {
	t.Parallel()
	const tail = "/webhooks/acme/status/t"
	for _, one := range []struct{ public, path string }{
		{"https://x.example", tail},
		{"https://x.example/", tail},
		{"https://x.example/base/", "/base" + tail},
		{"https://x.example/webhooks", "/webhooks" + tail},
		{"https://x.example/webhooks", tail},
		{"https://x.example/a%2Fb", "/a%2Fb" + tail},
		{"https://x.example/a%2Fb", tail},
	} {
		d := serve(t, func(d *desk, _ *http.Server) { d.handler.PublicURL = one.public })
		if r := d.post(t, one.path, "a", signed("first", strings.TrimRight(one.public, "/")+tail, "a")); r.StatusCode != 200 {
			t.Errorf("%s, %s: %d", one.public, one.path, r.StatusCode)
		}
	}
}

func TestNotStored(t *testing.T) {
	t.Parallel()
	d := serve(t, func(d *desk, _ *http.Server) {
		d.handler.Keep = func(context.Context, arrivals.Arrival) (bool, error) {
			return false, &arrivals.RowError{Err: quoting{}}
		}
	})
	for range 3 {
		r := d.post(t, "/webhooks/acme/status/secret-token", "the words of a person")
		if r.StatusCode != 503 || r.Header.Get("Retry-After") != "5" {
			t.Errorf("%d, retry after %q", r.StatusCode, r.Header.Get("Retry-After"))
		}
	}
	logged := d.logged.get()
	if len(logged) != 1 || strings.Contains(logged[0], "words") || strings.Contains(logged[0], "secret") || !strings.Contains(logged[0], "22P02") {
		t.Errorf("logged %q", logged)
	}
	if n := d.count(t, "acme", "failed"); n != 3 {
		t.Errorf("%d failed", n)
	}
}

// quoting is what PostgreSQL says of a text that is no date.
type quoting struct{}

func (quoting) Error() string    { return `invalid input syntax for type date: "the words of a person"` }
func (quoting) SQLState() string { return "22P02" }

// A forger fills neither the disk nor the registry, and reads nothing of what he sent.
func TestForgerLeavesNoTrace(t *testing.T) {
	t.Parallel()
	d := serve(t, nil)
	const word = "4155550123"
	for i := range 200 {
		path := fmt.Sprintf("/webhooks/acme/status/%s-%d", word, i)
		for _, p := range []string{path, path + "?" + word, "/webhooks/" + word, "/webhooks/acme/" + word, "/" + word} {
			r := d.post(t, p, word, header("X-Test-Signature", word))
			if text, err := io.ReadAll(r.Body); err != nil || r.StatusCode/100 != 4 || strings.Contains(string(text)+fmt.Sprint(r.Header), word) {
				t.Fatalf("%s: %d %q %v %v", p, r.StatusCode, text, r.Header, err)
			}
		}
	}
	if n, err := testutil.GatherAndCount(d.registry); n != 2*8 || err != nil {
		t.Errorf("%d series, %v; want 2 carriers by 8 results", n, err)
	}
	if problems, err := testutil.GatherAndLint(d.registry); err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", problems, err)
	}
	if logged := d.logged.get(); len(logged) != 1 || strings.Contains(logged[0], word) {
		t.Errorf("logged %q", logged)
	}
	if n := d.count(t, "acme", "forged"); n != 400 {
		t.Errorf("%d forged", n)
	}
}

func TestCarrierWithoutAccount(t *testing.T) {
	t.Parallel()
	d := serve(t, nil)
	if r := d.post(t, "/webhooks/silent/status", "a"); r.StatusCode != 403 || d.count(t, "silent", "forged") != 1 {
		t.Errorf("%d", r.StatusCode)
	}
}

// One account that knows its own signature is right, whatever the others make of it.
func TestAccountsInAnyOrder(t *testing.T) {
	t.Parallel()
	says := func(err error) arrivals.Account {
		return arrivals.Account{Name: "acme", Verify: func(carrier.Delivery) error { return err }}
	}
	forged, malformed, stale, signed := errors.New("forged"), carrier.ErrMalformed, fmt.Errorf("it is 1970: %w", carrier.ErrStale), error(nil)
	for _, one := range []struct {
		accounts []error
		result   string
	}{
		{[]error{forged, malformed}, "malformed"},
		{[]error{malformed, forged}, "malformed"},
		{[]error{malformed, stale, forged}, "stale"},
		{[]error{stale, forged, malformed}, "stale"},
		{[]error{stale, malformed, forged, signed}, "kept"},
		{[]error{signed, forged}, "kept"},
	} {
		d := serve(t, func(d *desk, _ *http.Server) {
			d.handler.Accounts = func(string) (all []arrivals.Account) {
				for _, err := range one.accounts {
					all = append(all, says(err))
				}
				return all
			}
		})
		if d.post(t, "/webhooks/acme/status", "a"); d.count(t, "acme", one.result) != 1 {
			t.Errorf("%v: not %s", one.accounts, one.result)
		}
	}
}

func TestStorm(t *testing.T) {
	t.Parallel()
	const n = 1000
	d := serve(t, nil)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			r, err := d.send(t, fmt.Sprintf("/webhooks/acme/status/t%d", i), fmt.Sprint(i))
			if err != nil || r.StatusCode != 200 {
				t.Errorf("%d: %v, %v", i, r, err)
			}
		})
	}
	all.Wait()
	kept := d.store.bodies()
	for i := range n {
		if kept[fmt.Sprint(i)] != 1 {
			t.Errorf("%d kept %d times", i, kept[fmt.Sprint(i)])
		}
	}
	if got := d.count(t, "acme", "kept"); got != n || len(kept) != n {
		t.Errorf("%d counted, %d kept", got, len(kept))
	}
}
