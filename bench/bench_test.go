package main

import (
	"context"
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// TestMain lets the tests' program be the telephone company, as the benchmark's is.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "telephones" {
		if err := run(context.Background(), os.Args[1:], os.Stdout); err != nil {
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func TestQuantile(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		values []float64
		q      float64
		want   float64
	}{{[]float64{3}, 0.5, 3}, {[]float64{3, 1, 2}, 0.5, 2}, {[]float64{4, 1, 2, 3}, 0.5, 2.5}, {[]float64{4, 1, 2, 3}, 1, 4}, {[]float64{4, 1, 2, 3}, 0, 1}} {
		if got := quantile(c.values, c.q); got != c.want {
			t.Errorf("%g of %v is %g, not %g", c.q, c.values, got, c.want)
		}
	}
}

// What must be reached is said to be, or not: a value at its floor is, and below is the other way round.
func TestMeasured(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		m    measured
		want string
	}{
		{measured{Value: 0.9, Floor: 0.9, Aim: 1.5}, "floor reached"},
		{measured{Value: 1.5, Floor: 0.9, Aim: 1.5}, "aim reached"},
		{measured{Value: 0.89, Floor: 0.9, Aim: 1.5}, "MISSED"},
		{measured{Value: 1.8, Floor: 1.8}, "floor reached"},
		{measured{Value: 1.2, Floor: 2, Aim: 1.3, Below: true}, "aim reached"},
		{measured{Value: 1.4, Floor: 2, Aim: 1.3, Below: true}, "floor reached"},
		{measured{Value: 2, Floor: 2, Aim: 1.3, Below: true}, "MISSED"},
	} {
		if got := c.m.says(); got != c.want {
			t.Errorf("%+v: %s, not %s", c.m, got, c.want)
		}
	}
}

func TestReadPgbench(t *testing.T) {
	t.Parallel()
	const said = "number of transactions actually processed: 76040\nlatency average = 0.6 ms\ntps = 25346.702880 (without initial connection time)\n"
	n, perSecond, err := readPgbench([]byte(said))
	if err != nil || n != 76040 || perSecond != 25346.702880 {
		t.Error(n, perSecond, err)
	}
	for _, said := range []string{"pgbench: error", "tps = 1", "number of transactions actually processed: 0\ntps = 0.0"} {
		if _, _, err := readPgbench([]byte(said)); err == nil {
			t.Errorf("%q does not say what was done, and that is not missed", said)
		}
	}
}

// Of three rounds the medians are told, with the least and the greatest; ratios are of medians, and only
// where they say something.
func TestReport(t *testing.T) {
	t.Parallel()
	rounds := func(perSecond ...int) (all []sample) {
		for _, n := range perSecond {
			all = append(all, sample{Items: n, Took: time.Second, Statements: int64(2 * n), Commits: int64(n / 10), WAL: int64(5000 * n)})
		}
		return all
	}
	results := []result{
		{subject: subject{"raw16: one", kindRaw, 0}, Rounds: rounds(30_000, 20_000, 10_000)},
		{subject: subject{"2stmt16: two", kindTwo, 0}, Rounds: rounds(10_000, 10_000, 10_000)},
		{subject: subject{"River", kindRiver, 0}, Rounds: rounds(40_000, 40_000, 40_000)},
		{subject: subject{"chasephone: 256", kindInstant, 256}, Rounds: rounds(30_000, 10_000, 15_000)},
		{subject: subject{"chasephone: 1024", kindInstant, 1024}, Rounds: rounds(24_000, 25_000, 26_000)},
		{subject: subject{"HTTP: 64", kindHTTP, 64}, Rounds: rounds(1_600, 1_600, 1_600)},
		{subject: subject{"one daemon", kindOne, 64}, Rounds: rounds(600, 600, 600)},
		{subject: subject{"two daemons", kindFleet, 64}, Rounds: rounds(1_200, 600, 1_200)},
	}
	summarize(results)
	small := results[3].Median
	want := summary{PerSecond: 15_000, Min: 10_000, Max: 30_000, OfRaw: 0.75, OfTwo: 1.5, OfRiver: 0.375, Statements: 2, Commits: 0.1, Rows: 10, WAL: 5000}
	if small != want {
		t.Errorf("%+v, not %+v", small, want)
	}
	if m := results[7].Median; m.OfRaw != 0 || m.OfRiver != 0 {
		t.Errorf("what its carrier bounds is compared with the database: %+v", m)
	}
	if n := len(measures(results)); n != 6 {
		t.Errorf("%d measures: what was not measured is said to be reached, or not", n)
	}
	for i, value := range []float64{1.25, 0.625, 1.5, 0.5, 0.08, 2} {
		if m := measures(results)[i]; m.Value != value {
			t.Errorf("%s is %g, not %g", m.Measure, m.Value, value)
		}
	}
	r := report{Results: results, Measures: measures(results), Server: "PostgreSQL 15.18", Settings: "none"}
	var text strings.Builder
	r.print(&text)
	const line = "    15000  10000  30000    0.75      1.50    0.38       2.000    0.100  5000          10.0  chasephone: 256\n"
	if !strings.Contains(text.String(), line) {
		t.Errorf("there is no line\n%sin\n%s", line, text.String())
	}
	narrow(t, text.String())
}

