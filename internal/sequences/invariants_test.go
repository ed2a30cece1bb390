package sequences_test

import (
	"slices"
	"strconv"

	"chasephone/internal/desk"
	"chasephone/internal/followup"
	"chasephone/internal/phone"
)

// ending is how a follow-up was when it was over.
type ending struct {
	state   followup.State
	entries int
}

// check asks what must hold after every event.
func (m *machine) check() {
	for i, w := range m.worlds {
		for _, wrong := range w.phones.complaints() {
			m.fail("world %d: %s", i, wrong)
		}
	}
	places := map[string]bool{}
	perSlot := map[string]int{}
	for _, f := range m.rows {
		m.checkRings(f)
		m.checkAttempts(f)
		m.checkLedger(f)
		for _, e := range f.Ledger {
			if e.Place == 0 {
				continue
			}
			slot := f.Tenant + e.Slot.String()
			place := slot + strconv.Itoa(e.Place)
			if perSlot[slot]++; perSlot[slot] > followup.DefaultLimits().PerTick || places[place] {
				m.fail("tenant %s has more than its places in slot %s, or one of them twice (place %d)", f.Tenant, instant(e.Slot), e.Place)
			}
			places[place] = true
		}
	}
	open := map[phone.Number]bool{}
	for _, f := range m.rows {
		for _, a := range f.Attempts {
			m.known[a.Token] = true
			if a.Outcome != "" {
				continue
			}
			if open[f.identity.Number] {
				m.fail("two attempts ring the number of %s at once", f.key())
			}
			open[f.identity.Number] = true
		}
	}
}

// checkOpen: what is rung is rung on a line that nothing stops or holds (R14).
func (m *machine) checkOpen(f *followUp, a *attempt) {
	for _, scope := range []desk.Scope{{}, {Tenant: f.Tenant}, {Tenant: f.Tenant, Line: a.Line}} {
		if m.stops[scope] {
			m.fail("%s is rung, and %s is stopped", f.key(), scope)
		}
	}
	for _, l := range m.lines {
		if l.Tenant == f.Tenant && l.Name == a.Line && l.Held.After(m.now) {
			m.fail("%s is rung on line %s, which is held for %s", f.key(), a.Line, l.HeldFor)
		}
	}
}

// checkRings: one promise is one ring. An attempt that rang is followed by nothing that may ring, unless a
// person said that it did not ring, or the carrier itself said that it placed no call.
func (m *machine) checkRings(f *followUp) {
	rung := 0
	for i, a := range f.Attempts {
		c := m.calls[a.Token]
		if c == nil {
			continue
		}
		c.excused = c.excused || c.erred || c.denied() && (a.Outcome == "not_placed" || a.Outcome == "refused")
		if !c.rung || c.excused {
			continue
		}
		rung++
		over := f.State != followup.CallPlaced && f.State != followup.Dialing && f.State != followup.Uncertain
		if over || rung > 1 || i < len(f.Attempts)-1 {
			m.fail("%s is %s with %d attempts, and attempt %d rang; nobody said that it did not", f.key(), f.State, len(f.Attempts), a.No)
		}
	}
}

