package telemetry_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"chasephone/internal/telemetry"
)

func health(ready func(context.Context) error) telemetry.Health {
	return telemetry.Health{
		Addr:     "127.0.0.1:0",
		Registry: telemetry.NewRegistry("v1.2.3", "go1.26"),
		Ready:    ready,
		Log:      slog.New(slog.DiscardHandler),
	}
}

// start serves until the test ends.
func start(t *testing.T, h telemetry.Health) (base string) {
	t.Helper()
	server, err := h.Listen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	run(t, server)
	return "http://" + server.Addr()
}

// run serves until the test ends, and fails it if serving did not end well.
func run(t *testing.T, server *telemetry.Server) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- server.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}

func request(t *testing.T, method, url string) (status int, body string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(content)
}

func TestEndpoints(t *testing.T) {
	t.Parallel()
	ready := start(t, health(func(context.Context) error { return nil }))
	unready := start(t, health(func(context.Context) error { return errors.New("the database does not answer +14155550123") }))
	for _, one := range []struct {
		method, url string
		status      int
		body        string // the beginning
	}{
		{"GET", ready + "/healthz", 200, "ok\n"},
		{"HEAD", ready + "/healthz", 200, ""},
		{"GET", ready + "/readyz", 200, "ok\n"},
		{"GET", unready + "/readyz", 503, "not ready: the database does not answer +*********23\n"},
		{"HEAD", unready + "/readyz", 503, ""},
		{"GET", unready + "/healthz", 200, "ok\n"},
		{"GET", unready + "/metrics", 200, "# HELP chasephone_build_info "},
		{"HEAD", ready + "/metrics", 200, ""},
		{"POST", ready + "/metrics", 405, "Method Not Allowed"},
		{"DELETE", ready + "/readyz", 405, "Method Not Allowed"},
		{"GET", ready + "/", 404, ""},
		{"GET", ready + "/metrics/x", 404, ""},
	} {
		if status, body := request(t, one.method, one.url); status != one.status || !strings.HasPrefix(body, one.body) {
			t.Errorf("%s %s: %d %.80q, want %d %q", one.method, one.url, status, body, one.status, one.body)
		}
	}
}

func TestReadyIsBounded(t *testing.T) {
	t.Parallel()
	left := make(chan time.Duration, 1)
	base := start(t, health(func(ctx context.Context) error {
		deadline, _ := ctx.Deadline()
		left <- time.Until(deadline)
		return nil
	}))
	if status, _ := request(t, "GET", base+"/readyz"); status != 200 {
		t.Errorf("status %d", status)
	}
	if d := <-left; d <= 0 || d > 3*time.Second {
		t.Errorf("%v left, want at most 3s", d)
	}
	always := start(t, health(nil))
	if status, _ := request(t, "GET", always+"/readyz"); status != 200 {
		t.Errorf("without Ready: %d", status)
	}
}

// failing is a collector whose source is out of reach, as the database can be.
type failing struct{ desc *prometheus.Desc }

func (f failing) Describe(descs chan<- *prometheus.Desc) { descs <- f.desc }
func (f failing) Collect(metrics chan<- prometheus.Metric) {
	metrics <- prometheus.NewInvalidMetric(f.desc, errors.New("no database"))
}

// lines are what was logged.
type lines chan string

func (l lines) Write(line []byte) (int, error) {
	l <- string(line)
	return len(line), nil
}

func TestOneFailingCollectorHidesNoOther(t *testing.T) {
	t.Parallel()
	logged := make(lines, 1)
	h := health(nil)
	h.Log = slog.New(slog.NewTextHandler(logged, nil))
	h.Registry.MustRegister(failing{prometheus.NewDesc("chasephone_followups", "Not final.", nil, nil)})
	status, body := request(t, "GET", start(t, h)+"/metrics")
	if status != 200 || !strings.Contains(body, `chasephone_build_info{goversion="go1.26",version="v1.2.3"} 1`) {
		t.Errorf("%d %.200s", status, body)
	}
	if line := <-logged; !strings.Contains(line, "no database") {
		t.Errorf("logged %q", line)
	}
}

