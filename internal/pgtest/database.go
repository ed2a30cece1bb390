package pgtest

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver that pgtestdb asks database/sql for
	"github.com/peterldowns/pgtestdb"
)

// poolSize is small because every parallel test has a pool: 300 connections are to suffice.
const poolSize = 8

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
	s, err := server()
	if err != nil {
		t.Fatalf("pgtest: no PostgreSQL for this test: %v", err)
	}
	return pgtestdb.Custom(alwaysDropping{t}, s.config, migrator{Migration: m, run: s.run}).URL()
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

// alwaysDropping hides from pgtestdb that a test failed: it would keep the database. It also
// drops pgtestdb's remark on where the database is, since that is gone when one reads it.
type alwaysDropping struct{ testing.TB }

func (alwaysDropping) Failed() bool        { return false }
func (alwaysDropping) Logf(string, ...any) {}

// migrator is a Migration as pgtestdb wants it.
type migrator struct {
	Migration
	run string
}

func (m migrator) Hash() (string, error) {
	hash, err := m.Migration.Hash()
	return hash + m.run, err
}

func (m migrator) Migrate(ctx context.Context, _ *sql.DB, c pgtestdb.Config) error {
	return m.Up(ctx, c.URL())
}
