package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
	"github.com/vgarvardt/gue/v5"
	"github.com/vgarvardt/gue/v5/adapter/pgxv5"
)

// Peers do nothing for an item: what they cost is the queue.

const peerWorkers = 16

// peer is what peers have in common: a database made anew for every round, and a count of what was done.
type peer struct {
	srv    *server
	in     string
	items  int
	pool   *pgxpool.Pool
	worked atomic.Int64
}

func (p *peer) database() string               { return p.in }
func (p *peer) close()                         {}
func (p *peer) counted() (s, c int64, ok bool) { return 0, 0, false }

// open makes the database, and a pool.
func (p *peer) open(ctx context.Context, conns int32) error {
	p.worked.Store(0)
	url, err := p.srv.database(ctx, p.in)
	if err != nil {
		return err
	}
	p.pool, err = connect(ctx, url, conns)
	return err
}

func (p *peer) exec(ctx context.Context, statements ...string) error {
	for _, sql := range statements {
		if _, err := p.pool.Exec(ctx, sql); err != nil {
			return fmt.Errorf("%s: %w", sql, err)
		}
	}
	return nil
}

// until waits for everything to be worked.
func (p *peer) until(ctx context.Context) error {
	for p.worked.Load() < int64(p.items) {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Millisecond): // a look again, not luck
		}
	}
	return nil
}

func (p *peer) verify(context.Context) error {
	if n := p.worked.Load(); n != int64(p.items) {
		return fmt.Errorf("%d of %d items were worked", n, p.items)
	}
	return nil
}

// riverPeer is River's own no-op jobs, 1,000 workers, which fetch as often as they can.
type riverPeer struct {
	peer
	client *river.Client[pgx.Tx]
}

func newRiver(srv *server, items int) *riverPeer {
	return &riverPeer{peer: peer{srv: srv, in: "river", items: items}}
}

func (*riverPeer) name() string { return "River: no-op jobs, MaxWorkers 1000" }
func (*riverPeer) kind() string { return kindRiver }

type noop struct{}

func (noop) Kind() string { return "noop" }

type noopWorker struct {
	river.WorkerDefaults[noop]
	worked *atomic.Int64
}

func (w *noopWorker) Work(context.Context, *river.Job[noop]) error {
	w.worked.Add(1)
	return nil
}

func (r *riverPeer) prepare(ctx context.Context) error {
	if err := r.open(ctx, conns); err != nil {
		return err
	}
	driver := riverpgxv5.New(r.pool)
	migrator, err := rivermigrate.New(driver, nil)
	if err != nil {
		return err
	}
	if _, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return err
	}
	workers := river.NewWorkers()
	river.AddWorker(workers, &noopWorker{worked: &r.worked})
	r.client, err = river.NewClient(driver, &river.Config{
		Queues:  map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: 1000, FetchCooldown: time.Millisecond, FetchPollInterval: time.Millisecond}},
		Workers: workers, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return err
	}
	jobs := make([]river.InsertManyParams, r.items)
	for i := range jobs {
		jobs[i].Args = noop{}
	}
	if _, err := r.client.InsertManyFast(ctx, jobs); err != nil {
		return err
	}
	return r.exec(ctx, `vacuum analyze river_job`, `checkpoint`)
}

// run ends when every job is completed in the database, not only worked.
func (r *riverPeer) run(ctx context.Context) (int, time.Duration, error) {
	begun := time.Now()
	if err := r.client.Start(ctx); err != nil {
		return 0, 0, err
	}
	if err := r.until(ctx); err != nil {
		return 0, 0, err
	}
	err := r.client.Stop(ctx) // which completes what was worked
	took := time.Since(begun)
	var left int
	err = errors.Join(err, r.pool.QueryRow(ctx, `select count(*) from river_job where state <> 'completed'`).Scan(&left))
	r.pool.Close()
	if err == nil && left > 0 {
		err = fmt.Errorf("%d jobs are not completed", left)
	}
	return r.items, took, err
}

// skipLocked is the loop that everybody writes: claim one row and commit, then its outcome and commit.
type skipLocked struct{ peer }

