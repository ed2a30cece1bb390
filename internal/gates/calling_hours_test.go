package gates

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"chasephone/internal/rules"
)

// hoursCase is a call at an instant to somebody in one of these zones.
func hoursCase(now string, zones ...string) func(*Case) {
	return func(c *Case) { c.Now, c.Number.Zones = at(now), zones }
}

func TestCallingHoursGate(t *testing.T) {
	closed := func(zone, local, until string, more ...string) Verdict {
		on := map[string]string{
			"zone": zone, "local": local, "window": "08:00-21:00", "zone_from": zoneFromNumber,
			"place": "US-NY", "purpose": "requested", "rule": "47 CFR 64.1200(c)(1)", "dated": "2025-11-01",
		}
		for i := 0; i+1 < len(more); i += 2 {
			on[more[i]] = more[i+1]
		}
		return Wait{Grounds{CodeOutsideHours, on}, at(until)}
	}
	open := func(zone, local string, more ...string) Verdict {
		w, _ := closed(zone, local, "2000-01-01T00:00:00Z", more...).(Wait)
		return Pass{Grounds{On: w.On}}
	}
	unknown := func(from, zone string) Verdict {
		on := map[string]string{"zone_from": from}
		if zone != "" {
			on["zone"] = zone
		}
		return Hold{Grounds{CodeTimeZoneUnknown, on}}
	}
	confirm := func(now, zone string) func(*Case) {
		return func(c *Case) { c.Now, c.TimeZone = at(now), zone }
	}
	approve := func(zone string, change ...func(*Case)) func(*Case) {
		return func(c *Case) {
			for _, f := range change {
				f(c)
			}
			c.Approval = yes(*c, CodeTimeZoneUnknown)
			c.Approval.TimeZone = zone
		}
	}
	const denver, newYork, chicago = "America/Denver", "America/New_York", "America/Chicago"

	testGate(t, callingHours(law(t, usHours), false), []gateTest{
		{"noon", nil, open(newYork, "12:00")},

		// Half-open, and closed over midnight.
		{"a moment before closing", hoursCase("2026-10-07T00:59:59.999999Z", newYork), open(newYork, "20:59")},
		{"closing", hoursCase("2026-10-07T01:00:00Z", newYork), closed(newYork, "21:00", "2026-10-07T12:00:00Z")},
		{"after midnight", hoursCase("2026-10-07T04:30:00Z", newYork), closed(newYork, "00:30", "2026-10-07T12:00:00Z")},
		{"a moment before opening", hoursCase("2026-10-07T11:59:59.999999Z", newYork), closed(newYork, "07:59", "2026-10-07T12:00:00Z")},
		{"opening", hoursCase("2026-10-07T12:00:00Z", newYork), open(newYork, "08:00")},

		// The wall's clock, not an offset kept from some winter.
		{"20:30 in summer", hoursCase("2026-07-01T00:30:00Z", newYork), open(newYork, "20:30")},
		{"21:30 in summer", hoursCase("2026-07-01T01:30:00Z", newYork), closed(newYork, "21:30", "2026-07-01T12:00:00Z")},
		{"20:30 in winter", hoursCase("2026-01-01T01:30:00Z", newYork), open(newYork, "20:30")},
		{"21:30 in winter", hoursCase("2026-01-01T02:30:00Z", newYork), closed(newYork, "21:30", "2026-01-01T13:00:00Z")},
		{"the night the clocks go forward", hoursCase("2026-03-08T05:00:00Z", newYork), closed(newYork, "00:00", "2026-03-08T12:00:00Z")},
		{"the night they go back", hoursCase("2026-11-01T04:00:00Z", newYork), closed(newYork, "00:00", "2026-11-01T13:00:00Z")},

		// Zones that are not whole hours away.
		{"India before", hoursCase("2026-10-06T02:29:00Z", "Asia/Kolkata"), closed("Asia/Kolkata", "07:59", "2026-10-06T02:30:00Z")},
		{"India", hoursCase("2026-10-06T02:30:00Z", "Asia/Kolkata"), open("Asia/Kolkata", "08:00")},
		{"Newfoundland before", hoursCase("2026-10-06T10:29:00Z", "America/St_Johns"), closed("America/St_Johns", "07:59", "2026-10-06T10:30:00Z")},
		{"Newfoundland", hoursCase("2026-10-06T10:30:00Z", "America/St_Johns"), open("America/St_Johns", "08:00")},
		{"Nepal", hoursCase("2026-10-06T02:14:00Z", "Asia/Kathmandu"), closed("Asia/Kathmandu", "07:59", "2026-10-06T02:15:00Z")},
		{"Arizona keeps no summer time", hoursCase("2026-07-01T14:30:00Z", "America/Phoenix"), closed("America/Phoenix", "07:30", "2026-07-01T15:00:00Z")},

		// Every candidate must be open.
		{"one of two is closed", hoursCase("2026-10-06T13:30:00Z", chicago, denver), closed(denver, "07:30", "2026-10-06T14:00:00Z", "zones", "2")},
		{"the other of two is closed", hoursCase("2026-10-07T02:30:00Z", chicago, denver), closed(chicago, "21:30", "2026-10-07T14:00:00Z", "zones", "2")},
		{"both are open", hoursCase("2026-10-06T15:00:00Z", chicago, denver), open(chicago, "10:00", "zones", "2")},
		{"never both", hoursCase("2026-10-06T15:00:00Z", "Pacific/Pitcairn", "Atlantic/Reykjavik", "Asia/Singapore"), Hold{
			Grounds{CodeNoCommonHours, map[string]string{
				"zones": "3", "window": "Mon-Sun 08:00-21:00", "zone_from": zoneFromNumber,
				"place": "US-NY", "purpose": "requested", "rule": "47 CFR 64.1200(c)(1)", "dated": "2025-11-01",
			}},
		}},

		// A confirmed zone counts alone.
		{"confirmed, open", confirm("2026-10-06T13:30:00Z", newYork), open(newYork, "09:30", "zone_from", zoneFromRow)},
		{"confirmed, closed", confirm("2026-10-06T13:30:00Z", denver), closed(denver, "07:30", "2026-10-06T14:00:00Z", "zone_from", zoneFromRow)},
		{"confirmed and not there", confirm("2026-10-06T16:00:00Z", "America/New York"), unknown(zoneFromRow, "America/New York")},
		{"confirmed in small letters", confirm("2026-10-06T16:00:00Z", "america/new_york"), unknown(zoneFromRow, "america/new_york")},
		{"confirmed as empty", func(c *Case) { c.TimeZoneGiven = true }, unknown(zoneFromRow, "")},
		{"the machine's", confirm("2026-10-06T16:00:00Z", "Local"), unknown(zoneFromRow, "Local")},
		{"the machine's file", confirm("2026-10-06T16:00:00Z", "localtime"), unknown(zoneFromRow, "localtime")},
		{"a path upwards", confirm("2026-10-06T16:00:00Z", "../../etc/localtime"), unknown(zoneFromRow, "../../etc/localtime")},
		{"a path upwards, later", confirm("2026-10-06T16:00:00Z", "America/../../etc"), unknown(zoneFromRow, "America/../../etc")},
		{"a path from the root", confirm("2026-10-06T16:00:00Z", "/etc/localtime"), unknown(zoneFromRow, "/etc/localtime")},
		{"a folder", confirm("2026-10-06T16:00:00Z", "America"), unknown(zoneFromRow, "America")},
		{"with leap seconds", confirm("2026-10-06T16:00:00Z", "right/America/New_York"), unknown(zoneFromRow, "right/America/New_York")},
		{"a telephone number", confirm("2026-10-06T16:00:00Z", "+1 212 555 0123"), unknown(zoneFromRow, "+#")},

		// The number's own zones.
		{"none", hoursCase("2026-10-06T16:00:00Z"), unknown(zoneFromNumber, "")},
		{"one of them unknown", hoursCase("2026-10-06T16:00:00Z", newYork, "Etc/Unknown"), unknown(zoneFromNumber, "Etc/Unknown")},
		{"one of them empty", hoursCase("2026-10-06T16:00:00Z", newYork, ""), unknown(zoneFromNumber, "")},

		// A zone that came with an approval.
		{"approved with a zone, open", approve(denver, hoursCase("2026-10-06T16:00:00Z")), open(denver, "10:00", "zone_from", zoneFromApproval)},
		{"approved with a zone, closed", approve(denver, hoursCase("2026-10-06T13:30:00Z")), closed(denver, "07:30", "2026-10-06T14:00:00Z", "zone_from", zoneFromApproval)},
		{"approved with a zone instead of a mistyped one", approve(denver, confirm("2026-10-06T16:00:00Z", "Denver")), open(denver, "10:00", "zone_from", zoneFromApproval)},
		{"what the person called confirmed comes first", approve(denver, confirm("2026-10-06T13:30:00Z", newYork)), open(newYork, "09:30", "zone_from", zoneFromRow)},
		{"approved with no known zone", approve("Denver", hoursCase("2026-10-06T16:00:00Z")), unknown(zoneFromNumber, "")},
		{"approved, then the line's URL changed", func(c *Case) {
			approve(denver, hoursCase("2026-10-06T16:00:00Z"))(c)
			c.Line.URL = "https://example.com/voice"
		}, unknown(zoneFromNumber, "")},

		{"no number", noNumber, Pass{Grounds{Code: CodeNoNumber}}},
	})
}

