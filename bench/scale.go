package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/jackc/pgx/v5"
)

// scale measures what a tick costs by how many rows there are. One in a hundred tenants has due work.
func scale(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("scale", flag.ContinueOnError)
	database := flags.String("database", "", "a `URL` of a PostgreSQL to measure on, instead of one of our own")
	sizes := flags.String("sizes", "10000,1000000,10000000", "follow-ups in each database")
	slots := flags.Int("slots", 200, "slots to measure at each size")
	dead := flags.Int("dead", 1_000_000, "rows to change beside an old snapshot; at most the largest size but one")
	idle := flags.Duration("idle", time.Minute, "how long to watch a daemon that has nothing to do")
	file := flags.String("json", "", "a `file` to write the figures to")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *file != "" { // before half an hour has gone by
		if err := os.MkdirAll(filepath.Dir(*file), 0o755); err != nil {
			return err
		}
	}
	srv, err := startServer(ctx, *database)
	if err != nil {
		return err
	}
	defer srv.close()
	r := scaled{Values: map[string]float64{}}
	all := strings.Split(*sizes, ",")
	for i, text := range all {
		rows, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
		if err != nil {
			return fmt.Errorf("-sizes: %w", err)
		}
		name := sized(rows)
		w, err := newScaleWorld(ctx, srv, name, rows)
		if err != nil {
			return err
		}
		if err := w.measure(ctx, &r, name, *slots); err != nil {
			return err
		}
		r.Sizes = append(r.Sizes, rows)
		if len(r.Sizes) == 2 {
			if err := w.beside(ctx, &r, *dead, *slots); err != nil {
				return err
			}
		}
		if i == len(all)-1 {
			if err := w.daemon(ctx, &r, name, *idle); err != nil {
				return err
			}
		}
		w.close()
	}
	r.print(out)
	if *file == "" {
		return nil
	}
	b, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(*file, append(b, '\n'), 0o644) //nolint:gosec // figures that anybody may read
}

// scaled is what was measured: milliseconds, by what, the database and p50 or p99.
type scaled struct {
	Sizes   []int64            `json:"sizes"`
	Timings []timing           `json:"timings"`
	Values  map[string]float64 `json:"values"`
}

// timing is one thing done again and again, in milliseconds.
type timing struct {
	What  string  `json:"what"`
	In    string  `json:"in"`
	Times int     `json:"times"`
	P50   float64 `json:"p50_ms"`
	P99   float64 `json:"p99_ms"`
}

func (r *scaled) add(what, in string, all []time.Duration) {
	if len(all) == 0 {
		return
	}
	ms := make([]float64, len(all))
	for i, d := range all {
		ms[i] = d.Seconds() * 1000
	}
	one := timing{what, in, len(all), quantile(ms, 0.5), quantile(ms, 0.99)}
	r.Timings = append(r.Timings, one)
	fmt.Fprintf(os.Stderr, "%-12s %-50s %4d × p50 %9.3f ms, p99 %9.3f ms\n", in, what, one.Times, one.P50, one.P99)
}

// claim is the median of a claim that finds due work.
func (r *scaled) claim(in string) float64 {
	for _, one := range r.Timings {
		if one.What == whatClaim && one.In == in {
			return one.P50
		}
	}
	return 0
}

const (
	whatClaim   = "a claim that finds due work"
	besideOld   = "beside an old snapshot"
	withoutDead = "before it"
)

func (r *scaled) print(out io.Writer) {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	say(t, "what\tin\ttimes\tp50 ms\tp99 ms\n")
	for _, one := range r.Timings {
		say(t, "%s\t%s\t%d\t%.3f\t%.3f\n", one.What, one.In, one.Times, one.P50, one.P99)
	}
	_ = t.Flush()
	say(out, "\n")
	first, last := sized(r.Sizes[0]), sized(r.Sizes[len(r.Sizes)-1])
	all := []measured{
		{"claim p50, " + last + " / " + first, last, r.claim(last) / r.claim(first), 2, 1.3, true},
		{"claim p50, beside an old snapshot and dead rows / before", besideOld, r.claim(besideOld) / r.claim(withoutDead), 3, 1.5, true},
		{"/metrics p99, ms", last, r.Values["metrics_ms"], 50, 0, true},
		{"rows in final states read by a refresh of the gauges", last, r.Values["final_rows_read"], 1, 0, true},
		{"idle daemon: % of a core", last, r.Values["idle_cpu_percent"], 1, 0.5, true},
		{"idle daemon: MiB resident", last, r.Values["idle_mib"], 64, 32, true},
		{"idle daemon: transactions a second", last, r.Values["idle_statements"], 20, 10, true},
	}
	t = tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	say(t, "measure\tvalue\tbelow\taim\t\tat\n")
	for _, m := range all {
		say(t, "%s\t%.2f\t%g\t%s\t%s\t%s\n", m.Measure, m.Value, m.Floor, unless(m.Aim == 0, "%g", m.Aim), m.says(), m.Setting)
	}
	_ = t.Flush()
}

// sized is the name of the database with so many rows.
func sized(rows int64) string { return "chasephone_bench_" + strconv.FormatInt(rows, 10) }

// newScaleWorld is a database of that name with that many rows; one that is there is used as it is.
func newScaleWorld(ctx context.Context, srv *server, name string, rows int64) (*scaleWorld, error) {
	var there bool
	if err := srv.ask(ctx, `select exists (select from pg_database where datname = $1)`, []any{name}, &there); err != nil {
		return nil, err
	}
	url, err := srv.of(name)
	if err != nil {
		return nil, err
	}
	if !there {
		if url, err = srv.migrated(ctx, name); err != nil {
			return nil, err
		}
		conn, err := pgx.Connect(ctx, url)
		if err != nil {
			return nil, err
		}
		defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
		if err := load(ctx, conn, rows); err != nil {
			return nil, err
		}
	}
	p, err := newProduct(ctx, url, setting{tenants: scaleTenants, perTick: 100, slots: 512, drainers: 1}, &instant{})
	if err != nil {
		return nil, err
	}
	return &scaleWorld{product: p}, p.setLimits(ctx)
}