func (m *machine) checkAttempts(f *followUp) {
	spent := map[int]int{}
	for i, a := range f.Attempts {
		last := i == len(f.Attempts)-1
		if !last && a.Outcome != "not_placed" && a.Outcome != "did_not_ring" && a.Outcome != "placed" {
			m.fail("%s has an attempt after attempt %d, which is %q", f.key(), a.No, a.Outcome)
		}
		if a.Outcome == "did_not_ring" && a.At.Before(a.AnswerBy.Add(followup.DefaultLimits().Quarantine)) {
			m.fail("%s: a person could say of attempt %d that it did not ring before its quarantine was over", f.key(), a.No)
		}
		if a.mayHaveRung() && a.Spends > 0 {
			if spent[a.Spends]++; spent[a.Spends] > 1 {
				m.fail("%s: approval %d is spent twice", f.key(), a.Spends)
			}
		}
		if !m.known[a.Token] && m.told(f, a) {
			m.fail("%s: attempt %d is made although the carrier had said that this promise rang", f.key(), a.No)
		}
	}
	switch a := f.newest(); f.State {
	case followup.Dialing:
		if a.Outcome != "" {
			m.fail("%s is dialing, and attempt %d is %s", f.key(), a.No, a.Outcome)
		}
	case followup.Uncertain:
		if a.Outcome != "uncertain" {
			m.fail("%s is uncertain, and attempt %d is %q", f.key(), a.No, a.Outcome)
		}
	case followup.CallPlaced:
		if f.DecidedBy == "" && !m.evident(f) {
			m.fail("%s is call_placed: nobody says so, and the carrier did not", f.key())
		}
	default:
		if a != nil && (a.Outcome == "" || a.Outcome == "uncertain" || a.Outcome == "placed") {
			m.fail("%s is %s, and attempt %d is %q", f.key(), f.State, a.No, a.Outcome)
		}
	}
}

// promise is a follow-up and what it was rescheduled from.
func (m *machine) promise(f *followUp) []*followUp {
	all := []*followUp{f}
	for f.SuccessorOf != "" {
		i := slices.IndexFunc(m.rows, func(p *followUp) bool { return p.ID == f.SuccessorOf })
		f = m.rows[i]
		all = append(all, f)
	}
	return all
}

// told is that the carrier has said of an attempt of this promise before this one that it has the call.
func (m *machine) told(f *followUp, before *attempt) bool {
	for _, p := range m.promise(f) {
		for _, a := range p.Attempts {
			if c := m.calls[a.Token]; a != before && c != nil && c.told {
				return true
			}
		}
	}
	return false
}

// evident is that the call which a follow-up names is of its promise, and the carrier has said that it has it.
func (m *machine) evident(f *followUp) bool {
	for _, p := range m.promise(f) {
		for _, a := range p.Attempts {
			if c := m.calls[a.Token]; c != nil && c.told && c.id() == f.CallID {
				return true
			}
		}
	}
	return false
}

// checkLedger: every change has its row, in order, and nothing follows what is final.
func (m *machine) checkLedger(f *followUp) {
	state := followup.Due
	for i, e := range f.Ledger {
		if e.Version != i+1 || e.From != state || !follows(e.From, e.To) || i > 0 && e.At.Before(f.Ledger[i-1].At) {
			m.fail("%s: row %d of the ledger says %s to %s, after %s", f.key(), i+1, e.From, e.To, state)
		}
		if (e.Actor == "person") != (e.By != "") {
			m.fail("%s: row %d of the ledger is by %q, a %s", f.key(), i+1, e.By, e.Actor)
		}
		state = e.To
	}
	if state != f.State {
		m.fail("%s is %s, and by its ledger %s", f.key(), f.State, state)
	}
	now := ending{f.State, len(f.Ledger)}
	if was, is := m.ended[f.key()]; is && was != now {
		m.fail("%s was %s, which is final, and is %s", f.key(), was.state, f.State)
	}
	if f.State.Final() {
		m.ended[f.key()] = now
	}
}

func follows(from, to followup.State) bool {
	if from == followup.Due && to == followup.Due { // it waits
		return true
	}
	for _, t := range transitions {
		if t.From == from && t.To == to {
			return true
		}
	}
	return false
}

//nolint:gochecknoglobals // the table, made once
var transitions = followup.Transitions()

// noneLate: after a slot's work nothing is left that is too late to ring.
func (m *machine) noneLate() {
	for _, f := range m.rows {
		open := f.State == followup.Due || f.State == followup.AwaitingApproval
		if open && followup.Late(m.now, f.DueAt, followup.DefaultLimits().MaxLate) {
			m.fail("%s is %s, and %s late", f.key(), f.State, m.now.Sub(f.DueAt))
		}
	}
}
