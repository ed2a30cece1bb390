package tick_test

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/riverqueue/river"

	"chasephone/internal/pgtest"
	"chasephone/internal/tick"
)

// shared is a slot that lasts, for one daemon of several; the one that ticks it is at it until all
// further drainers are through.
type shared struct {
	slot   tick.Slot
	passed *atomic.Bool
	others *sync.WaitGroup // further drainers
	ticks  atomic.Bool     // it has the slot
	own    atomic.Bool     // what it drains next is its own part
	drains atomic.Int64    // further ones
}

func (s *shared) Offer(context.Context) (tick.Slot, error) { return s.slot, nil }

func (s *shared) Pass(context.Context, time.Time) (tick.Slot, bool, error) {
	s.ticks.Store(s.passed.CompareAndSwap(false, true))
	return s.slot, s.ticks.Load(), nil
}

func (s *shared) Prepare(context.Context) error {
	s.others.Wait()
	s.own.Store(true)
	return nil
}

func (s *shared) Slot(context.Context, int) error {
	if !s.own.Load() {
		s.drains.Add(1)
		s.others.Done()
	}
	return nil
}

// Further drainers of a slot are for other daemons, whose dial slots are free; where there is none, the one
// that ticks drains by itself.
func TestFurtherDrainersGoElsewhere(t *testing.T) {
	t.Parallel()
	const drainers = 20
	for daemons := 1; daemons <= 2; daemons++ {
		pool := pgtest.New(t)
		var passed atomic.Bool
		var others sync.WaitGroup
		others.Add(drainers)
		slot := tick.Slot{At: time.Now(), Left: time.Minute, Tick: time.Minute, Drainers: drainers + 1, DialSlots: 64}
		var all []*shared
		var first *river.Client[pgx.Tx]
		for range daemons {
			s := &shared{slot: slot, passed: &passed, others: &others}
			client, err := tick.NewClient(tick.ClientConfig{
				ID: string(rune('a' + len(all))), Pool: pool, Owner: true, Fence: s, Drain: s,
				Metrics: tick.NewMetrics(prometheus.NewRegistry()), Log: slog.New(slog.DiscardHandler), Mask: func(s string) string { return s },
			})
			if err != nil {
				t.Fatal(err)
			}
			if err := client.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			defer func() { _ = client.Stop(context.WithoutCancel(t.Context())) }()
			all, first = append(all, s), client
		}
		if _, err := first.Insert(t.Context(), tick.Args{SlotMillis: slot.At.UnixMilli()}, nil); err != nil {
			t.Fatal(err)
		}
		others.Wait()
		for _, s := range all {
			n := s.drains.Load()
			if daemons == 2 && s.ticks.Load() && n > drainers/4 {
				t.Errorf("the daemon that ticks drained %d of %d further times, beside one that had nothing to do", n, drainers)
			}
			if daemons == 1 && n < drainers {
				t.Errorf("alone, it drained %d of %d further times", n, drainers)
			}
		}
	}
}
