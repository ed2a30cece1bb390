package gates

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"chasephone/internal/rules"
)

// called are calls at these instants, the newest first.
func called(instants ...string) func(*Case) {
	return func(c *Case) {
		all := Calls{}
		for _, s := range instants {
			all.At = append(all.At, at(s))
		}
		c.Calls = Known(all)
	}
}

func both(changes ...func(*Case)) func(*Case) {
	return func(c *Case) {
		for _, f := range changes {
			f(c)
		}
	}
}

func TestCaps(t *testing.T) {
	full := func(most, cap, since, until, rule, dated string) Verdict {
		on := map[string]string{"cap": cap, "calls": most, "since": since, "rule": rule}
		if dated != "" {
			on["dated"] = dated
		}
		return Wait{Grounds{CodeTooManyCalls, on}, at(until)}
	}
	in := func(place, purpose string) func(*Case) {
		return func(c *Case) { c.Number.Place, c.Purpose = place, purpose }
	}
	// Now is 2026-10-06T16:00:00Z.
	three := called("2026-10-06T14:00:00Z", "2026-10-06T13:00:00Z", "2026-10-05T16:30:00Z")
	testGate(t, caps(law(t, strict), rules.Caps{Day: 5, Month: 6}), []gateTest{
		{"no calls", nil, Pass{}},
		{"one fewer than the rule allows", called("2026-10-06T14:00:00Z", "2026-10-06T13:00:00Z"), Pass{}},
		{"as many", three, full("3", "3 in 24h", "2026-10-05T16:30:00Z", "2026-10-06T16:30:00Z", "Fla. 501.616(6)", "2025-11-02")},
		{"24 hours later to the microsecond it counts no longer", both(three, func(c *Case) { c.Now = at("2026-10-06T16:30:00Z") }), Pass{}},
		{
			"a microsecond before it does", both(three, func(c *Case) { c.Now = at("2026-10-06T16:29:59.999999Z") }),
			full("3", "3 in 24h", "2026-10-05T16:30:00Z", "2026-10-06T16:30:00Z", "Fla. 501.616(6)", "2025-11-02"),
		},
		{"more than allowed: until fewer than three count", called(
			"2026-10-06T15:00:00Z", "2026-10-06T14:00:00Z", "2026-10-06T13:00:00Z", "2026-10-05T16:30:00Z",
		), full("3", "3 in 24h", "2026-10-06T13:00:00Z", "2026-10-07T13:00:00Z", "Fla. 501.616(6)", "2025-11-02")},
		{
			"three at one instant", called("2026-10-06T13:00:00Z", "2026-10-06T13:00:00Z", "2026-10-06T13:00:00Z"),
			full("3", "3 in 24h", "2026-10-06T13:00:00Z", "2026-10-07T13:00:00Z", "Fla. 501.616(6)", "2025-11-02"),
		},
		{
			"calls of the future count", called("2026-10-06T16:00:01Z", "2026-10-06T16:00:01Z", "2026-10-06T15:00:00Z"),
			full("3", "3 in 24h", "2026-10-06T15:00:00Z", "2026-10-07T15:00:00Z", "Fla. 501.616(6)", "2025-11-02"),
		},
		{
			"in another order", called("2026-10-05T16:30:00Z", "2026-10-06T14:00:00Z", "2026-10-06T13:00:00Z"),
			full("3", "3 in 24h", "2026-10-05T16:30:00Z", "2026-10-06T16:30:00Z", "Fla. 501.616(6)", "2025-11-02"),
		},

		{"where no rule caps, ours does", both(in("US-TX", "requested"), called(
			"2026-10-06T15:00:00Z", "2026-10-06T14:00:00Z", "2026-10-06T13:00:00Z", "2026-10-06T12:00:00Z", "2026-10-06T11:00:00Z",
		)), full("5", "5 in 24h", "2026-10-06T11:00:00Z", "2026-10-07T11:00:00Z", "GATE_MAX_PER_NUMBER_24H", "")},
		{"of two that are full the longer", both(in("US-TX", "requested"), called(
			"2026-10-06T15:00:00Z", "2026-10-06T14:00:00Z", "2026-10-06T13:00:00Z", "2026-10-06T12:00:00Z", "2026-10-06T11:00:00Z", "2026-09-10T11:00:00Z",
		)), full("6", "6 in 30 days", "2026-09-10T11:00:00Z", "2026-10-10T11:00:00Z", "GATE_MAX_PER_NUMBER_30D", "")},
		{"a rule for another purpose", both(in("US-TX", "sales"), called(
			"2026-10-04T00:00:00Z", "2026-10-04T00:00:00Z", "2026-10-04T00:00:00Z", "2026-10-04T00:00:00Z", "2026-10-04T00:00:00Z",
		)), Pass{}},

		{"unknown", func(c *Case) { c.Calls = Unknown[Calls](errors.New("timeout")) }, Wait{
			Grounds{CodeFactsUnavailable, map[string]string{"cause": "timeout"}}, at("2026-10-06T16:05:00Z"),
		}},
		{"never loaded", func(c *Case) { c.Calls = Fact[Calls]{} }, notLoaded()},
		{"no number", noNumber, Pass{Grounds{Code: CodeNoNumber}}},
	})
}

