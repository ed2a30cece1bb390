package gates

import "time"

// doNotCall refuses a number that its owner asked us not to call, the tenant's entries and
// those for every tenant. Nobody's approval answers it.
func doNotCall() Gate {
	return Gate{GateDoNotCall, func(c Case) Verdict {
		if !c.judgeable() {
			return Pass{Grounds{Code: CodeNoNumber}}
		}
		entry, err := c.OptOut.get()
		switch {
		case err != nil:
			return unavailable(c, err)
		case entry == nil:
			return Pass{}
		}
		scope := "tenant"
		if entry.Global {
			scope = "everybody"
		}
		return Refuse{Grounds{CodeDoNotCall, map[string]string{
			"source": clean(entry.Source),
			"since":  entry.Since.UTC().Format(time.RFC3339),
			"scope":  scope,
		}}}
	}}
}
