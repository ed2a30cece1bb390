package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"chasephone/internal/store"
)

// realDaemon is chasephone itself, in a process of its own, as it is configured by default: nothing
// of what it is told here makes it do less.
type realDaemon struct {
	process *exec.Cmd
	home    string
	metrics string // the address
}

func startDaemon(ctx context.Context, url string) (*realDaemon, error) {
	home, err := os.MkdirTemp("", "chasephone-bench-daemon-")
	if err != nil {
		return nil, err
	}
	d := &realDaemon{home: home}
	program := filepath.Join(home, "chasephone")
	if err := build(ctx, program); err != nil {
		d.stop()
		return nil, err
	}
	d.process = exec.CommandContext(ctx, program, "serve")
	d.process.Env = append(os.Environ(), "DATABASE_URL="+url, "METRICS_ADDR=127.0.0.1:0", "HTTP_ADDR=127.0.0.1:0", "DATA_DIR="+home, "CARRIER_ALLOW_LOOPBACK=on",
		"TWILIO_ACCOUNT_SID="+companyAccount, "TWILIO_AUTH_TOKEN=benchmark", "TWILIO_FROM=+12125550100", "TWILIO_BASE_URL=http://127.0.0.1:9")
	log, err := d.process.StderrPipe()
	if err != nil {
		d.stop()
		return nil, err
	}
	if err := d.process.Start(); err != nil {
		d.stop()
		return nil, err
	}
	lines := bufio.NewScanner(log)
	var said strings.Builder
	for lines.Scan() {
		said.WriteString(lines.Text() + "\n")
		if _, rest, serving := strings.Cut(lines.Text(), " metrics="); serving {
			d.metrics, _, _ = strings.Cut(rest, " ")
			go func() { _, _ = io.Copy(io.Discard, log) }()
			return d, nil
		}
	}
	d.stop()
	return nil, fmt.Errorf("chasephone ended before it served: %s", said.String())
}

// build builds chasephone in its own module, wherever in it or in the benchmark's we are.
func build(ctx context.Context, program string) error {
	root, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "chasephone").Output()
	if err != nil {
		return fmt.Errorf("looking for chasephone's source (run this in bench/): %w", err)
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-o", program, "./cmd/chasephone")
	cmd.Dir = strings.TrimSpace(string(root))
	if said, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("building chasephone: %w: %s", err, said)
	}
	return nil
}

// stop may be called again.
func (d *realDaemon) stop() {
	if d.process != nil && d.process.Process != nil && d.process.ProcessState == nil {
		_ = d.process.Process.Signal(os.Interrupt)
		_ = d.process.Wait()
	}
	_ = os.RemoveAll(d.home)
}

// cpu is the processor time that it has had, in user and system mode.
func (d *realDaemon) cpu() (time.Duration, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", d.process.Process.Pid))
	if err != nil {
		return 0, fmt.Errorf("reading its processor time (on Linux only): %w", err)
	}
	fields := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	user, err := strconv.Atoi(fields[11])
	if err != nil {
		return 0, err
	}
	system, err := strconv.Atoi(fields[12])
	return time.Duration(user+system) * time.Second / 100, err // clock ticks: 100 a second on every Linux
}

// resident is its memory, in MiB.
func (d *realDaemon) resident() (float64, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", d.process.Process.Pid))
	if err != nil {
		return 0, err
	}
	_, rest, has := bytes.Cut(b, []byte("VmRSS:"))
	if fields := strings.Fields(string(rest)); has && len(fields) > 0 {
		kib, err := strconv.ParseFloat(fields[0], 64)
		return kib / 1024, err
	}
	return 0, errors.New("the kernel does not say how much memory it has")
}

