package main

import (
	"context"
	"fmt"
	"time"

	"chasephone/internal/drain"
)

// contestant is chasephone at one setting, whose slot is drained in this process.
type contestant struct {
	*product
	of string // its kind
	in string // its database

	statements, commits int64 // of the newest round
}

func newContestant(ctx context.Context, srv *server, kind string, s setting, c drain.Carrier) (*contestant, error) {
	name := fmt.Sprintf("%s%s_%d_%d", ours, kind, s.slots, s.drainers)
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

func (c *contestant) subject() subject {
	over := map[string]string{kindInstant: "", kindHTTP: " HTTP", kindSlot: " by a tick"}[c.of]
	return subject{fmt.Sprintf("chasephone%s: %d slots, drainers: %d", over, c.slots, c.drainers), c.of, c.slots}
}

func (c *contestant) database() string { return c.in }

func (c *contestant) run(ctx context.Context) (int, time.Duration, error) {
	begun := time.Now()
	err := c.product.run(ctx)
	took := time.Since(begun)
	c.count()
	return c.items(), took, err
}

// count keeps what was sent so far in this round.
func (c *contestant) count() {
	c.statements, c.commits = c.counts.queries.Load(), c.counts.commits.Load()
}

func (c *contestant) counted() (statements, commits int64) { return c.statements, c.commits }

func (c *contestant) close() { c.db.Close() }
