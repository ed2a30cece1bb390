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
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// What the database can do at all: PostgreSQL's own benchmark, whose client costs next to nothing,
// with 16 sessions over a table of rawRows rows.
const (
	rawRows    = 100_000
	rawClients = 16
)

// script is what a session does again and again: how many items that is, and how many statements,
// of which each is committed by itself.
type script struct {
	kind, text, says  string
	items, statements int
}

//nolint:gochecknoglobals // constants
var (
	raw16 = script{kindRaw, `\set id random(1, 100000)
update raw set intent = intent + 1 where id = :id;
`, "one row updated by its key", 1, 1}
	twoStatements16 = script{kindTwo, `\set id random(1, 100000)
update raw set intent = intent + 1 where id = :id;
update raw set outcome = intent where id = :id;
`, "an intent, an outcome", 1, 2}
	batch64 = script{kindBatch, `\set id random(1, 1562) * 64 - 63
update raw set intent = intent + 1 where id between :id and :id + 63;
`, "64 rows a statement", 64, 1}
)

type pgbench struct {
	script
	srv     *server
	program string
	seconds int // of a round

	transactions int64 // of the newest round
}

func newPgbench(srv *server, program string, s script, seconds int) *pgbench {
	return &pgbench{script: s, srv: srv, program: program, seconds: seconds}
}

func (p *pgbench) subject() subject { return subject{p.kind + ": " + p.says, p.kind, 0} }
func (p *pgbench) database() string { return ours + "raw" }
func (p *pgbench) close()           {}

func (p *pgbench) prepare(ctx context.Context) error {
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
	at, err := p.srv.of(p.database())
	if err != nil {
		return 0, 0, err
	}
	address, err := url.Parse(at)
	if err != nil {
		return 0, 0, err
	}
	password, _ := address.User.Password()
	address.User = url.User(address.User.Username()) // what a program is called with is no secret
	cmd := exec.CommandContext(ctx, p.program, "--no-vacuum", "--protocol=prepared", "--file=-", "--client="+strconv.Itoa(rawClients), "--jobs=2",
		"--time="+strconv.Itoa(p.seconds), address.String())
	cmd.Env = append(os.Environ(), "PGPASSWORD="+password)
	cmd.Stdin = strings.NewReader(p.text)
	said, err := cmd.CombinedOutput()
	if err != nil {
		return 0, 0, fmt.Errorf("%s: %w: %s", p.program, err, said)
	}
	var perSecond float64
	p.transactions, perSecond, err = readPgbench(said)
	if err != nil {
		return 0, 0, err
	}
	took := float64(p.transactions) / perSecond
	return int(p.transactions) * p.items, time.Duration(took * float64(time.Second)), nil
}

func (p *pgbench) verify(context.Context) error { return nil }

func (p *pgbench) counted() (statements, commits int64) {
	n := p.transactions * int64(p.statements)
	return n, n
}

//nolint:gochecknoglobals // constants
var (
	processed = regexp.MustCompile(`(?m)^number of transactions actually processed: ([0-9]+)`)
	tps       = regexp.MustCompile(`(?m)^tps = ([0-9.]+)`)
)

// readPgbench reads how often the script was run in all, and in a second.
func readPgbench(said []byte) (transactions int64, perSecond float64, err error) {
	all, rate := processed.FindSubmatch(said), tps.FindSubmatch(said)
	if all == nil || rate == nil {
		return 0, 0, fmt.Errorf("pgbench does not say what it did: %s", said)
	}
	if transactions, err = strconv.ParseInt(string(all[1]), 10, 64); err != nil {
		return 0, 0, err
	}
	perSecond, err = strconv.ParseFloat(string(rate[1]), 64)
	if err == nil && (transactions == 0 || perSecond <= 0) {
		err = errors.New("pgbench did nothing")
	}
	return transactions, perSecond, err
}

// findPgbench finds the one that came with the server, or any that is in PATH.
func findPgbench(ctx context.Context, srv *server) (string, error) {
	var beside string
	// Only a superuser may ask; a server elsewhere names a folder that is not here.
	if err := srv.ask(ctx, `select setting from pg_config where name = 'BINDIR'`, nil, &beside); err == nil {
		if path, err := exec.LookPath(filepath.Join(beside, "pgbench")); err == nil {
			return path, nil
		}
	}
	path, err := exec.LookPath("pgbench")
	if err != nil {
		return "", fmt.Errorf("pgbench is neither beside the server's programs (%s) nor in PATH: install PostgreSQL's server here (Debian: postgresql; elsewhere its contrib package)", beside)
	}
	return path, nil
}
