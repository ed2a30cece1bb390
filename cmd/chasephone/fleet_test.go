package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"chasephone/internal/pgtest"
)

// The fleet is the real thing: this test binary, run again as chasephone, over a real
// PostgreSQL, against a Twilio-shaped server that these tests script.

const beChasephone = "CHASEPHONE_TEST_IS_CHASEPHONE"

func TestMain(m *testing.M) {
	if os.Getenv(beChasephone) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// company is a Twilio-shaped server and its ring book.
type company struct {
	*httptest.Server
	answer func(w http.ResponseWriter, r *http.Request, to string, nth int)

	mu    sync.Mutex
	calls []ring
	sids  atomic.Int64
}

type ring struct {
	to string
	at time.Time
}

func newCompany(t *testing.T) *company {
	c := &company{}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
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
	t       *testing.T
	url     string
	db      *pgxpool.Pool
	company *company
	environ []string
}

func newFleet(t *testing.T, environ ...string) *fleet {
	t.Helper()
	t.Parallel()
	pool := pgtest.New(t)
	return newFleetOn(t, pool.Config().ConnString(), pool, environ...)
}

func newFleetOn(t *testing.T, url string, pool *pgxpool.Pool, environ ...string) *fleet {
	f := &fleet{t: t, url: url, db: pool, company: newCompany(t)}
	f.environ = append([]string{
		"DATABASE_URL=" + url, "METRICS_ADDR=127.0.0.1:0", "HTTP_ADDR=127.0.0.1:0",
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
	r.Env = append(append([]string{beChasephone + "=1", "PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME")}, f.environ...), "GORACE=halt_on_error=1")
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

func (r *running) metrics(t *testing.T) string {
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

// R2, R3: two requests per slot and never more, with one daemon and with three.
func TestFleetTwoPerSlot(t *testing.T) {
	for _, n := range []int{1, 3} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			f := newFleet(t)
			f.due(20, "1 hour")
			for range n {
				f.daemon()
			}
			f.wait("ten slots are over", func() bool { return f.count(`select count(*) from phone_followups where state = 'call_placed'`) == 20 })
			if most := f.count(`select max(n) from (select count(*) as n from followup_events where place is not null group by slot_at) x`); most != 2 {
				t.Errorf("%d in one slot", most)
			}
			f.once()
			if got := f.count(`select count(*) from attempts a join attempts b on a.created_at < b.created_at
				join phone_followups fa on fa.id = a.followup_id join phone_followups fb on fb.id = b.followup_id where fa.due_at > fb.due_at`); got > 0 {
				t.Errorf("%d pairs in the wrong order", got)
			}
		})
	}
}

// R6: a 429 is tried again after RETRY_AFTER and not before; so is a carrier that refuses the connection.
func TestFleetRetry(t *testing.T) {
	f := newFleet(t, "PHONE_FOLLOWUP_RETRY_AFTER=4s")
	f.company.script(func(w http.ResponseWriter, _ *http.Request, _ string, n int) {
		if n == 1 {
			w.WriteHeader(http.StatusTooManyRequests)
			_, _ = io.WriteString(w, `{"code": 20429, "message": "Too Many Requests", "status": 429}`)
			return
		}
		f.company.placed(w)
	})
	f.due(1, "1 hour")
	f.daemon()
	f.wait("it is placed", func() bool { return f.state("r1") == "call_placed" })
	all := f.company.requests()
	if len(all) != 2 {
		t.Fatalf("%d requests", len(all))
	}
	if gap := all[1].at.Sub(all[0].at); gap < 4*time.Second {
		t.Errorf("tried again after %s", gap)
	}
}

// R7, R8: whatever may have rung is asked for once, and is uncertain after five ticks and a restart.
func TestFleetUncertain(t *testing.T) {
	for name, answer := range map[string]func(w http.ResponseWriter, r *http.Request){
		"reply lost": func(w http.ResponseWriter, _ *http.Request) { drop(w) },
		"500":        func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) },
		"307": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", r.URL.Path)
			w.WriteHeader(307)
		},
		"408": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(408) },
		"half a 201": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "500")
			w.WriteHeader(201)
			_, _ = io.WriteString(w, `{"sid": "CA`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFleet(t)
			f.company.script(func(w http.ResponseWriter, r *http.Request, _ string, _ int) { answer(w, r) })
			f.due(5, "1 hour")
			d := f.daemon()
			f.wait("three are uncertain", func() bool { return f.count(`select count(*) from phone_followups where state = 'uncertain'`) == 3 })
			f.ticks(3)
			if err := d.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			<-d.done
			f.daemon()
			f.ticks(3)
			if n := len(f.company.requests()); n != 3 {
				t.Errorf("%d requests, want 3: the fourth row is not tried", n)
			}
			f.once()
			if n := f.count(`select count(*) from phone_followups where state = 'uncertain'`); n != 3 {
				t.Errorf("%d uncertain", n)
			}
		})
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

