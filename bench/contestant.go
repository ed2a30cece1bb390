package main

import (
	"context"
	"fmt"
	"time"

	"chasephone/internal/drain"
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
	kindFleet   = "fleet"
)

// contestant is chasephone at one setting.
type contestant struct {
	*product
	of string // its kind
	in string // its database

	statements, commits int64         // of the newest round
	lastAttempt         time.Duration // of the newest round: see sample
}

func newContestant(ctx context.Context, srv *server, kind string, s setting, c drain.Carrier) (*contestant, error) {
	name := fmt.Sprintf("%s_%d_%d", kind, s.slots, s.drainers)
	url, err := srv.migrated(ctx, name)
	if err != nil {
		return nil, err
	}
	p, err := newProduct(ctx, url, s, c)
	if err != nil {
		return nil, err
	}
	return &contestant{product: p, of: kind, in: name}, nil
}

func (c *contestant) name() string {
	over := map[string]string{kindInstant: "the instant carrier", kindHTTP: "HTTP in 20 ms"}[c.of]
	return "chasephone over " + over + ": " + c.String()
}
func (c *contestant) kind() string     { return c.of }
func (c *contestant) database() string { return c.in }

func (c *contestant) run(ctx context.Context) (int, time.Duration, error) {
	var slot time.Time
	if err := c.db.Pool.QueryRow(ctx, `select clock_timestamp()`).Scan(&slot); err != nil {
		return 0, 0, err
	}
	c.counts.reset()
	begun := time.Now()
	err := c.product.run(ctx)
	took := time.Since(begun)
	c.statements, c.commits = c.counts.queries.Load(), c.counts.commits.Load()
	if err != nil {
		return 0, 0, err
	}
	// A slot's attempts carry the instant at which its claim judged: what came after that is the commit, and
	// the last outcome is committed after all of them.
	var seconds float64
	err = c.db.Pool.QueryRow(ctx, `select coalesce(percentile_disc(0.99) within group (order by extract(epoch from outcome_at - $1)), 0)::float8 from attempts`, slot).Scan(&seconds)
	c.lastAttempt = time.Duration(seconds * float64(time.Second))
	return c.items(), took, err
}

func (c *contestant) counted() (statements, commits int64, ok bool) {
	return c.statements, c.commits, true
}

func (c *contestant) close() { c.db.Close() }
