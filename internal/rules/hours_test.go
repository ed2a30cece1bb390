package rules

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // a machine without zones must not turn these tests into ones of UTC

	"pgregory.net/rapid"
)

// parse reads a file that must be right.
func parse(t interface {
	Helper()
	Fatalf(format string, args ...any)
}, text string,
) *Set {
	t.Helper()
	s, err := Parse([]byte(text), today())
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return s
}

// withHours are the hours of a rule that has these lines.
func withHours(t *testing.T, lines ...string) *Hours {
	t.Helper()
	return parse(t, oneRule(lines...)).All()[0].Hours
}

// oneRule is a file with one rule that has these lines besides what every rule needs.
func oneRule(lines ...string) string {
	return "rules:\n  - places: US\n    source: x\n    dated: 2025-11-01\n    " + strings.Join(lines, "\n    ") + "\n"
}

func instant(s string) time.Time {
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		panic(err)
	}
	return t
}

func in(t testing.TB, zone string) *time.Location {
	t.Helper()
	loc, err := time.LoadLocation(zone)
	if err != nil {
		t.Fatal(err)
	}
	return loc
}

func TestOpen(t *testing.T) {
	t.Parallel()
	france := withHours(t, "hours: {Mon-Fri: '10:00-13:00, 14:00-20:00'}", "holidays: fr")
	rhodeIsland := withHours(t, "hours:", "  Mon-Fri: 09:00-18:00", "  Sat: 10:00-17:00", "holidays: us", "closed_on: [2026-08-10]")
	for _, tt := range []struct {
		h           *Hours
		zone, local string
		next        string // on the wall; "" is open now
		on          string
	}{
		// Half-open, twice a day.
		{france, "Europe/Paris", "2026-10-06 09:59:59.999999999", "2026-10-06 10:00", "10:00-13:00, 14:00-20:00"},
		{france, "Europe/Paris", "2026-10-06 10:00", "", "10:00-13:00, 14:00-20:00"},
		{france, "Europe/Paris", "2026-10-06 12:59:59.999999999", "", "10:00-13:00, 14:00-20:00"},
		{france, "Europe/Paris", "2026-10-06 13:00", "2026-10-06 14:00", "10:00-13:00, 14:00-20:00"},
		{france, "Europe/Paris", "2026-10-06 13:59:59", "2026-10-06 14:00", "10:00-13:00, 14:00-20:00"},
		{france, "Europe/Paris", "2026-10-06 14:00", "", "10:00-13:00, 14:00-20:00"},
		{france, "Europe/Paris", "2026-10-06 19:59:59.999999999", "", "10:00-13:00, 14:00-20:00"},
		{france, "Europe/Paris", "2026-10-06 20:00", "2026-10-07 10:00", "10:00-13:00, 14:00-20:00"},
		{france, "Europe/Paris", "2026-10-09 20:00", "2026-10-12 10:00", "10:00-13:00, 14:00-20:00"},
		{france, "Europe/Paris", "2026-10-11 11:00", "2026-10-12 10:00", "closed"},
		// Holidays: Bastille Day, Easter Monday, Christmas on a Friday, and one that is a Sunday.
		{france, "Europe/Paris", "2026-07-13 20:00", "2026-07-15 10:00", "10:00-13:00, 14:00-20:00"},
		{france, "Europe/Paris", "2026-07-14 11:00", "2026-07-15 10:00", "closed (Fête Nationale)"},
		{france, "Europe/Paris", "2026-04-03 20:00", "2026-04-07 10:00", "10:00-13:00, 14:00-20:00"},
		{france, "Europe/Paris", "2026-04-06 11:00", "2026-04-07 10:00", "closed (Lundi de Pâques)"},
		{france, "Europe/Paris", "2026-12-25 11:00", "2026-12-28 10:00", "closed (Noël)"},
		{france, "Europe/Paris", "2026-11-01 11:00", "2026-11-02 10:00", "closed"},
		// A holiday begins and ends by the clock of the person called.
		{france, "America/Guadeloupe", "2026-07-13 19:30", "", "10:00-13:00, 14:00-20:00"},
		{france, "Pacific/Noumea", "2026-07-15 10:00", "", "10:00-13:00, 14:00-20:00"},
		// Rhode Island: shorter on Saturday, none on Sunday, on holidays and on the day of its own.
		{rhodeIsland, "America/New_York", "2026-10-10 09:59", "2026-10-10 10:00", "10:00-17:00"},
		{rhodeIsland, "America/New_York", "2026-10-10 16:59:59", "", "10:00-17:00"},
		{rhodeIsland, "America/New_York", "2026-10-10 17:00", "2026-10-13 09:00", "10:00-17:00"}, // Monday is Columbus Day
		{rhodeIsland, "America/New_York", "2026-10-18 12:00", "2026-10-19 09:00", "closed"},
		{rhodeIsland, "America/New_York", "2026-07-02 18:00", "2026-07-06 09:00", "09:00-18:00"},
		{rhodeIsland, "America/New_York", "2026-07-03 12:00", "2026-07-06 09:00", "closed (Independence Day, observed)"},
		{rhodeIsland, "America/New_York", "2026-07-04 12:00", "2026-07-06 09:00", "closed (Independence Day)"},
		{rhodeIsland, "America/New_York", "2027-07-05 12:00", "2027-07-06 09:00", "closed (Independence Day, observed)"},
		{rhodeIsland, "America/New_York", "2021-12-31 12:00", "2022-01-03 09:00", "closed (New Year's Day, observed)"}, // of the next year
		{rhodeIsland, "America/New_York", "2026-08-10 12:00", "2026-08-11 09:00", "closed (a date the rule lists)"},
	} {
		t.Run(tt.zone+" "+tt.local, func(t *testing.T) {
			t.Parallel()
			now := onWall(t, tt.local, tt.zone)
			next, ok := tt.h.Next(now, now.AddDate(0, 0, 10))
			if want := tt.next; want == "" {
				if !tt.h.Open(now) || !ok || !next.Equal(now) {
					t.Errorf("open %t, next %s", tt.h.Open(now), next)
				}
			} else if tt.h.Open(now) || !ok || !next.Equal(onWall(t, want, tt.zone)) {
				t.Errorf("open %t, next %s, %t; want %s", tt.h.Open(now), next, ok, want)
			}
			if got := tt.h.On(now); got != tt.on {
				t.Errorf("on that day: %q, want %q", got, tt.on)
			}
		})
	}
}

