package drain

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"chasephone/internal/carrier"
)

// Dialer holds the requests in flight: never more at once than there are dial slots. It sends each
// attempt at most once and hands what it learned to the recorder.
//
// A claim takes a few milliseconds, in which slots become free. So that they do not stand idle, as
// many attempts are claimed ahead of their slot as slots became free during the claim before: they
// wait for about as long as that took, and where calls take long there are next to none. An attempt
// that has no slot by its SendBy is given back.
type Dialer struct {
	carriers *Carriers
	record   func(Attempt, carrier.Answer)
	log      *slog.Logger

	slots    dialSlots
	mu       sync.Mutex
	reserved int           // attempts that are being claimed, wait for their turn or are under way
	before   int           // how often a slot had become free when the newest claim began
	ahead    int           // attempts to claim ahead of their slot
	freed    chan struct{} // closed and renewed whenever there is more room
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

// Reserve waits until there is room for an attempt, takes all the room there is, and says for how
// many. It returns 0 once ctx has ended or the dialer is halted. Start gives back what is not used.
func (d *Dialer) Reserve(ctx context.Context, slots int) int {
	d.slots.resize(slots)
	for {
		d.mu.Lock()
		room, freed := slots+min(d.ahead, slots)-d.reserved, d.freed
		ended := ctx.Err() != nil || d.halted
		if room > 0 && !ended {
			d.reserved += room
			d.before = d.slots.givenBack()
		}
		d.mu.Unlock()
		switch {
		case ended:
			return 0
		case room > 0:
			return room
		}
		select {
		case <-freed:
		case <-d.halt:
		case <-ctx.Done():
		}
	}
}

// Start sends every attempt of a claim in its turn, and returns at once. reserved is what was
// reserved for it.
func (d *Dialer) Start(c Claim, reserved int) {
	for _, a := range c.Attempts {
		d.running.Go(func() {
			defer d.free(1)
			d.record(a, d.dial(a, c.Clock))
		})
	}
	d.mu.Lock()
	d.ahead = 2 * (d.slots.givenBack() - d.before) // what frees while they wait for the next claim, too
	d.mu.Unlock()
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
	if !d.takeSlot(clock.ToLocal(a.SendBy)) {
		return carrier.NotPlaced{Blame: carrier.BlameNobody, Code: "no_dial_slot"}
	}
	defer d.slots.give()
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

// takeSlot waits for a dial slot until it is too late to send; false: there was none, or the drain is halted.
func (d *Dialer) takeSlot(sendBy time.Time) bool {
	ctx, cancel := context.WithDeadline(context.Background(), sendBy)
	defer cancel()
	return d.slots.take(ctx, d.halt)
}

func (d *Dialer) free(n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.reserved -= n
	close(d.freed)
	d.freed = make(chan struct{})
}
