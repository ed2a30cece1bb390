package gates

import "time"

// calledIn holds a promised call to somebody who has reached the tenant since it was promised:
// they may have been helped by then. Whoever reaches it after a person said yes is asked about
// again, for that person did not know.
func calledIn(off bool) Gate {
	if off {
		return Gate{GateCalledIn, func(Case) Verdict { return Pass{} }}
	}
	return Gate{GateCalledIn, func(c Case) Verdict {
		switch {
		case !c.judgeable():
			return Pass{Grounds{Code: CodeNoNumber}}
		case c.Promised.IsZero():
			return Pass{}
		}
		newest, err := c.CalledIn.get()
		switch {
		case err != nil:
			return unavailable(c, err)
		case newest == nil || !newest.At.After(c.Promised):
			return Pass{}
		}
		code := CodeCalledIn
		if c.Approval != nil && newest.At.After(c.Approval.At) {
			code = CodeCalledInAgain
		}
		return Hold{Grounds{code, map[string]string{
			"at": newest.At.UTC().Format(time.RFC3339), "source": named(newest.Source),
		}}}
	}}
}
