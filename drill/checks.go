package main

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// violation is a rule that did not hold.
type violation struct {
	Rule     string
	FollowUp string // its id, where it is one's
	Says     string
}

// always are the rules that hold at every moment.
func (f *facts) always() []violation {
	var all []violation
	for _, check := range []func() []violation{f.onceEach, f.attemptsFirst, f.neverLate, f.placesHeld, f.ledgerWhole, f.personsAsked, f.stopsHeld} {
		all = append(all, check()...)
	}
	return all
}

// atRest are those that hold once everything was decided, and the faults are over.
func (f *facts) atRest() []violation {
	var all []violation
	for _, check := range []func() []violation{f.statesTrue, f.attemptsTrue, f.nothingStuck, f.allThere} {
		all = append(all, check()...)
	}
	return all
}

// onceEach: an attempt is one request and one ring at most, and so is a follow-up, for nobody here
// says of a call that rang that it did not.
func (f *facts) onceEach() []violation {
	var all []violation
	perFollowUp := map[string]int{}
	for token, entries := range f.rings.byToken {
		id := ""
		if a := f.attempts[token]; a != nil {
			id = a.followUp
		}
		if len(entries) > 1 {
			all = append(all, violation{"an attempt is one request", id, fmt.Sprintf("attempt %s was asked for %d times", token, len(entries))})
		}
		n, _ := f.rings.rang(token)
		if n > 1 {
			all = append(all, violation{"no attempt rings twice", id, fmt.Sprintf("attempt %s rang %d times", token, n)})
		}
		if id != "" {
			perFollowUp[id] += n
		}
	}
	for id, n := range perFollowUp {
		if n > 1 {
			all = append(all, violation{"no promise rings twice", id, fmt.Sprintf("it rang %d times", n)})
		}
	}
	return sorted(all)
}

// clockGrain is how far two looks at this machine's one clock may seem apart.
const clockGrain = 5 * time.Millisecond

// attemptsFirst: whatever the carrier was asked for was committed before.
func (f *facts) attemptsFirst() []violation {
	var all []violation
	for _, e := range f.rings.all {
		a := f.attempts[e.Token]
		switch {
		case a == nil:
			all = append(all, violation{"no ring without an attempt", "", fmt.Sprintf("request %d of the ring book, at %s, carries %q, and no attempt does", e.Request, clock(e.At), e.Token)})
		case a.created.After(e.At.Add(clockGrain)) || a.committed.After(e.At.Add(clockGrain)):
			all = append(all, violation{"the attempt comes first", a.followUp, fmt.Sprintf("asked for at %s, made at %s, committed at %s", clock(e.At), clock(a.created), clock(a.committed))})
		}
	}
	return all
}

// neverLate: nothing rings after its 24 hours, but for what was sent in time and was held up on
// its way by the drill.
func (f *facts) neverLate() []violation {
	var all []violation
	for _, e := range f.rings.all {
		a := f.attempts[e.Token]
		if a == nil || !e.Rang {
			continue
		}
		of := f.followups[a.followUp]
		if of == nil || of.forever {
			continue
		}
		if limit := of.due.Add(maxLate); a.sendBy.After(limit) {
			all = append(all, violation{"nothing is sent too late", a.followUp, fmt.Sprintf("attempt %d might be sent until %s, and %s was the limit", a.no, clock(a.sendBy), clock(limit))})
		} else if e.At.After(limit.Add(dialTimeout + longestStuck + longestSleep)) {
			all = append(all, violation{"nothing rings too late", a.followUp, fmt.Sprintf("rang at %s, and %s was the limit", clock(e.At), clock(limit))})
		}
	}
	return all
}

// placesHeld: two of a tenant per slot.
func (f *facts) placesHeld() []violation {
	var all []violation
	for _, p := range f.places {
		if p.taken > perTick {
			all = append(all, violation{"two per tenant and slot", "", fmt.Sprintf("tenant %s took %d places of the slot %s", p.tenant, p.taken, clock(p.slot))})
		}
	}
	return sorted(all)
}

// ledgerWhole: a row for every change of state, without a gap, and the last says what is so.
func (f *facts) ledgerWhole() []violation {
	var all []violation
	for id, of := range f.followups {
		bad := func(format string, args ...any) {
			all = append(all, violation{"the ledger is whole", id, fmt.Sprintf(format, args...)})
		}
		state, version := "due", 0
		for _, e := range of.events {
			if version++; e.version != version {
				bad("version %d comes after %d", e.version, version-1)
				version = e.version
			}
			if e.from != state {
				bad("version %d begins at %s, and it was %s", e.version, e.from, state)
			}
			state = e.to
		}
		if state != of.state || version != of.version {
			bad("it is %s, version %d, and its ledger ends with %s, version %d", of.state, of.version, state, version)
		}
	}
	return sorted(all)
}