func newSkipLocked(srv *server, items int) *skipLocked {
	return &skipLocked{peer{srv: srv, in: "skip_locked", items: items}}
}

func (*skipLocked) name() string {
	return "SKIP LOCKED, two commits an item, " + strconv.Itoa(peerWorkers) + " workers"
}
func (*skipLocked) kind() string { return kindPeer }

func (s *skipLocked) prepare(ctx context.Context) error {
	if err := s.open(ctx, peerWorkers); err != nil {
		return err
	}
	return s.exec(ctx,
		`create table item (id bigint generated always as identity primary key, due_at timestamptz not null default now(), state text not null default 'due')`,
		`create index item_due on item (due_at, id) where state = 'due'`,
		fmt.Sprintf(`insert into item (due_at) select now() from generate_series(1, %d)`, s.items),
		`vacuum analyze item`, `checkpoint`)
}

func (s *skipLocked) run(ctx context.Context) (int, time.Duration, error) {
	begun := time.Now()
	var workers sync.WaitGroup
	failed := make([]error, peerWorkers)
	for i := range peerWorkers {
		workers.Go(func() { failed[i] = s.work(ctx) })
	}
	workers.Wait()
	took := time.Since(begun)
	s.pool.Close()
	return s.items, took, errors.Join(failed...)
}

func (s *skipLocked) work(ctx context.Context) error {
	for {
		var id int64
		err := s.pool.QueryRow(ctx, `
			update item set state = 'begun' where id = (
			  select id from item where state = 'due' order by due_at, id limit 1 for update skip locked)
			returning id`).Scan(&id)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		if _, err := s.pool.Exec(ctx, `update item set state = 'done' where id = $1`, id); err != nil {
			return err
		}
		s.worked.Add(1)
	}
}

// guePeer is gue v5's no-op jobs: one transaction a job.
type guePeer struct{ peer }

func newGue(srv *server, items int) *guePeer {
	return &guePeer{peer{srv: srv, in: "gue", items: items}}
}

func (*guePeer) name() string { return "gue v5: no-op jobs, " + strconv.Itoa(peerWorkers) + " workers" }
func (*guePeer) kind() string { return kindPeer }

// gueSchema is the table that gue documents.
const gueSchema = `
create table gue_jobs (job_id text not null primary key, priority smallint not null, run_at timestamptz not null, job_type text not null, args bytea not null,
  error_count integer not null default 0, last_error text, queue text not null, created_at timestamptz not null, updated_at timestamptz not null);
create index idx_gue_jobs_selector on gue_jobs (queue, run_at, priority)`

func (g *guePeer) prepare(ctx context.Context) error {
	if err := g.open(ctx, peerWorkers+2); err != nil {
		return err
	}
	if err := g.exec(ctx, gueSchema); err != nil {
		return err
	}
	client, err := gue.NewClient(pgxv5.NewConnPool(g.pool))
	if err != nil {
		return err
	}
	for done := 0; done < g.items; {
		jobs := make([]*gue.Job, min(1000, g.items-done))
		for i := range jobs {
			jobs[i] = &gue.Job{Type: "noop", Args: []byte(`{}`)}
		}
		if err := client.EnqueueBatch(ctx, jobs); err != nil {
			return err
		}
		done += len(jobs)
	}
	return g.exec(ctx, `vacuum analyze gue_jobs`, `checkpoint`)
}

func (g *guePeer) run(ctx context.Context) (int, time.Duration, error) {
	client, err := gue.NewClient(pgxv5.NewConnPool(g.pool))
	if err != nil {
		return 0, 0, err
	}
	workers, err := gue.NewWorkerPool(client, gue.WorkMap{"noop": func(context.Context, *gue.Job) error {
		g.worked.Add(1)
		return nil
	}}, peerWorkers, gue.WithPoolPollInterval(time.Millisecond))
	if err != nil {
		return 0, 0, err
	}
	working, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	begun := time.Now()
	go func() { ended <- workers.Run(working) }()
	if err := g.until(ctx); err != nil {
		return 0, 0, err
	}
	took := time.Since(begun)
	stop()
	err = <-ended
	g.pool.Close()
	return g.items, took, err
}
