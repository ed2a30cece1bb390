package drain

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"time"

	"chasephone/internal/carrier"
	"chasephone/internal/gates"
)

const (
	claimTimeout = 15 * time.Second
	upkeepSet    = 500 // rows closed or admitted in one commit
	// sweepGrace is what a process in time may still need to record an answer that came at
	// the last moment. Swept no later than 15 s after answer_by, see tick.Upkeep.
	sweepGrace = 3 * time.Second
)

// looks are how many rows of a tenant successive claims look at while all they find has to
// wait: few when the head of the queue is callable, many when thousands stand before it.
var looks = [...]int{0, 50, 500}

// Config is what a Drain is made of.
type Config struct {
	Store    Store
	Carriers *Carriers
	Gates    []gates.Gate
	NewToken func() string
	Identify Identify
	Metrics  *Metrics
	Log      *slog.Logger
}

// Drain keeps promises: each Slot claims what is due and sends it.
type Drain struct {
	Config
	ruler    Ruler
	dialer   *Dialer
	recorder *Recorder

	mu     sync.Mutex
	cursor Cursor // where the next slot begins
}

// New makes a drain and starts its recorder. Stop ends it.
func New(c Config) *Drain {
	d := &Drain{Config: c, ruler: Ruler{Gates: c.Gates, NewToken: c.NewToken}}
	d.recorder = NewRecorder(c.Store, c.Log)
	d.dialer = NewDialer(c.Carriers, d.answered, c.Log)
	return d
}

// Halt ends claiming: slots under way return, and attempts whose request has not begun are
// given back as not placed. It returns at once.
func (d *Drain) Halt() { d.dialer.Halt() }

// Stop halts, awaits the calls in progress and records them all. No slot may be under way.
// It returns when that is done; once ctx has ended it records no longer.
func (d *Drain) Stop(ctx context.Context) {
	d.dialer.Halt()
	d.dialer.Wait()
	d.recorder.Close(ctx)
}

// Prepare closes what is too late and makes ready what is new or has waited long enough.
// It works in small commits until nothing is left or ctx ends, whether anything is stopped
// or not. One step's failure holds up no other.
func (d *Drain) Prepare(ctx context.Context) error {
	var failed []error
	for _, step := range []struct {
		what string
		do   func(context.Context) (int, error)
	}{
		{"closing what is late", func(ctx context.Context) (int, error) { return d.Store.CloseLate(ctx, upkeepSet) }},
		{"admitting what is new", func(ctx context.Context) (int, error) { return d.Store.Admit(ctx, upkeepSet, d.Identify) }},
	} {
		for ctx.Err() == nil {
			n, err := d.prepared(ctx, step.do)
			if err != nil {
				failed = append(failed, fmt.Errorf("%s: %w", step.what, err))
			}
			if n < upkeepSet {
				break
			}
		}
	}
	return errors.Join(failed...)
}

// prepared runs one commit's worth of a step. Once begun it is not given up halfway.
func (d *Drain) prepared(ctx context.Context, do func(context.Context) (int, error)) (int, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), claimTimeout)
	defer cancel()
	return do(ctx)
}

// Slot claims and sends until the slot's places, or what is due, are used up, or ctx ends,
// or the drain is halted. It returns when everything is claimed; calls in progress go on
// without it. It begins with the tenant after the one that the slot before came to, so that
// scarce dial slots do not always go to the same.
func (d *Drain) Slot(ctx context.Context, dialSlots int) error {
	r := round{after: d.resume()}
	r.wrapped = r.after == Cursor{}
	for {
		free := d.dialer.Reserve(ctx, dialSlots)
		if free == 0 {
			return nil // out of time: what is left is the next slot's
		}
		c, err := d.claim(ctx, free, &r)
		d.dialer.Start(c, free)
		if err != nil {
			return err
		}
		if c.Stopped {
			return nil
		}
		if c.Limits.DialSlots > 0 {
			dialSlots = c.Limits.DialSlots
		}
		if c.Reached != "" {
			d.reached(c.Reached)
		}
		if at, ok := r.next(c); !ok || !d.waitUntil(ctx, at) {
			return nil
		}
	}
}

// round is how far a slot's claims have come.
type round struct {
	after   Cursor
	wrapped bool // the tenants before the one it began with are being looked at
	look    int
	rows    int       // see Query.Rows
	skip    []string  // see Query.Skip
	again   time.Time // when it is worth beginning anew; zero: it is not
	busy    int
}

const (
	busyPause = 50 * time.Millisecond
	busyMost  = 20 // a line that is held for longer than a second is a later slot's
)

// next says when to go on, and false where everything was looked at.
func (r *round) next(c Claim) (time.Time, bool) {
	now := c.Clock.Local
	if !c.PacedTo.IsZero() {
		r.sooner(c.Clock.ToLocal(c.PacedTo))
	}
	if c.Busy && r.busy < busyMost {
		r.busy++
		r.sooner(now.Add(busyPause))
	}
	switch {
	case c.Full: // more could be sent: once there are free dial slots again
	case c.Waited > 0, c.Left > 0 && r.look < len(looks)-1:
		r.look = min(r.look+1, len(looks)-1)
	case !c.End:
		r.after, r.look = c.Next, 0
	case !r.wrapped:
		r.after, r.look, r.wrapped = Cursor{}, 0, true
	case r.again.IsZero():
		return time.Time{}, false
	default:
		now = r.again
		r.after, r.look, r.again = Cursor{}, 0, time.Time{}
	}
	return now, true
}

