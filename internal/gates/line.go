package gates

import (
	"cmp"
	"time"
)

// lineRetry stands in for Case.RetryAfter where that was not loaded.
const lineRetry = time.Hour

// line waits until there is something to call on. Only a line that the row names and that is
// not there refuses: a tenant's default may still be set up.
func line() Gate {
	return Gate{GateLine, func(c Case) Verdict {
		l := c.Line
		if l.Named && !l.Exists {
			return Refuse{Grounds{CodeUnknownLine, map[string]string{"line": clean(l.Name)}}}
		}
		retry := c.RetryAfter
		if retry <= 0 {
			retry = lineRetry
		}
		var cause string
		var until time.Time
		because := func(why string, end time.Time) {
			if end.After(until) {
				cause, until = why, end
			}
		}
		switch hour := c.Now.Add(retry); {
		case !l.Exists:
			because(CauseNoLine, hour)
		case l.Stopped:
			because(CauseStopped, hour)
		case !l.Configured:
			because(CauseCarrierNotConfigured, hour)
		}
		if l.Exists && l.HeldUntil.After(c.Now) {
			because(cmp.Or(l.HeldFor, "held"), l.HeldUntil)
		}
		if cause == "" {
			return Pass{}
		}
		on := map[string]string{"cause": cause}
		if l.Exists {
			on["line"] = clean(l.Name)
		}
		return Wait{Grounds{CodeLineNotReady, on}, until}
	}}
}
