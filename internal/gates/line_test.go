package gates

import (
	"errors"
	"testing"
	"time"
)

func TestLine(t *testing.T) {
	notReady := func(until, cause string) Verdict {
		return Wait{Grounds{CodeLineNotReady, map[string]string{"cause": cause, "line": "default"}}, at(until)}
	}
	testGate(t, line(0), []gateTest{
		{"ready", nil, Pass{}},
		{"named and not there", func(c *Case) { c.Line = Line{Name: "sales", Named: true} }, Refuse{
			Grounds{CodeUnknownLine, map[string]string{"line": "sales"}},
		}},
		{"named by a telephone number", func(c *Case) { c.Line = Line{Name: "+14155550123", Named: true} }, Refuse{
			Grounds{CodeUnknownLine, map[string]string{"line": "+#"}},
		}},
		{"no default", func(c *Case) { c.Line = Line{} }, Wait{
			Grounds{CodeLineNotReady, map[string]string{"cause": CauseNoLine}}, at("2026-10-06T17:00:00Z"),
		}},
		{"stopped", func(c *Case) { c.Line.Stopped = true }, notReady("2026-10-06T17:00:00Z", CauseStopped)},
		{"no credentials", func(c *Case) { c.Line.Configured = false }, notReady("2026-10-06T17:00:00Z", CauseCarrierNotConfigured)},
		{"held", func(c *Case) {
			c.Line.HeldUntil, c.Line.HeldFor = at("2026-10-06T16:20:00Z"), "three_unknown"
		}, notReady("2026-10-06T16:20:00Z", "three_unknown")},
		{"held for no reason given", func(c *Case) { c.Line.HeldUntil = at("2026-10-06T16:20:00Z") }, notReady("2026-10-06T16:20:00Z", "held")},
		{"held until now", func(c *Case) { c.Line.HeldUntil, c.Line.HeldFor = c.Now, "busy" }, Pass{}},
		{"stopped, and held for longer", func(c *Case) {
			c.Line.Stopped, c.Line.HeldUntil, c.Line.HeldFor = true, at("2026-10-06T19:00:00Z"), "busy"
		}, notReady("2026-10-06T19:00:00Z", "busy")},
		{"stopped, and held for less", func(c *Case) {
			c.Line.Stopped, c.Line.HeldUntil, c.Line.HeldFor = true, at("2026-10-06T16:20:00Z"), "busy"
		}, notReady("2026-10-06T17:00:00Z", CauseStopped)},
		{"another hour", func(c *Case) { c.Line.Stopped, c.RetryAfter = true, 2*time.Hour }, notReady("2026-10-06T18:00:00Z", CauseStopped)},
		{"no hour loaded", func(c *Case) { c.Line.Stopped, c.RetryAfter = true, 0 }, notReady("2026-10-06T17:00:00Z", CauseStopped)},
	})
}

func TestLineCallsAtOnce(t *testing.T) {
	calls := func(n int, freesAt string) func(*Case) {
		return func(c *Case) {
			spent := Spent{Calls: n}
			if freesAt != "" {
				spent.FreesAt = at(freesAt)
			}
			c.Line.Calls = Known(spent)
		}
	}
	busy := func(calls, until string) Verdict {
		return Wait{Grounds{CodeLineBusy, map[string]string{"line": "default", "calls": calls, "at_once": "2"}}, at(until)}
	}
	testGate(t, line(2), []gateTest{
		{"none", nil, Pass{}},
		{"one of two", calls(1, "2026-10-06T17:00:00Z"), Pass{}},
		{"two of two", calls(2, "2026-10-06T17:00:00Z"), busy("2", "2026-10-06T16:00:30Z")},
		{"three of two", calls(3, "2026-10-06T17:00:00Z"), busy("3", "2026-10-06T16:00:30Z")},
		{"nobody knows when one ends", calls(2, ""), busy("2", "2026-10-06T16:00:30Z")},
		{"one ends before it is asked about again", calls(2, "2026-10-06T16:00:20Z"), busy("2", "2026-10-06T16:00:20Z")},
		{"one ends now", calls(2, "2026-10-06T16:00:00Z"), Pass{}},
		{"one has ended", calls(2, "2026-10-06T15:00:00Z"), Pass{}},
		{"unknown", func(c *Case) { c.Line.Calls = Unknown[Spent](errors.New("timeout")) }, Wait{
			Grounds{CodeFactsUnavailable, map[string]string{"cause": "timeout"}}, at("2026-10-06T16:05:00Z"),
		}},
		{"never loaded", func(c *Case) { c.Line.Calls = Fact[Spent]{} }, notLoaded()},
		{"stopped too: that is for longer", func(c *Case) {
			calls(2, "")(c)
			c.Line.Stopped = true
		}, Wait{Grounds{CodeLineNotReady, map[string]string{"cause": CauseStopped, "line": "default"}}, at("2026-10-06T17:00:00Z")}},
		{"held for less: being busy is for longer", func(c *Case) {
			calls(2, "")(c)
			c.Line.HeldUntil = at("2026-10-06T16:00:20Z")
		}, busy("2", "2026-10-06T16:00:30Z")},
		{"held for as long: said first", func(c *Case) {
			calls(2, "")(c)
			c.Line.HeldUntil = at("2026-10-06T16:01:00Z")
		}, Wait{Grounds{CodeLineNotReady, map[string]string{"cause": "held", "line": "default"}}, at("2026-10-06T16:01:00Z")}},
		{"no line, no calls on it", func(c *Case) { c.Line = Line{} }, Wait{
			Grounds{CodeLineNotReady, map[string]string{"cause": CauseNoLine}}, at("2026-10-06T17:00:00Z"),
		}},
		{"no line, and little to wait for", func(c *Case) { c.Line, c.RetryAfter = Line{}, time.Minute }, Wait{
			Grounds{CodeLineNotReady, map[string]string{"cause": CauseNoLine}}, at("2026-10-06T16:01:00Z"),
		}},
		{"named and not there", func(c *Case) { c.Line = Line{Name: "sales", Named: true} }, Refuse{
			Grounds{CodeUnknownLine, map[string]string{"line": "sales"}},
		}},
	})
}

// A limit that is not set asks for nothing.
func TestLineWithoutALimit(t *testing.T) {
	testGate(t, line(0), []gateTest{
		{"never loaded", func(c *Case) { c.Line.Calls = Fact[Spent]{} }, Pass{}},
		{"many", func(c *Case) { c.Line.Calls = Known(Spent{Calls: 1000}) }, Pass{}},
	})
}
