package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"chasephone/internal/drain"
)

// rounds are interleaved: one of every contender, then the next, so that whatever else the machine
// does falls on all of them.
const leastRounds = 3

// speed measures everything in one run, and says how it compares.
func speed(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("speed", flag.ContinueOnError)
	database := flags.String("database", "", "a `URL` of a PostgreSQL to measure on, instead of one of our own")
	file := flags.String("json", "", "a `file` to write the figures to")
	budget := flags.Duration("for", 9*time.Minute, "further rounds are begun no later than this")
	tenants := flags.Int("tenants", 10_000, "tenants, each with two due follow-ups")
	if err := flags.Parse(args); err != nil {
		return err
	}
	begun := time.Now()
	srv, err := startServer(ctx, *database)
	if err != nil {
		return err
	}
	defer srv.close()
	phones, err := startTelephones(ctx)
	if err != nil {
		return err
	}
	defer phones.stop()
	all, err := contenders(ctx, srv, *tenants, phones)
	if err != nil {
		return err
	}
	defer func() {
		for _, c := range all {
			c.close()
		}
	}()
	results := make([]result, len(all))
	for round := 0; round < leastRounds || time.Since(begun) < *budget*time.Duration(round)/time.Duration(round+1); round++ {
		for i, c := range all {
			one, err := measure(ctx, srv, c)
			if err != nil {
				return fmt.Errorf("%s: %w", c.name(), err)
			}
			results[i].Name, results[i].Kind = c.name(), c.kind()
			results[i].Rounds = append(results[i].Rounds, one)
			fmt.Fprintf(os.Stderr, "round %d: %-60s %9.0f/s\n", round+1, c.name(), one.PerSecond())
		}
	}
	report := newReport(ctx, srv, results, time.Since(begun))
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

// contender is one thing that is measured, in a database of its own.
type contender interface {
	name() string
	kind() string // of its figures, for the ratios
	database() string
	prepare(ctx context.Context) error // before each round; not timed
	run(ctx context.Context) (items int, took time.Duration, err error)
	verify(ctx context.Context) error // after each round
	// counted is what it has sent in the newest round; false: only the server knows, once its sessions have ended.
	counted() (statements, commits int64, ok bool)
	close()
}

// sample is one round of one contender.
type sample struct {
	Items      int           `json:"items"`
	Took       time.Duration `json:"took_ns"`
	Statements int64         `json:"statements,omitempty"`
	Commits    int64         `json:"commits"`
	WAL        int64         `json:"wal_bytes"`

	Slots       int           `json:"dial_slots,omitempty"`
	LastAttempt time.Duration `json:"last_attempt_p99_ns,omitempty"` // from the slot's begin to an attempt's commit
}

// PerSecond is items per second.
func (s sample) PerSecond() float64 { return float64(s.Items) / s.Took.Seconds() }

func measure(ctx context.Context, srv *server, c contender) (sample, error) {
	if err := c.prepare(ctx); err != nil {
		return sample{}, err
	}
	before, err := srv.counters(ctx, c.database())
	if err != nil {
		return sample{}, err
	}
	items, took, err := c.run(ctx)
	if err != nil {
		return sample{}, err
	}
	statements, commits, ok := c.counted()
	if !ok {
		if err := srv.deserted(ctx, c.database()); err != nil {
			return sample{}, err
		}
	}
	after, err := srv.counters(ctx, c.database())
	if err != nil {
		return sample{}, err
	}
	if !ok {
		commits = after.commits - before.commits
	}
	one := sample{Items: items, Took: took, Statements: statements, Commits: commits, WAL: after.wal - before.wal}
	if p, is := c.(*contestant); is {
		one.Slots, one.LastAttempt = p.slots, p.lastAttempt
	}
	return one, c.verify(ctx)
}

// settings of chasephone that are measured: over the carrier in this process, and over HTTP.
func instantSettings(tenants int) []setting {
	return []setting{{tenants, 2, 64, 1}, {tenants, 2, 256, 1}, {tenants, 2, 1024, 1}, {tenants, 2, 1024, 2}, {tenants, 2, 2048, 3}}
}

func httpSettings(tenants int) []setting {
	return []setting{{tenants / 2, 2, 64, 1}, {tenants / 2, 2, 256, 1}, {tenants, 2, 512, 2}, {tenants, 2, 1024, 2}}
}

func contenders(ctx context.Context, srv *server, tenants int, phones *telephones) ([]contender, error) {
	all := []contender{
		newPgbench(srv, raw16), newPgbench(srv, twoStatements16), newPgbench(srv, batch64),
		newRiver(srv, 2*tenants), newSkipLocked(srv, tenants), newGue(srv, tenants),
	}
	add := func(kind string, s setting, c drain.Carrier) error {
		p, err := newContestant(ctx, srv, kind, s, c)
		all = append(all, p)
		return err
	}
	for _, s := range instantSettings(tenants) {
		if err := add(kindInstant, s, &instant{}); err != nil {
			return nil, err
		}
	}
	for _, s := range httpSettings(tenants) {
		if err := add(kindHTTP, s, phones.carrier); err != nil {
			return nil, err
		}
	}
	for _, f := range []fleet{{daemons: 1, drainers: 1}, {daemons: 2, drainers: 2}} {
		c, err := newFleet(ctx, srv, f, tenants/5)
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return all, nil
}
