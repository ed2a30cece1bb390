package arrivals_test

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"chasephone/internal/arrivals"
	"chasephone/internal/carrier"
)

const (
	public   = "https://calls.example.com/base"
	mostBody = 64 << 10
)

// sign is how this test's carrier signs: over the URL it was told, and the body.
func sign(secret, url, body string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	_, _ = io.WriteString(mac, url+"\n"+body)
	return hex.EncodeToString(mac.Sum(nil))
}

func account(name, secret string) arrivals.Account {
	return arrivals.Account{Name: name, Verify: func(d carrier.Delivery) error {
		signature := d.Header("x-test-signature")
		switch {
		case signature == "":
			return carrier.ErrMalformed
		case hmac.Equal([]byte(signature), []byte(sign(secret, d.URL, string(d.Body)))):
			return nil
		case hmac.Equal([]byte(signature), []byte(sign(secret+" of old", d.URL, string(d.Body)))):
			return carrier.ErrStale
		}
		return errors.New("forged")
	}}
}

// acme is a carrier that signs; what begins with a ? cannot be read.
func acme() arrivals.Carrier {
	return arrivals.Carrier{
		Name: "acme", Kinds: []string{"status", "message"},
		Read: func(d carrier.Delivery) (carrier.Report, error) {
			if bytes.HasPrefix(d.Body, []byte("?")) {
				return carrier.Report{}, errors.New("unreadable: " + string(d.Body))
			}
			return carrier.Report{Kind: carrier.KindCall, ID: string(d.Body), Token: d.Token}, nil
		},
		Reply: func(kind string) (string, string) {
			if kind == "message" {
				return "text/xml", "<Response/>"
			}
			return "", ""
		},
	}
}

// desk is what is between the wire and the database, with a store that remembers.
type desk struct {
	url      string // of the server, without a path
	handler  *arrivals.Handler
	registry *prometheus.Registry
	store    *memory
	logged   *lines
}

// serve starts a server on a real socket.
func serve(t *testing.T, change func(*desk, *http.Server)) *desk {
	t.Helper()
	d := &desk{registry: prometheus.NewRegistry(), store: &memory{}, logged: &lines{}}
	log := slog.New(slog.NewTextHandler(d.logged, nil))
	keeper := arrivals.NewKeeper(d.store, log)
	d.handler = &arrivals.Handler{
		PublicURL: public,
		Carriers:  []arrivals.Carrier{acme(), {Name: "silent", Kinds: []string{"status"}}},
		Accounts: func(carrier string) []arrivals.Account {
			if carrier != "acme" {
				return nil
			}
			return []arrivals.Account{account("acme", "first"), account("acme/SECOND", "second")}
		},
		Keep: keeper.Keep, Metrics: arrivals.NewMetrics(d.registry, "acme", "silent"), Log: log,
	}
	server := httptest.NewUnstartedServer(d.handler)
	if change != nil {
		change(d, server.Config)
	}
	server.Start()
	d.url = server.URL
	t.Cleanup(func() {
		server.Close()
		keeper.Close(context.WithoutCancel(t.Context()))
	})
	return d
}

// post sends body to path, signed for the URL that the carrier was told, and changed by those.
func (d *desk) post(t *testing.T, path, body string, change ...func(*http.Request)) *http.Response {
	t.Helper()
	response, err := d.send(t, path, body, change...)
	if err != nil {
		t.Fatal(err)
	}
	return response
}

func (d *desk) send(t *testing.T, path, body string, change ...func(*http.Request)) (*http.Response, error) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, d.url+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("X-Test-Signature", sign("first", public+strings.TrimPrefix(path, "/base"), body))
	for _, c := range change {
		c(r)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	response.Body = io.NopCloser(bytes.NewReader(text))
	return response, err
}

// count is chasephone_arrivals_total of a carrier and a result.
func (d *desk) count(t *testing.T, carrier, result string) int {
	t.Helper()
	families, err := d.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, metric := range families[0].GetMetric() {
		if metric.GetLabel()[0].GetValue() == carrier && metric.GetLabel()[1].GetValue() == result {
			return int(metric.GetCounter().GetValue())
		}
	}
	t.Fatalf("no series %s, %s", carrier, result)
	return 0
}

// memory is a store that remembers what it was given, and does as it is told.
type memory struct {
	mu     sync.Mutex
	sets   [][]arrivals.Arrival // as they were tried
	kept   []arrivals.Arrival
	before func(ctx context.Context, set []arrivals.Arrival) error // fails, and keeps nothing
	after  func(set []arrivals.Arrival) error                      // fails, and keeps all of it
}

func (m *memory) Keep(ctx context.Context, set []arrivals.Arrival) ([]bool, error) {
	m.mu.Lock()
	m.sets = append(m.sets, set)
	before, after := m.before, m.after
	m.mu.Unlock()
	if before != nil {
		if err := before(ctx, set); err != nil {
			return nil, err
		}
	}
	m.mu.Lock()
	m.kept = append(m.kept, set...)
	m.mu.Unlock()
	if after != nil {
		if err := after(set); err != nil {
			return nil, err
		}
	}
	foreign := make([]bool, len(set))
	for i, a := range set {
		foreign[i] = strings.HasPrefix(string(a.Delivery.Body), "foreign")
	}
	return foreign, nil
}

// bodies says how often each was kept.
func (m *memory) bodies() map[string]int {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := map[string]int{}
	for _, a := range m.kept {
		n[string(a.Delivery.Body)]++
	}
	return n
}

func (m *memory) tries() (sizes []int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, set := range m.sets {
		sizes = append(sizes, len(set))
	}
	return sizes
}

// lines are what was logged.
type lines struct {
	mu  sync.Mutex
	all []string
}

func (l *lines) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, string(line))
	return len(line), nil
}

func (l *lines) get() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]string{}, l.all...)
}

// await waits until something is so.
func await(t *testing.T, what string, so func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !so(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("it never came to this: %s", what)
		}
	}
}