// Every rule binds that is for the place and the purpose: a state's beside the country's.
func TestCallingHoursByRule(t *testing.T) {
	const (
		federal = "47 CFR 64.1200(c)(1)"
		state   = "Md. 14-4502"
		trade   = "trade sources"
		debt    = "Reg F"
	)
	set := law(t, `
rules:
- {places: US, hours: {Mon-Sun: "08:00-21:00"}, source: `+federal+`, dated: 2025-11-01}
- {places: US-MD, hours: {Mon-Sun: "08:00-20:00"}, source: `+state+`, dated: 2025-11-02}
- {places: US-RI, hours: {Mon-Fri: "09:00-18:00", Sat: "10:00-17:00"}, holidays: us, source: `+trade+`, dated: 2025-11-03}
- {places: US-CO, hours: {Mon-Sun: "07:00-22:00"}, source: `+state+`, dated: 2025-11-02}
- {places: US-OH, purposes: debt, hours: {Mon-Sun: "10:00-11:00"}, source: `+debt+`, dated: 2025-11-04}
- {places: US-WY, caps: {24h: 1}, source: `+state+`, dated: 2025-11-02}
- {places: [US-AK, US-HI], hours: {Mon: "08:00-09:00"}, closed_on: [2026-10-05, 2026-10-12], source: `+trade+`, dated: 2025-11-03}
- {places: [DE, US-ME], consent: required, source: 7a UWG, dated: 2025-11-05}
`)
	call := func(now, place, purpose string) func(*Case) {
		return func(c *Case) {
			c.Now, c.Number.Place, c.Purpose = at(now), place, purpose
			c.Number.Zones = []string{"America/New_York"}
		}
	}
	on := func(local, window, place, purpose, rule, dated string) map[string]string {
		return map[string]string{
			"zone": "America/New_York", "zone_from": zoneFromNumber, "local": local, "window": window,
			"place": place, "purpose": purpose, "rule": rule, "dated": dated,
		}
	}
	wait := func(until string, on map[string]string) Verdict {
		return Wait{Grounds{CodeOutsideHours, on}, at(until)}
	}
	noRules := func(place, purpose string) Verdict {
		return Hold{Grounds{CodeNoRules, map[string]string{
			"place": place, "purpose": purpose, "zone": "America/New_York", "zone_from": zoneFromNumber, "local": "12:00",
		}}}
	}
	const noon = "2026-10-06T16:00:00Z" // a Tuesday
	testGate(t, callingHours(set, false), []gateTest{
		{"open by both", call(noon, "US-MD", "requested"), Pass{Grounds{On: on("12:00", "08:00-20:00", "US-MD", "requested", state, "2025-11-02")}}},
		{"closed by the state's only", call("2026-10-07T00:30:00Z", "US-MD", "requested"), wait("2026-10-07T12:00:00Z",
			on("20:30", "08:00-20:00", "US-MD", "requested", state, "2025-11-02"))},
		{"closed by both: the state's is said", call("2026-10-07T01:30:00Z", "US-MD", "requested"), wait("2026-10-07T12:00:00Z",
			on("21:30", "08:00-20:00", "US-MD", "requested", state, "2025-11-02"))},
		{"a state cannot allow what the country does not", call("2026-10-07T01:30:00Z", "US-CO", "requested"), wait("2026-10-07T12:00:00Z",
			on("21:30", "08:00-21:00", "US-CO", "requested", federal, "2025-11-01"))},
		{"a state without a rule", call(noon, "US-NY", "requested"), Pass{Grounds{On: on("12:00", "08:00-21:00", "US-NY", "requested", federal, "2025-11-01")}}},
		{"a state whose rule says nothing about hours", call(noon, "US-WY", "requested"), Pass{Grounds{
			On: on("12:00", "08:00-21:00", "US-WY", "requested", federal, "2025-11-01"),
		}}},
		{"no state", call(noon, "US", "requested"), Pass{Grounds{On: on("12:00", "08:00-21:00", "US", "requested", federal, "2025-11-01")}}},

		{"for another purpose", call(noon, "US-OH", "requested"), Pass{Grounds{On: on("12:00", "08:00-21:00", "US-OH", "requested", federal, "2025-11-01")}}},
		{"for this purpose", call(noon, "US-OH", "debt"), wait("2026-10-07T14:00:00Z", on("12:00", "10:00-11:00", "US-OH", "debt", debt, "2025-11-04"))},
		{"a purpose nobody knows is bound by every rule", call(noon, "US-OH", "survey"), wait("2026-10-07T14:00:00Z",
			on("12:00", "10:00-11:00", "US-OH", "survey", debt, "2025-11-04"))},
		{"and so is none", call(noon, "US-OH", ""), wait("2026-10-07T14:00:00Z", on("12:00", "10:00-11:00", "US-OH", "", debt, "2025-11-04"))},
		{"a purpose that is a telephone number", call(noon, "US", "+1 212 555 0123"), Pass{Grounds{
			On: on("12:00", "08:00-21:00", "US", "+#", federal, "2025-11-01"),
		}}},

		{"on Saturday evening until Monday", call("2026-10-17T21:00:00Z", "US-RI", "requested"), wait("2026-10-19T13:00:00Z",
			on("17:00", "10:00-17:00", "US-RI", "requested", trade, "2025-11-03"))},
		{"until Tuesday, where Monday is a holiday", call("2026-10-10T21:00:00Z", "US-RI", "requested"), wait("2026-10-13T13:00:00Z",
			on("17:00", "10:00-17:00", "US-RI", "requested", trade, "2025-11-03"))},
		{"on Sunday", call("2026-10-18T16:00:00Z", "US-RI", "requested"), wait("2026-10-19T13:00:00Z",
			on("12:00", "closed", "US-RI", "requested", trade, "2025-11-03"))},
		{"on Christmas", call("2026-12-25T17:00:00Z", "US-RI", "requested"), wait("2026-12-26T15:00:00Z",
			on("12:00", "closed (Christmas Day)", "US-RI", "requested", trade, "2025-11-03"))},
		{"no day within eight", call(noon, "US-AK", "requested"), Hold{Grounds{CodeNoCommonHours, map[string]string{
			"zones": "1", "zone_from": zoneFromNumber, "window": "Mon 08:00-09:00; not on 2 listed dates",
			"place": "US-AK", "purpose": "requested", "rule": trade, "dated": "2025-11-03",
		}}}},

		{"a place nobody has read up", call(noon, "BR", "requested"), noRules("BR", "requested")},
		{"a place of which only other rules are known", call(noon, "DE", "sales"), noRules("DE", "sales")},
		{"no place", call(noon, "", "requested"), noRules("none", "requested")},
		{"no zone either: that first", func(c *Case) {
			call(noon, "BR", "requested")(c)
			c.Number.Zones = nil
		}, Hold{Grounds{CodeTimeZoneUnknown, map[string]string{"zone_from": zoneFromNumber}}}},
	})
}

