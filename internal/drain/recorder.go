package drain

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"chasephone/internal/carrier"
	"chasephone/internal/followup"
)

const (
	recordMost    = 256 // settlements in one commit
	recordTimeout = 10 * time.Second
	recordFlushes = 2 // commits under way at once: the next set gathers while one is flushed
)

// Recorder writes what became of attempts, in groups of whatever has arrived together. It
// keeps on until the database takes it: an answer is never given up while the process lives.
type Recorder struct {
	store Store
	log   *slog.Logger

	mu      sync.Mutex
	queue   []Settlement
	wake    *sync.Cond
	closed  bool
	giveUp  context.Context
	stop    context.CancelFunc
	flushes sync.WaitGroup
}

// NewRecorder starts a recorder.
func NewRecorder(store Store, log *slog.Logger) *Recorder {
	giveUp, stop := context.WithCancel(context.Background())
	r := &Recorder{store: store, log: log, giveUp: giveUp, stop: stop}
	r.wake = sync.NewCond(&r.mu)
	for range recordFlushes {
		r.flushes.Go(r.flush)
	}
	return r
}

// Put queues a settlement and returns at once.
func (r *Recorder) Put(s Settlement) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.queue = append(r.queue, s)
	r.wake.Signal()
}

// Close writes what is queued and returns when all of it is in the database, or when ctx
// ends: what is lost then is uncertain to whoever sweeps.
func (r *Recorder) Close(ctx context.Context) {
	r.mu.Lock()
	r.closed = true
	r.wake.Broadcast()
	r.mu.Unlock()
	stop := context.AfterFunc(ctx, r.stop)
	defer stop()
	r.flushes.Wait()
	r.stop()
}

func (r *Recorder) flush() {
	for {
		set := r.take()
		if len(set) == 0 {
			return
		}
		r.write(set)
	}
}

// take waits for settlements and takes what is there. Nothing means closed and empty.
func (r *Recorder) take() []Settlement {
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(r.queue) == 0 && !r.closed {
		r.wake.Wait()
	}
	n := min(len(r.queue), recordMost)
	set := r.queue[:n:n]
	r.queue = r.queue[n:]
	return set
}

// write records a set. One row that makes the set fail must not fail the others: the set is
// split until the culprit is alone.
func (r *Recorder) write(set []Settlement) {
	pause := 50 * time.Millisecond
	for {
		ctx, cancel := context.WithTimeout(r.giveUp, recordTimeout)
		err := r.store.Record(ctx, set)
		cancel()
		var bad *RowError
		switch {
		case err == nil:
			return
		case r.giveUp.Err() != nil:
			r.log.Error("stopped before the database took what became of attempts: they will be swept as uncertain", "attempts", len(set), "err", err)
			return
		case errors.As(err, &bad) && len(set) > 1:
			r.write(set[:len(set)/2])
			r.write(set[len(set)/2:])
			return
		case errors.As(err, &bad):
			r.culprit(set[0], bad)
			return
		}
		r.log.Warn("cannot record what became of attempts, trying again", "attempts", len(set), "err", err)
		select {
		case <-time.After(pause):
		case <-r.giveUp.Done():
		}
		pause = min(2*pause, 2*time.Second)
	}
}

// culprit records what can be said of a settlement that the database refuses: that it is unknown.
func (r *Recorder) culprit(s Settlement, bad *RowError) {
	r.log.Error("what became of an attempt cannot be stored as it is", "followup", s.FollowUp, "attempt", s.AttemptNo, "outcome", s.Outcome, "err", bad)
	if s.Code == notRecordable {
		return // even this much was refused: the sweep will say uncertain
	}
	r.write([]Settlement{{
		FollowUp: s.FollowUp, AttemptNo: s.AttemptNo, Token: s.Token, Tenant: s.Tenant, Line: s.Line,
		Outcome: AttemptUncertain, To: followup.Uncertain, Ledger: followup.OutcomeUncertain,
		Reason: "answer_unknown", Code: notRecordable, Stage: carrier.StageAnswered,
		Detail: "the carrier's answer could not be stored: " + carrier.CleanText(bad.Error()),
	}})
}

const notRecordable = "not_recordable"