// R1: whichever daemon leads River, killing it costs at most two slots.
func TestFleetLeaderKilled(t *testing.T) {
	f := newFleet(t)
	daemons := []*running{f.daemon(), f.daemon(), f.daemon()}
	f.wait("there is a leader", func() bool { return f.count(`select count(*) from river_leader`) == 1 })
	var leader string
	if err := f.db.QueryRow(t.Context(), `select leader_id from river_leader`).Scan(&leader); err != nil {
		t.Fatal(err)
	}
	f.ticks(2)
	var victim *running
	for _, d := range daemons {
		if strings.Contains(d.log.String(), "daemon="+leader) {
			victim = d
		}
	}
	if victim == nil {
		t.Fatalf("no daemon of ours leads: %s", leader)
	}
	_ = victim.Process.Kill()
	f.ticks(6)
	var slots []int64
	rows, err := f.db.Query(t.Context(), `select (args->>'slot_ms')::bigint / 1000 from river_job where kind = 'tick' and state = 'completed' order by 1`)
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		var s int64
		if err := rows.Scan(&s); err != nil {
			t.Fatal(err)
		}
		slots = append(slots, s)
	}
	for i := 1; i < len(slots); i++ {
		if gap := slots[i] - slots[i-1]; gap > 3 {
			t.Errorf("%d slots without a tick", gap-1)
		}
	}
}

// R7, invariants 1, 2 and 5: killed in the middle of a dial, again and again, with
// restarts: no number is asked for twice, and what was out is uncertain within 15 s of its answer_by.
func TestKilledMidDial(t *testing.T) {
	f := newFleet(t, "PHONE_FOLLOWUP_DIAL_TIMEOUT=1s")
	hang := make(chan struct{})
	t.Cleanup(func() { close(hang) })
	f.company.script(func(w http.ResponseWriter, r *http.Request, _ string, _ int) {
		select {
		case <-hang:
		case <-r.Context().Done():
		}
		drop(w)
	})
	f.due(6, "1 hour")
	d := f.daemon()
	f.wait("a call is out", func() bool { return len(f.company.requests()) >= 1 })
	_ = d.Process.Kill()
	<-d.done
	f.company.script(nil)
	f.daemon()
	f.wait("all is settled", func() bool {
		return f.count(`select count(*) from phone_followups where state in ('due', 'dialing')`) == 0
	})
	f.once()
	if late := f.count(`select count(*) from attempts where outcome = 'uncertain' and outcome_at > answer_by + interval '15 seconds'`); late > 0 {
		t.Errorf("%d were swept late", late)
	}
	if n := f.count(`select count(*) from phone_followups where state = 'uncertain'`); n < 1 || n > 2 {
		t.Errorf("%d uncertain", n)
	}
}

