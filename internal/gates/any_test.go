package gates

import (
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"chasephone/internal/phone"
	"chasephone/internal/rules"
)

// anyFact draws a fact: one of these values, one that could not be loaded, or one nobody loaded.
func anyFact[T any](t *rapid.T, label string, values ...T) Fact[T] {
	all := []Fact[T]{{}, Unknown[T](errors.New("number +1 415 555 0123: connection reset"))}
	for range 3 {
		for _, v := range values {
			all = append(all, Known(v))
		}
	}
	return rapid.SampledFrom(all).Draw(t, label)
}

// anySpent draws how much of a small limit is used up.
func anySpent(t *rapid.T, label string, now time.Time) Fact[Spent] {
	s := Spent{Calls: rapid.IntRange(0, 3).Draw(t, label)}
	if s.Calls > 0 && rapid.Bool().Draw(t, label+" frees") {
		s.FreesAt = anInstant(t, label+" frees at", now)
	}
	return anyFact(t, label+" as a fact", s)
}

// anInstant draws one near another, and at times that very one.
func anInstant(t *rapid.T, label string, near time.Time) time.Time {
	seconds := rapid.SampledFrom([]int{0, 1, 60, 3600, 86_400}).Draw(t, label+", in units of")
	return near.Add(time.Duration(seconds*rapid.IntRange(-31, 3).Draw(t, label)) * time.Second)
}

// anyCase draws a call with anything wrong with it.
func anyCase(t *rapid.T) Case {
	flip := func(label string) bool { return rapid.Bool().Draw(t, label) }
	c := good()
	c.Now = time.Unix(rapid.Int64Range(1_700_000_000, 1_900_000_000).Draw(t, "now"), 0).UTC()
	if flip("another number") {
		raw := rapid.SampledFrom([]string{
			"+13085550123", "+18005550123", "+80012345678", "+33199001234", "911", "+19005550123", "x", "", "+1 415", "+61491570156",
			"+13055550123", "+4930123456", "+551155256325",
		}).Draw(t, "number")
		c.Number, c.Problem = phone.Parse(raw, "US")
	}
	c.Countries = rapid.SampledFrom([][]string{nil, {"US"}, {"US", "FR", "AU", "DE", "BR", "001"}}).Draw(t, "countries")
	c.TimeZone = rapid.SampledFrom([]string{"", "", "America/Denver", "America/New York", "Local", "\x00", "+14155550123"}).Draw(t, "zone")
	c.TimeZoneGiven = flip("zone given")
	c.Purpose = rapid.SampledFrom([]string{"requested", "sales", "debt", "survey", "", "\xff", "+14155550123"}).Draw(t, "purpose")
	c.Script = rapid.SampledFrom([]string{"Hello", "", "far too long a script"}).Draw(t, "script")
	c.Promised = rapid.SampledFrom([]time.Time{{}, c.Now.Add(-time.Hour)}).Draw(t, "promised")
	c.NeedsApproval = flip("needs approval")
	c.Policy = rapid.SampledFrom(append(Policies(), "", "sometimes")).Draw(t, "policy")
	if flip("another line") {
		c.Line = Line{
			Name: rapid.SampledFrom([]string{"default", "sales", "\xff"}).Draw(t, "line"), Named: flip("named"), Exists: flip("exists"),
			Configured: flip("configured"), Stopped: flip("stopped"), TooLong: flip("too long"),
			URL: rapid.SampledFrom([]string{"", "https://example.com"}).Draw(t, "url"), HeldFor: "busy",
			HeldUntil: c.Now.Add(time.Duration(rapid.IntRange(-5, 5).Draw(t, "held")) * time.Hour),
		}
	}
	c.Line.Calls = anySpent(t, "calls on the line", c.Now)

	const source = "call of +1 415 555 0123\x00"
	c.OptOut = anyFact(t, "opt-out", nil, nil, &OptOut{Source: source, Since: c.Now})
	call := &InCall{FollowUp: "f", Dialing: flip("dialing"), Since: c.Now}
	if flip("ends") {
		call.Ends = anInstant(t, "ends at", c.Now)
	}
	c.InCall = anyFact(t, "in a call", nil, call)
	var calls Calls
	for range rapid.IntRange(0, 6).Draw(t, "calls") {
		calls.At = append(calls.At, anInstant(t, "call", c.Now))
	}
	slices.SortFunc(calls.At, func(a, b time.Time) int { return b.Compare(a) })
	if len(calls.At) > 0 && flip("talked") {
		calls.Talked = rapid.SampledFrom(calls.At).Draw(t, "talk")
	}
	c.Calls = anyFact(t, "calls as a fact", calls)
	c.CalledIn = anyFact(t, "called in", nil, &CalledIn{At: anInstant(t, "called in at", c.Now), Source: source})
	c.Consent = anyFact(t, "consent", nil, &Consent{Source: source, Since: c.Now})
	c.TenantDay, c.FleetMinute = anySpent(t, "calls of the tenant", c.Now), anySpent(t, "calls of the fleet", c.Now)

	if flip("approval unknown") {
		c.ApprovalErr = errors.New("number +1 415 555 0123: connection reset")
	} else if flip("approval") {
		c.Approval = yes(c, rapid.SliceOf(rapid.SampledFrom([]string{
			CodeApprovalRequired, CodeTimeZoneUnknown, CodeNoCommonHours, CodeNoRules, CodeNoConsent, CodeCalledIn, CodeCalledInAgain, CodeFirstCall,
		})).Draw(t, "reasons")...)
		c.Approval.At = anInstant(t, "approved at", c.Now)
		c.Approval.TimeZone = rapid.SampledFrom([]string{"", "America/Denver", "Mars"}).Draw(t, "approved zone")
		if flip("does not match") {
			c.Approval.Words = "other"
		}
	}
	return c
}

