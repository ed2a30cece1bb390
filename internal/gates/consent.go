package gates

import (
	"slices"
	"time"

	"chasephone/internal/rules"
)

// consent holds a call for which a rule wants the consent of the person called, where none is on
// file. A person may know of one that is not.
func consent(rs *rules.Set) Gate {
	return Gate{GateConsent, func(c Case) Verdict {
		if !c.judgeable() {
			return Pass{Grounds{Code: CodeNoNumber}}
		}
		bound := rs.For(c.Number.Place, c.Purpose)
		i := slices.IndexFunc(bound, func(r *rules.Rule) bool { return r.Consent })
		if i < 0 {
			return Pass{}
		}
		given, err := c.Consent.get()
		switch {
		case err != nil:
			return unavailable(c, err)
		case given == nil:
			on := map[string]string{"place": place(&c), "purpose": clean(c.Purpose)}
			cite(on, bound[i])
			return Hold{Grounds{CodeNoConsent, on}}
		}
		return Pass{Grounds{On: map[string]string{
			"consent": named(given.Source), "since": given.Since.UTC().Format(time.RFC3339),
		}}}
	}}
}
