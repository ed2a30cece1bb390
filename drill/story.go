package main

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// tell prints a violation with the story of its follow-up, as the ledger and the ring book have it.
func (f *facts) tell(out io.Writer, v violation) {
	_, _ = fmt.Fprintf(out, "\nVIOLATED: %s\n  %s\n", v.Rule, strings.ReplaceAll(v.Says, "\n", "\n  "))
	of := f.followups[v.FollowUp]
	if of == nil {
		return
	}
	_, _ = fmt.Fprintf(out, "  follow-up %s (%s of %s), due %s: %s", of.id, of.ref, of.tenant, of.due.UTC().Format(time.RFC3339), of.state)
	for _, more := range []string{of.reason, of.callID, of.by} {
		if more != "" {
			_, _ = fmt.Fprintf(out, ", %s", more)
		}
	}
	_, _ = fmt.Fprintln(out, "\n  the ledger")
	for _, e := range of.events {
		_, _ = fmt.Fprintf(out, "    %s  %2d  %s > %s  by %s %s  %s %s", clock(e.committed), e.version, e.from, e.to, e.actor, e.by, e.reason, e.detail)
		if e.attempt > 0 {
			_, _ = fmt.Fprintf(out, "  (attempt %d)", e.attempt)
		}
		_, _ = fmt.Fprintln(out)
	}
	_, _ = fmt.Fprintln(out, "  attempts, and what the ring book has of each")
	for _, a := range of.attempts {
		_, _ = fmt.Fprintf(out, "    %d  %s  made %s, committed %s, to be sent by %s, answer by %s: %s %s %s\n",
			a.no, a.token, clock(a.created), clock(a.committed), clock(a.sendBy), clock(a.answers), a.outcome, a.callID, a.by)
		for _, e := range f.rings.byToken[a.token] {
			_, _ = fmt.Fprintf(out, "       %s  request %d, rang=%t %s %s\n", clock(e.At), e.Request, e.Rang, e.Fault, e.SID)
		}
	}
}

// mostTold bounds the stories: where a guard is missing there are hundreds.
const mostTold = 5

// report prints what did not hold.
func report(out io.Writer, f *facts, all []violation) {
	for i, v := range all {
		if i == mostTold {
			_, _ = fmt.Fprintf(out, "\nand %d more\n", len(all)-i)
			return
		}
		if f == nil {
			f = &facts{}
		}
		f.tell(out, v)
	}
}
