package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
)

// What the database can do at all: PostgreSQL's own benchmark, whose client costs next to nothing,
// with 16 sessions over a table of rawRows rows.
const (
	rawRows    = 100_000
	rawClients = 16
	rawSeconds = 3
)

// script is what a session does again and again, and how many items that is.
type script struct {
	kind, text, says string
	items            int
}

//nolint:gochecknoglobals // constants
var (
	raw16 = script{kindRaw, `\set id random(1, 100000)
update raw set intent = intent + 1 where id = :id;
`, "one row updated by its key, and committed", 1}
	twoStatements16 = script{kindTwo, `\set id random(1, 100000)
update raw set intent = intent + 1 where id = :id;
update raw set outcome = intent where id = :id;
`, "an intent and an outcome, each committed", 1}
	batch64 = script{kindBatch, `\set id random(1, 1562) * 64 - 63
update raw set intent = intent + 1 where id between :id and :id + 63;
`, "64 rows in a statement and commit", 64}
)

type pgbench struct {
	script
	srv     *server
	program string
}

func newPgbench(srv *server, s script) *pgbench { return &pgbench{script: s, srv: srv} }

func (p *pgbench) name() string     { return p.script.kind + ": " + p.says }
func (p *pgbench) kind() string     { return p.script.kind }
func (p *pgbench) database() string { return "raw" }
func (p *pgbench) close()           {}

func (p *pgbench) prepare(ctx context.Context) (err error) {
	if p.program == "" {
		if p.program, err = findPgbench(); err != nil {
			return err
		}
	}
	at, err := p.srv.database(ctx, p.database())
	if err != nil {
		return err
	}
	conn, err := pgx.Connect(ctx, at)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	for _, sql := range []string{
		`create table raw (id int primary key, intent int not null default 0, outcome int not null default 0)`,
		fmt.Sprintf(`insert into raw select generate_series(1, %d)`, rawRows), `vacuum analyze raw`, `checkpoint`,
	} {
		if _, err := conn.Exec(ctx, sql); err != nil {
			return fmt.Errorf("%s: %w", sql, err)
		}
	}
	return nil
}

func (p *pgbench) run(ctx context.Context) (int, time.Duration, error) {
	u, err := url.Parse(p.srv.url)
	if err != nil {
		return 0, 0, err
	}
	file := filepath.Join(os.TempDir(), "chasephone-bench-"+p.script.kind+"-"+strconv.Itoa(os.Getpid())+".sql")
	if err := os.WriteFile(file, []byte(p.text), 0o600); err != nil {
		return 0, 0, err
	}
	defer func() { _ = os.Remove(file) }()
	clients := strconv.Itoa(rawClients)
	cmd := exec.CommandContext(ctx, p.program, "--no-vacuum", "--protocol=prepared", "--file="+file, "--client="+clients, "--jobs=2",
		"--time="+strconv.Itoa(rawSeconds), "--host="+u.Hostname(), "--port="+u.Port(), "--username="+u.User.Username(), p.database())
	password, _ := u.User.Password()
	cmd.Env = append(os.Environ(), "PGPASSWORD="+password)
	said, err := cmd.CombinedOutput()
	if err != nil {
		return 0, 0, fmt.Errorf("pgbench: %w: %s", err, said)
	}
	perSecond, err := transactionsPerSecond(said)
	if err != nil {
		return 0, 0, err
	}
	items := int(perSecond * rawSeconds * float64(p.items))
	return items, rawSeconds * time.Second, nil
}

func (p *pgbench) verify(context.Context) error   { return nil }
func (p *pgbench) counted() (s, c int64, ok bool) { return 0, 0, false }

//nolint:gochecknoglobals // a constant
var tps = regexp.MustCompile(`(?m)^tps = ([0-9.]+)`)

func transactionsPerSecond(said []byte) (float64, error) {
	found := tps.FindSubmatch(said)
	if found == nil {
		return 0, fmt.Errorf("pgbench says no rate: %s", said)
	}
	return strconv.ParseFloat(string(found[1]), 64)
}

// findPgbench finds the server's own: beside its programs, or in PATH.
func findPgbench() (string, error) {
	beside, _ := filepath.Glob("/usr/lib/postgresql/*/bin/pgbench")
	if len(beside) > 0 {
		return beside[len(beside)-1], nil
	}
	path, err := exec.LookPath("pgbench")
	if err != nil {
		return "", errors.New("pgbench is not here: it comes with PostgreSQL's server (Debian: postgresql-15) or its contrib package")
	}
	return path, nil
}
