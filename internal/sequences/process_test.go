package sequences_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"

	"chasephone/internal/desk"
	"chasephone/internal/drain"
	"chasephone/internal/followup"
	"chasephone/internal/gates"
	"chasephone/internal/phone"
)

// house is a store with what is done to it beside the drain: by integrators, persons, carriers, and time.
type house interface {
	desk.Store
	process(id string, carriers *drain.Carriers) drain.Store
	insert(f followUp) error
	setClock(t time.Time) error
	holdLine(id followup.LineID, by string, until time.Time) error
	releaseLine(id followup.LineID, by string) error
	arrive(r report) error
	committed(token string) (bool, error)
	read() ([]*followUp, []lineRow, error)
}

// world is a store with a fleet of two processes on it, and its telephone company.
type world struct {
	house
	phones *company
	fleet  [2]*process
	tokens int
	ids    int
	flaw   flaw
}

func newWorld(h house, f flaw) *world {
	w := &world{house: h, phones: newCompany(h.committed), flaw: f}
	for i := range w.fleet {
		w.start(i)
	}
	return w
}

// process is one daemon: the real drain over the store, which it reaches through a tap.
type process struct {
	drain *drain.Drain
	tap   *tap
}

// start begins a process, with an id of its own.
func (w *world) start(i int) {
	w.ids++
	carriers := drain.NewCarriers(map[string]drain.Carrier{account: w.phones})
	t := &tap{Store: w.process(numbered(1, w.ids), carriers), recorded: make(chan struct{}, 1000), flaw: w.flaw}
	_, t.patient = w.house.(*postgres)
	w.fleet[i] = &process{tap: t, drain: drain.New(drain.Config{
		Store: t, Carriers: carriers, Gates: gates.Chain(gates.Options{HoursOff: true}),
		NewToken: w.newToken, Identify: identify, Log: slog.New(slog.DiscardHandler),
	})}
}

// newToken is the same in every world: one claim at a time is under way in it.
func (w *world) newToken() string {
	w.tokens++
	return numbered(2, w.tokens)
}

func numbered(kind, n int) string {
	var id uuid.UUID
	id[0], id[6], id[8] = byte(kind), 0x70, 0x80
	id[13], id[14], id[15] = byte(n>>16), byte(n>>8), byte(n)
	return id.String()
}

// crash ends a process as kill -9 does. Its requests are with the telephone company.
func (w *world) crash(i int) {
	p := w.fleet[i]
	p.tap.die()
	for _, token := range p.tap.sent() {
		w.phones.drop(token)
	}
	over, cancel := context.WithCancel(context.Background())
	cancel()
	p.drain.Stop(over)
}

// tick is one slot's work by a process, to the last request. It says whether the process died of it.
func (w *world) tick(i int, f fault) (died bool, err error) {
	p := w.fleet[i]
	before, lost := p.tap.sabotage(f), 0
	if err := p.drain.Prepare(context.Background()); err != nil {
		return false, err
	}
	err = p.drain.Slot(context.Background(), followup.DefaultLimits().DialSlots)
	granted, struck := p.tap.after()
	switch {
	case struck == nil && err != nil:
		return false, err
	case struck != nil && f == dies:
		return true, w.phones.await(granted - before)
	case struck != nil: // what it gives back is recorded
		lost = len(struck)
	}
	for range lost {
		if !within(p.tap.recorded) {
			return false, errors.New("attempts of a claim whose reply was lost are not given back")
		}
	}
	return false, w.phones.await(granted - before)
}

// tap is what a process has of the store: everything, until it dies, and not always the reply.
type tap struct {
	drain.Store
	recorded chan struct{} // one for each settlement that was written
	patient  bool          // await the recorder's own pause before it repeats
	flaw     flaw

	mu     sync.Mutex
	fault  fault
	struck []drain.Attempt // by the fault
	own    []string        // tokens of the attempts that it was given to send
	dead   bool
	forget bool // the next record's reply is lost
}