func (r *round) sooner(at time.Time) {
	if r.again.IsZero() || at.Before(r.again) {
		r.again = at
	}
}

// resume is where the next slot begins.
func (d *Drain) resume() Cursor {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.cursor
}

func (d *Drain) reached(tenant string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.cursor = Cursor{Tenant: tenant, LineKey: afterEveryLine}
}

// afterEveryLine sorts behind the name of any line.
const afterEveryLine = "\U0010FFFF"

// claim runs T1 detached from ctx: once begun it is not given up halfway.
func (d *Drain) claim(ctx context.Context, free int, r *round) (Claim, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), claimTimeout)
	defer cancel()
	c, err := d.tryClaim(ctx, Query{Most: free, Look: looks[r.look], After: r.after}, r)
	if err != nil {
		return Claim{}, fmt.Errorf("claiming: %w", err)
	}
	d.Metrics.found(c.Findings)
	for _, a := range c.Attempts {
		d.Log.Info("placing a call", "followup", a.FollowUp, "attempt", a.No, "tenant", a.Tenant, "line", a.Line, "to", a.To)
	}
	return c, nil
}

// tryClaim claims, and goes around what can be gone around: a fact that cannot be loaded (the
// gates wait with its cause) and a row that the database refuses (its neighbours go on).
func (d *Drain) tryClaim(ctx context.Context, q Query, r *round) (Claim, error) {
	for {
		q.Rows, q.Skip = r.rows, r.skip
		c, err := d.Store.Claim(ctx, q, d.ruler.Rule)
		var (
			fact *FactError
			bad  *RowError
		)
		switch {
		case err == nil && r.rows > 0 && !c.Full:
			// Nothing that could be decided is left among the few that were looked at: pass them by.
			r.skip, r.rows = append(r.skip, c.Looked...), 0
			c.Full = len(c.Looked) > 0
			return c, nil
		case err == nil:
			return c, nil
		case errors.Is(err, ErrCommitUnknown):
			// This process knows that it will not send them. If they were committed they can be due again.
			for _, a := range c.Attempts {
				d.recorder.Put(Settle(a, carrier.NotPlaced{Blame: carrier.BlameNobody, Code: "commit_unknown"}))
			}
			return Claim{}, err
		case errors.As(err, &fact) && !q.Careful:
			q.Careful = true
		case errors.As(err, &fact) && fact.Fact != "" && q.Broken[fact.Fact] == nil:
			d.Log.Error("a fact that the gates need cannot be loaded: what needs it waits", "fact", fact.Fact, "err", fact.Err)
			broken := map[string]error{fact.Fact: fact.Err}
			maps.Copy(broken, q.Broken)
			q.Broken = broken
		case errors.As(err, &bad) && len(c.Looked) > 1:
			r.rows = len(c.Looked) / 2 // until the culprit is alone
		case errors.As(err, &bad) && len(c.Looked) == 1:
			d.setAside(ctx, c.Looked[0], bad)
			r.skip, r.rows = append(r.skip, c.Looked[0]), 0
			return Claim{Limits: c.Limits, Clock: c.Clock, Full: true}, nil
		default:
			return Claim{}, err
		}
	}
}

// setAside makes a row wait that cannot be claimed; where even that is refused it is passed
// by in this slot.
func (d *Drain) setAside(ctx context.Context, id string, bad error) {
	d.Log.Error("a follow-up cannot be claimed and is set aside", "followup", id, "err", bad)
	if err := d.Store.SetAside(ctx, id, bad); err != nil {
		d.Log.Error("a follow-up cannot even be set aside: it stays due, and is passed by", "followup", id, "err", err)
	}
}

func (d *Drain) answered(a Attempt, answer carrier.Answer) {
	s := Settle(a, answer)
	log := d.Log.Info
	switch s.OnLine {
	case LineAccount:
		log = d.Log.Error
	case LineUnknown, LineUnfit, LineNotReady:
		log = d.Log.Warn
	}
	log("the carrier answered", "followup", a.FollowUp, "attempt", a.No, "tenant", a.Tenant, "line", a.Line,
		"to", a.To, "outcome", s.Outcome, "code", s.Code, "call_id", s.CallID, "stage", s.Stage, "answer", s.Answer)
	d.recorder.Put(s)
}

// Sweep marks uncertain the attempts that nobody answered for, whoever's they were.
func (d *Drain) Sweep(ctx context.Context) error {
	for {
		n, err := d.Store.Sweep(ctx, sweepGrace, upkeepSet)
		if err != nil {
			return fmt.Errorf("sweeping attempts without an answer: %w", err)
		}
		if n > 0 {
			d.Log.Warn("attempts without an answer are uncertain now", "attempts", n)
		}
		if n < upkeepSet {
			return nil
		}
	}
}

// FactError says which fact of a claim could not be loaded; "" where that is not known
// because several were asked for together.
type FactError struct {
	Fact string
	Err  error
}

func (e *FactError) Error() string { return fmt.Sprintf("loading %s: %v", e.Fact, e.Err) }
func (e *FactError) Unwrap() error { return e.Err }

// waitUntil sleeps until t; false means that ctx, or the drain, ends before.
func (d *Drain) waitUntil(ctx context.Context, t time.Time) bool {
	if end, ok := ctx.Deadline(); ok && end.Before(t) {
		return false
	}
	timer := time.NewTimer(time.Until(t))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-d.dialer.halt:
		return false
	case <-ctx.Done():
		return false
	}
}
