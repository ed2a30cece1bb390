package gates

import (
	"errors"
	"testing"
	"time"

	"chasephone/internal/rules"
)

func TestGap(t *testing.T) {
	talked := func(when string) func(*Case) {
		return func(c *Case) { c.Calls.Value.Talked = at(when) }
	}
	in := func(place, purpose string) func(*Case) {
		return func(c *Case) { c.Number.Place, c.Purpose = place, purpose }
	}
	afterCall := func(since, until string) Verdict {
		return Wait{Grounds{CodeTooSoon, map[string]string{"gap": "2h", "after": "call", "since": since, "rule": "GATE_MIN_GAP"}}, at(until)}
	}
	afterTalk := func(since, until string) Verdict {
		return Wait{Grounds{CodeTooSoon, map[string]string{
			"gap": "7 days", "after": "talk", "since": since, "rule": "Reg F", "dated": "2025-11-01",
		}}, at(until)}
	}
	testGate(t, gap(law(t, strict), 2*time.Hour), []gateTest{
		{"no calls", nil, Pass{}},
		{"a while ago", called("2026-10-06T13:00:00Z"), Pass{}},
		{"the gap ago", called("2026-10-06T14:00:00Z"), Pass{}},
		{"a microsecond less", called("2026-10-06T14:00:00.000001Z"), afterCall("2026-10-06T14:00:00Z", "2026-10-06T16:00:00.000001Z")},
		{"the newest counts", called("2026-10-06T15:00:00Z", "2026-10-06T09:00:00Z"), afterCall("2026-10-06T15:00:00Z", "2026-10-06T17:00:00Z")},
		{"in whatever order", called("2026-10-06T09:00:00Z", "2026-10-06T15:00:00Z"), afterCall("2026-10-06T15:00:00Z", "2026-10-06T17:00:00Z")},
		{"a call of the future", called("2026-10-06T16:01:00Z"), afterCall("2026-10-06T16:01:00Z", "2026-10-06T18:01:00Z")},

		{"a talk, and no rule about it", both(in("US-TX", "sales"), called("2026-10-06T10:00:00Z"), talked("2026-10-06T10:00:00Z")), Pass{}},
		{
			"a talk, and a rule", both(in("US-TX", "debt"), called("2026-10-06T10:00:00Z"), talked("2026-10-06T10:00:00Z")),
			afterTalk("2026-10-06T10:00:00Z", "2026-10-13T10:00:00Z"),
		},
		{"a talk so long ago", both(in("US-TX", "debt"), called("2026-09-29T16:00:00Z"), talked("2026-09-29T16:00:00Z")), Pass{}},
		{"a rule, and no talk", both(in("US-TX", "debt"), called("2026-10-06T10:00:00Z")), Pass{}},
		{
			"both, the talk's for longer", both(in("US-TX", "debt"), called("2026-10-06T15:00:00Z"), talked("2026-10-01T10:00:00Z")),
			afterTalk("2026-10-01T10:00:00Z", "2026-10-08T10:00:00Z"),
		},
		{
			"both, the call's for longer", both(in("US-TX", "debt"), called("2026-10-06T15:00:00Z"), talked("2026-09-29T16:30:00Z")),
			afterCall("2026-10-06T15:00:00Z", "2026-10-06T17:00:00Z"),
		},

		{"unknown", func(c *Case) { c.Calls = Unknown[Calls](errors.New("timeout")) }, Wait{
			Grounds{CodeFactsUnavailable, map[string]string{"cause": "timeout"}}, at("2026-10-06T16:05:00Z"),
		}},
		{"never loaded", func(c *Case) { c.Calls = Fact[Calls]{} }, notLoaded()},
		{"no number", noNumber, Pass{Grounds{Code: CodeNoNumber}}},
	})
}

func TestTheLongestGapOfTheRules(t *testing.T) {
	for _, order := range []string{
		"{rules: [{places: US, after_talk: 1d, source: day, dated: 2025-11-01}, {places: US-NY, after_talk: 2d, source: days, dated: 2025-11-02}]}",
		"{rules: [{places: US, after_talk: 2d, source: days, dated: 2025-11-02}, {places: US-NY, after_talk: 1d, source: day, dated: 2025-11-01}]}",
	} {
		c := good()
		c.Calls = Known(Calls{At: []time.Time{c.Now}, Talked: c.Now})
		w, waits := gap(law(t, order), 0).Judge(c).(Wait)
		if !waits || w.On["rule"] != "days" || !w.Until.Equal(c.Now.Add(48*time.Hour)) {
			t.Errorf("%+v", w)
		}
	}
}

func TestNoGapOfOurOwn(t *testing.T) {
	testGate(t, gap(law(t, strict), 0), []gateTest{
		{"just called", called("2026-10-06T16:00:00Z"), Pass{}},
		{"nobody needs to know", func(c *Case) { c.Calls = Fact[Calls]{} }, Pass{}},
		{"a rule needs to", func(c *Case) { c.Calls, c.Purpose = Fact[Calls]{}, rules.Debt }, notLoaded()},
		{"just talked", func(c *Case) {
			c.Purpose = rules.Debt
			c.Calls = Known(Calls{At: []time.Time{c.Now}, Talked: c.Now})
		}, Wait{Grounds{CodeTooSoon, map[string]string{
			"gap": "7 days", "after": "talk", "since": "2026-10-06T16:00:00Z", "rule": "Reg F", "dated": "2025-11-01",
		}}, at("2026-10-13T16:00:00Z")}},
	})
}
