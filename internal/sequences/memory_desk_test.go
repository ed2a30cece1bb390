package sequences_test

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"chasephone/internal/desk"
	"chasephone/internal/followup"
)

// Decide lets rule decide on a follow-up as it is, and writes what it says.
func (m *memory) Decide(_ context.Context, name desk.Name, rule func(desk.Snapshot) (desk.Change, error)) (desk.Result, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f := m.followUp(name.Text)
	if f == nil {
		return desk.Result{}, desk.ErrNotFound
	}
	change, refused := rule(m.snapshot(f))
	if change.To == "" {
		return desk.Result{ID: f.ID, State: f.State}, refused
	}
	result := desk.Result{ID: f.ID, Changed: true}
	if change.Successor != nil {
		result.Successor = m.succeed(f, change.Successor.DueAt)
	}
	m.change(f, change)
	result.State = f.State
	return result, refused
}

func (m *memory) snapshot(f *followUp) desk.Snapshot {
	s := desk.Snapshot{Now: m.now, Limits: m.limits, ID: f.ID, Tenant: f.Tenant, Ref: f.Ref, State: f.State, DueAt: f.DueAt}
	for of := f; of != nil; of = m.followUp(of.SuccessorOf) {
		for _, e := range of.Evidence {
			s.Conflict = s.Conflict || e.Conflict && e.Says == "placed"
		}
	}
	if p := f.approval(); p != nil {
		s.Approval = &desk.Approval{Reasons: p.Reasons, Decision: p.Decision, By: p.By, At: p.At}
	}
	if a := f.newest(); a != nil {
		s.Attempt = &desk.Attempt{No: a.No, AnswerBy: a.AnswerBy, Outcome: a.Outcome, By: a.By, At: a.At}
		for _, e := range f.Evidence {
			if e.No == a.No && e.Says == "placed" {
				s.Listed++
			}
		}
		if m.flaw == noQuarantine {
			s.Attempt.AnswerBy = time.Time{}
		}
	}
	for _, a := range f.Attempts {
		if a.Outcome == "did_not_ring" {
			s.DidNotRing++
		}
	}
	if n := len(f.Ledger); n > 0 {
		s.Ended = &desk.Said{By: f.Ledger[n-1].By, At: f.Ledger[n-1].At}
	}
	for _, next := range m.all {
		if f.State == followup.Cancelled && next.SuccessorOf == f.ID {
			s.Successor, s.SuccDueAt = next.ID, next.DueAt
		}
	}
	return s
}

// succeed makes the same promise for another instant.
func (m *memory) succeed(f *followUp, dueAt time.Time) string {
	m.made++
	next := &followUp{
		ID:     fmt.Sprintf("01 successor %03d", m.made), // it sorts as the database's own ids do, before what is inserted
		Tenant: f.Tenant, Ref: f.Ref, DueAt: dueAt, Number: f.Number, Script: f.Script, NeedsApproval: f.NeedsApproval, Line: f.Line,
		SuccessorOf: f.ID, State: followup.Due,
	}
	m.all = append(m.all, next)
	return next.ID
}

func (m *memory) change(f *followUp, c desk.Change) {
	if c.Decision != "" {
		p := f.approval()
		p.Decision, p.At, p.By = c.Decision, m.now, c.By
	}
	e := entry{Outcome: c.Outcome, Actor: "person", By: c.By, Reason: c.Reason}
	if c.By == "" {
		e.Actor = "tick"
	}
	if c.Attempt != "" {
		a := f.newest()
		a.Outcome, a.At, a.By, a.CallID = c.Attempt, m.now, c.By, cmp.Or(a.CallID, c.CallID)
		e.No = a.No
	}
	f.CallID = cmp.Or(f.CallID, c.CallID)
	if c.To.Final() && c.By != "" {
		f.DecidedBy = c.By
	}
	m.move(f, c.To, e)
	if c.To != followup.Due {
		return
	}
	f.Ready, f.NextTryAt = true, m.now
	if f.DueAt.After(m.now) {
		f.NextTryAt = f.DueAt
	}
	m.recall(f)
}

// Stop stops everything, a tenant or a line.
func (m *memory) Stop(_ context.Context, scope desk.Scope, _ string) (desk.Stopped, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	at := m.stoppedAt(scope)
	was := *at
	*at = true
	return desk.Stopped{Already: was}, nil
}

// Resume lifts a stop, and has what waited for the line go on.
func (m *memory) Resume(_ context.Context, scope desk.Scope, _ string) (bool, int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	at := m.stoppedAt(scope)
	if !*at {
		return false, 0, nil
	}
	*at = false
	return true, m.wake(scope.Tenant, scope.Line), nil
}

func (m *memory) stoppedAt(scope desk.Scope) *bool {
	switch {
	case scope.Line != "":
		return &m.lines[followup.LineID{Tenant: scope.Tenant, Name: scope.Line}].Stopped
	case scope.Tenant != "":
		return &m.tenants[scope.Tenant].stopped
	}
	return &m.stopped
}

// wake makes due at once what waits for a line of a tenant ("" for all) that is held no more.
func (m *memory) wake(tenant, name string) int {
	in := func(t, n string) bool { return (tenant == "" || tenant == t) && (name == "" || name == n) }
	for of := range m.unfit {
		if in(of.line.Tenant, of.line.Name) {
			delete(m.unfit, of)
		}
	}
	n := 0
	for _, f := range m.all {
		id := followup.LineID{Tenant: f.Tenant, Name: cmp.Or(f.Line, defaultLine)}
		if f.State != followup.Due || f.Ready || f.Reason != "line_not_ready" || !f.NextTryAt.After(m.now) || !in(id.Tenant, id.Name) {
			continue
		}
		if l := m.lines[id]; l != nil && l.Held.After(m.now) {
			continue
		}
		f.Ready, f.NextTryAt = true, m.now
		n++
	}
	return n
}