func onWall(t *testing.T, s, zone string) time.Time {
	t.Helper()
	for _, layout := range []string{"2006-01-02 15:04", "2006-01-02 15:04:05"} {
		if at, err := time.ParseInLocation(layout, s, in(t, zone)); err == nil {
			return at
		}
	}
	t.Fatalf("%q is no time", s)
	return time.Time{}
}

func TestNextIsBeforeTheLimit(t *testing.T) {
	t.Parallel()
	h := withHours(t, "hours: {Mon: '09:00-10:00'}")
	now, opening := instant("2026-10-06T12:00:00Z"), instant("2026-10-12T09:00:00Z")
	for _, tt := range []struct {
		from, limit time.Time
		ok          bool
	}{
		{now, opening, false},
		{now, opening.Add(1), true},
		{now, opening.In(in(t, "Asia/Tokyo")).Add(time.Hour), true},
		{opening, opening, false},
		{opening, opening.Add(1), true},
		{opening, opening.Add(-1), false},
		{now, time.Time{}, false},
	} {
		if next, ok := h.Next(tt.from, tt.limit); ok != tt.ok || ok && (!next.Equal(opening) || next.Location() != time.UTC) {
			t.Errorf("from %s before %s: %s, %t", tt.from, tt.limit, next, ok)
		}
	}
	if next, ok := (&Hours{}).Next(now, now.AddDate(50, 0, 0)); ok {
		t.Errorf("hours that are never open are at %s", next)
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
			h := withHours(t, "hours: {Mon-Sun: '"+tt.window+"'}")
			from := instant(tt.from).In(in(t, tt.zone))
			if got, ok := h.Next(from, from.AddDate(0, 0, 8)); !ok || !got.Equal(instant(tt.want)) || got.Location() != from.Location() {
				t.Errorf("%s, want %s (%s)", got.UTC(), tt.want, instant(tt.want).In(from.Location()))
			}
		})
	}
	// A day of the week that a zone skipped: Samoa had no Friday 2011-12-30.
	h := withHours(t, "hours: {Fri: '08:00-21:00'}")
	from := instant("2011-12-29T12:00:00Z").In(in(t, "Pacific/Apia"))
	if got, ok := h.Next(from, from.AddDate(0, 0, 20)); !ok || got.Format(time.DateOnly) != "2012-01-06" {
		t.Errorf("the Friday after: %s", got)
	}
}

