package sequences_test

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"chasephone/internal/drain"
	"chasephone/internal/followup"
	"chasephone/internal/gates"
	"chasephone/internal/phone"
)

// Claim looks at the oldest rows of every open line, has them judged, and writes what was decided.
func (d daemon) Claim(ctx context.Context, q drain.Query, rule drain.Rule) (drain.Claim, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	claim := drain.Claim{Limits: d.limits, Clock: drain.Clock{Local: time.Now(), Database: d.now}, Stopped: d.stopped, End: true}
	if d.stopped {
		return claim, nil
	}
	b := drain.Batch{
		Now: d.now, Slot: followup.SlotAt(d.now, d.limits.Tick), Limits: d.limits, Most: q.Most,
		Taken: map[string]int{}, Lines: map[followup.LineID]drain.LineRoom{},
	}
	for _, at := range d.queues(q.After) {
		claim.Next = at
		d.look(at, q, &b)
	}
	slices.SortFunc(b.Candidates, func(a, b drain.Candidate) int {
		return cmp.Or(strings.Compare(a.Tenant, b.Tenant), a.DueAt.Compare(b.DueAt), strings.Compare(a.ID, b.ID))
	})
	for _, c := range b.Candidates {
		claim.Looked = append(claim.Looked, c.ID)
	}
	if len(b.Candidates) == 0 {
		return claim, nil
	}
	decisions := rule(b)
	claim.Waited, claim.Left, claim.PacedTo, claim.Full = decisions.Waited, decisions.Left, decisions.PacedTo, decisions.Full
	for _, one := range decisions.Decided {
		claim.Findings = append(claim.Findings, one.Findings...)
		if one.Place > 0 {
			claim.Reached = one.Candidate.Tenant
		}
		if one.Attempt != nil {
			claim.Attempts = append(claim.Attempts, *one.Attempt)
		}
	}
	if err := ctx.Err(); err != nil {
		return claim, err // nothing is committed
	}
	for _, one := range decisions.Decided {
		d.decide(one, b.Slot)
	}
	return claim, nil
}

// queues are the tenants and lines that have ready rows, behind a place in their order.
func (d daemon) queues(after drain.Cursor) []drain.Cursor {
	var all []drain.Cursor
	for _, f := range d.all {
		at := drain.Cursor{Tenant: f.Tenant, LineKey: f.Line}
		if f.State == followup.Due && f.Ready && order(at, after) > 0 && !slices.Contains(all, at) {
			all = append(all, at)
		}
	}
	slices.SortFunc(all, order)
	return all
}

func order(a, b drain.Cursor) int {
	return cmp.Or(strings.Compare(a.Tenant, b.Tenant), strings.Compare(a.LineKey, b.LineKey))
}

// look adds the oldest rows of a tenant's line whose time has come, where both are open.
func (d daemon) look(at drain.Cursor, q drain.Query, b *drain.Batch) {
	taken := d.taken(at.Tenant, b.Slot)
	id := followup.LineID{Tenant: at.Tenant, Name: cmp.Or(at.LineKey, defaultLine)}
	l := d.lines[id]
	if d.tenants[at.Tenant].stopped || taken >= d.limits.PerTick ||
		l != nil && (l.Stopped && d.flaw != stopForgotten || l.Held.After(d.now) || d.unfit[unfit{d.id, id}].After(d.now)) {
		return
	}
	b.Taken[at.Tenant], b.Lines[id] = taken, d.room(id)
	var rows []*followUp
	for _, f := range d.all {
		if f.Tenant == at.Tenant && f.Line == at.LineKey && f.State == followup.Due && f.Ready &&
			!f.DueAt.After(d.now) && !f.NextTryAt.After(d.now) && !d.late(f) && !slices.Contains(q.Skip, f.ID) {
			rows = append(rows, f)
		}
	}
	slices.SortFunc(rows, func(a, b *followUp) int { return cmp.Or(a.DueAt.Compare(b.DueAt), strings.Compare(a.ID, b.ID)) })
	for _, f := range rows[:min(len(rows), d.limits.PerTick-taken+q.Look)] {
		c := drain.Candidate{ID: f.ID, Tenant: f.Tenant, DueAt: f.DueAt, Line: id, LastNo: len(f.Attempts), Reason: f.Reason, Case: d.facts(f, id)}
		if d.flaw == lateByLastTry {
			c.DueAt = f.NextTryAt
		}
		b.Candidates = append(b.Candidates, c)
	}
}

// taken are a slot's places that a tenant has used up.
func (d daemon) taken(tenant string, slot time.Time) int {
	n := 0
	for _, f := range d.all {
		for _, e := range f.Ledger {
			if f.Tenant == tenant && e.Place > 0 && e.Slot.Equal(slot) {
				n++
			}
		}
	}
	if d.flaw == placesNotCounted {
		return 0
	}
	return n
}

