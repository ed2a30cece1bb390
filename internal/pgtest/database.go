package pgtest

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// poolSize is small because every parallel test has a pool: 300 connections are to suffice.
const poolSize = 8

// patience bounds each thing that is done for one test, migrating included.
const patience = time.Minute

// New gives the test a migrated database of its own, dropped at its end. Its address, for a
// process that the test starts, is pool.Config().ConnString().
func New(t testing.TB) *pgxpool.Pool {
	t.Helper()
	return newPool(t, newDatabase(t, schema()))
}

// URL is New for tests that leave the connecting to the processes they start. Sessions that
// are left at the end of the test are cut.
func URL(t testing.TB) string {
	t.Helper()
	return newDatabase(t, schema())
}

func newDatabase(t testing.TB, m Migration) string {
	t.Helper()
	s, err := shared()
	if err != nil {
		t.Fatalf("pgtest: no PostgreSQL for this test: %v", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	template, err := s.template(ctx, m)
	if err != nil {
		t.Fatalf("pgtest: make the template of the tests' databases: %v", err)
	}
	name, err := s.copyOf(ctx, template)
	if err != nil {
		t.Fatalf("pgtest: make a database for this test: %v", err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := s.drop(ctx, name); err != nil {
			t.Errorf("pgtest: drop the database of this test: %v", err)
		}
	})
	return s.url(name)
}

func newPool(t testing.TB, url string) *pgxpool.Pool {
	t.Helper()
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		t.Fatalf("pgtest: read the address of the test's database: %v", err)
	}
	config.MaxConns = poolSize
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	if err != nil {
		t.Fatalf("pgtest: open a pool on the test's database: %v", err)
	}
	t.Cleanup(func() { closePool(t, pool) })
	return pool
}

// closePool does not wait for ever for a connection that the test kept, as Close would: a
// test that failed between Acquire and Release is to say why, not to hang.
func closePool(t testing.TB, pool *pgxpool.Pool) {
	closed := make(chan struct{})
	go func() {
		pool.Close()
		close(closed)
	}()
	select {
	case <-closed:
	case <-time.After(5 * time.Second):
		t.Errorf("pgtest: %d connections were acquired and not released", pool.Stat().AcquiredConns())
	}
}