// anyOptions draws the settings of a chain, with limits so small that they are reached.
func anyOptions(t *rapid.T, sets ...*rules.Set) Options {
	o := Options{Rules: rapid.SampledFrom(sets).Draw(t, "rules"), HoursOff: rapid.IntRange(0, 5).Draw(t, "hours") == 0}
	if rapid.Bool().Draw(t, "no limits") {
		return o
	}
	few := rapid.IntRange(0, 3)
	return Options{
		Rules: o.Rules, HoursOff: o.HoursOff,
		Caps:            rules.Caps{Day: few.Draw(t, "per day"), Week: few.Draw(t, "per week"), Month: few.Draw(t, "per month")},
		MinGap:          rapid.SampledFrom([]time.Duration{0, time.Minute, time.Hour, 24 * time.Hour}).Draw(t, "gap"),
		CalledInOff:     rapid.IntRange(0, 5).Draw(t, "called in") == 0,
		LineCallsAtOnce: few.Draw(t, "at once"), MaxPerTenantDay: few.Draw(t, "per tenant"), MaxPerMinute: few.Draw(t, "per minute"),
	}
}

// What holds for any call: the order of the gates changes nothing, the ruling is no milder than any
// finding, every code is known and has its sentence, the ledger can hold every finding, no
// finding holds a number, and no gate changes the case or what it knows of it.
func TestAnyCase(t *testing.T) {
	t.Parallel()
	few, many := law(t, usHours), law(t, strict)
	codes := Codes()
	rapid.Check(t, func(t *rapid.T) {
		c, chain := anyCase(t), Chain(anyOptions(t, nil, few, many))
		as, calls := c, slices.Clone(c.Calls.Value.At)
		for _, g := range chain {
			if g.Judge(c); !reflect.DeepEqual(c, as) || !slices.Equal(c.Calls.Value.At, calls) {
				t.Fatalf("%s changes the case", g.Name)
			}
		}
		want, findings := Judge(chain, c)
		got, _ := Judge(rapid.Permutation(chain).Draw(t, "order"), c)
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("in another order %+v, not %+v", got, want)
		}
		holds := []string{}
		for _, f := range findings {
			if f.Verdict.strictness() > want.Verdict.strictness() {
				t.Fatalf("%+v is stricter than the ruling %+v", f, want)
			}
			if f.Kind() == KindHold {
				holds = append(holds, f.Code())
			}
			if w := f.Until(); f.Kind() == KindWait && (!w.After(c.Now) || want.Kind() == KindWait && w.After(want.Until)) {
				t.Fatalf("%+v waits longer than the ruling %+v, or not at all", f, want)
			}
			if f.Code() != "" && !slices.Contains(codes, f.Code()) {
				t.Fatalf("the code %q of %s is not in Codes", f.Code(), f.Gate)
			}
			if s := f.Sentence(); s == "" || s == strings.ReplaceAll(f.Code(), "_", " ") {
				t.Fatalf("no sentence for %+v", f)
			}
			b, err := json.Marshal(f)
			if err != nil || strings.Contains(string(b), `\u0000`) || strings.Contains(string(b), "415") {
				t.Fatalf("the ledger cannot hold %s, %v", b, err)
			}
			var back Finding
			if err := json.Unmarshal(b, &back); err != nil || !reflect.DeepEqual(back, f) {
				t.Fatalf("%+v is read back as %+v, %v", f, back, err)
			}
		}
		slices.Sort(holds)
		if want.Kind() == KindHold && !slices.Equal(want.Holds, slices.Compact(holds)) {
			t.Fatalf("holds %v, want %v", want.Holds, holds)
		}
	})
}

// What Needs does not list need not be loaded: it changes nothing.
func TestNeeds(t *testing.T) {
	t.Parallel()
	few, many := law(t, usHours), law(t, strict)
	rapid.Check(t, func(t *rapid.T) {
		c, o := anyCase(t), anyOptions(t, nil, few, many)
		chain := Chain(o)
		want, findings := Judge(chain, c)

		n := o.Needs(&c)
		if n.Calls == 0 && !n.Talk {
			c.Calls = Fact[Calls]{}
		}
		if all := c.Calls.Value.At; len(all) > n.Calls {
			c.Calls.Value.At = all[:n.Calls]
		}
		if !n.Talk {
			c.Calls.Value.Talked = time.Time{}
		}
		if !n.CalledIn {
			c.CalledIn = Fact[*CalledIn]{}
		}
		if !n.Consent {
			c.Consent = Fact[*Consent]{}
		}
		if !n.LineCalls {
			c.Line.Calls = Fact[Spent]{}
		}
		if !n.TenantDay {
			c.TenantDay = Fact[Spent]{}
		}
		if !n.FleetMinute {
			c.FleetMinute = Fact[Spent]{}
		}
		if got, others := Judge(chain, c); !reflect.DeepEqual(got, want) || !reflect.DeepEqual(others, findings) {
			t.Fatalf("%+v\nwith all facts %+v", others, findings)
		}
	})
}
