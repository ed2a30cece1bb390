package gates

import (
	"cmp"
	"strconv"
	"time"
)

const (
	// lineRetry stands in for Case.RetryAfter where that was not loaded.
	lineRetry = time.Hour
	// busyRetry is how long a call waits for one on the line to end. Calls end when people hang up,
	// which nobody can foresee, and a call lasts some minutes.
	busyRetry = 30 * time.Second
)

// line waits until there is something to call on, and until fewer calls than atOnce are on it
// (0: as many as there are). Only a line that the row names and that is not there refuses: a
// tenant's default may still be set up.
func line(atOnce int) Gate {
	return Gate{GateLine, func(c Case) Verdict {
		if c.Line.Named && !c.Line.Exists {
			return Refuse{Grounds{CodeUnknownLine, map[string]string{"line": clean(c.Line.Name)}}}
		}
		return stricter(ready(&c), free(&c, atOnce))
	}}
}

func ready(c *Case) Verdict {
	l := &c.Line
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
}

func free(c *Case, atOnce int) Verdict {
	if atOnce <= 0 || !c.Line.Exists {
		return Pass{}
	}
	calls, err := c.Line.Calls.get()
	switch {
	case err != nil:
		return unavailable(*c, err)
	case !calls.reaches(atOnce, c.Now):
		return Pass{}
	}
	until := c.Now.Add(busyRetry)
	if !calls.FreesAt.IsZero() {
		until = earlier(until, calls.FreesAt)
	}
	return Wait{Grounds{CodeLineBusy, map[string]string{
		"line": clean(c.Line.Name), "calls": strconv.Itoa(calls.Calls), "at_once": strconv.Itoa(atOnce),
	}}, until.UTC()}
}
