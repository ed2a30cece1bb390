package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"chasephone/config"
	"chasephone/internal/carrier/twilio"
	"chasephone/internal/desk"
	"chasephone/internal/followup"
	"chasephone/internal/gates"
	"chasephone/internal/store"
)

// judged is what every gate says of one call at one instant, and when it could next be placed.
type judged struct {
	At     time.Time   `json:"at"`
	Gates  []gateSays  `json:"gates"`
	Ruling *rulingSays `json:"ruling,omitempty"` // absent where there is nothing to judge by
	Next   nextCall    `json:"next"`
	Notes  []note      `json:"notes,omitempty"`
}

type gateSays struct {
	Gate    string            `json:"gate"`
	Finding string            `json:"finding"` // pass, wait, hold or refuse
	Code    string            `json:"code,omitempty"`
	Until   time.Time         `json:"until,omitzero"`
	On      map[string]string `json:"on,omitempty"`
	Says    string            `json:"says"`
}

type rulingSays struct {
	Finding string    `json:"finding"`
	Gate    string    `json:"gate,omitempty"` // the one that rules; none where all pass
	Code    string    `json:"code,omitempty"`
	Until   time.Time `json:"until,omitzero"`
	Holds   []string  `json:"holds,omitempty"` // every code that a person would be asked about
	Says    string    `json:"says"`
}

// judge asks every gate of the chain about a call as it stands.
func judge(chain []gates.Gate, c gates.Case) judged {
	ruling, findings := gates.Judge(chain, c)
	j := judged{At: c.Now, Gates: make([]gateSays, len(findings)), Ruling: &rulingSays{
		Finding: ruling.Kind(), Gate: ruling.Gate, Code: ruling.Code, Until: finite(ruling.Until, c),
		Holds: ruling.Holds, Says: explained(ruling.On(), ruling.Sentence()),
	}}
	for i, f := range findings {
		j.Gates[i] = gateSays{f.Gate, f.Kind(), f.Code(), finite(f.Until(), c), f.On(), explained(f.On(), f.Sentence())}
	}
	return j
}

// explained is a gate's sentence, told by a command, which is no daemon.
func explained(on map[string]string, says string) string {
	if on["cause"] == gates.CauseCarrierNotConfigured {
		return "the line" + after(" ", on["line"]) + " is not ready: no daemon that runs has credentials for its carrier"
	}
	return says
}

// finite leaves out the end of a wait that has none: the hold of a line until it is released.
func finite(until time.Time, c gates.Case) time.Time {
	if until.Sub(c.Now) > 50*365*24*time.Hour {
		return time.Time{}
	}
	return until
}

// dryRun is what would be ruled of a follow-up this minute. It changes nothing. warnings are
// about this command, and no part of the answer.
func dryRun(ctx context.Context, db *store.Store, conf config.Config, f store.FollowUp) (j judged, warnings []note, err error) {
	dry, err := db.Dry(ctx, desk.Name{Text: f.ID}, identify, fits)
	if err != nil {
		return judged{}, nil, err
	}
	if warnings, err = otherSettings(ctx, db, conf); err != nil {
		return judged{}, nil, err
	}
	chain := gates.Chain(gateOptions(conf))
	j = judged{At: dry.Case.Now, Gates: []gateSays{}}
	if dry.Case.Policy != "" { // it has a tenant
		j = judge(chain, dry.Case)
	}
	j.Next = upcoming(chain, dry, f.Detail)
	if dry.Daemons == 0 && !dry.State.Final() {
		j.Notes = append(j.Notes, "no daemon is running: nothing is rung until one runs")
	}
	return j, warnings, nil
}

// fits says whether a carrier can be given a script; of a carrier that this version does not
// know nobody can say that it cannot.
func fits(carrier, script string) bool { return carrier != twilio.Name || twilio.Fits(script) }

// upcoming is when a follow-up could next be rung. detail is what the last ruling said of it.
func upcoming(chain []gates.Gate, d store.Dry, detail string) nextCall {
	c := d.Case
	switch {
	case d.State.Final():
		return nextCall{Kind: nextOver, Says: "never: it is over (" + string(d.State) + ")"}
	case d.State == followup.Dialing:
		return nextCall{Kind: nextDialing, Says: "it is being rung: the carrier's answer is awaited"}
	case d.State == followup.Uncertain:
		return nextCall{Kind: nextUncertain, Says: "only after a person says that it did not ring: it may have rung"}
	case d.Never != "":
		return nextCall{Kind: nextRefused, Says: "never: it is refused, because " + d.Never}
	case c.Now.After(*d.LateAt):
		return nextCall{Kind: nextTooLate, Says: "never: it is too late since " + when(*d.LateAt) + ", and it will be closed as missed"}
	}
	o := outlook{
		chain: chain, end: *d.LateAt,
		now:   "now, in the next slot in which a place of its tenant is free",
		yes:   "after a person approves it",
		never: "never: it is missed after " + when(*d.LateAt),
		lasts: "; it is missed after " + when(*d.LateAt),
	}
	o.from(&c, *d.DueAt, "it is due then")
	if d.State == followup.AwaitingApproval {
		if d.Asked == nil {
			return nextCall{Kind: nextApproval, Says: "a person has been asked, and has answered this minute: ask again"}
		}
		return o.stopped(c, func(c gates.Case) nextCall { return o.answered(c, d.Asked, "only "+o.yes) })
	}
	if d.TryAt != nil {
		o.from(&c, *d.TryAt, either(detail, "it waits until then"))
	}
	if c.Now.After(o.end) {
		return nextCall{Kind: nextTooLate, Says: o.never + ": " + o.notYet}
	}
	return o.stopped(c, o.next)
}

// tell prints what was judged, gate by gate.
func (j judged) tell(out *printer, v veil) {
	for _, g := range j.Gates {
		out.printf("  %-14s %-7s %s%s", v.text(g.Gate), g.Finding, v.text(g.Says), until(g.Until))
	}
	if r := j.Ruling; r != nil {
		out.printf("  ruling: %s%s%s", r.Finding, after(", by ", r.Gate), until(r.Until))
	}
	out.printf("  next:   %s", v.text(j.Next.Says))
}

// gatesNow tells the dry run behind the story.
func (s story) gatesNow() {
	if s.Now == nil {
		return
	}
	s.printf("\nWhat the gates say now, at %s%s", when(s.Now.At), only(s.FollowUp.State.Final(), ", were they asked")+":")
	s.Now.tell(s.printer, s.veil)
	for _, n := range s.Now.Notes {
		s.printf("  note:   %s", plain(string(n)))
	}
}

// without is a chain less one gate.
func without(chain []gates.Gate, name string) []gates.Gate {
	return slices.DeleteFunc(slices.Clone(chain), func(g gates.Gate) bool { return g.Name == name })
}

// warn tells notes that are no part of the answer.
func (p process) warn(notes []note) {
	for _, n := range notes {
		_, _ = fmt.Fprintln(p.stderr, "chasephone:", plain(string(n)))
	}
}
