package proof_test

import (
	"context"
	"sync"
	"time"

	"chasephone/internal/arrivals"
	"chasephone/internal/desk"
	"chasephone/internal/drain"
)

// labelled is a machine's store, which notes what each call is for, and what is still to be recorded.
type labelled struct {
	m *machine

	mu     sync.Mutex
	change *sync.Cond
	open   map[string]string // attempts that were claimed and not recorded, and whom they ring
}

func (l *labelled) CloseLate(ctx context.Context, most int) (int, error) {
	return l.m.db.CloseLate(l.m.act(ctx, "close"), most)
}

func (l *labelled) Admit(ctx context.Context, most int, identify drain.Identify) (int, error) {
	return l.m.db.Admit(l.m.act(ctx, "admit"), most, identify)
}

// Claim also lets a machine that is in a hurry believe that its clock was read long before the
// database's: its instants come sooner, never later.
func (l *labelled) Claim(ctx context.Context, q drain.Query, rule drain.Rule) (drain.Claim, error) {
	l.m.claims(1)
	defer l.m.claims(-1)
	c, err := l.m.db.Claim(l.m.act(ctx, "claim"), q, rule)
	if hurry := l.m.armed.hurry; hurry > 0 {
		c.Clock.Local = c.Clock.Local.Add(hurry - window)
	}
	if err != nil {
		return c, err
	}
	l.m.mu.Lock()
	for _, a := range c.Attempts {
		l.m.sends[a.Token] = c.Clock.ToLocal(a.SendBy)
	}
	l.m.mu.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, a := range c.Attempts {
		l.open[a.FollowUp+itoa(a.No)] = a.To.E164()
	}
	return c, nil
}

func (l *labelled) SetAside(ctx context.Context, id string, why error) error {
	return l.m.db.SetAside(l.m.act(ctx, "aside"), id, why)
}

func (l *labelled) Record(ctx context.Context, set []drain.Settlement) error {
	err := l.m.db.Record(l.m.act(ctx, "record"), set)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err == nil {
		for _, s := range set {
			delete(l.open, s.FollowUp+itoa(s.AttemptNo))
		}
	}
	l.change.Broadcast()
	return err
}

// awaits reports whether the answer to a number's call is still to be recorded.
func (l *labelled) awaits(number string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, to := range l.open {
		if to == number {
			return true
		}
	}
	return false
}

// idle waits until all that was claimed is recorded, or the machine is dead.
func (l *labelled) idle() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.open) > 0 && !l.m.isDead() {
		l.change.Wait()
	}
}

func (l *labelled) Sweep(ctx context.Context, grace time.Duration, most int) (int, error) {
	return l.m.db.Sweep(l.m.act(ctx, "sweep"), grace, most)
}

func (l *labelled) Keep(ctx context.Context, set []arrivals.Arrival) ([]bool, error) {
	return l.m.db.Keep(l.m.act(ctx, "keep"), set)
}

// at is the desk where a person uses this machine for something.
func (l *labelled) at(what string) desk.Desk { return desk.Desk{Store: &counter{l, what}} }

// counter is a desk's store.
type counter struct {
	l    *labelled
	what string
}

func (c *counter) Decide(ctx context.Context, name desk.Name, rule func(desk.Snapshot) (desk.Change, error)) (desk.Result, error) {
	return c.l.m.db.Decide(c.l.m.act(ctx, c.what), name, rule)
}

func (c *counter) Stop(ctx context.Context, scope desk.Scope, by string) (desk.Stopped, error) {
	return c.l.m.db.Stop(c.l.m.act(ctx, c.what), scope, by)
}

func (c *counter) Resume(ctx context.Context, scope desk.Scope, by string) (bool, int, error) {
	return c.l.m.db.Resume(c.l.m.act(ctx, c.what), scope, by)
}
