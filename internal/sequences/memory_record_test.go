package sequences_test

import (
	"context"
	"time"

	"chasephone/internal/carrier"
	"chasephone/internal/drain"
	"chasephone/internal/followup"
)

// Record writes what became of attempts where they are still open; where they are not, what the
// carrier said is its word on them, and no more.
func (d daemon) Record(ctx context.Context, set []drain.Settlement) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	for _, s := range set {
		d.record(s)
	}
	return nil
}

func (d daemon) record(s drain.Settlement) {
	f := d.followUp(s.FollowUp)
	var a *attempt
	if f != nil && s.AttemptNo <= len(f.Attempts) {
		a = f.Attempts[s.AttemptNo-1]
	}
	if a == nil {
		return // its claim was never committed
	}
	open := a.Outcome == "" && f.State == followup.Dialing
	if open || s.OnLine == drain.LineAnswered {
		d.onLine(s)
	}
	if !open && d.flaw != recordOverwrites {
		d.hear(f, a, word{source: "reply", says: string(s.Outcome), callID: s.CallID, status: s.CallStatus})
		return
	}
	if d.flaw == unknownIsNotPlaced && s.Outcome == drain.AttemptUncertain {
		s.Outcome, s.To, s.Ledger = drain.AttemptNotPlaced, followup.Due, ""
	}
	a.Outcome, a.At, a.CallID = string(s.Outcome), d.now, s.CallID
	e := entry{Outcome: s.Ledger, Actor: "carrier", Reason: s.Reason, No: a.No}
	if s.Ledger == "" {
		e.Actor = "daemon"
	}
	if s.CallID != "" {
		f.CallID, f.CallStatus = s.CallID, d.furthest(s.CallID, s.CallStatus)
	}
	d.move(f, s.To, e)
	if s.To == followup.Due {
		f.NextTryAt, f.Ready = d.now, !s.Wait
		if s.Wait {
			f.NextTryAt = d.now.Add(d.limits.RetryAfter)
		}
		d.recall(f)
	}
}

// onLine is what an answer says about its line (R6).
func (d daemon) onLine(s drain.Settlement) {
	id := followup.LineID{Tenant: s.Tenant, Name: s.Line}
	l := d.lines[id]
	switch s.OnLine {
	case drain.LineUntouched:
	case drain.LineAnswered:
		l.Unknowns = 0
	case drain.LineUnknown:
		if l.Unknowns++; l.Unknowns >= d.breaker {
			d.hold(l, "unknown_answers")
		}
	case drain.LineNotReady:
		l.Unknowns = 0
		d.hold(l, "carrier_not_ready")
	case drain.LineAccount:
		l.Unknowns = 0
		d.hold(l, "account_rejected")
	case drain.LineUnfit:
		d.unfit[unfit{d.id, id}] = d.now.Add(d.limits.RetryAfter)
	}
}

// hold holds a line for the hour, unless a person has held it for longer.
func (d daemon) hold(l *line, why string) {
	until := d.now.Add(d.limits.RetryAfter)
	if l.HeldBy != "" && l.Held.After(until) {
		return
	}
	l.Held, l.HeldFor, l.HeldBy = until, why, ""
}

// word is what the carrier says of an attempt, in any way but by the answer that settled it.
type word struct{ source, says, callID, status string }

// hear is what follows from the carrier's word. That it has the call settles what is open, uncertain, or due
// again; all else is kept for a person.
func (m *memory) hear(f *followUp, a *attempt, w word) {
	if w.says != "placed" {
		known := a.Outcome == w.says || a.Outcome == "placed" && a.CallID != "" && a.CallID == w.callID
		if !known {
			m.keep(f, a, w, false)
		}
		return
	}
	var settles bool
	switch a.Outcome {
	case "placed":
		switch a.CallID {
		case w.callID:
		case "": // a person said that it rang: now it is known which call it was
			m.keep(f, a, w, false)
			a.CallID = w.callID
		default:
			m.keep(f, a, w, true)
		}
		return
	case "":
		m.keep(f, a, w, false)
		settles = f.State == followup.Dialing
	case "uncertain":
		m.keep(f, a, w, false)
		settles = f.State == followup.Uncertain
	default: // a person, or the carrier itself, said that it did not ring
		settles = f.State == followup.Due || m.flaw == evidenceRevives
		if m.keep(f, a, w, true) && !settles {
			for _, next := range m.all {
				m.recall(next)
			}
		}
	}
	if !settles {
		return
	}
	for _, other := range f.Attempts { // an approval that a later one has spent stays that one's
		if other != a && other.Spends == a.Spends && other.mayHaveRung() {
			a.Spends = 0
		}
	}
	a.Outcome, a.At, a.CallID = "placed", m.now, w.callID
	f.CallID, f.CallStatus = w.callID, m.furthest(w.callID, w.status)
	m.move(f, followup.CallPlaced, entry{Outcome: followup.OutcomeCallPlaced, Actor: "carrier", No: a.No})
}