// By brute force: Next is an open instant, and no whole minute before it is one. Every change of
// every zone's clock in use falls on a whole minute.
func TestNextIsTheEarliestOpenMinute(t *testing.T) {
	t.Parallel()
	zones := []string{
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
		week, text := drawWeek(t)
		zone := rapid.SampledFrom(zones).Draw(t, "zone")
		loc, err := time.LoadLocation(zone)
		if err != nil {
			t.Fatal(err)
		}
		now := time.Unix(rapid.Int64Range(1_100_000_000, 2_300_000_000).Draw(t, "seconds"), 0)
		if rapid.Bool().Draw(t, "near a change") {
			now = instant(rapid.SampledFrom(changes).Draw(t, "change")).Add(time.Duration(rapid.IntRange(-3000, 500).Draw(t, "minutes")) * time.Minute)
		}
		now = now.Add(time.Duration(rapid.Int64Range(0, int64(time.Minute)).Draw(t, "nanoseconds"))).In(loc)
		limit := now.Add(time.Duration(rapid.IntRange(0, 9*24*60).Draw(t, "until")) * time.Minute)
		off := now.AddDate(0, 0, rapid.IntRange(0, 3).Draw(t, "closed on day")).Format(time.DateOnly)
		h := parse(t, oneRule("hours:"+text, "closed_on: "+off)).All()[0].Hours

		open := func(u time.Time) bool {
			u = u.In(loc)
			minute := u.Hour()*60 + u.Minute()
			return u.Format(time.DateOnly) != off && slices.ContainsFunc(week[u.Weekday()], func(w [2]int) bool {
				return w[0] <= minute && minute < w[1]
			})
		}
		earliest := now
		for !open(earliest) && earliest.Before(limit) {
			earliest = earliest.Truncate(time.Minute).Add(time.Minute)
		}
		next, found := h.Next(now, limit)
		if want := earliest.Before(limit); found != want || found && !next.Equal(earliest) {
			t.Fatalf("from %s: %s, %t; want %s, %t\n%s", now, next, found, earliest, want, h)
		}
		if h.Open(now) != open(now) {
			t.Fatalf("at %s: open %t", now, h.Open(now))
		}
	})
}

// drawWeek is hours of a week, in minutes, and the lines that say the same.
func drawWeek(t *rapid.T) (week [7][][2]int, text string) {
	days := rapid.SliceOfNDistinct(rapid.IntRange(0, 6), 1, 7, rapid.ID).Draw(t, "days")
	for _, d := range days {
		edges := rapid.SliceOfNDistinct(rapid.IntRange(0, 1440), 2, 6, rapid.ID).Draw(t, "edges")
		slices.Sort(edges)
		var windows []string
		for i := 0; i+1 < len(edges); i += 2 {
			week[d] = append(week[d], [2]int{edges[i], edges[i+1]})
			windows = append(windows, fmt.Sprintf("%02d:%02d-%02d:%02d", edges[i]/60, edges[i]%60, edges[i+1]/60, edges[i+1]%60))
		}
		text += "\n      " + shortName(time.Weekday(d)) + ": " + strings.Join(windows, ", ")
	}
	return week, text
}

func TestHoursInWords(t *testing.T) {
	t.Parallel()
	for want, lines := range map[string][]string{
		"Mon-Fri 10:00-13:00, 14:00-20:00; not on holidays of fr": {"hours: {Mon-Fri: '10:00-13:00, 14:00-20:00'}", "holidays: fr"},
		"Mon-Sun 08:00-21:00": {"hours: {Mon-Sun: '08:00-21:00'}"},
		"Mon-Fri 09:00-18:00; Sat 10:00-17:00; not on 2026-08-10": {"hours: {Sat: '10:00-17:00', Mon-Fri: '09:00-18:00'}", "closed_on: 2026-08-10"},
		"Mon 09:00-18:00; Wed-Thu 09:00-18:00; not on holidays of us; not on 2 listed dates": {
			"hours: {'mon, WED,Thu': '09:00-18:00', Sun: closed}", "holidays: us", "closed_on: [2026-08-10, 2025-12-24]",
		},
	} {
		if got := withHours(t, lines...).String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := (&Hours{}).String(); got != "closed" {
		t.Errorf("no hours at all are %q", got)
	}
}

// TestNextIsCheap: it is asked for every rule, zone and row.
func TestNextIsCheap(t *testing.T) {
	h := withHours(t, "hours: {Mon-Fri: '10:00-13:00, 14:00-20:00'}", "holidays: fr")
	open, closed := onWall(t, "2026-10-06 14:00", "Europe/Paris"), onWall(t, "2026-10-09 20:00", "Europe/Paris")
	for what, now := range map[string]time.Time{"open": open, "closed": closed} {
		limit := now.AddDate(0, 0, 8)
		if n := testing.AllocsPerRun(100, func() { h.Next(now, limit) }); n != 0 {
			t.Errorf("%s: %v allocations", what, n)
		}
	}
}

func BenchmarkNext(b *testing.B) {
	s, err := Parse([]byte(oneRule("hours: {Mon-Fri: '10:00-13:00, 14:00-20:00'}", "holidays: fr")), time.Time{})
	if err != nil {
		b.Fatal(err)
	}
	h, paris := s.All()[0].Hours, in(b, "Europe/Paris")
	for what, now := range map[string]time.Time{
		"open": time.Date(2026, 10, 6, 15, 0, 0, 0, paris), "a weekend away": time.Date(2026, 10, 9, 20, 0, 0, 0, paris),
	} {
		limit := now.AddDate(0, 0, 8)
		b.Run(what, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				h.Next(now, limit)
			}
		})
	}
}
