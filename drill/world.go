package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"chasephone/internal/mutants"
)

// world is everything that a drill starts, and what it has seen so far.
type world struct {
	options
	ctx      context.Context // until everything is ended
	scratch  scratch
	nursery  *nursery
	programs programs
	pg       *cluster
	db       *pgxpool.Pool // the drill's own way to the database: integrators', and persons' looks
	company  *company
	hooks    *hooks
	daemons  []*daemon
	tenants  []string
	promises *promises
	stops    *stops
	began    time.Time

	secondPort int       // of a standby
	rungThen   int       // when the database became another, and what was committed before had rung
	since      time.Time // when the database became another

	mu       sync.Mutex
	counts   map[string]int
	found    []violation
	foundAt  time.Time
	broken   error // of the drill itself
	troubled func()
}

// newWorld builds chasephone and starts everything but the daemons.
func newWorld(ctx context.Context, o options, out io.Writer) (*world, error) {
	w := &world{options: o, ctx: ctx, nursery: newNursery(), counts: map[string]int{}, troubled: func() {}}
	rnd := rand.New(rand.NewPCG(o.seed, 0))
	var err error
	if w.scratch, err = newScratch(strconv.FormatUint(o.seed, 10)); err != nil {
		return w, err
	}
	_, _ = fmt.Fprintf(out, "building chasephone; everything is in %s\n", w.scratch.dir)
	var mutant *mutants.Mutant
	if o.mutant != "" {
		m, ok := mutants.Named(o.mutant)
		if !ok {
			return w, fmt.Errorf("there is no mutant %s", o.mutant)
		}
		mutant = &m
	}
	if w.programs, err = build(ctx, o.root, w.scratch, mutant, o.race); err != nil {
		return w, err
	}
	if err := w.startDatabase(ctx, rnd, mutant); err != nil {
		return w, err
	}
	if err := w.startCarrier(ctx, rnd); err != nil {
		return w, err
	}
	w.promises = newPromises(w.tenants, rand.New(rand.NewPCG(o.seed, 1)))
	w.stops = &stops{}
	for n := range o.daemons {
		d, err := newDaemon(ctx, w, n+1, rnd)
		if err != nil {
			return w, err
		}
		w.daemons = append(w.daemons, d)
	}
	return w, nil
}

func (w *world) startDatabase(ctx context.Context, rnd *rand.Rand, mutant *mutants.Mutant) error {
	in, err := findPostgres(ctx, w.root)
	if err != nil {
		return err
	}
	port, err := freePort(ctx, rnd, w.lot)
	if err != nil {
		return err
	}
	if w.secondPort, err = freePort(ctx, rnd, w.lot); err != nil {
		return err
	}
	if w.pg, err = newCluster(ctx, w.nursery, w.scratch, in, "postgres", port); err != nil {
		return err
	}
	if err := w.pg.start(ctx); err != nil {
		return err
	}
	if err := w.pg.exec(ctx, "postgres", "create database "+database); err != nil {
		return err
	}
	if _, err := w.command(ctx, "migrate"); err != nil {
		return err
	}
	if mutant != nil && mutant.Loosen != "" {
		if err := w.pg.exec(ctx, database, mutant.Loosen); err != nil {
			return err
		}
	}
	config, err := pgxpool.ParseConfig(w.pg.url(database))
	if err != nil {
		return fmt.Errorf("reading the database's address: %w", err)
	}
	config.MaxConns = 16
	if w.db, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return fmt.Errorf("connecting to the database: %w", err)
	}
	return w.addTenants(ctx)
}

// addTenants adds tenants and lines, as rows: the commands are for persons.
func (w *world) addTenants(ctx context.Context) error {
	w.tenants = []string{"default"}
	for n := range w.options.tenants - 1 {
		w.tenants = append(w.tenants, fmt.Sprintf("t%02d", n+1))
	}
	// The first has its line by TWILIO_FROM. Every third has a second line, and one is paced.
	_, err := w.db.Exec(ctx, `
		with t as (
		  insert into tenants (id) select id from unnest($1::text[]) id where id <> 'default' returning id)
		insert into lines (tenant_id, name, carrier, caller_number, calls_per_second)
		select id, 'default', 'twilio', $2, case when id = 't01' then 1.5 else 0 end from t
		union all
		select id, 'second', 'twilio', $2, 0 from t where right(id, 1) in ('0', '3', '6', '9')`, w.tenants, callerOf)
	if err != nil {
		return fmt.Errorf("adding tenants and lines: %w", err)
	}
	return nil
}

func (w *world) startCarrier(ctx context.Context, rnd *rand.Rand) error {
	port, err := freePort(ctx, rnd, w.lot)
	if err != nil {
		return err
	}
	client := &http.Client{Timeout: 5 * time.Second}
	w.company = &company{w: w, port: port, book: w.scratch.in("rings.jsonl"), http: client, healed: w.calm}
	if err := w.company.start(ctx); err != nil {
		return err
	}
	hookPort, err := freePort(ctx, rnd, w.lot)
	if err != nil {
		return err
	}
	l, err := listen(ctx, hookPort)
	if err != nil {
		return fmt.Errorf("listening for webhooks: %w", err)
	}
	w.hooks = &hooks{w: w, url: "http://" + local(hookPort), http: client, rnd: rand.New(rand.NewPCG(w.seed, 2)), kind: w.calm}
	go w.hooks.serve(ctx, l)
	return nil
}

// command runs one of chasephone's commands as a person does, and gives what it printed.
func (w *world) command(ctx context.Context, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	env := append(limits(), "DATABASE_URL="+w.pg.url(database), "PATH="+os.Getenv("PATH"), "HOME="+w.scratch.dir)
	if w.company != nil {
		env = append(env, "TWILIO_BASE_URL=http://"+local(w.company.port))
	}
	return w.nursery.run(ctx, birth{program: w.programs.command, args: args, env: env})
}

// end ends everything that was started.
func (w *world) end() {
	w.nursery.end()
	if w.db != nil {
		w.db.Close()
	}
}

// count counts something for the figures.
func (w *world) count(what string, n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.counts[what] += n
}

// find notes a violation, which ends the drill.
func (w *world) find(all ...violation) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(all) == 0 {
		return
	}
	if len(w.found) == 0 {
		w.foundAt = time.Now()
	}
	w.found = append(w.found, all...)
	w.troubled()
}

// fail notes that the drill itself cannot go on.
func (w *world) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err == nil || errors.Is(err, context.Canceled) {
		return
	}
	w.broken = errors.Join(w.broken, err)
	w.troubled()
}

func (w *world) trouble() ([]violation, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]violation(nil), w.found...), w.broken
}