// keep keeps evidence, each once. It says whether it was new.
func (m *memory) keep(f *followUp, a *attempt, w word, conflict bool) bool {
	for _, e := range f.Evidence {
		if e.No == a.No && e.Says == w.says && e.CallID == w.callID && (e.Source == w.source || e.Conflict && conflict) {
			return false
		}
	}
	f.Evidence = append(f.Evidence, evidence{No: a.No, Source: w.source, Says: w.says, CallID: w.callID, Conflict: conflict})
	return true
}

// furthest is the status of a call by all that was told of it.
func (m *memory) furthest(callID, status string) string {
	if told := m.messages[callID]; told != nil {
		return string(carrier.Later(carrier.Status(status), told.status))
	}
	return status
}

// recall settles a follow-up that is due although the carrier has said that it, or what it was
// rescheduled from, has rung (R8).
func (m *memory) recall(f *followUp) {
	if f.State != followup.Due || m.flaw == evidenceForgotten {
		return
	}
	for from := m.followUp(f.SuccessorOf); from != nil; from = m.followUp(from.SuccessorOf) {
		for _, e := range from.Evidence {
			if e.Conflict && e.Says == "placed" {
				f.CallID = e.CallID
				m.move(f, followup.CallPlaced, entry{Outcome: followup.OutcomeCallPlaced, Actor: "carrier"})
				return
			}
		}
	}
	for _, e := range f.Evidence {
		if e.Conflict && e.Says == "placed" {
			m.hear(f, f.Attempts[e.No-1], word{source: e.Source, says: e.Says, callID: e.CallID})
			return
		}
	}
}

func final(status string) bool { return carrier.Status(status).Final() }

// report is what a webhook says: it carries the attempt's token.
type report struct {
	token, callID, number string
	status                carrier.Status
}

// arrive is a webhook kept, and bridged at once.
func (m *memory) arrive(r report) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	f, a := m.attempt(r.token)
	if a == nil {
		return nil // nobody's
	}
	told := m.messages[r.callID]
	if told == nil {
		told = &message{finals: map[carrier.Status]bool{}}
		m.messages[r.callID] = told
	}
	told.status = carrier.Later(told.status, r.status)
	if r.status.Final() {
		told.finals[r.status] = true
	}
	w := word{source: "webhook", says: "placed", callID: r.callID}
	if r.status.NotDialed() {
		w.says = "not_dialed"
	}
	m.hear(f, a, w)
	mine := f.CallID == r.callID || f.CallID == "" && a == f.newest()
	if f.State == followup.CallPlaced && mine {
		f.CallStatus = string(carrier.Later(carrier.Status(f.CallStatus), told.status))
	}
	if len(told.finals) > 1 {
		m.keep(f, a, word{source: "webhook", says: "ends", callID: r.callID}, true)
	}
	return nil
}

// holdLine is a person's: until then, or without an end.
func (m *memory) holdLine(id followup.LineID, by string, until time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	l := m.lines[id]
	l.Held, l.HeldFor, l.HeldBy = until, "by_hand", by
	return nil
}

func (m *memory) releaseLine(id followup.LineID, _ string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	l := m.lines[id]
	l.Held, l.HeldFor, l.HeldBy, l.Unknowns = time.Time{}, "", "", 0
	m.wake(id.Tenant, id.Name)
	return nil
}
