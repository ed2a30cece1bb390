package gates

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"chasephone/internal/phone"
)

// hoursCase is a call at an instant to somebody in one of these zones.
func hoursCase(now string, zones ...string) func(*Case) {
	return func(c *Case) { c.Now, c.Number.Zones = at(now), zones }
}

func TestCallingHoursGate(t *testing.T) {
	closed := func(zone, local, until string, more ...string) Verdict {
		on := map[string]string{"zone": zone, "local": local, "window": "08:00-21:00", "zone_from": zoneFromNumber}
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

	testGate(t, callingHours(Window{}, false), []gateTest{
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
			Grounds{CodeNoCommonHours, map[string]string{"zones": "3", "window": "08:00-21:00", "zone_from": zoneFromNumber}},
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

func TestCallingHoursOff(t *testing.T) {
	testGate(t, callingHours(Window{}, true), []gateTest{
		{"at night", hoursCase("2026-10-06T05:00:00Z", "America/New_York"), Pass{Grounds{Code: CodeHoursOff}}},
	})
}

// A toll-free number has some forty zones, from Guam to Newfoundland: what they have in common is short.
func TestTollFreeIsRungInTheCommonHoursOnly(t *testing.T) {
	t.Parallel()
	c := good()
	c.Number, _ = phone.Parse("+1 800 555 0123", "US")
	c.Now = at("2026-10-06T15:00:00Z")
	w, waits := callingHours(Window{}, false).Judge(c).(Wait)
	if !waits || !w.Until.Equal(at("2026-10-06T22:00:00Z")) { // 08:00 in Guam, 19:30 in Newfoundland
		t.Errorf("%+v", w)
	}
	c.Now = at("2026-10-06T23:30:00Z") // 21:00 in Newfoundland
	if w, waits = callingHours(Window{}, false).Judge(c).(Wait); !waits || !w.Until.Equal(at("2026-10-07T22:00:00Z")) {
		t.Errorf("%+v", w)
	}
}

func TestNextOpeningAcrossAChangeOfTheClocks(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, window, zone, from, want string }{
		{"the opening is skipped: open when the clocks jump over it", "02:30-05:00", "America/New_York", "2026-03-08T05:00:00Z", "2026-03-08T07:00:00Z"},
		{"the whole window is skipped: the next day's", "02:10-02:50", "America/New_York", "2026-03-08T05:00:00Z", "2026-03-09T06:10:00Z"},
		{"the opening comes twice: the first", "01:30-05:00", "America/New_York", "2026-11-01T04:00:00Z", "2026-11-01T05:30:00Z"},
		{"the window comes twice: the second", "01:10-01:20", "America/New_York", "2026-11-01T05:20:00Z", "2026-11-01T06:10:00Z"},
		{"the clocks go back at the opening: an hour later", "02:00-05:00", "America/New_York", "2026-11-01T05:00:00Z", "2026-11-01T07:00:00Z"},
		{"the clocks go forward to the opening", "03:00-05:00", "America/New_York", "2026-03-08T06:00:00Z", "2026-03-08T07:00:00Z"},
		{"half an hour forward", "02:15-05:00", "Australia/Lord_Howe", "2026-10-03T14:00:00Z", "2026-10-03T15:30:00Z"},
		{"no midnight that day", "00:15-05:00", "America/Havana", "2026-03-08T04:00:00Z", "2026-03-08T05:00:00Z"},
		{"no such day at all", "08:00-21:00", "Pacific/Apia", "2011-12-30T09:00:00Z", "2011-12-30T18:00:00Z"},
		{"until midnight", "08:00-24:00", "Europe/Paris", "2026-10-06T22:00:00Z", "2026-10-07T06:00:00Z"},
		{"from midnight", "00:00-24:00", "Europe/Paris", "2026-10-06T22:00:00Z", "2026-10-06T22:00:00Z"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w, err := ParseWindow(tt.window)
			if err != nil {
				t.Fatal(err)
			}
			z := zones{loaded: map[string]*time.Location{}}
			loc, err := z.load(tt.zone)
			if err != nil {
				t.Fatal(err)
			}
			if got := w.next(at(tt.from).In(loc)); !got.Equal(at(tt.want)) {
				t.Errorf("%s, want %s (%s)", got.UTC(), tt.want, at(tt.want).In(loc))
			}
		})
	}
}

func TestWindows(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{
		"", "08:00", "08:00-", "-21:00", "08:00-08:00", "00:00-00:00", "24:00-24:00", "21:00-08:00", "08:00-24:01",
		"25:00-26:00", "8-21", "08:00-21:60", "08:00–21:00", "08:00-21:00-22:00", "always",
	} {
		if w, err := ParseWindow(bad); err == nil {
			t.Errorf("%q is the window %s", bad, w)
		}
	}
	for _, good := range []string{"08:00-21:00", "00:00-24:00", "09:30-20:15", "00:00-00:01", "23:59-24:00"} {
		if w, err := ParseWindow(good); err != nil || w.String() != good {
			t.Errorf("%q is %s, %v", good, w, err)
		}
	}
	for _, bad := range [][2]time.Duration{{0, 0}, {-time.Hour, time.Hour}, {time.Hour, 25 * time.Hour}, {time.Second, time.Hour}} {
		if w, err := NewWindow(bad[0], bad[1]); err == nil {
			t.Errorf("%v is the window %s", bad, w)
		}
	}
	if got := (Window{}).String(); got != "08:00-21:00" {
		t.Errorf("the default is %s", got)
	}
}

// By brute force: a wait ends at an instant when all zones are open, and no whole minute before
// it is one. Every change of every zone's clock in use falls on a whole minute.
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
		opens := rapid.IntRange(0, 1439).Draw(t, "opens")
		closes := rapid.IntRange(opens+1, 1440).Draw(t, "closes")
		w, err := NewWindow(time.Duration(opens)*time.Minute, time.Duration(closes)*time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		var now time.Time
		if rapid.Bool().Draw(t, "near a change") {
			now = at(rapid.SampledFrom(changes).Draw(t, "change")).Add(time.Duration(rapid.IntRange(-2000, 500).Draw(t, "minutes")) * time.Minute)
		} else {
			now = time.Unix(rapid.Int64Range(1_100_000_000, 2_300_000_000).Draw(t, "seconds"), 0).UTC()
		}
		now = now.Add(time.Duration(rapid.Int64Range(0, int64(time.Minute)).Draw(t, "nanoseconds")))

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
				h, m, _ := u.In(loc).Clock()
				minute := h*60 + m
				return minute < opens || minute >= closes
			})
		}
		earliest := now
		for !open(earliest) && earliest.Before(now.Add(commonWithin)) {
			earliest = earliest.Truncate(time.Minute).Add(time.Minute)
		}
		found := open(earliest) && !earliest.After(now.Add(commonWithin))

		switch v := callingHours(w, false).Judge(c).(type) {
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
