package main

import (
	"slices"
	"strings"
	"time"

	"chasephone/internal/gates"
)

// nextCall is when a call could next be placed, as far as is known now.
type nextCall struct {
	Kind string    `json:"kind"`
	At   time.Time `json:"at,omitzero"` // not before; for a call that a person must approve, once they have
	Says string    `json:"says"`
}

// Kinds of it.
const (
	nextNow       = "now"
	nextNotBefore = "not_before"
	nextApproval  = "after_approval"
	nextStopped   = "stopped"   // calls are stopped; at is what holds once they are resumed
	nextLasting   = "no_end"    // something is in the way, and nobody knows how long
	nextTooLate   = "too_late"  // of a follow-up: it is missed before the gates let it through
	nextBeyond    = "not_soon"  // of another call: not within the time that was looked at
	nextRefused   = "refused"   // never
	nextOver      = "over"      // never: the follow-up is in a final state
	nextDialing   = "dialing"   // it is being rung
	nextUncertain = "uncertain" // it may have rung
)

// outlook looks for the next instant at which the gates let a call through.
type outlook struct {
	chain  []gates.Gate
	end    time.Time // it is looked for until then
	notYet string    // why it is not asked about before; "" where it is from now on

	// What is said of a call of this sort.
	now    string // where nothing is in the way
	yes    string // "after a person approves it"
	never  string // nothing until end
	lasts  string // behind what has no end of its own
	beyond bool   // end is only where looking ends
}

// from moves the case on to an instant before which it is not asked about.
func (o *outlook) from(c *gates.Case, at time.Time, why string) {
	if at.After(c.Now) {
		c.Now, o.notYet = at, why
	}
}

// stopped looks past a stop, which ends when a person ends it.
func (o outlook) stopped(c gates.Case, look func(gates.Case) nextCall) nextCall {
	if !c.Line.Stopped {
		return look(c)
	}
	c.Line.Stopped = false
	n := look(c)
	if n.Kind == nextRefused || n.Kind == nextTooLate {
		return n
	}
	n.Kind, n.Says = nextStopped, "calls are stopped, for as long as that lasts; once they are resumed: "+n.Says
	return n
}

// next is when the call could be placed, if nobody's approval is needed, or what is asked.
func (o outlook) next(c gates.Case) nextCall {
	at, ruling, ok := gates.When(o.chain, c, o.end)
	switch {
	case !ok:
		return o.nothing(c)
	case ruling.Kind() == gates.KindRefuse:
		return nextCall{Kind: nextRefused, Says: "never: " + explained(ruling.On(), ruling.Sentence())}
	case ruling.Kind() == gates.KindPass:
		return o.passes(c, at)
	}
	asked := c
	asked.Now = at
	reasons := ruling.Holds
	if earlier := c.Approval; earlier != nil { // the new one replaces it, and so must answer for both
		reasons = append(slices.Clone(reasons), earlier.Reasons...)
	}
	return o.answered(asked, &gates.Approval{
		By: "whoever approves it", Asked: at, At: at, Reasons: reasons,
		Number: c.Number.Number, Line: c.Line.Name, Caller: c.Line.Caller, Words: gates.Words(c.Script, c.Line.URL),
	}, "only "+o.yes+": "+o.holds(asked))
}

// answered is when the call could be placed once a person has said yes.
func (o outlook) answered(c gates.Case, yes *gates.Approval, says string) nextCall {
	then := o
	if slices.ContainsFunc(yes.Reasons, gates.NeedsZone) {
		// The hours of a zone that nobody knows yet cannot be foreseen.
		then.chain = without(o.chain, gates.GateCallingHours)
		says += ", together with the time zone of the person called, by whose hours it waits then"
	}
	c.Approval = yes
	at, ruling, ok := gates.When(then.chain, c, o.end)
	n := nextCall{Kind: nextApproval}
	switch {
	case !ok:
		n = then.nothing(c)
		says += "; and even then "
	case ruling.Kind() == gates.KindRefuse:
		return nextCall{Kind: nextRefused, Says: "never: " + explained(ruling.On(), ruling.Sentence())}
	case ruling.Kind() == gates.KindHold:
		c.Now = at
		n.Says = "a person is asked once more: " + then.holds(c)
		says += "; then "
	default:
		if n = then.passes(c, at); n.Kind == nextNow {
			n.Says = "nothing else is in the way"
		}
		n.Kind, says = nextApproval, says+"; then "
	}
	n.Says = says + n.Says
	return n
}

// passes says of a call that the gates let through at an instant why not earlier.
func (o outlook) passes(c gates.Case, at time.Time) nextCall {
	why := o.notYet
	if at.After(c.Now) {
		reasons, _ := o.waits(c, at)
		why = strings.Join(reasons, "; ")
	}
	if why == "" {
		return nextCall{Kind: nextNow, At: at, Says: o.now}
	}
	return nextCall{Kind: nextNotBefore, At: at, Says: "not before " + when(at) + ": " + why}
}

// nothing says what keeps a call from being placed until the end.
func (o outlook) nothing(c gates.Case) nextCall {
	reasons, lasting := o.waits(c, o.end)
	why := strings.Join(reasons, "; ")
	switch {
	case lasting:
		return nextCall{Kind: nextLasting, Says: "not as long as this lasts: " + why + o.lasts}
	case o.beyond:
		return nextCall{Kind: nextBeyond, Says: o.never + ": " + why}
	}
	return nextCall{Kind: nextTooLate, Says: o.never + ": " + why}
}

// waits are the reasons to wait on the way to the end, each once; lasting says that the last of
// them has no end that is known.
func (o outlook) waits(c gates.Case, end time.Time) (reasons []string, lasting bool) {
	seen := map[string]bool{}
	for c.Now.Before(end) {
		r, _ := gates.Judge(o.chain, c)
		if r.Kind() != gates.KindWait {
			break
		}
		if key := r.Gate + " " + r.Code; !seen[key] {
			seen[key] = true
			reasons = append(reasons, explained(r.On(), r.Sentence()))
		}
		if lasts(r, c) {
			return reasons, true
		}
		c.Now = r.Until // which is always later
	}
	return reasons, false
}

// lasts reports whether a wait ends only when somebody sees to it.
func lasts(r gates.Ruling, c gates.Case) bool {
	switch r.Code {
	case gates.CodeFactsUnavailable, gates.CodeGateFailed:
		return true
	}
	switch r.On()["cause"] {
	case gates.CauseNoLine, gates.CauseStopped, gates.CauseCarrierNotConfigured:
		return true
	}
	return finite(r.Until, c).IsZero()
}

// holds are the sentences of all that a person would be asked about.
func (o outlook) holds(c gates.Case) string {
	_, findings := gates.Judge(o.chain, c)
	var all []string
	for _, f := range findings {
		if f.Kind() == gates.KindHold {
			all = append(all, f.Sentence())
		}
	}
	return strings.Join(all, "; ")
}
