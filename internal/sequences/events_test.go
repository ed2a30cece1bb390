package sequences_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"pgregory.net/rapid"

	"chasephone/internal/carrier"
	"chasephone/internal/desk"
	"chasephone/internal/followup"
)

//nolint:gochecknoglobals // nothing that is asked of a store is given up
var ctx = context.Background()

// callsWhere are the calls for which it is so, in their order.
func (m *machine) callsWhere(is func(*call) bool) []*call {
	var all []*call
	for _, c := range m.calls {
		if is(c) {
			all = append(all, c)
		}
	}
	slices.SortFunc(all, func(a, b *call) int { return strings.Compare(a.token, b.token) })
	return all
}

func (m *machine) rowsWhere(is func(*followUp) bool) []*followUp {
	var all []*followUp
	for _, f := range m.rows {
		if is(f) {
			all = append(all, f)
		}
	}
	return all
}

// one of some, or nothing to do.
func one[T any](t *rapid.T, label string, some []T) T {
	if len(some) == 0 {
		t.Skip("none")
	}
	return some[rapid.IntRange(0, len(some)-1).Draw(t, label)]
}

// answer has the company answer a request, whatever has become of the call and of the time.
func (m *machine) answer(t *rapid.T) {
	c := one(t, "call", m.callsWhere(func(c *call) bool { return c.waiting }))
	answers := []carrier.Answer{
		carrier.Placed{CallID: c.id(), Status: "queued"},
		carrier.Placed{CallID: c.id(), Status: "queued"},
		carrier.Unknown{Stage: carrier.StageWriting, Text: "reset"},
		carrier.Unknown{Stage: carrier.StageAwaiting},
		carrier.Unknown{Stage: carrier.StageAnswered, Code: "500"},
	}
	if !c.rung || m.lying {
		answers = append(answers,
			carrier.Refused{Code: "21211", Text: "invalid"},
			carrier.NotPlaced{Blame: carrier.BlameLine, Code: "429"},
			carrier.NotPlaced{Blame: carrier.BlameAccount, Code: "401"},
			carrier.NotPlaced{Blame: carrier.BlameDaemon, Code: "connect_failed"},
			carrier.NotPlaced{Blame: carrier.BlameNobody, Code: "send_by_passed"},
			carrier.NotPlaced{Blame: carrier.BlameNobody, Code: "send_by_passed"},
		)
	}
	a := rapid.SampledFrom(answers).Draw(t, "answer")
	m.reply(c, a, rapid.IntRange(0, 15).Draw(t, "reply of the record") == 15)
}

func (m *machine) reply(c *call, a carrier.Answer, lost bool) {
	c.waiting, c.said = false, a
	if _, placed := a.(carrier.Placed); placed {
		c.told = true
	}
	m.each(func(_ int, w *world) error {
		p := w.fleet[c.process]
		p.tap.forgetNext(lost)
		w.phones.answer(c.token, a)
		if !within(p.tap.recorded) {
			return errors.New("an answer is not recorded")
		}
		return nil
	})
}

// ring has a phone ring.
func (m *machine) ring(t *rapid.T) {
	c := one(t, "call", m.callsWhere(func(c *call) bool {
		return !c.rung && m.now.Before(c.until) && (!c.denied() || m.lying)
	}))
	c.rung = true
}

// webhook is the company's report of a call, once or twice.
func (m *machine) webhook(t *rapid.T) {
	c := one(t, "call", m.callsWhere(func(*call) bool { return true }))
	statuses := []carrier.Status{carrier.StatusQueued, carrier.StatusFailed, carrier.StatusCanceled}
	if c.rung {
		statuses = append(statuses, carrier.StatusRinging, carrier.StatusInProgress, carrier.StatusCompleted, carrier.StatusCompleted, carrier.StatusBusy, carrier.StatusNoAnswer)
	}
	status := rapid.SampledFrom(statuses).Draw(t, "status")
	m.report(c, status)
	if rapid.Bool().Draw(t, "doubled") {
		m.report(c, status)
	}
}

func (m *machine) report(c *call, s carrier.Status) {
	c.told = c.told || !s.NotDialed()
	m.each(func(_ int, w *world) error {
		return w.arrive(report{token: c.token, callID: c.id(), number: c.number, status: s})
	})
}

// person is somebody who decides. Whoever errs says the opposite of what is so.
func person(t *rapid.T) string { return rapid.SampledFrom([]string{"ann", "bob"}).Draw(t, "by") }

// ask has a person decide in every world, which must come to the same and be put in the same words.
func (m *machine) ask(f *followUp, what func(d desk.Desk, name desk.Name) (desk.Result, error)) bool {
	var changed bool
	var want string
	m.each(func(i int, w *world) error {
		r, err := what(desk.Desk{Store: w}, desk.Name{Text: m.ids[i][f.key()]})
		says := r.Says
		if err != nil {
			var refused *desk.Refusal
			if !errors.As(err, &refused) {
				return err
			}
			says = err.Error()
		}
		if i == 0 {
			want, changed = says, r.Changed
		} else if says != want || r.Changed != changed {
			m.fail("the stores differ: %q changed %t, and over PostgreSQL %q changed %t", want, changed, says, r.Changed)
		}
		return nil
	})
	return changed
}

func (m *machine) approve(t *rapid.T) {
	f := one(t, "follow-up", m.rowsWhere(func(f *followUp) bool { return f.State == followup.AwaitingApproval }))
	by := person(t)
	m.ask(f, func(d desk.Desk, name desk.Name) (desk.Result, error) { return d.Approve(ctx, name, by, "") })
}

