package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"chasephone/internal/pgtest"
)

// The fleet is the real thing: this test binary, run again as chasephone, over a real
// PostgreSQL, against a Twilio-shaped server that these tests script.

const (
	beChasephone = "CHASEPHONE_TEST_IS_CHASEPHONE"
	forgetful    = "on any server"    // its values: a daemon that does not mind
	strict       = "as it is shipped" // and one that does
)

func TestMain(m *testing.M) {
	if as := os.Getenv(beChasephone); as != "" {
		os.Exit(start(process{forgetful: as == forgetful})) // the tests' servers have fsync off
	}
	os.Exit(m.Run())
}

// company is a Twilio-shaped server and its ring book.
type company struct {
	*httptest.Server
	answer func(w http.ResponseWriter, r *http.Request, to string, nth int)
	list   http.HandlerFunc // its records; nil: it keeps none that could be asked

	mu    sync.Mutex
	calls []ring
	sids  atomic.Int64
}

type ring struct {
	to string
	at time.Time
}

func newCompany(t testing.TB) *company {
	c := &company{}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/Calls.json") {
			c.mu.Lock()
			list := c.list
			c.mu.Unlock()
			if list == nil {
				list = http.NotFound
			}
			list(w, r)
			return
		}
		to := r.FormValue("To")
		c.mu.Lock()
		c.calls = append(c.calls, ring{to, time.Now()})
		n := len(c.calls)
		answer := c.answer
		c.mu.Unlock()
		if answer != nil {
			answer(w, r, to, n)
			return
		}
		c.placed(w)
	}))
	t.Cleanup(c.Close)
	return c
}

func (c *company) placed(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusCreated)
	_, _ = fmt.Fprintf(w, `{"sid": "CA%032x", "status": "queued"}`, c.sids.Add(1))
}

func (c *company) script(answer func(w http.ResponseWriter, r *http.Request, to string, nth int)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answer = answer
}

func (c *company) lists(list http.HandlerFunc) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.list = list
}

func (c *company) requests() []ring {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]ring(nil), c.calls...)
}

// drop closes the connection without an answer.
func drop(w http.ResponseWriter) {
	if conn, _, err := w.(http.Hijacker).Hijack(); err == nil {
		_ = conn.Close()
	}
}

// fleet is a database and the daemons on it.
type fleet struct {
	t       testing.TB
	url     string
	db      *pgxpool.Pool // as the owner
	company *company
	environ []string
	as      string // forgetful or strict
}

func newFleet(t *testing.T, environ ...string) *fleet {
	t.Helper()
	t.Parallel()
	pool := pgtest.New(t)
	url, _, _ := pgtest.Roles(t, pool.Config().ConnString()) // with no right that a daemon does not need
	return newFleetOn(t, url, pool, environ...)
}

func newFleetOn(t testing.TB, url string, pool *pgxpool.Pool, environ ...string) *fleet {
	f := &fleet{t: t, url: url, db: pool, company: newCompany(t), as: forgetful}
	f.environ = append([]string{
		"DATABASE_URL=" + url, "METRICS_ADDR=127.0.0.1:0", "HTTP_ADDR=127.0.0.1:0", "DATA_DIR=" + t.TempDir(),
		"PHONE_FOLLOWUP_TICK=1s", "CARRIER_ALLOW_LOOPBACK=on", "GATE_CALLING_HOURS=off",
		"TWILIO_ACCOUNT_SID=AC00000000000000000000000000000001", "TWILIO_AUTH_TOKEN=secret", "TWILIO_FROM=+12125550100",
		"TWILIO_BASE_URL=" + f.company.URL, "TWILIO_CALLS_PER_SECOND=0",
	}, environ...)
	return f
}

// running is one daemon's process.
type running struct {
	*exec.Cmd
	log  *lines
	done chan struct{}
}

type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// start runs the program and kills it at the end of the test.
func (f *fleet) start(args ...string) *running {
	f.t.Helper()
	r := &running{Cmd: exec.CommandContext(context.WithoutCancel(f.t.Context()), os.Args[0], args...), log: &lines{}, done: make(chan struct{})}
	r.Env = append(append([]string{beChasephone + "=" + f.as, "PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME")}, f.environ...), "GORACE=halt_on_error=1")
	r.Stdout, r.Stderr = r.log, r.log
	if err := r.Start(); err != nil {
		f.t.Fatal(err)
	}
	go func() { _ = r.Wait(); close(r.done) }()
	f.t.Cleanup(func() {
		_ = r.Process.Kill()
		<-r.done
		if f.t.Failed() {
			f.t.Logf("the log of process %d:\n%s", r.Process.Pid, r.log)
		}
		if strings.Contains(r.log.String(), "permission denied") {
			f.t.Errorf("a right is missing:\n%s", r.log)
		}
		if strings.Contains(r.log.String(), "DATA RACE") {
			f.t.Errorf("a data race:\n%s", r.log)
		}
	})
	return r
}

// daemon starts a daemon and waits until it serves.
func (f *fleet) daemon() *running {
	f.t.Helper()
	r := f.start("serve")
	f.wait("a daemon serves", func() bool { return strings.Contains(r.log.String(), "msg=serving") })
	return r
}

func (r *running) metrics(t testing.TB) string {
	t.Helper()
	_, rest, _ := strings.Cut(r.log.String(), "metrics=")
	addr, _, _ := strings.Cut(rest, " ")
	resp, err := http.Get("http://" + addr + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func (f *fleet) wait(what string, is func() bool) {
	f.t.Helper()
	for end := time.Now().Add(60 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if is() {
			return
		}
	}
	f.t.Fatalf("waited in vain until %s", what)
}

func (f *fleet) exec(sql string, args ...any) {
	f.t.Helper()
	if _, err := f.db.Exec(f.t.Context(), sql, args...); err != nil {
		f.t.Fatalf("%s: %v", sql, err)
	}
}

func (f *fleet) count(sql string, args ...any) int {
	f.t.Helper()
	var n int
	if err := f.db.QueryRow(f.t.Context(), sql, args...).Scan(&n); err != nil {
		f.t.Fatalf("%s: %v", sql, err)
	}
	return n
}

func (f *fleet) state(ref string) string {
	f.t.Helper()
	var s string
	if err := f.db.QueryRow(f.t.Context(), `select state from phone_followups where ref = $1`, ref).Scan(&s); err != nil {
		f.t.Fatal(err)
	}
	return s
}

func (f *fleet) due(n int, late string) {
	f.t.Helper()
	f.exec(`insert into phone_followups (ref, phone_number, due_at, script)
		select 'r' || i, '+1415' || (2000000 + i)::text, now() - $2::interval + i * interval '1 second', 'Hello' from generate_series(1, $1) i`, n, late)
}

// once says that every number was asked for at most once.
func (f *fleet) once() {
	f.t.Helper()
	seen := map[string]int{}
	for _, r := range f.company.requests() {
		if seen[r.to]++; seen[r.to] == 2 {
			f.t.Errorf("a number was asked for twice")
		}
	}
}

// ticks waits until n more slots were worked.
func (f *fleet) ticks(n int) {
	f.t.Helper()
	done := func() int {
		return f.count(`select count(*) from river_job where kind = 'tick' and state = 'completed'`)
	}
	want := done() + n
	f.wait("slots were worked", func() bool { return done() >= want })
}
