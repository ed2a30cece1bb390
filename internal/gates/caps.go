package gates

import (
	"slices"
	"strconv"
	"time"

	"chasephone/internal/rules"
)

const (
	inDay   = 24 * time.Hour
	inWeek  = 7 * inDay
	inMonth = 30 * inDay
)

// Settings that name themselves where a rule would.
const (
	settingPerDay   = "GATE_MAX_PER_NUMBER_24H"
	settingPerWeek  = "GATE_MAX_PER_NUMBER_7D"
	settingPerMonth = "GATE_MAX_PER_NUMBER_30D"
)

// caps waits where a number has been called as often as a rule or our own settings allow, until
// a call is so long ago that it counts no longer. The windows roll: a call counts for 24 hours,
// not until midnight. A promised call is not exempt.
func caps(rs *rules.Set, own rules.Caps) Gate {
	return Gate{GateCaps, func(c Case) Verdict {
		if !c.judgeable() {
			return Pass{Grounds{Code: CodeNoNumber}}
		}
		bound := rs.For(c.Number.Place, c.Purpose)
		if own.Most() <= 0 && !slices.ContainsFunc(bound, func(r *rules.Rule) bool { return r.Caps.Most() > 0 }) {
			return Pass{}
		}
		calls, err := c.Calls.get()
		if err != nil {
			return unavailable(c, err)
		}
		reached := capped{now: c.Now, newest: calls.newestFirst()}
		for _, r := range bound {
			reached.by(r.Caps, r)
		}
		reached.by(own, nil)
		return reached.verdict()
	}}
}

// capped finds, of all caps that are reached, the one that lasts longest.
type capped struct {
	now    time.Time
	newest []time.Time

	most   int // of the cap found
	window time.Duration
	rule   *rules.Rule // nil: our own setting
	until  time.Time   // zero: none is reached
}

func (x *capped) by(c rules.Caps, r *rules.Rule) {
	x.one(c.Day, inDay, r)
	x.one(c.Week, inWeek, r)
	x.one(c.Month, inMonth, r)
}

// one is reached when that many calls count: then the last of that many is the first to go.
func (x *capped) one(most int, window time.Duration, r *rules.Rule) {
	if most <= 0 || len(x.newest) < most {
		return
	}
	if until := x.newest[most-1].Add(window); until.After(x.now) && until.After(x.until) {
		x.most, x.window, x.rule, x.until = most, window, r, until
	}
}

func (x *capped) verdict() Verdict {
	if x.until.IsZero() {
		return Pass{}
	}
	most := strconv.Itoa(x.most)
	on := map[string]string{
		"cap": most + " in " + span(x.window),
		// Older ones may count too. They need not be known, and are not always loaded.
		"calls": most,
		"since": x.newest[x.most-1].UTC().Format(time.RFC3339),
	}
	switch {
	case x.rule != nil:
		cite(on, x.rule)
	case x.window == inDay:
		on["rule"] = settingPerDay
	case x.window == inWeek:
		on["rule"] = settingPerWeek
	default:
		on["rule"] = settingPerMonth
	}
	return Wait{Grounds{CodeTooManyCalls, on}, x.until.UTC()}
}
