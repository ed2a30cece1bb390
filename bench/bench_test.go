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

func TestTransactionsPerSecond(t *testing.T) {
	t.Parallel()
	got, err := transactionsPerSecond([]byte("latency average = 0.6 ms\ntps = 25346.702880 (without initial connection time)\n"))
	if err != nil || got != 25346.702880 {
		t.Error(got, err)
	}
	if _, err := transactionsPerSecond([]byte("pgbench: error")); err == nil {
		t.Error("no rate was told, and none is missed")
	}
}

// Everything is measured, on fifty items, and the report says so on paper and in JSON; where an item is
// not settled as it must be, the round fails.
func TestSpeed(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	srv := testServer(t)
	phones, err := startTelephones(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer phones.stop()
	all, err := contenders(ctx, srv, 25, phones)
	if err != nil {
		t.Fatal(err)
	}
	var results []result
	for _, c := range all {
		defer c.close()
		one, err := measure(ctx, srv, c)
		if err != nil {
			t.Fatalf("%s: %v", c.name(), err)
		}
		if one.Items == 0 || one.Took <= 0 || one.WAL <= 0 || one.Commits <= 0 {
			t.Errorf("%s: %+v", c.name(), one)
		}
		results = append(results, result{c.name(), c.kind(), []sample{one}})
	}
	r := newReport(ctx, srv, results, time.Minute)
	var text strings.Builder
	r.print(&text)
	for _, want := range []string{"raw16", "River", "gue v5", "SKIP LOCKED", "256 dial slots", "HTTP in 20 ms", "2 daemon(s)", "MISSED"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the report does not say %q:\n%s", want, text.String())
		}
	}
	b, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var back report
	if err := json.Unmarshal(b, &back); err != nil || !reflect.DeepEqual(back.Results, r.Results) {
		t.Errorf("%v: %+v", err, back)
	}
	p, is := all[6].(*contestant)
	if !is {
		t.Fatalf("%s is no setting of chasephone's", all[6].name())
	}
	if _, err := p.db.Pool.Exec(ctx, `insert into phone_followups (ref, phone_number, due_at, script) values ('x', '+14155550123', now(), 'x')`); err != nil {
		t.Fatal(err)
	}
	p.tenants++ // one more than was placed
	if err := p.verify(ctx); err == nil {
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