func TestWeeklyCaps(t *testing.T) {
	debt := both(func(c *Case) { c.Number.Place, c.Purpose = "US-TX", rules.Debt }, called(
		"2026-10-05T00:00:00Z", "2026-10-04T00:00:00Z", "2026-10-03T00:00:00Z", "2026-10-02T00:00:00Z",
		"2026-10-01T00:00:00Z", "2026-10-01T00:00:00Z", "2026-09-30T00:00:00Z",
	))
	full := Wait{Grounds{CodeTooManyCalls, map[string]string{
		"cap": "7 in 7 days", "calls": "7", "since": "2026-09-30T00:00:00Z", "rule": "Reg F", "dated": "2025-11-01",
	}}, at("2026-10-07T00:00:00Z")}
	testGate(t, caps(law(t, strict), rules.Caps{}), []gateTest{
		{"full", debt, full},
		{"a moment later", both(debt, func(c *Case) { c.Now = at("2026-10-07T00:00:00Z") }), Pass{}},
		{"for another purpose", both(debt, func(c *Case) { c.Purpose = rules.Sales }), Pass{}},
	})
}

// Of a rule and a setting that last as long the rule is said: nobody can lift it.
func TestCapsThatLastAsLong(t *testing.T) {
	testGate(t, caps(law(t, strict), rules.Caps{Day: 3}), []gateTest{
		{"full", called("2026-10-06T15:00:00Z", "2026-10-06T14:00:00Z", "2026-10-06T13:00:00Z"), Wait{Grounds{CodeTooManyCalls, map[string]string{
			"cap": "3 in 24h", "calls": "3", "since": "2026-10-06T13:00:00Z", "rule": "Fla. 501.616(6)", "dated": "2025-11-02",
		}}, at("2026-10-07T13:00:00Z")}},
	})
}

func TestOwnWeeklyCap(t *testing.T) {
	testGate(t, caps(nil, rules.Caps{Week: 1}), []gateTest{
		{"full", called("2026-10-06T13:00:00Z"), Wait{Grounds{CodeTooManyCalls, map[string]string{
			"cap": "1 in 7 days", "calls": "1", "since": "2026-10-06T13:00:00Z", "rule": "GATE_MAX_PER_NUMBER_7D",
		}}, at("2026-10-13T13:00:00Z")}},
	})
}

// Where no cap binds the calls need not be known.
func TestNoCaps(t *testing.T) {
	testGate(t, caps(law(t, usHours), rules.Caps{}), []gateTest{
		{"never loaded", func(c *Case) { c.Calls = Fact[Calls]{} }, Pass{}},
	})
}

// By brute force: a call is allowed at an instant where each cap's window before it holds fewer
// calls than the cap; a wait ends at the first such instant.
func TestCapsByCounting(t *testing.T) {
	t.Parallel()
	set := law(t, strict)
	rapid.Check(t, func(t *rapid.T) {
		draw := func(label string) rules.Caps {
			one := rapid.IntRange(0, 4)
			return rules.Caps{Day: one.Draw(t, label+" 24h"), Week: one.Draw(t, label+" 7d"), Month: one.Draw(t, label+" 30d")}
		}
		c := good()
		c.Number.Place = "US-FL" // with a cap of a rule
		own, ruled := draw("own"), rules.Caps{Day: 3}

		var all []time.Time
		for range rapid.IntRange(0, 8).Draw(t, "calls") {
			// Few of them, on whole hours, so that many fall on a window's edge.
			ago := time.Hour * time.Duration(rapid.SampledFrom([]int{-1, 0, 1, 2, 23, 24, 25, 30, 100, 167, 168, 169, 500, 719, 720, 721, 800}).Draw(t, "hours ago"))
			all = append(all, c.Now.Add(-ago))
		}
		allowed := func(u time.Time) bool {
			for _, caps := range []rules.Caps{own, ruled} {
				for _, one := range []struct {
					most   int
					window time.Duration
				}{{caps.Day, 24 * time.Hour}, {caps.Week, 168 * time.Hour}, {caps.Month, 720 * time.Hour}} {
					count := 0
					for _, call := range all {
						if u.Before(call.Add(one.window)) {
							count++
						}
					}
					if one.most > 0 && count >= one.most {
						return false
					}
				}
			}
			return true
		}
		// A cap can only begin to allow when a call leaves a window.
		candidates := []time.Time{c.Now}
		for _, call := range all {
			for _, window := range []time.Duration{inDay, inWeek, inMonth} {
				if u := call.Add(window); u.After(c.Now) {
					candidates = append(candidates, u)
				}
			}
		}
		slices.SortFunc(candidates, time.Time.Compare)
		want := candidates[slices.IndexFunc(candidates, allowed)]

		slices.SortFunc(all, func(a, b time.Time) int { return b.Compare(a) })
		if rapid.Bool().Draw(t, "in any order") {
			rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		}
		c.Calls = Known(Calls{At: all})
		got := c.Now
		switch v := caps(set, own).Judge(c).(type) {
		case Pass:
		case Wait:
			if got = v.Until; !got.After(c.Now) {
				t.Fatalf("waits until %s", got)
			}
		default:
			t.Fatalf("%#v", v)
		}
		if !got.Equal(want) {
			t.Fatalf("%s, want %s", got, want)
		}
	})
}

func TestSpan(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		24 * time.Hour: "24h", 168 * time.Hour: "7 days", 720 * time.Hour: "30 days", 36 * time.Hour: "36h", 72 * time.Hour: "3 days",
		time.Hour: "1h", 90 * time.Minute: "90m", time.Minute: "1m", 30 * time.Second: "30s", 0: "0s",
	} {
		if got := span(d); got != want {
			t.Errorf("%v: %q, want %q", d, got, want)
		}
	}
}