// scrape is one look at /metrics, and the age that its figures tell.
func (d *realDaemon) scrape(ctx context.Context) (took time.Duration, age float64, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+d.metrics+"/metrics", nil)
	if err != nil {
		return 0, 0, err
	}
	begun := time.Now()
	reply, err := http.DefaultClient.Do(req) //nolint:forbidigo // it goes to the daemon's own metrics
	if err != nil {
		return 0, 0, err
	}
	text, err := io.ReadAll(reply.Body)
	took = time.Since(begun)
	_ = reply.Body.Close()
	if err != nil {
		return 0, 0, err
	}
	_, rest, has := strings.Cut(string(text), "\nchasephone_gauges_age_seconds ")
	if !has {
		return took, 0, errors.New("/metrics does not tell how old its figures are")
	}
	line, _, _ := strings.Cut(rest, "\n")
	age, err = strconv.ParseFloat(line, 64)
	return took, age, err
}

// settling is how long a daemon has started before it is watched.
const settling = 20 * time.Second

// daemon watches a real one that has nothing to do, for a while, and looks at its metrics.
func (w *scaleWorld) daemon(ctx context.Context, r *scaled, in string, watch time.Duration) error {
	d, err := startDaemon(ctx, w.url)
	if err != nil {
		return err
	}
	defer d.stop()
	if err := sleep(ctx, settling); err != nil {
		return err
	}
	cpu, err := d.cpu()
	if err != nil {
		return err
	}
	transactions, err := w.transactions(ctx)
	if err != nil {
		return err
	}
	if err := sleep(ctx, watch); err != nil {
		return err
	}
	after, err := d.cpu()
	if err != nil {
		return err
	}
	more, err := w.transactions(ctx)
	if err != nil {
		return err
	}
	r.Values["idle_cpu_percent"] = 100 * (after - cpu).Seconds() / watch.Seconds()
	r.Values["idle_statements"] = float64(more-transactions) / watch.Seconds()
	if r.Values["idle_mib"], err = d.resident(); err != nil {
		return err
	}
	var scrapes []time.Duration
	oldest := 0.0
	for range 200 {
		took, age, err := d.scrape(ctx)
		if err != nil {
			return err
		}
		scrapes, oldest = append(scrapes, took), max(oldest, age)
		if err := sleep(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
	r.add("/metrics", in, scrapes)
	r.Values["metrics_ms"] = r.Timings[len(r.Timings)-1].P99
	r.Values["metrics_age_seconds"] = oldest
	d.stop() // it reads, too
	r.Values["final_rows_read"], err = w.finalRowsRead(ctx)
	return err
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// transactions are those of the database so far; a statement outside of one is one itself.
func (w *scaleWorld) transactions(ctx context.Context) (n int64, err error) {
	err = w.db.Pool.QueryRow(ctx, `select xact_commit + xact_rollback from pg_stat_database where datname = current_database()`).Scan(&n)
	return n, err
}

// finalRowsRead is how many rows a refresh of the gauges reads that can be of follow-ups in a final
// state: all but what is read by indexes that hold none of those, or only calls without an end, which
// are counted. By the server's own count.
func (w *scaleWorld) finalRowsRead(ctx context.Context) (rows float64, err error) {
	const read = `
		select coalesce((select seq_tup_read from pg_stat_user_tables where relname = 'phone_followups'), 0)::float8
		  + coalesce((select sum(s.idx_tup_read) from pg_stat_user_indexes s join pg_indexes i on i.indexname = s.indexrelname
		    where s.relname = 'phone_followups' and i.indexdef not like '%state = ''due''%' and i.indexdef not like '%awaiting_approval%' and i.indexdef not like '%uncertain%' and i.indexdef not like '%call_status_rank%'), 0)::float8`
	var before, after float64
	if err := w.db.Pool.QueryRow(ctx, read).Scan(&before); err != nil {
		return 0, err
	}
	db, err := store.Connect(ctx, w.url, 1)
	if err != nil {
		return 0, err
	}
	_, err = db.Gauges(ctx)
	db.Close() // the server counts what a session read once it has ended
	if err != nil {
		return 0, err
	}
	if err := sleep(ctx, 2*time.Second); err != nil {
		return 0, err
	}
	err = w.db.Pool.QueryRow(ctx, read).Scan(&after)
	return after - before, err
}
