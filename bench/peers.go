package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Peers do nothing for an item: what they cost is the queue.

const peerWorkers = 16

// peer is what peers have in common: a database made anew for every round, and a count of what was done.
type peer struct {
	srv    *server
	in     string
	items  int
	pool   *pgxpool.Pool
	look   *pgx.Conn // for our own looks
	worked atomic.Int64
	counts statements // of the newest round
}

func (p *peer) database() string { return p.in }

func (p *peer) counted() (statements, commits int64) { return p.counts.queries.Load(), unknown }

func (p *peer) close() {
	if p.pool != nil {
		p.pool.Close()
		_ = p.look.Close(context.Background())
		p.pool = nil
	}
}

// open makes the database, and has it filled by sessions that end before the round's own begin: a session's
// commits are in the server's count once it has ended.
func (p *peer) open(ctx context.Context, conns int32, fill func(*pgxpool.Pool) error) error {
	p.close() // of a round that failed
	p.worked.Store(0)
	url, err := p.srv.database(ctx, p.in)
	if err != nil {
		return err
	}
	settings, err := pgxpool.ParseConfig(url)
	if err != nil {
		return err
	}
	settings.MaxConns = conns
	first, err := open(ctx, settings.Copy())
	if err != nil {
		return err
	}
	err = fill(first)
	first.Close()
	if err == nil {
		err = p.srv.deserted(ctx, p.in)
	}
	if err != nil {
		return err
	}
	settings.ConnConfig.Tracer = &p.counts
	look, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	pool, err := open(ctx, settings)
	if err != nil {
		return errors.Join(err, look.Close(ctx))
	}
	p.pool, p.look = pool, look
	p.counts.reset()
	return nil
}

func execAll(ctx context.Context, pool *pgxpool.Pool, statements ...string) error {
	for _, sql := range statements {
		if _, err := pool.Exec(ctx, sql); err != nil {
			return fmt.Errorf("%s: %w", sql, err)
		}
	}
	return nil
}

// until waits for everything to be worked, and then for what the query asks to be true in the database.
func (p *peer) until(ctx context.Context, done string) error {
	for is := false; !is; {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Millisecond): // a look again, not luck
		}
		if p.worked.Load() < int64(p.items) {
			continue
		}
		if err := p.look.QueryRow(ctx, done).Scan(&is); err != nil {
			return fmt.Errorf("%s: %w", done, err)
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

// skipLocked is the loop that everybody writes: claim one row and commit, then its outcome and commit.
type skipLocked struct{ peer }

func newSkipLocked(srv *server, items int) *skipLocked {
	return &skipLocked{peer{srv: srv, in: ours + "skip_locked", items: items}}
}

func (*skipLocked) subject() subject {
	return subject{"SKIP LOCKED, 2 commits an item, " + strconv.Itoa(peerWorkers) + " workers", kindPeer, 0}
}

func (s *skipLocked) prepare(ctx context.Context) error {
	return s.open(ctx, peerWorkers, func(pool *pgxpool.Pool) error {
		return execAll(ctx, pool,
			`create table item (id bigint generated always as identity primary key, due_at timestamptz not null default now(), state text not null default 'due')`,
			`create index item_due on item (due_at, id) where state = 'due'`,
			fmt.Sprintf(`insert into item (due_at) select now() from generate_series(1, %d)`, s.items),
			`vacuum analyze item`, `checkpoint`)
	})
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
	s.close()
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
