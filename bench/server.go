package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"chasephone/internal/pgserver"
	"chasephone/internal/store"
)

// server is a PostgreSQL of the benchmark's own: fsync on, every other setting its default, in a
// folder that is deleted when it stops.
type server struct {
	url  string // of its first database
	stop func() error

	made []string // databases
}

// somebodys is a server that was there before. What was made in it is deleted in the end.
func somebodys(url string) *server {
	s := &server{url: url}
	s.stop = func() error {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		conn, err := pgx.Connect(ctx, s.url)
		if err != nil {
			return err
		}
		defer func() { _ = conn.Close(ctx) }()
		for _, name := range s.made {
			if _, err := conn.Exec(ctx, `drop database if exists `+name+` with (force)`); err != nil {
				return err
			}
		}
		return nil
	}
	return s
}

// close stops a server of our own, and deletes it.
func (s *server) close() {
	if err := s.stop(); err != nil {
		fmt.Fprintln(os.Stderr, "stopping PostgreSQL:", err)
	}
}

// startServer starts one, or uses the one at url: its settings are then whatever they are.
func startServer(ctx context.Context, url string) (*server, error) {
	if url != "" {
		return somebodys(url), nil
	}
	home, err := os.MkdirTemp("/var/tmp", "chasephone-bench-")
	if err != nil {
		return nil, err
	}
	var pg *pgserver.Server
	if err = os.Chmod(home, 0o755); err == nil { //nolint:gosec // PostgreSQL's own user must reach what is in it
		pg, err = pgserver.Start(ctx, pgserver.Options{DataDir: filepath.Join(home, "postgres")})
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(home))
	}
	return &server{url: pg.URL(), stop: func() error {
		err := pg.Stop()
		if removed := os.RemoveAll(home); err == nil {
			err = removed
		}
		return err
	}}, nil
}

// ours begins the names of databases that are made anew, so that on somebody's server none of theirs is deleted.
const ours = "chasephone_bench_"

// database makes an empty database of that name, deleting one that is there, and returns its URL.
func (s *server) database(ctx context.Context, name string) (string, error) {
	conn, err := pgx.Connect(ctx, s.url)
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close(ctx) }()
	for _, sql := range []string{`drop database if exists ` + name + ` with (force)`, `create database ` + name} {
		if _, err := conn.Exec(ctx, sql); err != nil {
			return "", fmt.Errorf("%s: %w", sql, err)
		}
	}
	if !slices.Contains(s.made, name) {
		s.made = append(s.made, name)
	}
	return s.of(name)
}

// of is the URL of a database of that name.
func (s *server) of(name string) (string, error) {
	u, err := url.Parse(s.url)
	if err != nil {
		return "", err
	}
	u.Path = "/" + name
	return u.String(), nil
}

// migrated is a database with chasephone's schema.
func (s *server) migrated(ctx context.Context, name string) (string, error) {
	url, err := s.database(ctx, name)
	if err != nil {
		return "", err
	}
	db, err := store.Connect(ctx, url, 2)
	if err != nil {
		return "", err
	}
	defer db.Close()
	if _, err := db.Migrate(ctx); err != nil {
		return "", err
	}
	return url, nil
}

// connect opens a pool of conns connections.
func connect(ctx context.Context, url string, conns int32) (*pgxpool.Pool, error) {
	settings, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	settings.MaxConns = conns
	return open(ctx, settings)
}

// open opens a pool's connections all at once, so that none is made while something is timed.
func open(ctx context.Context, settings *pgxpool.Config) (*pgxpool.Pool, error) {
	settings.MinConns = settings.MaxConns
	pool, err := pgxpool.NewWithConfig(context.WithoutCancel(ctx), settings)
	if err != nil {
		return nil, err
	}
	for pool.Stat().IdleConns() < settings.MaxConns {
		select {
		case <-ctx.Done():
			pool.Close()
			return nil, ctx.Err()
		case <-time.After(time.Millisecond): // until they are there
		}
	}
	return pool, nil
}

// counters are what the server has done so far.
type counters struct{ commits, wal int64 }

// counters reads those of a database. A session's commits are in them once it has ended.
func (s *server) counters(ctx context.Context, database string) (c counters, err error) {
	err = s.ask(ctx, `select coalesce((select xact_commit from pg_stat_database where datname = $1), 0), (pg_current_wal_insert_lsn() - '0/0')::bigint`,
		[]any{database}, &c.commits, &c.wal)
	return c, err
}

// deserted waits until no session is left in a database.
func (s *server) deserted(ctx context.Context, database string) error {
	for {
		var sessions int
		err := s.ask(ctx, `select count(*) from pg_stat_activity where datname = $1 and backend_type = 'client backend'`, []any{database}, &sessions)
		if err != nil || sessions == 0 {
			return err
		}
		time.Sleep(time.Millisecond) // a look again, not luck
	}
}

func (s *server) ask(ctx context.Context, sql string, args []any, into ...any) error {
	conn, err := pgx.Connect(ctx, s.url)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	return conn.QueryRow(ctx, sql, args...).Scan(into...)
}
