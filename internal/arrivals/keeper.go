package arrivals

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

const (
	keepMost     = 256             // arrivals in one commit
	keepWaiting  = 4096            // arrivals that are not answered yet, so that memory is bounded
	keepCommits  = 2               // under way at once: the next set gathers while one is flushed
	keepPatience = 5 * time.Second // of a caller; carriers hang up after 10 to 15
	keepTimeout  = 5 * time.Second // of one commit

	keepStorm  = 8                    // a set larger than this says that more is on its way
	keepLinger = 5 * time.Millisecond // and is waited for so long

	keepPause     = 50 * time.Millisecond // after a commit that failed; twice as long each time
	keepPauseMost = 500 * time.Millisecond
)

var (
	errFull    = errors.New("too many deliveries wait for the database")
	errClosing = errors.New("chasephone is stopping")
)

// Keeper stores deliveries in groups of whatever has arrived together, while those who brought
// them wait.
type Keeper struct {
	store Store
	log   *slog.Logger
	lines seldom

	mu      sync.Mutex
	queue   []*waiter
	waiting int // in the queue or in a set
	last    int // size of the set taken last
	wake    *sync.Cond
	closed  bool
	giveUp  context.Context
	stop    context.CancelFunc
	commits sync.WaitGroup
}

// waiter is one arrival and whoever waits for it to be kept.
type waiter struct {
	arrival Arrival
	left    <-chan struct{} // closed when nobody waits any more
	done    chan struct{}   // closed when the rest is set
	foreign bool
	err     error
}

// NewKeeper starts a keeper.
func NewKeeper(store Store, log *slog.Logger) *Keeper {
	giveUp, stop := context.WithCancel(context.Background())
	k := &Keeper{store: store, log: log, giveUp: giveUp, stop: stop}
	k.wake = sync.NewCond(&k.mu)
	for range keepCommits {
		k.commits.Go(k.commit)
	}
	return k
}

// Keep returns once the arrival is in the database, and says whether it concerns nobody. After an error
// it may be kept, now or later, all the same: kept twice, it says nothing that it did not say once.
// It waits for five seconds, or until ctx ends.
func (k *Keeper) Keep(ctx context.Context, a Arrival) (foreign bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, keepPatience)
	defer cancel()
	w := &waiter{arrival: a, left: ctx.Done(), done: make(chan struct{})}
	if err := k.enter(w); err != nil {
		return false, fmt.Errorf("keeping a delivery: %w", err)
	}
	select {
	case <-w.done:
		return w.foreign, w.err
	case <-ctx.Done():
		return false, fmt.Errorf("waiting for the database to take a delivery: %w", ctx.Err())
	}
}

// Close refuses what is new, writes what is queued and returns when all of it is in the
// database or has failed, or when ctx ends: what is left then fails, for the carriers to deliver again.
func (k *Keeper) Close(ctx context.Context) {
	k.mu.Lock()
	k.closed = true
	k.wake.Broadcast()
	k.mu.Unlock()
	stop := context.AfterFunc(ctx, k.stop)
	defer stop()
	k.commits.Wait()
	k.stop()
}

func (k *Keeper) enter(w *waiter) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case k.closed:
		return errClosing
	case k.waiting >= keepWaiting:
		return errFull
	}
	k.waiting++
	k.queue = append(k.queue, w)
	k.wake.Signal()
	return nil
}

func (k *Keeper) commit() {
	for {
		set := k.take()
		if len(set) == 0 {
			return
		}
		k.write(set)
	}
}

// take waits for arrivals and takes what is there; in a storm it lets a moment pass first,
// which makes fewer and larger commits. Nothing means closed and empty.
func (k *Keeper) take() []*waiter {
	k.mu.Lock()
	defer k.mu.Unlock()
	for lingered := false; ; {
		for len(k.queue) == 0 && !k.closed {
			k.wake.Wait()
			lingered = false // another took what this one lingered for
		}
		if lingered || k.closed || k.last <= keepStorm || len(k.queue) >= keepMost {
			break
		}
		k.mu.Unlock()
		time.Sleep(keepLinger)
		k.mu.Lock()
		lingered = true
	}
	n := min(len(k.queue), keepMost)
	set := k.queue[:n:n]
	k.queue = k.queue[n:]
	k.last = n
	return set
}

// write keeps a set. It is tried once whoever waits, since not every carrier delivers twice,
// and again for as long as anybody does. One arrival that makes the set fail must not fail the
// others: the set is split until the culprit is alone.
func (k *Keeper) write(set []*waiter) {
	arrivals := make([]Arrival, len(set))
	for i, w := range set {
		arrivals[i] = w.arrival
	}
	pause := keepPause
	for {
		ctx, cancel := context.WithTimeout(k.giveUp, keepTimeout)
		foreign, err := k.store.Keep(ctx, arrivals)
		cancel()
		var bad *RowError
		switch {
		case err == nil:
			k.answer(set, foreign, nil)
			return
		case k.giveUp.Err() != nil:
			k.answer(set, nil, fmt.Errorf("keeping a delivery: %w: %w", errClosing, err))
			return
		case errors.As(err, &bad) && len(set) > 1:
			k.write(set[:len(set)/2])
			k.write(set[len(set)/2:])
			return
		case errors.As(err, &bad):
			k.answer(set, nil, fmt.Errorf("keeping a delivery: %w", err))
			return
		}
		if others, due := k.lines.now("failed", time.Now()); due {
			k.log.Warn("cannot store deliveries, trying again", "deliveries", len(set), "others_since_last_logged", others, "err", cause(err))
		}
		select {
		case <-time.After(pause):
		case <-k.giveUp.Done():
		}
		if !awaited(set) {
			k.answer(set, nil, fmt.Errorf("keeping a delivery: %w", err))
			return
		}
		pause = min(2*pause, keepPauseMost)
	}
}

func awaited(set []*waiter) bool {
	for _, w := range set {
		select {
		case <-w.left:
		default:
			return true
		}
	}
	return false
}

// answer tells a set's callers what became of it.
func (k *Keeper) answer(set []*waiter, foreign []bool, err error) {
	k.mu.Lock()
	k.waiting -= len(set)
	k.mu.Unlock()
	for i, w := range set {
		w.foreign, w.err = i < len(foreign) && foreign[i], err
		close(w.done)
	}
}