// narrow says that a text fits on a page.
func narrow(t *testing.T, text string) {
	t.Helper()
	for line := range strings.Lines(text) {
		if n := len([]rune(line)); n > 141 {
			t.Errorf("%d columns: %s", n-1, line)
		}
	}
}

// Everything is measured, on fifty items, and the report says so on paper and in JSON; where an item is
// not settled as it must be, the round fails.
func TestSpeed(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	srv := testServer(t)
	e := extent{tenants: 25, seconds: 1}
	w, err := newWorld(ctx, srv, e)
	defer w.close()
	if err != nil {
		t.Fatal(err)
	}
	var results []result
	for _, c := range w.all {
		s := c.subject()
		one, err := measure(ctx, srv, c)
		if err != nil {
			t.Fatalf("%s: %v", s.Name, err)
		}
		if one.Items == 0 || one.Took <= 0 || one.WAL <= 0 || one.Commits <= 0 || one.Statements == 0 {
			t.Errorf("%s: %+v", s.Name, one)
		}
		if s.Kind == kindSlot && (one.AfterSlot == nil || one.AfterSlot.P50 <= 0 || one.AfterSlot.Outcome99 < one.AfterSlot.P99) {
			t.Errorf("%s: %+v", s.Name, one.AfterSlot)
		}
		results = append(results, result{subject: s, Rounds: []sample{one}})
	}
	r := newReport(ctx, srv, results, e, time.Minute)
	var text strings.Builder
	r.print(&text)
	narrow(t, text.String())
	for _, want := range []string{"raw16", "River", "gue v5", "SKIP LOCKED", "chasephone: 256 slots", "chasephone HTTP", "by a tick", "two daemons", "MISSED"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the report does not say %q:\n%s", want, text.String())
		}
	}
	b, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var back report
	if err := json.Unmarshal(b, &back); err != nil || !reflect.DeepEqual(back, r) {
		t.Errorf("%v: %+v is not %+v", err, back, r)
	}
	for _, c := range w.all {
		if p, is := c.(*contestant); is {
			notSettled(t, p)
			break
		}
	}
}

// notSettled sees to it that a follow-up which was not placed is missed.
func notSettled(t *testing.T, p *contestant) {
	t.Helper()
	if _, err := p.db.Pool.Exec(t.Context(), `insert into phone_followups (ref, phone_number, due_at, script) values ('x', '+14155550123', now(), 'x')`); err != nil {
		t.Fatal(err)
	}
	p.tenants++ // one more than was placed
	if err := p.verify(t.Context()); err == nil {
		t.Error("what was not placed is not missed")
	}
}

// A large database, made small, is one that the schema itself would have taken, and what is measured in it is.
func TestScale(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	srv := testServer(t)
	w, err := newScaleWorld(ctx, srv, "scale_test", 2000)
	if err != nil {
		t.Fatal(err)
	}
	defer w.close()
	rows, err := w.db.Pool.Query(ctx, `select format('alter table %s validate constraint %I', conrelid::regclass, conname) from pg_constraint where contype in ('f', 'c') and connamespace = 'public'::regnamespace`)
	if err != nil {
		t.Fatal(err)
	}
	checks, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.db.Pool.Exec(ctx, `update pg_constraint set convalidated = false where contype in ('f', 'c') and connamespace = 'public'::regnamespace`); err != nil {
		t.Skip("not a superuser here: ", err)
	}
	for _, sql := range checks {
		if _, err := w.db.Pool.Exec(ctx, sql); err != nil {
			t.Errorf("%s: %v", sql, err)
		}
	}
	r := scaled{Sizes: []int64{2000}, Values: map[string]float64{}}
	if err := w.measure(ctx, &r, "here", 2); err != nil {
		t.Fatal(err)
	}
	if err := w.beside(ctx, &r, 600, 2); err != nil {
		t.Fatal(err)
	}
	if r.claim("here") <= 0 || r.claim(besideOld) <= 0 || len(r.Timings) < 10 {
		t.Errorf("%+v", r)
	}
	var text strings.Builder
	r.print(&text)
	if !strings.Contains(text.String(), whatClaim) {
		t.Error(text.String())
	}
}

// testServer is a server of the test's own, or DATABASE_URL's, in which what was made is deleted again.
func testServer(t *testing.T) *server {
	t.Helper()
	srv, err := startServer(t.Context(), os.Getenv("DATABASE_URL"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.close)
	return srv
}
