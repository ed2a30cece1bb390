package drain

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"chasephone/internal/carrier"
)

// Dialer holds the requests in flight. It sends each attempt at most once and hands what it
// learned to the recorder; a slot is free again when the answer is in.
type Dialer struct {
	carriers *Carriers
	record   func(Attempt, carrier.Answer)
	log      *slog.Logger

	mu       sync.Mutex
	inFlight int
	freed    chan struct{} // closed and renewed whenever a slot frees
	halt     chan struct{} // closed: attempts whose turn has not come are given back
	halted   bool
	running  sync.WaitGroup
}

// NewDialer makes a dialer that reports every answer to record.
func NewDialer(carriers *Carriers, record func(Attempt, carrier.Answer), log *slog.Logger) *Dialer {
	return &Dialer{
		carriers: carriers, record: record, log: log,
		freed: make(chan struct{}), halt: make(chan struct{}),
	}
}

// Reserve waits until one of slots is free, takes all that are, and says how many. It
// returns 0 once ctx has ended or the dialer is halted. Start gives back what is not used.
func (d *Dialer) Reserve(ctx context.Context, slots int) int {
	for {
		d.mu.Lock()
		free, freed := slots-d.inFlight, d.freed
		ended := ctx.Err() != nil || d.halted
		if free > 0 && !ended {
			d.inFlight += free
		}
		d.mu.Unlock()
		switch {
		case ended:
			return 0
		case free > 0:
			return free
		}
		select {
		case <-freed:
		case <-d.halt:
		case <-ctx.Done():
		}
	}
}

// Start sends every attempt of a claim in its turn, and returns at once. reserved are the
// slots that were reserved for it.
func (d *Dialer) Start(c Claim, reserved int) {
	for _, a := range c.Attempts {
		d.running.Go(func() {
			defer d.free(1)
			d.record(a, d.dial(a, c.Clock))
		})
	}
	d.free(reserved - len(c.Attempts))
}

// Halt ends reserving, and gives back, as not placed, every attempt whose request has not
// begun. It returns at once.
func (d *Dialer) Halt() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.halted {
		d.halted = true
		close(d.halt)
	}
}

// Wait returns when the calls in progress have their answer.
func (d *Dialer) Wait() { d.running.Wait() }

// dial is one attempt's one request. It is not cancelled by a stop: once begun, its answer is awaited.
func (d *Dialer) dial(a Attempt, clock Clock) carrier.Answer {
	turn := time.NewTimer(time.Until(clock.ToLocal(a.BeginAt)))
	defer turn.Stop()
	select {
	case <-d.halt:
		return carrier.NotPlaced{Blame: carrier.BlameNobody, Code: "shut_down"}
	default:
	}
	select {
	case <-turn.C:
	case <-d.halt:
		return carrier.NotPlaced{Blame: carrier.BlameNobody, Code: "shut_down"}
	}
	c, ok := d.carriers.Get(a.Carrier)
	if !ok {
		return carrier.NotPlaced{Blame: carrier.BlameDaemon, Code: "carrier_not_configured"}
	}
	ctx, cancel := context.WithDeadline(context.Background(), clock.ToLocal(a.AnswerBy))
	defer cancel()
	return d.place(ctx, c, carrier.Call{
		Token: a.Token, To: a.To, Extension: a.Extension, From: a.From,
		Script: a.Script, URL: a.URL, SendBy: clock.ToLocal(a.SendBy),
	})
}

// place turns a panic in a carrier into what it is: nobody knows what was sent.
func (d *Dialer) place(ctx context.Context, c Carrier, call carrier.Call) (answer carrier.Answer) {
	defer func() {
		if p := recover(); p != nil {
			d.log.Error("a carrier panicked while placing a call", "carrier", c.Name(), "panic", p)
			answer = carrier.Unknown{Stage: carrier.StageWriting, Code: "panic", Text: "the carrier's code failed"}
		}
	}()
	return c.Place(ctx, call)
}

func (d *Dialer) free(n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.inFlight -= n
	close(d.freed)
	d.freed = make(chan struct{})
}
