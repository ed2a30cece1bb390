package gates

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"
)

const (
	// factsRetry is how long a call waits for facts that could not be loaded.
	factsRetry = 5 * time.Minute
	// soonest keeps a wait in the future: a row made due at once would be claimed for ever.
	soonest = time.Minute
	// farthest keeps a wait within the years that JSON can write.
	farthest = 100 * 365 * 24 * time.Hour
)

// Ruling is the strictest of the findings, and the gate that speaks for it.
type Ruling struct {
	Verdict Verdict
	Gate    string // "" for a pass
	Code    string // "" for a pass
	Until   time.Time
	Holds   []string // where it is a hold: every unanswered hold's code, sorted; Code is the first
}

// Kind is pass, wait, hold or refuse.
func (r Ruling) Kind() string { return Kinds()[r.Verdict.strictness()] }

// On is what the ruling was judged on. It is not the caller's to change.
func (r Ruling) On() map[string]string { return r.Verdict.grounds().On }

// Judge asks every gate and rules by the strictest finding. The findings stand in the gates'
// order; the ruling is the same in whatever order the gates are asked.
func Judge(gs []Gate, c Case) (Ruling, []Finding) {
	if len(gs) == 0 { // a chain that was never built must not pass everything
		v := broken(c, "there are no gates")
		return Ruling{Verdict: v, Code: v.Code, Until: v.Until}, nil
	}
	findings := make([]Finding, len(gs))
	for i, g := range gs {
		findings[i] = Finding{g.Name, checked(answered(ask(g, &c), &c), &c)}
	}
	return rule(findings), findings
}

// ask keeps a gate that breaks from taking the daemon along, or from passing.
func ask(g Gate, c *Case) (v Verdict) {
	defer func() {
		if r := recover(); r != nil {
			v = broken(*c, fmt.Sprint(r))
		}
	}()
	switch v := g.Judge(*c).(type) {
	case Pass, Wait, Hold, Refuse:
		return v
	default: // nil, or a pointer to one of them
		return broken(*c, "it gave no verdict")
	}
}

func broken(c Case, cause string) Wait {
	return Wait{Grounds{CodeGateFailed, map[string]string{"cause": clean(cause)}}, c.Now.Add(factsRetry)}
}

// unavailable is the verdict of a gate whose facts could not be loaded.
func unavailable(c Case, cause error) Wait {
	return Wait{Grounds{CodeFactsUnavailable, map[string]string{"cause": clean(cause.Error())}}, c.Now.Add(factsRetry)}
}

// answered turns a hold that a person has answered into a pass which says so, and one of which
// nobody knows whether it was into a wait.
func answered(v Verdict, c *Case) Verdict {
	h, holds := v.(Hold)
	if holds && c.ApprovalErr != nil { // asking once more would void an answer that may be there
		return unavailable(*c, c.ApprovalErr)
	}
	a := c.Approval
	if !holds || a == nil || !a.answers(h.Code) {
		return v
	}
	on := make(map[string]string, len(h.On)+3)
	maps.Copy(on, h.On)
	if what := a.differs(c); what != "" {
		on["approval"], on["what"] = "no longer matches", what
		return Hold{Grounds{h.Code, on}}
	}
	if NeedsZone(h.Code) { // the gate would not hold, had it come with a zone
		on["approval"] = "names no known time zone"
		return Hold{Grounds{h.Code, on}}
	}
	on["approved_by"], on["approval"] = clean(a.By), a.ID
	return Pass{Grounds{h.Code, on}}
}

// checked keeps out of a verdict what the ledger cannot hold, and waits in the future.
func checked(v Verdict, c *Case) Verdict {
	g := v.grounds()
	on, same := storable(g.On)
	g.On = on
	switch v := v.(type) {
	case Wait:
		until := v.Until
		if !until.After(c.Now) {
			until = c.Now.Add(soonest)
		} else if limit := c.Now.Add(farthest); until.After(limit) {
			until = limit
		}
		return Wait{g, until}
	case Hold:
		return Hold{g}
	case Refuse:
		return Refuse{g}
	default:
		if same {
			return v // the usual case, which costs nothing
		}
		return Pass{g}
	}
}

func rule(findings []Finding) Ruling {
	var top Finding // of those that do not pass, which mostly all do
	for _, f := range findings {
		if f.Verdict.strictness() > (Pass{}).strictness() && (top.Verdict == nil || byStrictness(f, top) > 0) {
			top = f
		}
	}
	if top.Verdict == nil {
		return Ruling{Verdict: Pass{}}
	}
	r := Ruling{Verdict: top.Verdict}
	r.Gate, r.Code, r.Until = top.Gate, top.Code(), top.Until()
	if _, holds := top.Verdict.(Hold); holds {
		for _, f := range findings {
			if _, holds := f.Verdict.(Hold); holds {
				r.Holds = append(r.Holds, f.Code())
			}
		}
		slices.Sort(r.Holds)
		r.Holds = slices.Compact(r.Holds)
	}
	return r
}

// byStrictness is a total order in which the ruling finding is the greatest: the stricter; of
// waits the longer; of holds the one whose code comes first; then the gate whose name comes first.
func byStrictness(a, b Finding) int {
	if c := cmp.Or(
		cmp.Compare(a.Verdict.strictness(), b.Verdict.strictness()),
		a.Until().Compare(b.Until()),
	); c != 0 {
		return c
	}
	name, code := cmp.Compare(b.Gate, a.Gate), cmp.Compare(b.Code(), a.Code())
	if _, holds := a.Verdict.(Hold); holds {
		return cmp.Or(code, name)
	}
	return cmp.Or(name, code)
}