// room is how many calls a line may take while answers are missing: no more than would fill the
// count of unknown answers that holds it, and one at a time to try it again.
func (d daemon) room(id followup.LineID) drain.LineRoom {
	l := d.lines[id]
	if l == nil {
		return drain.LineRoom{}
	}
	open, silent := 0, 0
	for _, f := range d.all {
		a := f.newest()
		if a == nil || a.Outcome != "" || f.Tenant != id.Tenant || a.Line != id.Name {
			continue
		}
		if open++; a.Created.Before(d.now.Add(-3 * time.Second)) {
			silent++
		}
	}
	if l.Unknowns+silent == 0 {
		return drain.LineRoom{}
	}
	return drain.LineRoom{Bounded: true, Calls: max(d.breaker-l.Unknowns, 1) - open}
}

// facts are what the gates judge a row on.
func (d daemon) facts(f *followUp, id followup.LineID) gates.Case {
	c := gates.Case{
		Now: d.now, RetryAfter: d.limits.RetryAfter, Number: f.identity, Problem: f.problem, Countries: []string{region},
		Purpose: "requested", Script: f.Script, Promised: epoch, NeedsApproval: f.NeedsApproval, Policy: d.tenants[f.Tenant].policy,
		Line:     gates.Line{Name: id.Name, Named: f.Line != ""},
		Approval: d.yes(f), OptOut: gates.Known[*gates.OptOut](nil), InCall: gates.Known(d.inCall(f.identity.Number)),
		CalledIn: gates.Known[*gates.CalledIn](nil),
	}
	if l := d.lines[id]; l != nil {
		c.Line.Exists, c.Line.Configured, c.Line.Carrier, c.Line.Caller = true, true, account, l.caller
	}
	return c
}

// yes is a follow-up's newest approval, where it was given and no attempt that may have rung spent it.
func (d daemon) yes(f *followUp) *gates.Approval {
	p, n := f.approval(), len(f.Approvals)
	if p == nil || p.Decision != "approved" {
		return nil
	}
	for _, a := range f.Attempts {
		if a.Spends == n && a.mayHaveRung() && d.flaw != approvalNotSpent {
			return nil
		}
	}
	return &gates.Approval{
		ID: strconv.Itoa(n), By: p.By, Asked: p.Asked, At: p.At, Reasons: p.Reasons,
		Number: phone.FromE164(p.Number), Line: p.Line, Caller: phone.FromE164(p.Caller), Words: p.Words,
	}
}

// inCall is the newest call with a number that may be going on, one that is being asked for first.
func (d daemon) inCall(n phone.Number) *gates.InCall {
	var found *gates.InCall
	for _, f := range d.all {
		for _, a := range f.Attempts {
			switch {
			case n.IsZero() || f.identity.Number != n || d.flaw == inCallForgotten:
			case a.Outcome == "":
				return &gates.InCall{FollowUp: f.ID, Dialing: true, Since: a.Created, Ends: a.Created.Add(gates.OnLine)}
			case a.Outcome != "placed" && a.Outcome != "uncertain":
			case !a.Created.After(d.now.Add(-gates.OnLine)) || a == f.newest() && final(f.CallStatus):
			case found == nil || a.Created.After(found.Since):
				found = &gates.InCall{FollowUp: f.ID, Since: a.Created, Ends: a.Created.Add(gates.OnLine)}
			}
		}
	}
	return found
}

// decide writes one ruling.
func (d daemon) decide(one drain.Decision, slot time.Time) {
	f := d.followUp(one.Candidate.ID)
	e := entry{Actor: "gates", Reason: one.Ruling.Code, Place: one.Place}
	if one.Place > 0 {
		e.Slot = slot
	}
	to := followup.Due
	switch one.Ruling.Kind() {
	case gates.KindWait:
		e.Outcome, f.Ready = followup.OutcomeNotReady, one.Shared
		if one.Ruling.Code != gates.CodeLineBusy {
			f.NextTryAt = one.Ruling.Until
		}
	case gates.KindRefuse:
		to, e.Outcome = followup.Refused, followup.OutcomeRefused
	case gates.KindHold:
		to, e.Outcome = followup.AwaitingApproval, followup.OutcomeAwaitingApproval
		k := one.Candidate.Case
		f.Approvals = append(f.Approvals, &approval{
			Reasons: one.Asks, Number: k.Number.Number.E164(), Line: k.Line.Name, Caller: k.Line.Caller.E164(), Words: gates.Words(k.Script, k.Line.URL), Asked: d.now,
		})
	case gates.KindPass:
		to = followup.Dialing
		a := one.Attempt
		spends, _ := strconv.Atoi(a.ApprovalID)
		e.No, f.CallStatus = a.No, ""
		f.Attempts = append(f.Attempts, &attempt{No: a.No, Token: a.Token, Line: a.Line, Spends: spends, Created: d.now, SendBy: a.SendBy, AnswerBy: a.AnswerBy})
	}
	d.move(f, to, e)
}
