package main

import (
	"context"
	"time"
)

// Kinds of figures.
const (
	kindRaw     = "raw16"
	kindTwo     = "2stmt16"
	kindBatch   = "batch64"
	kindRiver   = "river"
	kindPeer    = "peer"
	kindInstant = "instant"
	kindHTTP    = "http"
	kindSlot    = "slot"
	kindOne     = "one daemon"
	kindFleet   = "two daemons"
)

// subject is what is measured, as a report names it.
type subject struct {
	Name  string `json:"name"`
	Kind  string `json:"kind"`                 // of its figures, for the ratios
	Slots int    `json:"dial_slots,omitempty"` // of a daemon
}

// contender is one thing that is measured, in a database of its own.
type contender interface {
	subject() subject
	database() string
	prepare(ctx context.Context) error // before each round; not timed
	run(ctx context.Context) (items int, took time.Duration, err error)
	verify(ctx context.Context) error // after each round
	// counted is what it has sent in the newest round. Commits that are not known are left to the server,
	// which knows them once its sessions have ended.
	counted() (statements, commits int64)
	close()
}

// unknown is a count that whoever was asked does not know.
const unknown = -1

// punctual is a contender that says when a slot's attempts were made.
type punctual interface{ afterSlot() afterSlot }

// afterSlot is the time from a slot's boundary to its attempts, in nanoseconds.
type afterSlot struct {
	P50 time.Duration `json:"p50_ns"` // to the instant at which they were claimed
	P99 time.Duration `json:"p99_ns"`
	// Outcome99 is to their outcomes' commits: an attempt's own commit lies between the two.
	Outcome99 time.Duration `json:"outcome_p99_ns"`
}

// shared is a contender of several daemons, that says how many of them had part of the work.
type shared interface{ daemonsAtWork() int }

// sample is one round of one contender.
type sample struct {
	Items      int           `json:"items"`
	Took       time.Duration `json:"took_ns"`
	Statements int64         `json:"statements"` // messages with SQL in them: a begin with its settings is one; -1: not known
	Commits    int64         `json:"commits"`
	WAL        int64         `json:"wal_bytes"`
	AfterSlot  *afterSlot    `json:"after_slot,omitempty"`
	Daemons    int           `json:"daemons_at_work,omitempty"`
}

// PerSecond is items per second.
func (s sample) PerSecond() float64 { return float64(s.Items) / s.Took.Seconds() }

// measure is one round of one contender.
func measure(ctx context.Context, srv *server, c contender) (sample, error) {
	if err := c.prepare(ctx); err != nil {
		return sample{}, err
	}
	before, err := srv.counters(ctx, c.database())
	if err != nil {
		return sample{}, err
	}
	items, took, err := c.run(ctx)
	if err != nil {
		return sample{}, err
	}
	statements, commits := c.counted()
	if commits == unknown {
		if err := srv.deserted(ctx, c.database()); err != nil {
			return sample{}, err
		}
	}
	after, err := srv.counters(ctx, c.database())
	if err != nil {
		return sample{}, err
	}
	if commits == unknown {
		commits = after.commits - before.commits
	}
	one := sample{Items: items, Took: took, Statements: statements, Commits: commits, WAL: after.wal - before.wal}
	if p, is := c.(punctual); is {
		at := p.afterSlot()
		one.AfterSlot = &at
	}
	if s, is := c.(shared); is {
		one.Daemons = s.daemonsAtWork()
	}
	return one, c.verify(ctx)
}
