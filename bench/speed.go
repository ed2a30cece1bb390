package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"chasephone/internal/drain"
)

// leastRounds are measured however long they take.
const leastRounds = 3

// extent is how much is measured in a round.
type extent struct {
	tenants int // each with two due follow-ups
	seconds int // of pgbench
}

// speed measures everything in one run, and says how it compares. Rounds are interleaved, one of every
// contender, then the next, so that whatever else the machine does falls on all of them.
func speed(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("speed", flag.ContinueOnError)
	database := flags.String("database", "", "a `URL` of a PostgreSQL to measure on, instead of one of our own")
	file := flags.String("json", "", "a `file` to write the figures to")
	budget := flags.Duration("for", 9*time.Minute, "further rounds are begun only where they end within this")
	rounds := flags.Int("rounds", leastRounds, "the least number of rounds, however long they take")
	only := flags.String("only", "", "measure only what has this `text` in its name, for who tunes it")
	var e extent
	flags.IntVar(&e.tenants, "tenants", 10_000, "tenants, each with two due follow-ups")
	flags.IntVar(&e.seconds, "seconds", 3, "seconds of pgbench in a round")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *file != "" { // before ten minutes have gone by
		if err := os.MkdirAll(filepath.Dir(*file), 0o755); err != nil {
			return err
		}
	}
	begun := time.Now()
	srv, err := startServer(ctx, *database)
	if err != nil {
		return err
	}
	defer srv.close()
	w, err := newWorld(ctx, srv, e)
	defer w.close()
	if err != nil {
		return err
	}
	w.all = slices.DeleteFunc(w.all, func(c contender) bool { return !strings.Contains(c.subject().Name, *only) })
	if len(w.all) == 0 {
		return fmt.Errorf("-only: nothing that is measured has %q in its name", *only)
	}
	results := make([]result, len(w.all))
	for round := 0; round < *rounds || time.Since(begun) < *budget*time.Duration(round)/time.Duration(round+1); round++ {
		for i, c := range w.all {
			one, err := measure(ctx, srv, c)
			if err != nil {
				return fmt.Errorf("%s: %w", c.subject().Name, err)
			}
			results[i].subject = c.subject()
			results[i].Rounds = append(results[i].Rounds, one)
			fmt.Fprintf(os.Stderr, "round %d: %-60s %9.0f/s\n", round+1, c.subject().Name, one.PerSecond())
		}
	}
	report := newReport(ctx, srv, results, e, time.Since(begun))
	report.print(out)
	if *file == "" {
		return nil
	}
	b, err := json.MarshalIndent(report, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(*file, append(b, '\n'), 0o644) //nolint:gosec // figures that anybody may read
}

// world is everything that is measured, and what it needs.
type world struct {
	all    []contender
	phones []*telephones
	home   string // of the program
}

// newWorld makes it. What it returns with an error is to be closed, too.
func newWorld(ctx context.Context, srv *server, e extent) (*world, error) {
	w := &world{}
	pgbench, err := findPgbench(ctx, srv)
	if err != nil {
		return w, err
	}
	for _, s := range []script{raw16, twoStatements16, batch64} {
		w.add(newPgbench(srv, pgbench, s, e.seconds))
	}
	w.add(newRiver(srv, 2*e.tenants))
	w.add(newSkipLocked(srv, e.tenants))
	w.add(newGue(srv, e.tenants))
	for _, s := range []setting{{e.tenants, 2, 64, 1}, {e.tenants, 2, 256, 1}, {e.tenants, 2, 1024, 1}, {e.tenants, 2, 1024, 2}, {e.tenants, 2, 2048, 3}} {
		if err := w.contestant(ctx, srv, kindInstant, s, &instant{}); err != nil {
			return w, err
		}
	}
	if err := w.overHTTP(ctx, srv, e); err != nil {
		return w, err
	}
	ticked, err := newTicked(ctx, srv, setting{e.tenants, 2, 1024, 2})
	if err != nil {
		return w, err
	}
	w.add(ticked)
	return w, w.fleets(ctx, srv, e)
}

func (w *world) add(c contender) { w.all = append(w.all, c) }

func (w *world) contestant(ctx context.Context, srv *server, kind string, s setting, c drain.Carrier) error {
	p, err := newContestant(ctx, srv, kind, s, c)
	if err != nil {
		return err
	}
	w.add(p)
	return nil
}

func (w *world) company(ctx context.Context, after time.Duration) (*telephones, error) {
	t, err := startTelephones(ctx, after)
	if err == nil {
		w.phones = append(w.phones, t)
	}
	return t, err
}

func (w *world) overHTTP(ctx context.Context, srv *server, e extent) error {
	phones, err := w.company(ctx, answersIn)
	if err != nil {
		return err
	}
	for _, s := range []setting{{e.tenants / 2, 2, 64, 1}, {e.tenants / 2, 2, 256, 1}, {e.tenants, 2, 512, 2}, {e.tenants, 2, 1024, 2}} {
		c, err := phones.carrier()
		if err != nil {
			return err
		}
		if err := w.contestant(ctx, srv, kindHTTP, s, c); err != nil {
			return err
		}
	}
	return nil
}

func (w *world) fleets(ctx context.Context, srv *server, e extent) (err error) {
	phones, err := w.company(ctx, fleetAnswersIn)
	if err != nil {
		return err
	}
	if w.home, err = os.MkdirTemp("", "chasephone-bench-"); err != nil {
		return err
	}
	program := filepath.Join(w.home, "chasephone")
	if err := build(ctx, program); err != nil {
		return err
	}
	for _, daemons := range []int{1, 2} {
		f, err := newFleet(ctx, srv, program, phones, daemons, daemons, e.tenants/5)
		if err != nil {
			return err
		}
		w.add(f)
	}
	return nil
}

// close may be asked of one that is not whole.
func (w *world) close() {
	for _, c := range w.all {
		c.close()
	}
	for _, t := range w.phones {
		t.stop()
	}
	if w.home != "" {
		_ = os.RemoveAll(w.home)
	}
}
