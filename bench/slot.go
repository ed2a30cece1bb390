package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/riverqueue/river"

	"chasephone/internal/drain"
	"chasephone/internal/gates"
	"chasephone/internal/phone"
	"chasephone/internal/telemetry"
	"chasephone/internal/tick"
)

// slotTick is the length of the slots whose boundary is measured from: shorter than the default minute, so that
// waiting for one does not take half of the run. The work is the same, and so is the wait for River.
const slotTick = 10 * time.Second

// ticked is chasephone over the instant carrier, whose slot begins as a daemon's does: the ticker offers it
// at its boundary, River hands it to a worker, which passes the fence, prepares and drains.
type ticked struct {
	*contestant
	river *pgxpool.Pool // of River, as a daemon has one
	after afterSlot     // of the newest round
}

// riverConns is how many connections a daemon's River has.
const riverConns = 8

func newTicked(ctx context.Context, srv *server, s setting) (*ticked, error) {
	c, err := newContestant(ctx, srv, kindSlot, s, &instant{})
	if err != nil {
		return nil, err
	}
	pool, err := connect(ctx, c.url, riverConns)
	if err != nil {
		c.close()
		return nil, err
	}
	return &ticked{contestant: c, river: pool}, nil
}

func (t *ticked) afterSlot() afterSlot { return t.after }

func (t *ticked) prepare(ctx context.Context) error {
	if err := t.contestant.prepare(ctx); err != nil {
		return err
	}
	if _, err := t.db.SetLimits(ctx, t.limits(slotTick), "bench"); err != nil {
		return err
	}
	// The slot that it is now may have been worked in the round before: the ticker must win it anew, for who did not
	// win a slot comes a little later to the next.
	return execAll(ctx, t.river, `truncate river_job`, `update tick_fence set slot_at = 'epoch'`)
}

// closedUntil is a drain that finds nothing in the slots before the one that is measured.
type closedUntil struct {
	*drain.Drain
	opens atomic.Pointer[time.Time] // nil: it is not known yet
}

func (c *closedUntil) Slot(ctx context.Context, dialSlots int) error {
	if at := c.opens.Load(); at == nil || time.Now().Before(*at) {
		return nil
	}
	return c.Drain.Slot(ctx, dialSlots)
}

// run has a daemon work one slot without anything to do, so that it is awake at the boundary as one that
// worked the slot before is, and then the one that is measured, to its last outcome.
func (t *ticked) run(ctx context.Context) (int, time.Duration, error) {
	d := &closedUntil{Drain: drain.New(drain.Config{
		Store: t.db, Carriers: t.carriers(), Gates: gates.Chain(t.gates),
		NewToken: newToken, Identify: phone.Parse, Log: slog.New(slog.DiscardHandler),
	})}
	defer d.Stop(ctx)
	client, err := t.client(d)
	if err != nil {
		return 0, 0, err
	}
	if err := client.Start(context.WithoutCancel(ctx)); err != nil {
		return 0, 0, err
	}
	ticking, stop := context.WithCancel(ctx)
	var ticker sync.WaitGroup
	ticker.Go(func() {
		(&tick.Ticker{Fence: t.db, Client: client, Drain: d, Log: slog.New(slog.DiscardHandler)}).Run(ticking)
	})
	begins, opens, err := t.nextSlot(ctx)
	if err == nil {
		d.opens.Store(&opens)
		t.counts.reset()
		err = t.drained(ctx, begins)
	}
	t.count()
	d.Halt()
	stop()
	ticker.Wait()
	if err := errors.Join(err, client.Stop(context.WithoutCancel(ctx))); err != nil {
		return 0, 0, err
	}
	return t.measured(ctx, begins)
}

func (t *ticked) client(d tick.Drain) (*river.Client[pgx.Tx], error) {
	return tick.NewClient(tick.ClientConfig{
		ID: "bench", Pool: t.river, Owner: true, Fence: t.db, Drain: d,
		Metrics: tick.NewMetrics(prometheus.NewRegistry()), Log: slog.New(slog.DiscardHandler), Mask: telemetry.MaskText,
	})
}

// nextSlot waits for a slot to be worked, and says when the next one begins, by the database's clock, and a
// moment before that by ours.
func (t *ticked) nextSlot(ctx context.Context) (begins, opens time.Time, err error) {
	for {
		slot, err := t.db.Offer(ctx)
		if err != nil {
			return begins, opens, err
		}
		if slot.Ticked && slot.Left > time.Second {
			return slot.At.Add(slot.Tick), time.Now().Add(slot.Left - 10*time.Millisecond), nil
		}
		if err := sleep(ctx, 50*time.Millisecond); err != nil {
			return begins, opens, err
		}
	}
}

// drained waits until nothing is left of what was due when the slot began.
func (t *ticked) drained(ctx context.Context, begins time.Time) error {
	for {
		var over, left bool
		err := t.river.QueryRow(ctx, `select clock_timestamp() > $1::timestamptz + interval '1 minute', exists (select from phone_followups where state in ('due', 'dialing'))`, begins).Scan(&over, &left)
		switch {
		case err != nil:
			return err
		case !left:
			return t.settled(ctx)
		case over:
			return fmt.Errorf("a slot of %d due follow-ups is not over a minute after it began", t.items())
		}
		if err := sleep(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
}

// measured reads, in the attempts, how long it all took. An attempt has the instant of its claim, before that
// is committed, and the one of its outcome, after it.
func (t *ticked) measured(ctx context.Context, begins time.Time) (int, time.Duration, error) {
	var p50, p99, outcome99, last float64
	err := t.db.Pool.QueryRow(ctx, `
		select percentile_disc(0.5) within group (order by made), percentile_disc(0.99) within group (order by made),
		  percentile_disc(0.99) within group (order by settled), max(settled)
		from (select extract(epoch from created_at - $1)::float8, extract(epoch from outcome_at - $1)::float8 from attempts) a (made, settled)`, begins).Scan(&p50, &p99, &outcome99, &last)
	seconds := func(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
	t.after = afterSlot{seconds(p50), seconds(p99), seconds(outcome99)}
	return t.items(), seconds(last), err
}

func (t *ticked) close() {
	t.river.Close()
	t.contestant.close()
}