func TestWithoutRulesEveryCallIsHeld(t *testing.T) {
	testGate(t, callingHours(nil, false), []gateTest{
		{"noon", nil, Hold{Grounds{CodeNoRules, map[string]string{
			"place": "US-NY", "purpose": "requested", "zone": "America/New_York", "zone_from": zoneFromNumber, "local": "12:00",
		}}}},
		{"no number", noNumber, Pass{Grounds{Code: CodeNoNumber}}},
	})
}

// Whoever approves a call to a place that nobody has read up has not said that it may ring at night.
func TestApprovedWithoutRulesItIsRungByDay(t *testing.T) {
	approved := func(now string) func(*Case) {
		return func(c *Case) {
			c.Now = at(now)
			c.Approval = yes(*c, CodeNoRules)
		}
	}
	on := func(local string) map[string]string {
		return map[string]string{
			"place": "US-NY", "purpose": "requested", "zone": "America/New_York", "zone_from": zoneFromNumber, "local": local,
			"window": "08:00-21:00", "rule": "no rule is known here: by day only", "dated": "", "approved_by": "Ann", "approval": "7d9c",
		}
	}
	testGate(t, callingHours(nil, false), []gateTest{
		{"by day", approved("2026-10-06T16:00:00Z"), Pass{Grounds{CodeNoRules, on("12:00")}}},
		{"at night", approved("2026-10-06T05:00:00Z"), Wait{Grounds{CodeOutsideHours, on("01:00")}, at("2026-10-06T12:00:00Z")}},
		{"of other words", func(c *Case) {
			approved("2026-10-06T16:00:00Z")(c)
			c.Script = "Something else."
		}, Hold{Grounds{CodeNoRules, map[string]string{
			"place": "US-NY", "purpose": "requested", "zone": "America/New_York", "zone_from": zoneFromNumber, "local": "12:00",
		}}}},
	})
}

