package sequences_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"chasephone/internal/carrier"
	"chasephone/internal/drain"
	"chasephone/internal/followup"
	"chasephone/internal/gates"
	"chasephone/internal/phone"
)

// memory is the reference: what a store must do, written to be plainly right and not to be fast.
// One lock makes every call a transaction. Flaws are for the test that asks whether the sequences
// would find one.
type memory struct {
	mu       sync.Mutex
	now      time.Time
	limits   followup.Limits
	breaker  int // unknown answers in a row that hold a line
	stopped  bool
	tenants  map[string]*tenant
	lines    map[followup.LineID]*line
	unfit    map[unfit]time.Time
	all      []*followUp
	messages map[string]*message // by the call's id
	made     int                 // successors
	flaw     flaw
}

type tenant struct {
	policy  gates.Policy
	stopped bool
}

type line struct {
	lineRow
	caller phone.Number
}

// unfit is a line that one daemon cannot reach.
type unfit struct {
	daemon string
	line   followup.LineID
}

// message is a call as far as arrivals have told.
type message struct {
	status carrier.Status
	finals map[carrier.Status]bool
}

func newMemory(f flaw) *memory {
	m := &memory{
		now: epoch, limits: followup.DefaultLimits(), breaker: breaker, flaw: f,
		tenants: map[string]*tenant{}, lines: map[followup.LineID]*line{}, unfit: map[unfit]time.Time{}, messages: map[string]*message{},
	}
	for _, t := range office() {
		m.tenants[t.name] = &tenant{policy: t.policy}
		for _, name := range t.lines {
			m.lines[followup.LineID{Tenant: t.name, Name: name}] = &line{lineRow{Tenant: t.name, Name: name}, phone.FromE164(callerNumber)}
		}
	}
	return m
}

// move is one change with its row in the ledger.
func (m *memory) move(f *followUp, to followup.State, e entry) {
	e.Version, e.At, e.From, e.To = len(f.Ledger)+1, m.now, f.State, to
	f.State, f.Reason = to, e.Reason
	if to != followup.Due {
		f.Ready = false
	}
	if m.flaw == ledgerForgets && to == followup.Uncertain {
		return
	}
	f.Ledger = append(f.Ledger, e)
}

func (m *memory) late(f *followUp) bool {
	if m.flaw == lateByLastTry {
		return !f.NextTryAt.IsZero() && followup.Late(m.now, f.NextTryAt, m.limits.MaxLate)
	}
	return followup.Late(m.now, f.DueAt, m.limits.MaxLate)
}

// daemon is the store as one process has it.
type daemon struct {
	*memory
	id string
}

func (d daemon) CloseLate(context.Context, int) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := 0
	for _, f := range d.all {
		if f.State != followup.Due && f.State != followup.AwaitingApproval || !d.late(f) {
			continue
		}
		if p := f.approval(); p != nil && p.Decision == "" {
			p.Decision, p.At = "missed", d.now
		}
		d.move(f, followup.Missed, entry{Outcome: followup.OutcomeMissed, Actor: "tick", Reason: "too_late"})
		n++
	}
	return n, nil
}

const aheadOfDue = time.Hour // a follow-up is ready from then on

func (d daemon) Admit(_ context.Context, _ int, identify drain.Identify) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := 0
	for _, f := range d.all {
		soon := !f.DueAt.After(d.now.Add(aheadOfDue))
		if f.State != followup.Due || f.Ready || f.NextTryAt.After(d.now) && (!f.NextTryAt.Equal(f.DueAt) || !soon) {
			continue
		}
		n++
		if d.tenants[f.Tenant] == nil {
			d.move(f, followup.Refused, entry{Outcome: followup.OutcomeRefused, Actor: "intake", Reason: "unknown_tenant"})
			continue
		}
		if !f.known {
			f.identity, f.problem = identify(f.Number, region)
			f.known = true
		}
		f.Ready = soon
		if f.NextTryAt.Before(f.DueAt) {
			f.NextTryAt = f.DueAt
		}
	}
	return n, nil
}

// SetAside: no sequence has a row that cannot be claimed.
func (d daemon) SetAside(_ context.Context, id string, why error) error {
	return fmt.Errorf("follow-up %s was set aside: %w", id, why)
}

func (d daemon) Sweep(_ context.Context, grace time.Duration, _ int) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := 0
	for _, f := range d.all {
		a := f.newest()
		if d.flaw == sweepSleeps || f.State != followup.Dialing || a.Outcome != "" || !a.AnswerBy.Before(d.now.Add(-grace)) {
			continue
		}
		n++
		if d.flaw == sweepMakesDue {
			a.Outcome, a.At = "not_placed", d.now
			d.move(f, followup.Due, entry{Actor: "sweep", Reason: "no_record", No: a.No})
			continue
		}
		a.Outcome, a.At = "uncertain", d.now
		d.move(f, followup.Uncertain, entry{Outcome: followup.OutcomeUncertain, Actor: "sweep", Reason: "no_record", No: a.No})
	}
	return n, nil
}

// setClock moves time on, never back.
func (m *memory) setClock(t time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now = t
	return nil
}

func (m *memory) insert(f followUp) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	f.State = followup.Due
	m.all = append(m.all, &f)
	return nil
}

// read shows what the store has. The rows are the store's own: look, and leave them.
func (m *memory) read() ([]*followUp, []lineRow, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	lines := make([]lineRow, 0, len(m.lines))
	for _, l := range m.lines {
		lines = append(lines, l.lineRow)
	}
	slices.SortFunc(lines, func(a, b lineRow) int {
		return cmp.Or(strings.Compare(a.Tenant, b.Tenant), strings.Compare(a.Name, b.Name))
	})
	return m.all, lines, nil
}

func (m *memory) process(id string, _ *drain.Carriers) drain.Store { return daemon{m, id} }

func (m *memory) committed(token string) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, a := m.attempt(token)
	return a != nil && a.Outcome == "", nil
}

func (m *memory) attempt(token string) (*followUp, *attempt) {
	for _, f := range m.all {
		for _, a := range f.Attempts {
			if a.Token == token {
				return f, a
			}
		}
	}
	return nil, nil
}

func (m *memory) followUp(id string) *followUp {
	for _, f := range m.all {
		if f.ID == id {
			return f
		}
	}
	return nil
}
