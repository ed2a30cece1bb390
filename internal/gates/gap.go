package gates

import (
	"time"

	"chasephone/internal/rules"
)

const settingGap = "GATE_MIN_GAP"

// After which call a gap is kept, under "after".
const (
	afterCall = "call"
	afterTalk = "talk"
)

// gap waits until enough time has gone by since the last call to a number: our own shortest gap
// after any call, and what a rule asks for after one that reached somebody.
func gap(rs *rules.Set, shortest time.Duration) Gate {
	return Gate{GateGap, func(c Case) Verdict {
		if !c.judgeable() {
			return Pass{Grounds{Code: CodeNoNumber}}
		}
		var rule *rules.Rule // the one with the longest gap
		for _, r := range rs.For(c.Number.Place, c.Purpose) {
			if r.AfterTalk > 0 && (rule == nil || r.AfterTalk > rule.AfterTalk) {
				rule = r
			}
		}
		if rule == nil && shortest <= 0 {
			return Pass{}
		}
		calls, err := c.Calls.get()
		if err != nil {
			return unavailable(c, err)
		}

		var callEnds, talkEnds time.Time
		if newest := calls.newestFirst(); shortest > 0 && len(newest) > 0 {
			callEnds = newest[0].Add(shortest)
		}
		if rule != nil && !calls.Talked.IsZero() {
			talkEnds = calls.Talked.Add(rule.AfterTalk)
		}
		switch {
		case !callEnds.After(c.Now) && !talkEnds.After(c.Now):
			return Pass{}
		case talkEnds.After(callEnds):
			on := map[string]string{"gap": span(rule.AfterTalk), "after": afterTalk, "since": calls.Talked.UTC().Format(time.RFC3339)}
			cite(on, rule)
			return Wait{Grounds{CodeTooSoon, on}, talkEnds.UTC()}
		}
		return Wait{Grounds{CodeTooSoon, map[string]string{
			"gap": span(shortest), "after": afterCall, "since": callEnds.Add(-shortest).UTC().Format(time.RFC3339), "rule": settingGap,
		}}, callEnds.UTC()}
	}}
}
