package main

import (
	"context"
	"slices"
	"sync"
	"time"
)

// moment is one in the life of a call at which the wires of a daemon can strike.
type moment string

const (
	beforeCommit moment = "before the attempt's commit" // it was asked for, and the database never hears of it
	afterCommit  moment = "after the attempt's commit"  // it is committed, and the daemon never hears of it
	anyCommit    moment = "in another commit"           // of an answer, mostly
	accepted     moment = "before the request"          // the carrier's connection is there, and nothing was read from it
	asked        moment = "after the request"           // it was read, and the carrier has not got it
	ringing      moment = "while it rings"              // the carrier has it, and has not answered
	answered     moment = "before the reply"            // the carrier answered, and the daemon has not got it
	stuck        moment = "while the request is stuck"  // the carrier will get it, some seconds later
)

// inDial are the moments at which the daemon may have rung, and does not know.
func (m moment) inDial() bool {
	return m == accepted || m == asked || m == ringing || m == answered || m == stuck
}

// act is what is done then.
type act string

const (
	kill act = "killed"
	stop act = "paused" // SIGSTOP, and SIGCONT once the attempt may be sent no more
	cut  act = "cut"    // the connection
)

// trap strikes once.
type trap struct {
	at moment
	do act
}

// traps are those set for one daemon.
type traps struct {
	count func(trap) // told of each that struck

	mu  sync.Mutex
	set []*laid
}

// laid is a trap that waits.
type laid struct {
	trap
	struck chan struct{} // closed once it has
}

// lay sets a trap.
func (t *traps) lay(one trap) *laid {
	l := &laid{trap: one, struck: make(chan struct{})}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.set = append(t.set, l)
	return l
}

// lift takes a trap away that has not struck; nil is all of them.
func (t *traps) lift(one *laid) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.set = slices.DeleteFunc(t.set, func(l *laid) bool { return one == nil || l == one })
}

// take says what is to be done at a moment, and takes that trap away.
func (t *traps) take(at moment) (act, bool) {
	t.mu.Lock()
	i := slices.IndexFunc(t.set, func(l *laid) bool { return l.at == at })
	if i < 0 {
		t.mu.Unlock()
		return "", false
	}
	l := t.set[i]
	t.set = slices.Delete(t.set, i, i+1)
	t.mu.Unlock()
	t.count(l.trap)
	close(l.struck)
	return l.do, true
}

// within waits a while until the trap has struck.
func (l *laid) within(ctx context.Context, atMost time.Duration) bool {
	timer := time.NewTimer(atMost)
	defer timer.Stop()
	select {
	case <-l.struck:
		return true
	case <-timer.C:
	case <-ctx.Done():
	}
	return false
}