// fault is what happens to a claim.
type fault string

const (
	none      fault = ""
	dies      fault = "the process dies after the commit"
	lostAfter fault = "the commit's reply is lost"
	lostWith  fault = "the commit is lost, and nobody knows"
)

var errDead = errors.New("the process is dead")

func (t *tap) die() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.dead = true
}

func (t *tap) isDead() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.dead
}

func (t *tap) sent() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.own
}

func (t *tap) sabotage(f fault) (granted int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.fault, t.struck = f, nil
	return len(t.own)
}

// after is how many attempts it was given, and those that the fault struck; there is no fault any more.
func (t *tap) after() (granted int, struck []drain.Attempt) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.fault = none
	return len(t.own), t.struck
}

func (t *tap) Claim(ctx context.Context, q drain.Query, rule drain.Rule) (drain.Claim, error) {
	if t.isDead() {
		return drain.Claim{}, errDead
	}
	t.mu.Lock()
	f := t.fault
	t.mu.Unlock()
	cut, cancel := context.WithCancel(ctx)
	defer cancel()
	claim, err := t.Store.Claim(cut, q, func(b drain.Batch) drain.Decisions {
		d := rule(b)
		if f == lostWith && passes(d) {
			cancel() // before anything is written
		}
		return d
	})
	switch {
	case len(claim.Attempts) == 0 || f == none:
	case f == lostWith && cut.Err() != nil:
		return t.strike(claim, drain.ErrCommitUnknown)
	case err != nil:
	case f == dies:
		t.die()
		return t.strike(claim, errDead)
	case f == lostAfter:
		return t.strike(claim, drain.ErrCommitUnknown)
	}
	if err == nil {
		t.give(claim)
	}
	return claim, err
}

func (t *tap) strike(c drain.Claim, err error) (drain.Claim, error) {
	t.mu.Lock()
	t.fault, t.struck = none, c.Attempts
	t.mu.Unlock()
	if t.flaw == sendsOnUnknownCommit && errors.Is(err, drain.ErrCommitUnknown) {
		t.give(c)
		t.mu.Lock()
		t.struck = nil
		t.mu.Unlock()
		return c, nil
	}
	if errors.Is(err, errDead) {
		c = drain.Claim{}
	}
	return c, fmt.Errorf("claiming: %w", err)
}

func (t *tap) give(c drain.Claim) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, a := range c.Attempts {
		t.own = append(t.own, a.Token)
	}
}

func passes(d drain.Decisions) bool {
	for _, one := range d.Decided {
		if one.Attempt != nil {
			return true
		}
	}
	return false
}

// Record loses its reply once, where it is told to: then it is repeated. The recorder pauses before
// it does, which so many sequences in memory have no time for.
func (t *tap) Record(ctx context.Context, set []drain.Settlement) error {
	if t.isDead() {
		return errDead
	}
	if err := t.Store.Record(ctx, set); err != nil {
		return err
	}
	t.mu.Lock()
	again := t.forget
	t.forget = false
	t.mu.Unlock()
	switch {
	case again && t.patient:
		return errors.New("the reply was lost")
	case again:
		if err := t.Store.Record(ctx, set); err != nil {
			return err
		}
	}
	for range set {
		t.recorded <- struct{}{}
	}
	return nil
}

// forgetNext has the next record's reply lost.
func (t *tap) forgetNext(is bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.forget = is
}

//nolint:gochecknoglobals // what texts mean does not change
var identities sync.Map

type identified struct {
	identity phone.Identity
	problem  phone.Problem
}

// identify is phone.Parse, asked once for each text.
func identify(raw, region string) (phone.Identity, phone.Problem) {
	if known, ok := identities.Load(raw); ok {
		return known.(identified).identity, known.(identified).problem
	}
	i, p := phone.Parse(raw, region)
	identities.Store(raw, identified{i, p})
	return i, p
}
