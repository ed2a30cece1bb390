package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// standby makes a streaming standby of a server and starts it.
func (c *cluster) standby(ctx context.Context, name string, port int) (*cluster, error) {
	s := &cluster{installation: c.installation, nursery: c.nursery, scratch: c.scratch, name: name, port: port, password: c.password}
	if err := s.makeFolder(); err != nil {
		return nil, err
	}
	if _, err := s.program(ctx, "pg_basebackup", "--dbname="+c.url("postgres"), "--pgdata="+s.data(), "--write-recovery-conf", "--checkpoint=fast"); err != nil {
		return nil, err
	}
	return s, s.start(ctx)
}

// awaits has the server's commits await the standby, from now on.
func (c *cluster) awaits(ctx context.Context) error {
	for _, sql := range []string{`alter system set synchronous_standby_names = '*'`, `select pg_reload_conf()`} {
		if err := c.exec(ctx, "postgres", sql); err != nil {
			return err
		}
	}
	conn, err := pgx.Connect(ctx, c.url("postgres"))
	if err != nil {
		return fmt.Errorf("connecting to %s: %w", c.name, err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	return await(ctx, "the standby is synchronous", 20*time.Second, func() bool {
		var n int
		err := conn.QueryRow(ctx, `select count(*) from pg_stat_replication where sync_state = 'sync'`).Scan(&n)
		return err == nil && n == 1
	})
}

// promote makes a standby the server.
func (c *cluster) promote(ctx context.Context) error {
	return c.exec(ctx, "postgres", `select pg_promote(true, 60)`)
}

// dump writes the database as it is into a file.
func (c *cluster) dump(ctx context.Context) (string, error) {
	dir := c.scratch.in(c.name + ".dumps")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("making a folder for dumps: %w", err)
	}
	if err := c.give(dir); err != nil {
		return "", fmt.Errorf("making a folder for dumps: %w", err)
	}
	file := filepath.Join(dir, "dump")
	_, err := c.program(ctx, "pg_dump", "--format=custom", "--file="+file, "--dbname="+c.url(database))
	return file, err
}

// restore loads a dump into the database.
func (c *cluster) restore(ctx context.Context, file string, how ...string) error {
	_, err := c.program(ctx, "pg_restore", append(how, "--dbname="+c.url(database), file)...)
	return err
}

// replace puts an empty database in the place of the one that is there.
func (c *cluster) replace(ctx context.Context) error {
	if err := c.exec(ctx, "postgres", `drop database if exists `+database+` with (force)`); err != nil {
		return err
	}
	return c.exec(ctx, "postgres", `create database `+database)
}

// bounce stops the server cleanly and starts it again.
func (c *cluster) bounce(ctx context.Context) error {
	c.end(syscall.SIGINT)
	return c.start(ctx)
}
