package tick

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
)

// Fence is the database as the ticker needs it.
type Fence interface {
	// Offer reads the slot that the database's clock is in, and how it stands with it.
	Offer(ctx context.Context) (Slot, error)
	// Pass lets the slot through once: false where it was worked before, or is past.
	Pass(ctx context.Context, at time.Time) (Slot, bool, error)
}

// Slot is one slot as the database's clock sees it.
type Slot struct {
	At        time.Time     // its start
	Ticked    bool          // it was worked, or is being worked, already
	Left      time.Duration // until its end
	Tick      time.Duration
	Drainers  int
	DialSlots int
	Help      bool // another daemon, which may have the slot, cannot reach a line that this one may
}

// Ticker offers every slot's job.
type Ticker struct {
	Fence  Fence
	Client *river.Client[pgx.Tx]
	Drain  Drain
	Log    *slog.Logger

	helping sync.WaitGroup
}

// Run offers slots until ctx ends. It sleeps by the database's distance to the next
// boundary, never by this machine's clock.
func (t *Ticker) Run(ctx context.Context) {
	defer t.helping.Wait()
	away := false
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		next, won, err := t.offer(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil && !away:
			t.Log.Error("cannot offer slots: the database is away or refuses; trying until it is back", "err", err)
		case err == nil && away:
			t.Log.Info("offering slots again")
		}
		away = err != nil
		timer.Reset(next + behind(won, next))
	}
}

// longestBehind bounds how late a slot begins whose usual winner has died.
const longestBehind = 2 * time.Second

// behind makes whoever did not win a slot look a little after its boundary next time, so
// that the last winner goes first and fifty daemons do not insert at once.
func behind(won bool, next time.Duration) time.Duration {
	if won || next < 100*time.Millisecond {
		return 0
	}
	return min(next/20, longestBehind/4) + rand.N(min(next/5, longestBehind)+1)
}

// help drains the slot beside whoever has it: a slot goes to one daemon, and what that one
// leaves to the others must not wait for one of them to win a slot. Places are the
// database's to count, so it does no harm.
func (t *Ticker) help(slot Slot) {
	ctx, cancel := context.WithTimeout(context.Background(), min(slot.Left, longest))
	defer cancel()
	if err := t.Drain.Slot(ctx, slot.DialSlots); err != nil {
		t.Log.Error("helping with a slot failed", "slot", slot.At, "err", err)
	}
}

func (t *Ticker) offer(ctx context.Context) (next time.Duration, won bool, err error) {
	// Never let one slot hold up the next.
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	slot, err := t.Fence.Offer(ctx)
	if err != nil {
		return 250 * time.Millisecond, false, err
	}
	end := time.Now().Add(slot.Left) // read after the reply: never wakes early
	if slot.Help {
		t.helping.Go(func() { t.help(slot) })
	}
	if !slot.Ticked {
		res, err := t.Client.Insert(ctx, Args{SlotMillis: slot.At.UnixMilli()}, nil)
		if err != nil {
			return 250 * time.Millisecond, false, err
		}
		won = !res.UniqueSkippedAsDuplicate
	}
	return max(0, time.Until(end)), won, nil
}
