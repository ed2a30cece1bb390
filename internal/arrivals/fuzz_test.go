package arrivals_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"chasephone/internal/arrivals"
)

// FuzzWebhook: whatever is sent wherever, it is answered by a status that is documented and by
// nothing of what was sent; and it is kept, as it came, where it was signed for that very address
// and could be read, and nowhere else.
func FuzzWebhook(f *testing.F) {
	for _, address := range []string{
		path, path + "/tok-en_1", "/base" + path, path + "/", path + "/a/b", path + "/%2e%2e", path + "/tok?x=%zz", path + "?", "/webhooks/acme", "/webhooks//status", "/webhooks/silent/status",
		"//webhooks/acme/status", "/base/base" + path, "http://evil.example" + path, "/webhooks/acme/\x00", "*", "/webhooks/acme/status/" + strings.Repeat("a", 101), "",
	} {
		for _, body := range []string{"a", "?unreadable", ""} {
			f.Add("POST", address, body, "first", "", "")
		}
	}
	f.Add("GET", path, "", "first", "", "")
	f.Add("POST", path, "a", "second of old", "", "")
	f.Add("POST", path, "a", "third", "identity", "text/\x00")
	f.Add("POST", path, strings.Repeat("a", mostBody+1), "first", "gzip", "")
	var kept []arrivals.Arrival
	h := &arrivals.Handler{
		PublicURL: public,
		Carriers:  []arrivals.Carrier{acme(), {Name: "silent", Kinds: []string{"status"}}},
		Accounts: func(carrier string) []arrivals.Account {
			if carrier != "acme" {
				return nil
			}
			return []arrivals.Account{account("acme", "first"), account("acme/SECOND", "second")}
		},
		Keep: func(_ context.Context, a arrivals.Arrival) (bool, error) {
			kept = append(kept, a)
			return len(a.Delivery.Body)%2 == 0, nil
		},
		Metrics: arrivals.NewMetrics(prometheus.NewRegistry(), "acme", "silent"), Log: slog.New(slog.DiscardHandler),
	}
	f.Fuzz(func(t *testing.T, method, address, body, secret, encoding, contentType string) {
		asked, err := url.ParseRequestURI(address)
		if err != nil {
			return // net/http answers by itself
		}
		kept = nil
		target := public + strings.TrimPrefix(asked.EscapedPath(), "/base")
		if asked.RawQuery != "" || asked.ForceQuery {
			target += "?" + asked.RawQuery
		}
		r := &http.Request{Method: method, URL: asked, Header: http.Header{
			"X-Test-Signature": {sign(secret, target, body)}, "Content-Encoding": {encoding}, "Content-Type": {contentType},
		}, Body: http.NoBody, Host: "evil.example"}
		if body != "" {
			r.Body = httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body)).Body
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if !slices.Contains([]int{200, 400, 403, 404, 405, 413, 415}, w.Code) || (w.Code == 200) != (len(kept) == 1) || len(kept) > 1 {
			t.Fatalf("%s %q: %d, kept %d", method, address, w.Code, len(kept))
		}
		signed := secret == "first" || secret == "second"
		if signed && len(kept) == 0 && (w.Code == 403 || w.Code == 400 && !strings.HasPrefix(body, "?")) && strings.HasPrefix(asked.EscapedPath(), "/webhooks/acme/") {
			t.Errorf("%s %q is signed and not kept: %d", method, address, w.Code)
		}
		if len(body) > 8 && strings.Contains(w.Body.String(), body) || len(secret) > 8 && strings.Contains(w.Body.String(), secret) {
			t.Errorf("%q is in the answer %q", body, w.Body)
		}
		for _, a := range kept {
			d := a.Delivery
			if !signed || method != http.MethodPost || d.URL != target || string(d.Body) != body || len(body) > mostBody || len(d.Token) > 100 || strings.ContainsAny(d.Token, "/%\x00?") {
				t.Errorf("%s %q, %q by %q: kept %+v", method, address, body, secret, a)
			}
		}
	})
}