// personsAsked: what a person must see rings after somebody's yes, and not before.
func (f *facts) personsAsked() []violation {
	var all []violation
	for _, a := range f.attempts {
		of := f.followups[a.followUp]
		if of == nil || !of.needsApproval {
			continue
		}
		if !slices.ContainsFunc(of.approved, func(at time.Time) bool { return !at.After(a.created) }) {
			all = append(all, violation{"approval comes first", a.followUp, fmt.Sprintf("attempt %d was made at %s, and nobody had approved it", a.no, clock(a.created))})
		}
	}
	return sorted(all)
}

// stopsHeld: between a stop's return and its end nothing is committed.
func (f *facts) stopsHeld() []violation {
	var all []violation
	for _, a := range f.attempts {
		for _, s := range f.stops {
			if s.tenant != "" && s.tenant != a.tenant || s.line != "" && s.line != a.line {
				continue
			}
			if a.committed.After(s.from) && a.committed.Before(s.to) {
				all = append(all, violation{"stopped is stopped", a.followUp, fmt.Sprintf("attempt %d was committed at %s, between the %s of tenant %q line %q at %s and its end at %s",
					a.no, clock(a.committed), s.what, s.tenant, s.line, clock(s.from), clock(s.to))})
			}
		}
	}
	return sorted(all)
}

// statesTrue: what a follow-up says of itself is what the ring book says.
func (f *facts) statesTrue() []violation {
	var all []violation
	for id, of := range f.followups {
		rung, sids := 0, map[string]bool{}
		for _, a := range of.attempts {
			n, _ := f.rings.rang(a.token)
			rung += n
			for _, e := range f.rings.byToken[a.token] {
				if e.Rang {
					sids[e.SID] = true
				}
			}
		}
		bad := func(format string, args ...any) {
			all = append(all, violation{"states are true", id, fmt.Sprintf(format, args...)})
		}
		switch of.state {
		case "call_placed":
			if rung == 0 {
				bad("it is call_placed, and did not ring (decided by %q)", of.by)
			}
			if of.callID != "" && !sids[of.callID] {
				bad("its call is %s, which the ring book does not have for it", of.callID)
			}
		case "refused", "missed", "cancelled", "due", "awaiting_approval":
			if rung > 0 {
				bad("it is %s, and rang", of.state)
			}
		}
	}
	return sorted(all)
}

// attemptsTrue: what is said of an attempt not to have rung did not.
func (f *facts) attemptsTrue() []violation {
	var all []violation
	for _, a := range f.attempts {
		n, _ := f.rings.rang(a.token)
		switch a.outcome {
		case "not_placed", "refused", "did_not_ring":
			if n > 0 {
				all = append(all, violation{"attempts are true", a.followUp, fmt.Sprintf("attempt %d is %s (by %q), and rang", a.no, a.outcome, a.by)})
			}
		case "placed":
			if n == 0 {
				all = append(all, violation{"attempts are true", a.followUp, fmt.Sprintf("attempt %d is placed (by %q), and did not ring", a.no, a.by)})
			}
		}
	}
	return sorted(all)
}

// mayWait says that a row which is due at the end has a reason to be.
func (f *facts) mayWait(of *followUp) bool {
	return of.forever || of.due.After(f.now) || of.reason == "in_a_call" && of.nextTry.After(f.now)
}

// nothingStuck: nothing is left that could go on, or that nobody may close.
func (f *facts) nothingStuck() []violation {
	var all []violation
	for id, of := range f.followups {
		switch of.state {
		case "dialing", "uncertain", "awaiting_approval":
			all = append(all, violation{"nothing is stuck", id, "it is still " + of.state + " (" + of.reason + ")"})
		case "due":
			if !f.mayWait(of) {
				all = append(all, violation{"nothing is stuck", id, fmt.Sprintf("it is still due (%s), next looked at at %s", of.reason, clock(of.nextTry))})
			}
		}
	}
	return sorted(all)
}

// allThere: what was promised is there, as it was promised, and nothing else is.
func (f *facts) allThere() []violation {
	var all []violation
	there := map[string]bool{}
	for id, of := range f.followups {
		there[of.key()] = true
		said, known := f.said[of.key()]
		switch {
		case of.successor:
		case !known:
			all = append(all, violation{"nothing is invented", id, "nobody promised it"})
		case said.number != of.number:
			all = append(all, violation{"a promise is frozen", id, "its number is another than the one that was promised first"})
		}
	}
	for key := range f.said {
		if !there[key] {
			all = append(all, violation{Rule: "nothing is dropped", Says: key + " was promised, and is not there"})
		}
	}
	return sorted(all)
}

func sorted(all []violation) []violation {
	slices.SortFunc(all, func(a, b violation) int {
		return cmp.Or(cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.FollowUp, b.FollowUp), cmp.Compare(a.Says, b.Says))
	})
	return all
}

func clock(t time.Time) string { return t.UTC().Format("15:04:05.000") }
