package main

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
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

// riverPeer is River's own no-op jobs, worked by riverWorkers, which fetch as often as they can: FetchCooldown is
// the least that River takes.
type riverPeer struct{ peer }

const riverWorkers = 1000

func newRiver(srv *server, items int) *riverPeer {
	return &riverPeer{peer{srv: srv, in: ours + "river", items: items}}
}

func (*riverPeer) subject() subject {
	return subject{"River, no-op jobs, MaxWorkers " + strconv.Itoa(riverWorkers), kindRiver, 0}
}

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

func (r *riverPeer) client(pool *pgxpool.Pool) (*river.Client[pgx.Tx], error) {
	workers := river.NewWorkers()
	river.AddWorker(workers, &noopWorker{worked: &r.worked})
	return river.NewClient(riverpgxv5.New(pool), &river.Config{
		Queues:  map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: riverWorkers, FetchCooldown: time.Millisecond, FetchPollInterval: time.Millisecond}},
		Workers: workers, Logger: slog.New(slog.DiscardHandler),
	})
}

func (r *riverPeer) prepare(ctx context.Context) error {
	return r.open(ctx, conns, func(pool *pgxpool.Pool) error {
		migrator, err := rivermigrate.New(riverpgxv5.New(pool), nil)
		if err != nil {
			return err
		}
		if _, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
			return err
		}
		client, err := r.client(pool)
		if err != nil {
			return err
		}
		jobs := make([]river.InsertManyParams, r.items)
		for i := range jobs {
			jobs[i].Args = noop{}
		}
		if _, err := client.InsertManyFast(ctx, jobs); err != nil {
			return err
		}
		return execAll(ctx, pool, `vacuum analyze river_job`, `checkpoint`)
	})
}

// run ends when every job is completed in the database, not only worked; stopping is not timed.
func (r *riverPeer) run(ctx context.Context) (int, time.Duration, error) {
	client, err := r.client(r.pool)
	if err != nil {
		return 0, 0, err
	}
	begun := time.Now()
	if err := client.Start(ctx); err != nil {
		return 0, 0, err
	}
	err = r.until(ctx, `select not exists (select from river_job where state <> 'completed')`)
	took := time.Since(begun)
	err = errors.Join(err, client.Stop(context.WithoutCancel(ctx)))
	r.close()
	return r.items, took, err
}

// guePeer is gue v5's no-op jobs: one transaction a job.
type guePeer struct{ peer }

func newGue(srv *server, items int) *guePeer {
	return &guePeer{peer{srv: srv, in: ours + "gue", items: items}}
}

func (*guePeer) subject() subject {
	return subject{"gue v5, no-op jobs, " + strconv.Itoa(peerWorkers) + " workers", kindPeer, 0}
}

// gueSchema is the table that gue documents.
const gueSchema = `
create table gue_jobs (job_id text not null primary key, priority smallint not null, run_at timestamptz not null, job_type text not null, args bytea not null,
  error_count integer not null default 0, last_error text, queue text not null, created_at timestamptz not null, updated_at timestamptz not null);
create index idx_gue_jobs_selector on gue_jobs (queue, run_at, priority)`

func (g *guePeer) prepare(ctx context.Context) error {
	return g.open(ctx, peerWorkers+2, func(pool *pgxpool.Pool) error {
		if err := execAll(ctx, pool, gueSchema); err != nil {
			return err
		}
		client, err := gue.NewClient(pgxv5.NewConnPool(pool))
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
		return execAll(ctx, pool, `vacuum analyze gue_jobs`, `checkpoint`)
	})
}

func (g *guePeer) run(ctx context.Context) (int, time.Duration, error) {
	client, err := gue.NewClient(pgxv5.NewConnPool(g.pool))
	if err != nil {
		return 0, 0, err
	}
	// By the time at which jobs are to run, which its index serves: by priority it sorts all of them each time.
	workers, err := gue.NewWorkerPool(client, gue.WorkMap{"noop": func(context.Context, *gue.Job) error {
		g.worked.Add(1)
		return nil
	}}, peerWorkers, gue.WithPoolPollInterval(time.Millisecond), gue.WithPoolPollStrategy(gue.RunAtPollStrategy))
	if err != nil {
		return 0, 0, err
	}
	working, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	begun := time.Now()
	go func() { ended <- workers.Run(working) }()
	err = g.until(ctx, `select not exists (select from gue_jobs)`)
	took := time.Since(begun)
	stop()
	err = errors.Join(err, <-ended)
	g.close()
	return g.items, took, err
}