func TestCallingHoursOff(t *testing.T) {
	testGate(t, callingHours(nil, true), []gateTest{
		{"at night", hoursCase("2026-10-06T05:00:00Z", "America/New_York"), Pass{Grounds{Code: CodeHoursOff}}},
		{"where nobody has read up the rules", func(c *Case) { c.Number.Place = "BR" }, Pass{Grounds{Code: CodeHoursOff}}},
	})
}

// On the last day of a leap year package time takes the clocks to change before now (golang/go#81583),
// for years its data has only rules for: 2028 where the data is the built-in one. Whoever looks for
// the next change from there looks for ever, with locks held.
func TestTheLastDayOfALeapYear(t *testing.T) {
	t.Parallel()
	g := callingHours(law(t, usHours), false)
	for _, tt := range []struct{ now, until string }{
		{"2028-12-31T02:00:00Z", "2028-12-31T13:00:00Z"},
		{"2040-12-30T02:30:00Z", "2040-12-30T13:00:00Z"},
		{"2040-12-31T02:30:00Z", "2040-12-31T13:00:00Z"},
		{"2041-01-01T02:30:00Z", "2041-01-01T13:00:00Z"},
	} {
		c := good()
		hoursCase(tt.now, "America/New_York")(&c)
		verdict := make(chan Verdict, 1)
		go func() { verdict <- g.Judge(c) }()
		select {
		case v := <-verdict:
			if w, waits := v.(Wait); !waits || !w.Until.Equal(at(tt.until)) {
				t.Errorf("at %s: %#v", tt.now, v)
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("at %s: no verdict", tt.now)
		}
	}
}

// randomHours is a rule's hours, and whether they are open at a time of day on a date.
type randomHours struct {
	text string
	open func(time.Time) bool // by the clock of its location
}

// drawHours draws a weekly rule with up to two windows a day and days on which it is closed.
func drawHours(t *rapid.T, label string, near time.Time) randomHours {
	var week [7][][2]int // minutes
	var days []string
	for d := range week {
		if d > 0 && rapid.IntRange(0, 4).Draw(t, label+" as the day before") > 0 {
			week[d] = week[d-1]
		} else if rapid.IntRange(0, 5).Draw(t, label+" closed") > 0 {
			marks := rapid.SliceOfNDistinct(rapid.IntRange(0, 1440), 2, 4, rapid.ID).Draw(t, label)
			slices.Sort(marks)
			for ; len(marks) > 1; marks = marks[2:] {
				week[d] = append(week[d], [2]int{marks[0], marks[1]})
			}
		}
	}
	clock := func(m int) string { return fmt.Sprintf("%02d:%02d", m/60, m%60) }
	for d, windows := range week {
		texts := []string{}
		for _, w := range windows {
			texts = append(texts, clock(w[0])+"-"+clock(w[1]))
		}
		if len(texts) > 0 {
			days = append(days, time.Weekday(d).String()[:3]+`: "`+strings.Join(texts, ", ")+`"`)
		}
	}
	if len(days) == 0 {
		t.Skip("never open, which no rule is")
	}
	closedOn := map[string]bool{}
	for _, n := range rapid.SliceOfNDistinct(rapid.IntRange(-2, 10), 0, 3, rapid.ID).Draw(t, label+" closed on") {
		closedOn[near.AddDate(0, 0, n).Format(time.DateOnly)] = true
	}
	text := "hours: {" + strings.Join(days, ", ") + "}"
	if len(closedOn) > 0 {
		text += ", closed_on: [" + strings.Join(slices.Sorted(maps.Keys(closedOn)), ", ") + "]"
	}
	return randomHours{text, func(u time.Time) bool {
		h, m, _ := u.Clock()
		return !closedOn[u.Format(time.DateOnly)] && slices.ContainsFunc(week[u.Weekday()], func(w [2]int) bool {
			return w[0] <= h*60+m && h*60+m < w[1]
		})
	}}
}

// By brute force: a wait ends at an instant when every rule is open in every zone, and no whole
// minute before it is one. Every change of every zone's clock in use falls on a whole minute.
func TestWaitsEndAtTheEarliestCommonMinute(t *testing.T) {
	t.Parallel()
	names := []string{
		"America/New_York", "America/Los_Angeles", "America/Phoenix", "America/St_Johns", "America/Havana", "America/Sao_Paulo",
		"Asia/Kathmandu", "Asia/Kolkata", "Asia/Pyongyang", "Asia/Tehran", "Australia/Lord_Howe", "Australia/Adelaide",
		"Africa/Casablanca", "Europe/Dublin", "Europe/Paris", "Pacific/Apia", "Pacific/Chatham", "Pacific/Kiritimati",
		"Antarctica/Troll", "Etc/GMT+12",
	}
	// Instants near a change of some clock.
	changes := []string{
		"2026-03-08T07:00:00Z", "2026-11-01T06:00:00Z", "2026-10-03T15:30:00Z", "2027-04-03T15:00:00Z", "2026-03-29T01:00:00Z",
		"2011-12-30T10:00:00Z", "2015-08-14T15:30:00Z", "2018-05-04T15:00:00Z", "2026-02-15T02:00:00Z", "2018-11-04T03:00:00Z",
	}
	rapid.Check(t, func(t *rapid.T) {
		var now time.Time
		if rapid.Bool().Draw(t, "near a change") {
			now = at(rapid.SampledFrom(changes).Draw(t, "change")).Add(time.Duration(rapid.IntRange(-2000, 500).Draw(t, "minutes")) * time.Minute)
		} else {
			now = time.Unix(rapid.Int64Range(1_100_000_000, 2_300_000_000).Draw(t, "seconds"), 0).UTC()
		}
		now = now.Add(time.Duration(rapid.Int64Range(0, int64(time.Minute)).Draw(t, "nanoseconds")))
		all := []randomHours{drawHours(t, "country", now)}
		text := "rules:\n- {places: US, " + all[0].text + ", source: country, dated: 2025-11-01}\n"
		if rapid.Bool().Draw(t, "a state's rule") {
			all = append(all, drawHours(t, "state", now))
			text += "- {places: US-NY, " + all[1].text + ", source: state, dated: 2025-11-01}\n"
		}
		set, err := rules.Parse([]byte(text), time.Time{})
		if err != nil {
			t.Fatal(err)
		}

		c := good()
		c.Now = now
		c.Number.Zones = rapid.SliceOfNDistinct(rapid.SampledFrom(names), 1, 4, rapid.ID).Draw(t, "zones")
		var locs []*time.Location
		for _, name := range c.Number.Zones {
			loc, err := time.LoadLocation(name)
			if err != nil {
				t.Fatal(err)
			}
			locs = append(locs, loc)
		}
		open := func(u time.Time) bool {
			return !slices.ContainsFunc(locs, func(loc *time.Location) bool {
				return slices.ContainsFunc(all, func(h randomHours) bool { return !h.open(u.In(loc)) })
			})
		}
		limit := now.Add(commonWithin)
		earliest := now
		for !open(earliest) && earliest.Before(limit) {
			earliest = earliest.Truncate(time.Minute).Add(time.Minute)
		}
		found := earliest.Before(limit)

		switch v := callingHours(set, false).Judge(c).(type) {
		case Pass:
			if !open(now) {
				t.Fatalf("passes at %s", now)
			}
		case Wait:
			if !found || !v.Until.Equal(earliest) {
				t.Fatalf("at %s waits until %s, want %s (found %t)", now, v.Until, earliest, found)
			}
		case Hold:
			if v.Code != CodeNoCommonHours || found {
				t.Fatalf("at %s: %s, but %s is open", now, v.Code, earliest)
			}
		default:
			t.Fatalf("%#v", v)
		}
	})
}

// A mistyped zone is not kept, so rows cannot fill the memory with them.
func TestOnlyKnownZonesAreKept(t *testing.T) {
	t.Parallel()
	z := zones{loaded: map[string]*time.Location{}}
	for i := range 100 {
		if _, err := z.load(fmt.Sprintf("America/Nowhere%d", i)); err == nil {
			t.Fatal("loaded")
		}
	}
	for range 2 {
		if loc, err := z.load("Europe/Paris"); err != nil || loc.String() != "Europe/Paris" {
			t.Fatal(loc, err)
		}
	}
	if len(z.loaded) != 1 {
		t.Errorf("%d are kept", len(z.loaded))
	}
	for name, want := range map[string]bool{
		"Europe/Paris": true, "America/Argentina/Buenos_Aires": true, "America/Port-au-Prince": true, "Etc/GMT+5": true, "UTC": true,
		"": false, "Local": false, "Factory": false, "Etc/Unknown": false, "Europe": false, "Europe/": false, "europe/paris": false,
		"posix/Europe/Paris": false, "../Europe/Paris": false, "Europe/Paris ": false, "Europe/Paris\x00": false, "Z/" + strings.Repeat("A", 100): false,
	} {
		if got := KnownZone(name); got != want {
			t.Errorf("%q: known %t", name, got)
		}
	}
}
