package drain

import (
	"time"

	"chasephone/internal/followup"
	"chasephone/internal/gates"
	"chasephone/internal/phone"
)

// begun is what one claim has let through so far. Its later candidates are judged as if that
// were committed already: counts must hold within a claim as they do between claims.
type begun struct {
	ringing map[phone.Number]string // to the follow-up that rings it
	calls   map[contact][]time.Time // the newest first
	tenants map[string]spending
	lines   map[followup.LineID]spending
	fleet   spending
}

// contact is one number as one tenant knows it.
type contact struct {
	tenant string
	number phone.Number
}

// spending is how many calls began, and when the first did.
type spending struct {
	calls int
	first time.Time
}

func newBegun() *begun {
	return &begun{
		ringing: map[phone.Number]string{}, calls: map[contact][]time.Time{},
		tenants: map[string]spending{}, lines: map[followup.LineID]spending{},
	}
}

// add notes a call that is let through.
func (b *begun) add(c *Candidate, at time.Time) {
	with := contact{c.Tenant, c.Case.Number.Number}
	b.ringing[with.number] = c.ID
	b.calls[with] = append([]time.Time{at}, b.calls[with]...)
	b.tenants[c.Tenant] = b.tenants[c.Tenant].and(at)
	b.lines[c.Line] = b.lines[c.Line].and(at)
	b.fleet = b.fleet.and(at)
}

func (s spending) and(at time.Time) spending {
	if s.calls == 0 {
		s.first = at
	}
	s.calls++
	return s
}

// tell gives a candidate's case what this claim has let through.
func (b *begun) tell(c *Candidate, now time.Time) {
	k := &c.Case
	if other, ok := b.ringing[k.Number.Number]; ok {
		k.InCall = gates.Known(&gates.InCall{FollowUp: other, Dialing: true, Since: now})
	}
	if calls := b.calls[contact{c.Tenant, k.Number.Number}]; len(calls) > 0 {
		k.Calls.Value.At = append(append([]time.Time{}, calls...), k.Calls.Value.At...)
	}
	b.tenants[c.Tenant].addTo(&k.TenantDay.Value, gates.InTenantDay)
	b.lines[c.Line].addTo(&k.Line.Calls.Value, gates.OnLine)
	b.fleet.addTo(&k.FleetMinute.Value, gates.InFleetMinute)
}

// addTo counts the calls where they are the newest: the first of all frees the limit.
func (s spending) addTo(spent *gates.Spent, window time.Duration) {
	if s.calls > 0 && spent.FreesAt.IsZero() {
		spent.FreesAt = s.first.Add(window)
	}
	spent.Calls += s.calls
}
