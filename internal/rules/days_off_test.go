package rules

import (
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// printDaysOff makes this test binary print every day off and end.
const printDaysOff = "RULES_TEST_PRINTS_DAYS_OFF"

func TestMain(m *testing.M) {
	if os.Getenv(printDaysOff) != "" {
		writeDaysOff(os.Stdout)
		return
	}
	os.Exit(m.Run())
}

// writeDaysOff tells the machine's zone first, then all days off of all calendars.
func writeDaysOff(w io.Writer) {
	_, winter := time.Date(2026, 1, 1, 0, 0, 0, 0, time.Local).Zone()
	_, summer := time.Date(2026, 7, 1, 0, 0, 0, 0, time.Local).Zone()
	_, _ = fmt.Fprintln(w, winter, summer)
	known := calendars()
	for _, name := range slices.Sorted(maps.Keys(known)) {
		d := &daysOff{holidays: known[name]}
		for year := 2000; year <= 2045; year++ {
			for _, line := range slices.Sorted(maps.Keys(printed(d.of(year)))) {
				_, _ = fmt.Fprintln(w, name, line)
			}
		}
	}
}

func printed(y *yearOff) map[string]bool {
	lines := map[string]bool{}
	for on, why := range y.why {
		lines[fmt.Sprintf("%d-%02d-%02d %s", y.year, on.month, on.day, why)] = true
	}
	return lines
}

// TestDaysOffWhateverTheMachinesZone: among the zones are those without a midnight on some days.
func TestDaysOffWhateverTheMachinesZone(t *testing.T) {
	t.Parallel()
	var want strings.Builder
	writeDaysOff(&want)
	_, wanted, _ := strings.Cut(want.String(), "\n")
	for _, zone := range []string{
		"UTC", "America/Havana", "Asia/Kolkata", "Pacific/Apia", "America/Sao_Paulo", "America/Santiago", "America/Asuncion",
		"Asia/Beirut", "Africa/Cairo", "Africa/Casablanca", "Asia/Tehran", "Australia/Lord_Howe", "Pacific/Kiritimati", "Etc/GMT+12",
	} {
		t.Run(zone, func(t *testing.T) {
			t.Parallel()
			loc := in(t, zone)
			cmd := exec.CommandContext(t.Context(), os.Args[0])
			cmd.Env = []string{printDaysOff + "=1", "TZ=" + zone, "GORACE=atexit_sleep_ms=0"}
			out, err := cmd.Output()
			if err != nil {
				t.Fatal(err)
			}
			first, got, _ := strings.Cut(string(out), "\n")
			_, winter := time.Date(2026, 1, 1, 0, 0, 0, 0, loc).Zone()
			_, summer := time.Date(2026, 7, 1, 0, 0, 0, 0, loc).Zone()
			if first != fmt.Sprint(winter, " ", summer) {
				t.Fatalf("the process was in a zone with %s", first)
			}
			if got != wanted {
				t.Errorf("other days off than here: %s", firstDifference(got, wanted))
			}
		})
	}
}

func firstDifference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			return fmt.Sprintf("%q, not %q", g[i], w[i])
		}
	}
	return fmt.Sprintf("%d, not %d", len(g), len(w))
}

func TestHolidays(t *testing.T) {
	t.Parallel()
	known := calendars()
	for _, tt := range []struct {
		calendar, date, why string
	}{
		{"us", "2026-11-26", "Thanksgiving Day"},
		{"us", "2026-11-27", ""},
		{"us", "2023-11-10", "Veterans Day, observed"},
		{"us", "2020-06-19", ""}, // before it was one
		{"fr", "2026-05-14", "Ascension"},
		{"ca", "2026-07-01", "Canada Day"},
		{"gb", "2023-05-08", "Coronation of King Charles III"},
		{"gb", "2026-05-08", ""}, // once
		{"de", "2026-10-03", "Tag der Deutschen Einheit"},
		{"it", "2025-10-04", ""},
		{"it", "2027-10-04", "San Francesco"},
		{"jp", "2026-09-22", "National holiday between Respect for the Aged Day and Autumnal Equinox Day"},
		// Australia: common to all states, in lieu of a weekend too.
		{"au", "2027-01-01", "New Year's Day"},
		{"au", "2026-01-26", "Australia Day"},
		{"au", "2026-04-03", "Good Friday"},
		{"au", "2026-04-06", "Easter Monday"},
		{"au", "2026-04-25", "ANZAC Day"},
		{"au", "2026-04-27", ""}, // in some states only
		{"au", "2027-12-25", "Christmas Day"},
		{"au", "2027-12-27", "Christmas Day, observed"},
		{"au", "2027-12-28", "Boxing Day, observed"},
		{"au", "2026-06-08", ""}, // the King's birthday, in most states
	} {
		on, err := time.Parse(time.DateOnly, tt.date)
		if err != nil {
			t.Fatal(err)
		}
		if why, off := (&daysOff{holidays: known[tt.calendar]}).on(on); why != tt.why || off != (tt.why != "") {
			t.Errorf("%s %s: %q, want %q", tt.calendar, tt.date, why, tt.why)
		}
	}
	for name, holidays := range known {
		if len(holidays) < 7 || strings.ToLower(name) != name {
			t.Errorf("%s has %d holidays", name, len(holidays))
		}
	}
}

// TestYearsAreSharedSafely: many goroutines, more years than are kept, two sets of one calendar.
func TestYearsAreSharedSafely(t *testing.T) {
	t.Parallel()
	known := calendars()
	sets := []*daysOff{{holidays: known["jp"]}, {holidays: known["jp"]}}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for year := 2020; year < 2060; year++ {
				for _, d := range sets {
					if _, off := d.on(time.Date(year, 11, 3, 0, 0, 0, 0, time.UTC)); !off {
						t.Errorf("Culture Day of %d is no holiday", year)
					}
				}
			}
		})
	}
	wg.Wait()
}
