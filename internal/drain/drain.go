package drain

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
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
	Carriers map[string]Carrier
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
}

// New makes a drain and starts its recorder. Stop ends it.
func New(c Config) *Drain {
	d := &Drain{Config: c, ruler: Ruler{Gates: c.Gates, NewToken: c.NewToken}}
	d.recorder = NewRecorder(c.Store, c.Log)
	d.dialer = NewDialer(c.Carriers, d.answered, c.Log)
	return d
}

// Stop gives back what has not begun, awaits the calls in progress and records them all.
// Nothing may be claimed any more. It returns when that is done or ctx has ended.
func (d *Drain) Stop(ctx context.Context) {
	d.dialer.Halt()
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
		for {
			n, err := step.do(ctx)
			if err != nil {
				failed = append(failed, fmt.Errorf("%s: %w", step.what, err))
			}
			if err != nil || n < upkeepSet {
				break
			}
		}
	}
	return errors.Join(failed...)
}

// Slot claims and sends until the slot's places, or what is due, are used up, or ctx ends.
// It returns when everything is claimed; calls in progress go on without it.
func (d *Drain) Slot(ctx context.Context, dialSlots int) error {
	var (
		after   Cursor
		look    int
		pacedTo time.Time // the earliest that a line without room has some
	)
	for {
		free := d.dialer.Free(ctx, dialSlots)
		if free == 0 {
			return nil // out of time: what is left is the next slot's
		}
		c, err := d.claim(ctx, Query{Most: free, Look: looks[look], After: after})
		if err != nil {
			return err
		}
		if c.Stopped {
			return nil
		}
		dialSlots = c.Limits.DialSlots
		if !c.PacedTo.IsZero() {
			if at := c.Clock.ToLocal(c.PacedTo); pacedTo.IsZero() || at.Before(pacedTo) {
				pacedTo = at
			}
		}
		switch {
		case c.Full: // more could be sent: once there are free dial slots again
		case c.Waited > 0:
			look = min(look+1, len(looks)-1)
		case !c.End:
			after, look = c.Next, 0
		case pacedTo.IsZero() || !waitUntil(ctx, pacedTo):
			return nil
		default:
			after, look, pacedTo = Cursor{}, 0, time.Time{}
		}
	}
}

// claim runs T1 detached from ctx: once begun it is not given up halfway.
func (d *Drain) claim(ctx context.Context, q Query) (Claim, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), claimTimeout)
	defer cancel()
	c, err := d.tryClaim(ctx, q)
	if err != nil {
		return Claim{}, fmt.Errorf("claiming: %w", err)
	}
	d.Metrics.found(c.Findings)
	for _, a := range c.Attempts {
		d.Log.Info("placing a call", "followup", a.FollowUp, "attempt", a.No, "tenant", a.Tenant, "line", a.Line, "to", a.To)
	}
	d.dialer.Start(c)
	return c, nil
}

// tryClaim claims, and goes around what can be gone around: a fact that cannot be loaded (the
// gates wait with its cause) and a row that the database refuses (its neighbours go on).
func (d *Drain) tryClaim(ctx context.Context, q Query) (Claim, error) {
	for {
		c, err := d.Store.Claim(ctx, q, d.ruler.Rule)
		var (
			fact *FactError
			bad  *RowError
		)
		switch {
		case err == nil:
			c.Full = c.Full || q.Alone && len(c.Findings) > 0
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
		case errors.As(err, &bad) && !q.Alone:
			d.Log.Error("one row of a claim is refused by the database: claiming them one by one", "err", bad)
			q.Alone = true
		case errors.As(err, &bad) && len(c.Looked) == 1:
			d.Log.Error("a follow-up cannot be claimed and is set aside", "followup", c.Looked[0], "err", bad)
			return Claim{Limits: c.Limits, Full: true}, d.Store.SetAside(ctx, c.Looked[0], bad)
		default:
			return Claim{}, err
		}
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

// waitUntil sleeps until t; false means that ctx ends before.
func waitUntil(ctx context.Context, t time.Time) bool {
	if end, ok := ctx.Deadline(); ok && end.Before(t) {
		return false
	}
	timer := time.NewTimer(time.Until(t))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