// A graceful stop awaits the call in progress, records it, and leaves with 0.
func TestFleetGracefulStop(t *testing.T) {
	f := newFleet(t)
	out, answer := make(chan struct{}), make(chan struct{})
	f.company.script(func(w http.ResponseWriter, _ *http.Request, _ string, _ int) {
		close(out)
		<-answer
		f.company.placed(w)
	})
	f.due(1, "1 hour")
	d := f.daemon()
	<-out
	if err := d.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	f.wait("it is stopping", func() bool { return strings.Contains(d.log.String(), "awaiting calls in progress") })
	close(answer)
	<-d.done
	if code := d.ProcessState.ExitCode(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if s := f.state("r1"); s != "call_placed" {
		t.Errorf("r1 is %s", s)
	}
}

// Invariant 9: no number in any log line or metric, whatever happened to the calls.
func TestNoNumberInLogsOrMetrics(t *testing.T) {
	f := newFleet(t, "LOG_LEVEL=debug", "PHONE_FOLLOWUP_PER_TICK=20")
	f.company.script(func(w http.ResponseWriter, _ *http.Request, to string, n int) {
		switch n % 3 {
		case 0:
			f.company.placed(w)
		case 1:
			w.WriteHeader(400)
			_ = json.NewEncoder(w).Encode(map[string]any{"code": 21211, "status": 400, "message": "The 'To' number " + to + " is not a valid phone number"})
		default:
			w.WriteHeader(500)
			_, _ = io.WriteString(w, "cannot ring "+to)
		}
	})
	f.due(9, "1 hour")
	f.exec(`insert into phone_followups (ref, phone_number, due_at, script) values ('odd', '+1 (415) 200-0099 oder 4152000098', now(), 'x')`)
	d := f.daemon()
	f.wait("all are tried or held", func() bool {
		return f.count(`select count(*) from phone_followups where state = 'due' and reason is null`) < 6
	})
	f.wait("the figures are there", func() bool { return strings.Contains(d.metrics(t), "chasephone_line_ready") })
	text := d.log.String() + d.metrics(t)
	for _, digits := range []string{"415200", "4152000", "200-00", "2125550100"} {
		if strings.Contains(text, digits) {
			at := strings.Index(text, digits)
			t.Errorf("a number in logs or metrics: …%s…", text[max(0, at-80):min(len(text), at+40)])
		}
	}
	problems, err := promlint.New(strings.NewReader(d.metrics(t))).Lint()
	if err != nil || len(problems) > 0 {
		t.Errorf("the metrics are not as they should be: %v %v", problems, err)
	}
	for _, name := range []string{
		"outcomes_total", "gate_findings_total", "followups", "oldest_due_age_seconds", "followups_at_risk", "oldest_uncertain_age_seconds",
		"evidence_conflicts_total", "ticks_total", "tick_duration_seconds", "last_tick_timestamp_seconds",
		"carrier_request_duration_seconds", "line_ready", "limit", "build_info",
	} {
		if !strings.Contains(text, "# TYPE chasephone_"+name+" ") {
			t.Errorf("there is no metric chasephone_%s", name)
		}
	}
}

// R6, row 39: a daemon without the carrier costs no slot: the other one rings its two in each.
func TestFleetOneWithoutTheCarrier(t *testing.T) {
	f := newFleet(t)
	f.due(12, "1 hour")
	able := f.daemon()
	all := f.environ
	f.environ = nil
	for _, pair := range all {
		if !strings.HasPrefix(pair, "TWILIO_") {
			f.environ = append(f.environ, pair)
		}
	}
	f.daemon()
	f.environ = all
	f.wait("all are placed", func() bool { return f.count(`select count(*) from phone_followups where state = 'call_placed'`) == 12 })
	if empty := f.count(`select extract(epoch from max(slot_at) - min(slot_at))::int + 1 - count(distinct slot_at) from followup_events where place is not null`); empty > 1 {
		t.Errorf("%d slots in which nobody was rung", empty)
	}
	f.once()
	_ = able
}
