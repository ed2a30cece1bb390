package tick

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"
)

const (
	queueTick  = "tick"
	queueDrain = "drain"
	// longest is how long a slot's work may take however long the slot is.
	longest = 45 * time.Second
)

// Drain is what a slot's work is.
type Drain interface {
	// Prepare closes what is late and admits what is new.
	Prepare(ctx context.Context) error
	// Slot claims and sends what is due, until ctx ends at the latest.
	Slot(ctx context.Context, dialSlots int) error
}

// Args is the job of one slot. It is unique in every state: once offered, never again.
type Args struct {
	SlotMillis int64 `json:"slot_ms"` // the slot's start, Unix milliseconds
}

// Kind names the job.
func (Args) Kind() string { return "tick" }

// InsertOpts makes a job one try in a queue of its own.
func (Args) InsertOpts() river.InsertOpts { return once(queueTick) }

// DrainArgs is the job of one further drainer of a slot.
type DrainArgs struct {
	SlotMillis int64 `json:"slot_ms"`
	Drainer    int   `json:"drainer"`          // from 2 on: the tick's own job is the first
	Passed     int   `json:"passed,omitempty"` // how often the daemon that ticks passed it on
}

// mostPassed is how often the daemon that ticks passes a further drainer on to whoever else may take it,
// whose dial slots are free. River gives a job to anybody: with one other daemon it is left with this
// one, which then drains by itself, in one slot of thirty. Each time is a fetch of the queue's.
const mostPassed = 5

// Kind names the job.
func (DrainArgs) Kind() string { return "drain" }

// InsertOpts makes a job one try.
func (DrainArgs) InsertOpts() river.InsertOpts { return once(queueDrain) }

func once(queue string) river.InsertOpts {
	return river.InsertOpts{
		Queue: queue, MaxAttempts: 1,
		UniqueOpts: river.UniqueOpts{ByArgs: true, ByState: rivertype.JobStates()},
	}
}

// worker works a slot: first the fence, then what is late and new, then what is due.
type worker struct {
	river.WorkerDefaults[Args]
	fence   Fence
	drain   Drain
	ticking *atomic.Int64 // the slot that this daemon ticks, as in Args; 0: none
	metrics *Metrics
	log     *slog.Logger
}

func (w *worker) Timeout(*river.Job[Args]) time.Duration { return longest + 15*time.Second }

func (w *worker) Work(ctx context.Context, job *river.Job[Args]) error {
	begun := time.Now()
	slot, pass, err := w.pass(ctx, time.UnixMilli(job.Args.SlotMillis))
	if err != nil {
		w.metrics.ticks.WithLabelValues(resultFailed).Inc()
		return err
	}
	if !pass {
		w.metrics.ticks.WithLabelValues(resultSkipped).Inc()
		return river.JobCancel(errors.New("this slot was worked already, or is past"))
	}
	ctx, cancel := context.WithTimeout(ctx, min(slot.Left, longest))
	defer cancel()
	w.ticking.Store(job.Args.SlotMillis)
	defer w.ticking.CompareAndSwap(job.Args.SlotMillis, 0)
	w.share(ctx, job.Args, slot)
	// What is due is drained even where what is late cannot be closed, and while very much is new.
	preparing, prepared := context.WithTimeout(ctx, min(slot.Left, longest)/3)
	err = w.drain.Prepare(preparing)
	prepared()
	err = errors.Join(err, w.drain.Slot(ctx, slot.DialSlots))
	w.metrics.ticked(begun, err)
	if err != nil {
		w.log.Error("a slot's work failed", "slot", slot.At, "err", err)
	}
	return nil // the slot is over either way: nothing is gained by the job being anything but done
}

// pass asks the fence, and once more where the database did not answer: the job is tried once.
func (w *worker) pass(ctx context.Context, at time.Time) (Slot, bool, error) {
	slot, pass, err := w.fence.Pass(ctx, at)
	if err == nil {
		return slot, pass, nil
	}
	select {
	case <-time.After(200 * time.Millisecond):
	case <-ctx.Done():
	}
	return w.fence.Pass(ctx, at)
}

// share asks for the further drainers of a slot; River spreads them over the fleet.
func (w *worker) share(ctx context.Context, args Args, slot Slot) {
	if slot.Drainers < 2 {
		return
	}
	var more []river.InsertManyParams
	for n := 2; n <= slot.Drainers; n++ {
		more = append(more, river.InsertManyParams{Args: DrainArgs{SlotMillis: args.SlotMillis, Drainer: n}})
	}
	if _, err := river.ClientFromContext[pgx.Tx](ctx).InsertManyFast(ctx, more); err != nil {
		w.log.Warn("cannot ask for further drainers: this one goes on alone", "slot", slot.At, "err", err)
	}
}

// drainer is one further drainer of a slot.
type drainer struct {
	river.WorkerDefaults[DrainArgs]
	fence   Fence
	drain   Drain
	ticking *atomic.Int64 // see worker
	log     *slog.Logger
}

func (w *drainer) Timeout(*river.Job[DrainArgs]) time.Duration { return longest + 15*time.Second }

func (w *drainer) Work(ctx context.Context, job *river.Job[DrainArgs]) error {
	if w.ticking.Load() == job.Args.SlotMillis && job.Args.Passed < mostPassed {
		next := job.Args
		next.Passed++
		_, err := river.ClientFromContext[pgx.Tx](ctx).Insert(ctx, next, nil)
		if err == nil {
			return nil
		}
		w.log.Warn("cannot pass a further drainer on: it drains here", "slot", time.UnixMilli(next.SlotMillis), "err", err)
	}
	// Late or doubled, it does no harm: places are counted in the slot that it is now.
	slot, err := w.fence.Offer(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, min(slot.Left, longest))
	defer cancel()
	if err := w.drain.Slot(ctx, slot.DialSlots); err != nil {
		w.log.Error("a further drainer failed", "slot", slot.At, "err", err)
	}
	return nil
}
