package main

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"chasephone/internal/drain"
	"chasephone/internal/gates"
	"chasephone/internal/phone"
)

// scaleWorld is a large database in which a few tenants get due work again and again.
type scaleWorld struct {
	*product
	given int // how often
}

func (w *scaleWorld) close() { w.db.Close() }

// dueTenants have due work in one slot, one in a hundred of all, two follow-ups each.
const dueTenants = scaleTenants / 100

// give gives some tenants, others every time, two due follow-ups each, and admits them.
func (w *scaleWorld) give(ctx context.Context) error {
	w.given++
	_, err := w.db.Pool.Exec(ctx, `
		insert into phone_followups (tenant_id, ref, phone_number, due_at, script, time_zone)
		select 't' || ((n * 100 + @nth::int) % @tenants::int) + 1, 'given ' || @nth::int || ' ' || j, '+1212' || 2000000 + (@nth::int * 200 + n * 2 + j) % 7999999,
		  clock_timestamp() - interval '1 hour', 'This is the garage: your car is ready.', @noon
		from generate_series(0, @due::int - 1) n, generate_series(0, 1) j`,
		pgx.NamedArgs{"nth": w.given, "tenants": scaleTenants, "due": dueTenants, "noon": zoneAt(time.Now(), 12)})
	if err != nil {
		return err
	}
	for {
		if n, err := w.db.Admit(ctx, 500, phone.Parse); n == 0 || err != nil {
			return err
		}
	}
}

// stopwatch times what a slot asks of the store.
type stopwatch struct {
	drain.Store
	mu            sync.Mutex
	found, barren []time.Duration
}

func (s *stopwatch) Claim(ctx context.Context, q drain.Query, rule drain.Rule) (drain.Claim, error) {
	begun := time.Now()
	c, err := s.Store.Claim(ctx, q, rule)
	took := time.Since(begun)
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(c.Attempts) > 0 {
		s.found = append(s.found, took)
	} else {
		s.barren = append(s.barren, took)
	}
	return c, err
}

// slot drains what is due, and fails where something is left.
func (w *scaleWorld) slot(ctx context.Context, s *stopwatch) (time.Duration, error) {
	d := drain.New(drain.Config{
		Store: s, Carriers: w.carriers(), Gates: gates.Chain(w.gates), NewToken: newToken, Identify: phone.Parse, Log: slog.New(slog.DiscardHandler),
	})
	begun := time.Now()
	err := d.Slot(ctx, w.slots)
	took := time.Since(begun)
	if err != nil {
		return took, err
	}
	if err := w.settled(ctx); err != nil {
		return took, err
	}
	d.Stop(ctx)
	var left int
	err = w.db.Pool.QueryRow(ctx, `select count(*) from phone_followups where state = 'due' and ready and due_at <= (select clock_timestamp())`).Scan(&left)
	if err == nil && left > 0 {
		err = fmt.Errorf("%d due follow-ups were not drained", left)
	}
	return took, err
}

// measure times slots with and without due work, and what else every daemon does again and again.
func (w *scaleWorld) measure(ctx context.Context, r *scaled, in string, slots int) error {
	s := &stopwatch{Store: w.db}
	var whole, empty []time.Duration
	for range slots {
		if err := w.give(ctx); err != nil {
			return err
		}
		took, err := w.slot(ctx, s)
		if err != nil {
			return err
		}
		whole = append(whole, took)
	}
	r.add(whatClaim, in, s.found)
	r.add("a slot's claims, 200 due follow-ups", in, whole)
	nothing := &stopwatch{Store: w.db}
	for range slots {
		took, err := w.slot(ctx, nothing)
		if err != nil {
			return err
		}
		empty = append(empty, took)
	}
	r.add("a slot's claims, nothing due", in, empty)
	for _, one := range []struct {
		what string
		do   func() error
	}{
		{"closing what is late: nothing", func() error { _, err := w.db.CloseLate(ctx, 500); return err }},
		{"admitting: nothing", func() error { _, err := w.db.Admit(ctx, 500, phone.Parse); return err }},
		{"sweep: nothing", func() error { _, err := w.db.Sweep(ctx, 3*time.Second, 500); return err }},
		{"tally", func() error { return w.db.Tally(ctx) }},
		{"gauges", func() error { _, err := w.db.Gauges(ctx); return err }},
	} {
		var all []time.Duration
		for range slots {
			begun := time.Now()
			if err := one.do(); err != nil {
				return fmt.Errorf("%s: %w", one.what, err)
			}
			all = append(all, time.Since(begun))
		}
		r.add(one.what, in, all)
	}
	return w.closing(ctx, r, in)
}

// closing times closing 500 follow-ups that are too late.
func (w *scaleWorld) closing(ctx context.Context, r *scaled, in string) error {
	var all []time.Duration
	for range 20 {
		if err := w.late(ctx, 500); err != nil {
			return err
		}
		begun := time.Now()
		n, err := w.db.CloseLate(ctx, 500)
		if err != nil {
			return err
		}
		if n != 500 {
			return fmt.Errorf("%d of 500 late follow-ups were closed", n)
		}
		all = append(all, time.Since(begun))
	}
	r.add("closing 500 late ones", in, all)
	return nil
}

// late puts in follow-ups that are too late, as admitted ones are.
func (w *scaleWorld) late(ctx context.Context, n int) error {
	w.given++
	_, err := w.db.Pool.Exec(ctx, `
		with x as (select set_config('session_replication_role', 'replica', true))
		insert into phone_followups (tenant_id, ref, phone_number, due_at, script, e164, region, ready, next_try_at)
		select 't' || (n % @tenants::int) + 1, 'late ' || @nth::int || ' ' || n, '+14152000000', clock_timestamp() - interval '25 hours', 'x', '+14152000000', 'US', true, clock_timestamp() - interval '25 hours'
		from x, generate_series(1, @n::int) n`, pgx.NamedArgs{"nth": w.given, "tenants": scaleTenants, "n": n})
	return err
}

// beside measures claims before, and beside, an old snapshot and many rows that were changed since.
func (w *scaleWorld) beside(ctx context.Context, r *scaled, dead, slots int) error {
	before := &stopwatch{Store: w.db}
	for range slots {
		if err := w.give(ctx); err != nil {
			return err
		}
		if _, err := w.slot(ctx, before); err != nil {
			return err
		}
	}
	r.add(whatClaim, withoutDead, before.found)
	old, err := pgx.Connect(ctx, w.url)
	if err != nil {
		return err
	}
	defer func() { _ = old.Close(context.WithoutCancel(ctx)) }()
	for _, sql := range []string{`begin isolation level repeatable read`, `select count(*) from fleet`} {
		if _, err := old.Exec(ctx, sql); err != nil {
			return err
		}
	}
	for done := 0; done < dead; done += 50_000 {
		if err := w.late(ctx, min(50_000, dead-done)); err != nil {
			return err
		}
		for {
			n, err := w.db.CloseLate(ctx, 5000)
			if err != nil {
				return err
			}
			if n == 0 {
				break
			}
		}
	}
	after := &stopwatch{Store: w.db}
	for range slots {
		if err := w.give(ctx); err != nil {
			return err
		}
		if _, err := w.slot(ctx, after); err != nil {
			return err
		}
	}
	r.add(whatClaim, besideOld, after.found)
	var closing []time.Duration
	for range 20 {
		begun := time.Now()
		if _, err := w.db.CloseLate(ctx, 500); err != nil {
			return err
		}
		closing = append(closing, time.Since(begun))
	}
	r.add("closing what is late: nothing", besideOld, closing)
	return nil
}