// settle is a person's word on an uncertain attempt: mostly the truth.
func (m *machine) settle(t *rapid.T) {
	f := one(t, "follow-up", m.rowsWhere(func(f *followUp) bool { return f.State == followup.Uncertain }))
	by, errs := person(t), rapid.IntRange(0, 3).Draw(t, "errs") == 2
	cancel, names := rapid.IntRange(0, 4).Draw(t, "cancel") == 4, rapid.IntRange(0, 2).Draw(t, "names the call") == 2
	m.say(f, by, errs, cancel, names)
}

func (m *machine) say(f *followUp, by string, errs, cancel, names bool) {
	a, c := f.newest(), m.calls[f.newest().Token] // nil: it was never asked for
	rung, callID := c != nil && c.rung, ""
	if names && rung {
		callID = c.id()
	}
	if rung != errs {
		m.ask(f, func(d desk.Desk, name desk.Name) (desk.Result, error) { return d.Rang(ctx, name, by, a.No, callID) })
		return
	}
	changed := m.ask(f, func(d desk.Desk, name desk.Name) (desk.Result, error) {
		return d.DidNotRing(ctx, name, by, desk.Silence{Attempt: a.No, Cancel: cancel})
	})
	if changed && rung {
		c.erred = true
	}
}

// decide is a person who decides whatever comes to mind, about anything.
func (m *machine) decide(t *rapid.T) {
	f, by := one(t, "follow-up", m.rows), person(t)
	what := rapid.SampledFrom([]string{"approve", "decline", "cancel", "cancel", "rang", "did not ring"}).Draw(t, "what")
	a := f.newest()
	if f.State == followup.Uncertain && (what == "rang" || what == "did not ring") {
		t.Skip("settle does that")
	}
	no := 0
	if a != nil {
		no = a.No
	}
	m.ask(f, func(d desk.Desk, name desk.Name) (desk.Result, error) {
		switch what {
		case "approve":
			return d.Approve(ctx, name, by, "")
		case "decline":
			return d.Decline(ctx, name, by, "no")
		case "cancel":
			return d.Cancel(ctx, name, by, "")
		case "rang":
			return d.Rang(ctx, name, by, no, "")
		}
		return d.DidNotRing(ctx, name, by, desk.Silence{Attempt: no})
	})
}

func (m *machine) reschedule(t *rapid.T) {
	f, by := one(t, "follow-up", m.rows), person(t)
	m.moved++ // no two are due at once: ids of successors differ from store to store
	due := m.now.Add(rapid.SampledFrom([]time.Duration{-time.Minute, 0, time.Minute, 3 * time.Hour, 26 * time.Hour}).Draw(t, "to") + time.Duration(m.moved)*time.Microsecond)
	m.ask(f, func(d desk.Desk, name desk.Name) (desk.Result, error) { return d.Reschedule(ctx, name, by, due) })
}

func (m *machine) wait(t *rapid.T) {
	m.clock(m.now.Add(rapid.SampledFrom([]time.Duration{
		time.Second, 3 * time.Second, 10 * time.Second, 20 * time.Second, 20 * time.Second, time.Minute, 5 * time.Minute, 16 * time.Minute, 16 * time.Minute,
		time.Hour, 2 * time.Hour, 2 * time.Hour, 13 * time.Hour, 72 * time.Hour,
	}).Draw(t, "for")))
}

// brink moves time to an instant at which something changes, or just beyond.
func (m *machine) brink(t *rapid.T) {
	var all []time.Time
	for _, f := range m.rowsWhere(func(f *followUp) bool { return !f.State.Final() }) {
		all = append(all, f.NextTryAt)
		if a := f.newest(); a != nil {
			all = append(all, a.SendBy, a.AnswerBy, a.AnswerBy.Add(3*time.Second), a.AnswerBy.Add(15*time.Minute))
		}
		if rapid.IntRange(0, 9).Draw(t, "the last") == 6 {
			all = []time.Time{f.DueAt.Add(24 * time.Hour)}
			break
		}
	}
	all = slices.DeleteFunc(all, func(at time.Time) bool { return !at.After(m.now) })
	at := one(t, "instant", all)
	m.clock(at.Add(rapid.SampledFrom([]time.Duration{0, time.Microsecond}).Draw(t, "and")))
}

// stop stops or resumes everything, a tenant or a line.
func (m *machine) stop(t *rapid.T) {
	scope := rapid.SampledFrom([]desk.Scope{{}, {Tenant: "alder"}, {Tenant: "birch"}, {Tenant: "alder", Line: defaultLine}, {Tenant: "alder", Line: "second"}}).Draw(t, "scope")
	m.stopped(scope, rapid.IntRange(0, 2).Draw(t, "resume") == 0)
}

func (m *machine) stopped(scope desk.Scope, is bool) {
	m.stops[scope] = is
	m.each(func(_ int, w *world) (err error) {
		d := desk.Desk{Store: w}
		if is {
			_, err = d.Stop(ctx, scope, "ann")
		} else {
			_, _, err = d.Resume(ctx, scope, "ann")
		}
		return err
	})
}

// line holds or releases a line.
func (m *machine) line(t *rapid.T) {
	id := rapid.SampledFrom([]followup.LineID{{Tenant: "alder", Name: defaultLine}, {Tenant: "alder", Name: "second"}, {Tenant: "birch", Name: defaultLine}}).Draw(t, "line")
	if rapid.IntRange(0, 2).Draw(t, "release") == 0 {
		until := m.now.Add(rapid.SampledFrom([]time.Duration{30 * time.Minute, 3 * time.Hour}).Draw(t, "until"))
		m.each(func(_ int, w *world) error { return w.holdLine(id, "ann", until) })
		return
	}
	m.each(func(_ int, w *world) error { return w.releaseLine(id, "ann") })
}
