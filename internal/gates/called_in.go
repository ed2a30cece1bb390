package gates

import "time"

// calledIn holds a promised call to somebody who has reached the tenant since it was promised:
// they may have been helped by then. What came, or came to be known, after the question was put
// is asked about again: whoever said yes may not have seen it.
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
		if a := c.Approval; a != nil && (newest.At.After(a.Asked) || newest.Known.After(a.Asked)) {
			code = CodeCalledInAgain
		}
		return Hold{Grounds{code, map[string]string{
			"at": newest.At.UTC().Format(time.RFC3339), "source": named(newest.Source),
		}}}
	}}
}
