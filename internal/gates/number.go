package gates

import "errors"

// number refuses what has no identity, or one that is never rung: an emergency number, a
// premium rate one. The code is the problem's.
func number() Gate {
	return Gate{GateNumber, func(c Case) Verdict {
		switch {
		case c.Problem != "":
			return Refuse{Grounds{Code: string(c.Problem)}}
		case c.Number.Number.IsZero(): // neither a number nor a problem: nobody looked
			return unavailable(c, errors.New("the number was not loaded"))
		default:
			return Pass{}
		}
	}}
}
