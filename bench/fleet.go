package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"chasephone/internal/carrier"
)

// fleet is daemons side by side on one database, each with its own dial slots, over a carrier that
// takes 100 ms: waiting for it is what bounds them.
type fleet struct{ daemons, drainers int }

const (
	fleetSlots     = 64
	fleetAnswersIn = 100 * time.Millisecond
)

// slow is the instant carrier, later.
type slow struct{ instant }

func (s *slow) Place(ctx context.Context, c carrier.Call) carrier.Answer {
	time.Sleep(fleetAnswersIn) // it is what is measured, and no wait for anything
	return s.instant.Place(ctx, c)
}

type fleetContestant struct {
	fleet
	all []*contestant // the daemons
}

func newFleet(ctx context.Context, srv *server, f fleet, tenants int) (*fleetContestant, error) {
	c := &fleetContestant{fleet: f}
	s := setting{tenants, 2, fleetSlots, f.drainers}
	first, err := newContestant(ctx, srv, fmt.Sprintf("%s%d", kindFleet, f.daemons), s, &slow{})
	if err != nil {
		return nil, err
	}
	c.all = []*contestant{first}
	for len(c.all) < f.daemons {
		p, err := newProduct(ctx, first.url, s, first.carrier)
		if err != nil {
			return nil, err
		}
		c.all = append(c.all, &contestant{product: p, in: first.in})
	}
	return c, nil
}

func (c *fleetContestant) name() string {
	return fmt.Sprintf("chasephone, 100 ms a call: %d daemon(s), %d drainers, %d dial slots each", c.daemons, c.drainers, fleetSlots)
}

func (c *fleetContestant) kind() string                      { return fmt.Sprintf("%s%d", kindFleet, c.daemons) }
func (c *fleetContestant) database() string                  { return c.all[0].in }
func (c *fleetContestant) prepare(ctx context.Context) error { return c.all[0].prepare(ctx) }
func (c *fleetContestant) verify(ctx context.Context) error  { return c.all[0].verify(ctx) }

func (c *fleetContestant) counted() (statements, commits int64, ok bool) {
	for _, one := range c.all {
		s, n, _ := one.counted()
		statements, commits = statements+s, commits+n
	}
	return statements, commits, true
}

func (c *fleetContestant) run(ctx context.Context) (int, time.Duration, error) {
	begun := time.Now()
	var daemons sync.WaitGroup
	failed := make([]error, len(c.all))
	for i, one := range c.all {
		daemons.Go(func() { _, _, failed[i] = one.run(ctx) })
	}
	daemons.Wait()
	return c.all[0].items(), time.Since(begun), errors.Join(failed...)
}

func (c *fleetContestant) close() {
	for _, one := range c.all {
		one.close()
	}
}
