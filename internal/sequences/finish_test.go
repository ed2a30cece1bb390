package sequences_test

import (
	"time"

	"chasephone/internal/carrier"
	"chasephone/internal/desk"
	"chasephone/internal/followup"
)

// mostRounds is more than it takes. Most rounds go to a number of which nobody knows whether it is in a call
// still: it is asked about every five minutes for two hours.
const mostRounds = 200

// finish has everybody do their best until all is over, which takes no luck: the company answers
// and rings, persons look and say what is so, and daemons work.
func (m *machine) finish() {
	m.lying = false
	m.look()
	for _, l := range m.lines {
		id := followup.LineID{Tenant: l.Tenant, Name: l.Name}
		m.each(func(_ int, w *world) error { return w.releaseLine(id, "ann") })
	}
	m.resumeAll()
	inTime := m.inTime()
	for round := 0; ; round++ {
		m.calm()
		open := m.rowsWhere(func(f *followUp) bool { return !f.State.Final() })
		if len(open) == 0 {
			break
		}
		if round == mostRounds {
			m.fail("%s is %s after %d rounds in which everybody did their best", open[0].key(), open[0].State, round)
		}
		m.clock(m.next(open))
		m.sweepBy(round % 2)
		m.tickBy(round%2, none)
	}
	for _, f := range m.rows {
		if inTime[f.key()] && f.State == followup.Missed {
			m.fail("%s is missed, and there was time enough", f.key())
		}
	}
}

// endCalls has the company tell the end of every call that was placed, once, as far as it knows of it.
func (m *machine) endCalls() {
	for _, f := range m.rows {
		for _, a := range f.Attempts {
			c := m.calls[a.Token]
			if a.Outcome != "placed" || c == nil || c.over {
				continue
			}
			c.over = true
			if c.rung {
				m.report(c, carrier.StatusCompleted)
			} else {
				m.report(c, carrier.StatusFailed)
			}
		}
	}
}

// inTime are the follow-ups that have half a day left: nobody may miss them now.
func (m *machine) inTime() map[string]bool {
	all := map[string]bool{}
	for _, f := range m.rows {
		all[f.key()] = !f.State.Final() && m.now.Sub(f.DueAt) < 12*time.Hour
	}
	return all
}

// calm has what is open now answered, rung, approved and settled.
func (m *machine) calm() {
	for _, c := range m.callsWhere(func(c *call) bool { return c.waiting }) {
		if c.rung = c.rung || m.now.Before(c.until); !c.rung { // the process was asleep for too long
			m.reply(c, carrier.Unknown{Stage: carrier.StageAwaiting}, false)
			continue
		}
		c.over = true
		m.reply(c, carrier.Placed{CallID: c.id(), Status: string(carrier.StatusCompleted)}, false)
	}
	m.look()
	for _, f := range m.rows {
		switch f.State {
		case followup.Uncertain:
			m.say(f, "ann", false, false, false)
		case followup.AwaitingApproval:
			m.finallyApprove(f)
		case followup.Due, followup.Dialing, followup.CallPlaced, followup.Refused, followup.Missed, followup.Cancelled:
		}
	}
	m.look()
	m.endCalls()
	m.look()
}

// finallyApprove says yes, or no where the carrier says that it rang already.
func (m *machine) finallyApprove(f *followUp) {
	if !m.ask(f, func(d desk.Desk, name desk.Name) (desk.Result, error) { return d.Approve(ctx, name, "ann", "") }) {
		m.ask(f, func(d desk.Desk, name desk.Name) (desk.Result, error) { return d.Decline(ctx, name, "ann", "") })
	}
}

func (m *machine) resumeAll() {
	scopes := []desk.Scope{{}}
	for _, t := range office() {
		scopes = append(scopes, desk.Scope{Tenant: t.name})
	}
	for _, l := range m.lines {
		scopes = append(scopes, desk.Scope{Tenant: l.Tenant, Line: l.Name})
	}
	for _, scope := range scopes {
		m.stopped(scope, false)
	}
}

// next is the first instant at which something can be done about what is open.
func (m *machine) next(open []*followUp) time.Time {
	var first time.Time
	sooner := func(at time.Time) {
		if slot := followup.SlotAt(m.now, tickLength).Add(tickLength); at.Before(slot) {
			at = slot
		}
		if first.IsZero() || at.Before(first) {
			first = at
		}
	}
	for _, f := range open {
		a := f.newest()
		switch {
		case f.State == followup.Due && f.DueAt.After(f.NextTryAt):
			sooner(f.DueAt)
		case f.State == followup.Due:
			sooner(f.NextTryAt)
		case f.State == followup.Dialing:
			sooner(a.AnswerBy.Add(4 * time.Second))
		case f.State == followup.Uncertain:
			sooner(a.AnswerBy.Add(followup.DefaultLimits().Quarantine))
		}
	}
	if first.IsZero() {
		return m.now.Add(tickLength)
	}
	return first
}
