package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"chasephone/internal/followup"
	"chasephone/internal/gates"
	"chasephone/internal/store"
)

// story tells one follow-up's story to a person: what was promised, what happened in the
// order of time, and what can be done now. All that came from outside goes through the veil.
type story struct {
	*printer
	veil
	shown
	now time.Time
}

func (s story) tell() {
	s.promise()
	s.printf("\nWhat happened")
	s.history()
	s.next()
}

func (s story) field(name, value string) {
	if value != "" {
		s.printf("  %-12s %s", name, value)
	}
}

func (s story) promise() {
	f := s.FollowUp
	s.printf("%s  %s", s.text(f.Ref), f.ID)
	s.field("state", string(f.State)+after(": ", s.text(f.Detail))+bracketed(s.text(f.Reason)))
	s.field("promised", "to ring "+plain(masked(f.PhoneNumber))+bracketed(s.text(f.ContactName))+" at "+instant(f.DueAt))
	s.field("tenant", s.text(f.Tenant))
	s.field("purpose", s.text(f.Purpose))
	s.field("time zone", after("", s.text(f.TimeZone))+only(f.TimeZone != "", ", confirmed by the person called"))
	s.field("line", either(s.text(f.Line), "the tenant's default"))
	s.field("words", "“"+s.text(f.Script)+"”")
	s.field("approval", only(f.NeedsApproval, "asked for with the promise"))
	s.field("call", s.text(f.CallID)+after(", ", s.text(f.CallStatus)))
	s.field("decided by", s.text(f.DecidedBy))
	s.field("replaces", f.SuccessorOf)
	s.field("replaced by", f.Successor)
}

// history merges the ledger with the carrier's evidence, which has no rows in it.
func (s story) history() {
	type entry struct {
		at   time.Time
		tell func()
	}
	all := []entry{{s.FollowUp.CreatedAt, func() { s.entry(s.FollowUp.CreatedAt, "promised") }}}
	for _, e := range s.Events {
		all = append(all, entry{e.At, func() { s.event(e) }})
	}
	for _, e := range s.Evidence {
		all = append(all, entry{e.At, func() { s.evidence(e) }})
	}
	slices.SortStableFunc(all, func(a, b entry) int { return a.at.Compare(b.at) })
	for _, e := range all {
		e.tell()
	}
}

func (s story) entry(at time.Time, says string) { s.printf("%s  %s", when(at), says) }
func (s story) more(format string, args ...any) { s.printf("    "+format, args...) }

func (s story) event(e store.Event) {
	moved := fmt.Sprintf("%s → %s", e.From, e.To)
	if e.From == e.To {
		moved = "still " + string(e.To)
	}
	s.entry(e.At, fmt.Sprintf("%s, by %s%s%s", moved, s.who(e), after(": ", s.text(e.Detail)), bracketed(s.text(e.Reason))))
	if e.Place > 0 && e.Slot != nil {
		s.more("slot %s, place %d of the tenant's", when(*e.Slot), e.Place)
	}
	for _, f := range e.Findings {
		s.more("%-14s %-7s %s%s", s.text(f.Gate), f.Kind(), s.text(f.Sentence()), until(f.Until()))
	}
	for _, a := range s.Approvals {
		s.approval(e, a)
	}
	for _, a := range s.Attempts {
		if a.No == e.Attempt {
			s.attempt(e, a)
		}
	}
}

func (s story) who(e store.Event) string {
	switch e.Actor {
	case "person":
		return s.text(e.By)
	case "tick":
		return "the clock"
	}
	return "the " + s.text(e.Actor)
}

// approval adds to the event by which an approval was asked for or answered: they are
// written in one transaction, at one instant.
func (s story) approval(e store.Event, a store.ApprovalStory) {
	if e.To == followup.AwaitingApproval && a.AskedAt.Equal(e.At) {
		s.more("approval %s is asked for: %s", a.ID, s.reasons(a))
	}
	if e.From == followup.AwaitingApproval && a.DecidedAt != nil && a.DecidedAt.Equal(e.At) {
		s.more("approval %s: %s%s%s", a.ID, s.text(a.Decision), after(" by ", s.text(a.DecidedBy)), after(", in time zone ", s.text(a.TimeZone)))
	}
}

func (s story) reasons(a store.ApprovalStory) string {
	all := make([]string, len(a.Reasons))
	for i, code := range a.Reasons {
		all[i] = s.text(gates.Explain(code, nil))
	}
	return strings.Join(all, "; ")
}

// attempt adds what an attempt was allowed, where it began, and what came of it, where it
// was answered.
func (s story) attempt(e store.Event, a store.AttemptStory) {
	switch {
	case e.To == followup.Dialing:
		s.more("attempt %d, line %s (%s): to be sent from %s to %s, the answer awaited until %s",
			a.No, s.text(a.Line), s.text(a.Carrier), when(a.BeginAt), when(a.SendBy), when(a.AnswerBy))
	case e.From == followup.Dialing:
		says := strings.TrimSpace(s.text(a.Code) + " " + s.text(a.Answer))
		s.more("attempt %d%s%s", a.No, only(e.To == followup.CallPlaced, after(": call ", s.text(a.CallID))), after(": the answer was ", says))
	default:
		s.more("attempt %d: now %s%s", a.No, strings.ReplaceAll(a.Outcome, "_", " "), after(" by the word of ", s.text(a.By)))
	}
}

func (s story) evidence(e store.Evidence) {
	says := strings.ReplaceAll(e.Says, "_", " ")
	switch e.Says {
	case "not_dialed":
		says = "it has the call, and rang nobody"
	case "ends":
		says = "the call ended in two ways"
	}
	s.entry(e.At, fmt.Sprintf("evidence on attempt %d, the carrier's %s: %s%s%s%s", e.Attempt, s.text(e.Source),
		says, after(", call ", s.text(e.CallID)), after(", ", s.text(e.Code)), after(" ", s.text(e.Answer))))
	if e.Conflict {
		s.more("CONFLICT: this contradicts what was recorded before")
	}
}

func until(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return " (until " + when(t) + ")"
}

// after is a value with what leads up to it, or nothing where there is no value.
func after(lead, value string) string {
	if value == "" {
		return ""
	}
	return lead + value
}

func bracketed(value string) string {
	if value == "" {
		return ""
	}
	return " (" + value + ")"
}

func only(is bool, value string) string {
	if is {
		return value
	}
	return ""
}

func either(value, instead string) string {
	if value == "" {
		return instead
	}
	return value
}