func TestListenSaysWhatToChange(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	for addr, want := range map[string]string{
		taken.Addr().String(): "stop the program that has it (another chasephone?), or set METRICS_ADDR to another host:port",
		"192.0.2.1:9464":      "set METRICS_ADDR to an address of this machine",
		"127.0.0.1":           "set METRICS_ADDR to another host:port",
	} {
		h := health(nil)
		h.Addr = addr
		_, err := h.Listen(t.Context())
		if err == nil || !strings.HasPrefix(err.Error(), "listening on METRICS_ADDR "+addr+": ") || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: %v, want ... %s", addr, err, want)
		}
	}
}

// Whatever else is served has the same server, and its errors name its own variable.
func TestEndpointsNameTheirVariable(t *testing.T) {
	t.Parallel()
	e := telemetry.Endpoints{
		Variable: "HTTP_ADDR", Addr: "127.0.0.1:0", Log: slog.New(slog.DiscardHandler),
		Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "else") }),
	}
	server, err := e.Listen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- server.Run(ctx) }()
	if status, body := request(t, "GET", "http://"+server.Addr()+"/x"); status != 200 || body != "else" {
		t.Errorf("%d %s", status, body)
	}
	e.Addr = server.Addr()
	if _, err := e.Listen(t.Context()); err == nil || !strings.HasPrefix(err.Error(), "listening on HTTP_ADDR ") || !strings.HasSuffix(err.Error(), "or set HTTP_ADDR to another host:port") {
		t.Errorf("taken: %v", err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Errorf("Run: %v", err)
	}
	if err := server.Run(t.Context()); err == nil || !strings.HasPrefix(err.Error(), "serving on HTTP_ADDR ") {
		t.Errorf("Run on a closed listener: %v", err)
	}
}

// TestRunLetsRequestsFinish: a probe that is being answered gets its answer.
func TestRunLetsRequestsFinish(t *testing.T) {
	t.Parallel()
	asked, release := make(chan struct{}), make(chan struct{})
	server, err := health(func(context.Context) error { close(asked); <-release; return nil }).Listen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- server.Run(ctx) }()
	go func() {
		<-asked
		stop()
		close(release)
	}()
	if status, body := request(t, "GET", "http://"+server.Addr()+"/readyz"); status != 200 {
		t.Errorf("%d %s", status, body)
	}
	if err := <-ended; err != nil {
		t.Errorf("Run: %v", err)
	}
}

func TestRunFailsWhenTheListenerDoes(t *testing.T) {
	t.Parallel()
	server, err := health(nil).Listen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if err := server.Run(stopped); err != nil { // closes the listener
		t.Fatal(err)
	}
	if err := server.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "METRICS_ADDR") {
		t.Errorf("Run on a closed listener: %v", err)
	}
}

func TestRegistry(t *testing.T) {
	t.Parallel()
	registry := telemetry.NewRegistry("v1.2.3", "go1.26")
	want := "# HELP chasephone_build_info Which build of chasephone this is; always 1.\n# TYPE chasephone_build_info gauge\n" +
		`chasephone_build_info{goversion="go1.26",version="v1.2.3"} 1` + "\n"
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want), "chasephone_build_info"); err != nil {
		t.Error(err)
	}
	problems, err := testutil.GatherAndLint(registry)
	if err != nil || len(problems) != 0 {
		t.Errorf("lint: %v, %v", problems, err)
	}
	for _, name := range []string{"go_goroutines", "process_start_time_seconds"} {
		if n, err := testutil.GatherAndCount(registry, name); n != 1 || err != nil {
			t.Errorf("%s: %d, %v", name, n, err)
		}
	}
}
