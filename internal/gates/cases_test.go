package gates_test

import (
	"testing"
	"time"

	"chasephone/config"
	"chasephone/internal/gates"
	"chasephone/internal/phone"
	"chasephone/internal/rules"
)

// Faults that others had in public, each standing for a kind, judged by the whole chain: by the
// rules that are built in, where they have the hours of the case.

func at(s string) time.Time {
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		panic(err)
	}
	return t
}

func builtIn(t testing.TB) *rules.Set { return parse(t, config.BuiltInRules()) }

func parse(t testing.TB, text string) *rules.Set {
	t.Helper()
	set, err := rules.Parse([]byte(text), time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// callTo is a call that nothing speaks against but the hour, to a number of any country.
func callTo(t testing.TB, number string) gates.Case {
	t.Helper()
	id, problem := phone.Parse(number, "US")
	if problem != "" {
		t.Fatal(problem)
	}
	return gates.Case{
		RetryAfter: time.Hour, Number: id, Countries: []string{id.Region}, Purpose: rules.Requested, Script: "You asked us to call.",
		Promised: at("2025-01-01T00:00:00Z"),
		Line:     gates.Line{Name: "default", Exists: true, Configured: true, Calls: gates.Known(gates.Spent{})},
		OptOut:   gates.Known[*gates.OptOut](nil), InCall: gates.Known[*gates.InCall](nil), Calls: gates.Known(gates.Calls{}),
		CalledIn: gates.Known[*gates.CalledIn](nil), Consent: gates.Known[*gates.Consent](nil),
		TenantDay: gates.Known(gates.Spent{}), FleetMinute: gates.Known(gates.Spent{}),
	}
}

// allowed checks whether a call passes at an instant, and if not, until when it waits and why.
func allowed(t *testing.T, set *rules.Set, c gates.Case, now string) {
	t.Helper()
	c.Now = at(now)
	if r, _ := gates.Judge(gates.Chain(gates.Options{Rules: set}), c); r.Kind() != gates.KindPass {
		t.Errorf("at %s: %s until %s (%s)", now, r.Kind(), r.Until, r.Sentence())
	}
}

func waits(t *testing.T, set *rules.Set, c gates.Case, now, until, code string) {
	t.Helper()
	c.Now = at(now)
	r, _ := gates.Judge(gates.Chain(gates.Options{Rules: set}), c)
	if r.Kind() != gates.KindWait || r.Code != code || !r.Until.Equal(at(until)) {
		t.Errorf("at %s: %s until %s (%s), want %s until %s", now, r.Kind(), r.Until, r.Sentence(), code, until)
	}
}

// verboice#276: a call that missed its span was made as soon as the span was over. Here the
// line's hour lands after closing: the hours are asked again, and they are the reason.
func TestCaseOnlyNotBeforeChecked(t *testing.T) {
	t.Parallel()
	set := parse(t, `{rules: [{places: US, hours: {Mon-Fri: "09:00-17:00"}, source: the tenant, dated: 2025-11-01}]}`)
	c := callTo(t, "+12125550123")
	c.Line.Stopped = true
	waits(t, set, c, "2026-10-06T20:30:00Z", "2026-10-06T21:30:00Z", gates.CodeLineNotReady) // 16:30: until 17:30
	waits(t, set, c, "2026-10-06T21:30:00Z", "2026-10-07T13:00:00Z", gates.CodeOutsideHours)
	c.Line.Stopped = false
	waits(t, set, c, "2026-10-06T21:30:00Z", "2026-10-07T13:00:00Z", gates.CodeOutsideHours)
	waits(t, set, c, "2026-10-09T21:30:00Z", "2026-10-12T13:00:00Z", gates.CodeOutsideHours) // on Friday until Monday
}

// beszel#1825: a window kept as an offset of some winter is an hour off each summer.
func TestCaseDSTWinterOffset(t *testing.T) {
	t.Parallel()
	set, c := builtIn(t), callTo(t, "+12125550123")
	allowed(t, set, c, "2026-07-01T00:30:00Z") // 20:30
	waits(t, set, c, "2026-07-01T01:30:00Z", "2026-07-01T12:00:00Z", gates.CodeOutsideHours)
	allowed(t, set, c, "2026-01-07T01:30:00Z") // 20:30
	waits(t, set, c, "2026-01-07T02:30:00Z", "2026-01-07T13:00:00Z", gates.CodeOutsideHours)
}

// assistant-relay#218: quiet hours over midnight ended at midnight.
func TestCaseWindowOverMidnight(t *testing.T) {
	t.Parallel()
	set, c := builtIn(t), callTo(t, "+12125550123")
	const morning = "2026-10-07T12:00:00Z"
	allowed(t, set, c, "2026-10-07T00:59:59Z") // 20:59:59
	waits(t, set, c, "2026-10-07T01:00:00Z", morning, gates.CodeOutsideHours)
	waits(t, set, c, "2026-10-07T04:30:00Z", morning, gates.CodeOutsideHours)
	waits(t, set, c, "2026-10-07T11:59:59Z", morning, gates.CodeOutsideHours)
	allowed(t, set, c, morning)
}

// clairvoyance#226: a window that was read in UTC; these zones are not whole hours away.
func TestCaseWindowInUTC(t *testing.T) {
	t.Parallel()
	set := parse(t, `{rules: [{places: [IN, CA], hours: {Mon-Sun: "09:00-20:00"}, source: the tenant, dated: 2025-11-01}]}`)
	india, newfoundland := callTo(t, "+919876543210"), callTo(t, "+17095550123")
	newfoundland.TimeZone = "America/St_Johns"
	waits(t, set, india, "2026-10-06T03:29:00Z", "2026-10-06T03:30:00Z", gates.CodeOutsideHours)
	allowed(t, set, india, "2026-10-06T03:30:00Z")
	waits(t, set, newfoundland, "2026-10-06T11:29:00Z", "2026-10-06T11:30:00Z", gates.CodeOutsideHours) // summer
	allowed(t, set, newfoundland, "2026-10-06T11:30:00Z")
	waits(t, set, newfoundland, "2026-01-06T12:29:00Z", "2026-01-06T12:30:00Z", gates.CodeOutsideHours)
	allowed(t, set, newfoundland, "2026-01-06T12:30:00Z")
}

// libphonenumber#991: one zone was taken for an area code that has two, or none for one that has forty.
func TestCaseAreaCodeSpansZones(t *testing.T) {
	t.Parallel()
	set := builtIn(t)
	nebraska := callTo(t, "+13085550123")
	waits(t, set, nebraska, "2026-10-06T13:30:00Z", "2026-10-06T14:00:00Z", gates.CodeOutsideHours) // 08:30 and 07:30
	allowed(t, set, nebraska, "2026-10-06T15:00:00Z")

	tollFree := callTo(t, "+18005550123")                                                           // from Guam to Newfoundland
	waits(t, set, tollFree, "2026-10-06T15:00:00Z", "2026-10-06T22:00:00Z", gates.CodeOutsideHours) // 08:00 in Guam
	allowed(t, set, tollFree, "2026-10-06T22:00:00Z")
	allowed(t, set, tollFree, "2026-10-06T23:29:59Z")
	waits(t, set, tollFree, "2026-10-06T23:30:00Z", "2026-10-07T22:00:00Z", gates.CodeOutsideHours) // 21:00 in Newfoundland

	none := nebraska
	none.Number.Zones = nil
	none.Now = at("2026-10-06T15:00:00Z")
	if r, _ := gates.Judge(gates.Chain(gates.Options{Rules: set}), none); r.Kind() != gates.KindHold || r.Code != gates.CodeTimeZoneUnknown {
		t.Errorf("no zone: %+v", r)
	}
}

// CFPB 2015-CFPB-0016: calls timed by the area code reached people elsewhere before 8 and after 21.
func TestCaseAddressVersusAreaCode(t *testing.T) {
	t.Parallel()
	set, c := builtIn(t), callTo(t, "+12125550123")
	c.Number.Zones = []string{"America/New_York", "America/Los_Angeles"}                     // the number's and the address's
	waits(t, set, c, "2026-10-06T12:30:00Z", "2026-10-06T15:00:00Z", gates.CodeOutsideHours) // 08:30 and 05:30
	waits(t, set, c, "2026-10-07T03:30:00Z", "2026-10-07T15:00:00Z", gates.CodeOutsideHours) // 23:30 and 20:30
	allowed(t, set, c, "2026-10-06T19:00:00Z")

	c.TimeZone = "America/Los_Angeles" // which the person confirmed
	allowed(t, set, c, "2026-10-07T03:30:00Z")
}

// VICIdial: a promised call back was dialed beyond the number's limit. The day rolls, and ends in
// half an hour.
func TestCaseCallbackBypassesAttemptCap(t *testing.T) {
	t.Parallel()
	set, c := builtIn(t), callTo(t, "+13055550123") // Miami: 19:00 is 23:00Z
	c.Calls = gates.Known(gates.Calls{At: []time.Time{
		at("2026-10-06T16:00:00Z"), at("2026-10-06T13:00:00Z"), at("2026-10-05T23:30:00Z"),
	}})
	waits(t, set, c, "2026-10-06T23:00:00Z", "2026-10-06T23:30:00Z", gates.CodeTooManyCalls)
	allowed(t, set, c, "2026-10-06T23:30:00Z")
	allowed(t, set, c, "2026-10-06T23:31:00Z")
	waits(t, set, c, "2026-10-07T00:00:00Z", "2026-10-07T12:00:00Z", gates.CodeOutsideHours) // 20:00 is closed in Florida
}

// France: twice a day, not on weekends nor holidays, and four calls in any 30 days.
func TestCaseFrance(t *testing.T) {
	t.Parallel()
	set, c := builtIn(t), callTo(t, "+33199001234")
	waits(t, set, c, "2026-10-06T07:59:59Z", "2026-10-06T08:00:00Z", gates.CodeOutsideHours) // Tuesday 09:59:59
	allowed(t, set, c, "2026-10-06T08:00:00Z")
	allowed(t, set, c, "2026-10-06T10:59:59Z")
	waits(t, set, c, "2026-10-06T11:00:00Z", "2026-10-06T12:00:00Z", gates.CodeOutsideHours) // 13:00
	allowed(t, set, c, "2026-10-06T12:00:00Z")
	waits(t, set, c, "2026-10-06T18:00:00Z", "2026-10-07T08:00:00Z", gates.CodeOutsideHours) // 20:00
	waits(t, set, c, "2026-10-09T18:00:00Z", "2026-10-12T08:00:00Z", gates.CodeOutsideHours) // on Friday until Monday
	waits(t, set, c, "2026-04-03T18:00:00Z", "2026-04-07T08:00:00Z", gates.CodeOutsideHours) // and over Easter Monday
	waits(t, set, c, "2026-07-14T10:00:00Z", "2026-07-15T08:00:00Z", gates.CodeOutsideHours) // the 14th of July

	fourth := at("2026-10-06T09:30:00Z") // 720 hours before a Thursday at 10:30, when summer is over
	c.Calls = gates.Known(gates.Calls{At: []time.Time{fourth.AddDate(0, 0, 20), fourth.AddDate(0, 0, 15), fourth.AddDate(0, 0, 10), fourth}})
	waits(t, set, c, "2026-11-05T09:29:59Z", "2026-11-05T09:30:00Z", gates.CodeTooManyCalls)
	allowed(t, set, c, "2026-11-05T09:30:00Z")
}
