package config_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"chasephone/config"
	"chasephone/internal/rules"
)

// write puts a file into a folder of the test's own.
func write(t *testing.T, name, content string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

const rulesOfOurOwn = `rules:
  - places: GB
    hours:
      Mon-Fri: 09:00-18:00
    source: our own
    dated: 2026-01-15
`

// readOn is when the files of these tests are read.
func readOn() config.Options {
	return config.Options{Today: time.Date(2026, 12, 15, 0, 0, 0, 0, time.UTC)}
}

func TestCallingRules(t *testing.T) {
	t.Parallel()
	own := write(t, "hours.yml", rulesOfOurOwn)
	for _, tt := range []struct {
		set         []string
		given       string
		rules       int
		hours, warn string
	}{
		{nil, "on", 14, "US FR AU CA", ""},
		{[]string{"GATE_CALLING_HOURS=on"}, "on", 14, "US FR AU CA", ""},
		{[]string{"GATE_CALLING_HOURS=On"}, "on", 14, "US FR AU CA", ""},
		{[]string{"GATE_CALLING_HOURS=off"}, "off", 0, "", "GATE_CALLING_HOURS is off"},
		{[]string{"GATE_CALLING_HOURS=" + own}, own, 1, "GB", ""},
		{[]string{"GATE_CALLING_HOURS=calling_hours.yaml"}, "calling_hours.yaml", 14, "US FR AU CA", ""},
		// What NAME_FILE holds is the value: a word or a path.
		{[]string{"GATE_CALLING_HOURS_FILE=" + write(t, "value", "off\n")}, "off", 0, "", "GATE_CALLING_HOURS is off"},
		{[]string{"GATE_CALLING_HOURS_FILE=" + write(t, "value", own+"\n")}, own, 1, "GB", ""},
	} {
		c := load(t, readOn(), append(tt.set, databaseURL)...)
		if c.Gates.CallingHours != tt.given || len(c.Gates.Rules.All()) != tt.rules || (c.Gates.Rules == nil) != (tt.rules == 0) {
			t.Errorf("%q: %q, %d rules", tt.set, c.Gates.CallingHours, len(c.Gates.Rules.All()))
		}
		for _, place := range []string{"US", "FR", "AU", "CA", "GB", "DE"} {
			if got, want := c.Gates.Rules.HasHours(place, rules.Requested), slices.Contains(strings.Fields(tt.hours), place); got != want {
				t.Errorf("%q: whether %s has hours: %t", tt.set, place, got)
			}
		}
		if got := strings.Join(c.Warnings(), "\n"); !strings.HasPrefix(got, tt.warn) || tt.warn == "" && got != "" {
			t.Errorf("%q: warnings %q", tt.set, got)
		}
	}
}

// shown is a path as a mistake shows it.
func shown(path string) string {
	if len(path) > 80 {
		return strconv.Quote(path[:80]) + "..."
	}
	return strconv.Quote(path)
}

// TestMistakesInRules: each is a line that names the variable, its value and the file's line.
func TestMistakesInRules(t *testing.T) {
	t.Parallel()
	bad := write(t, "hours.yaml", strings.NewReplacer("09:00-18:00", "25:00-26:00", "GB", "UK", "2026-01-15", "2026-12-17").Replace(rulesOfOurOwn))
	found := mistakes(t, readOn(), databaseURL, "GATE_CALLING_HOURS="+bad, "GATE_MIN_GAP=soon", "LOG_LEVEL=loud")
	want := fmt.Sprintf(`LOG_LEVEL is "loud": accepts debug, info, warn or error
GATE_CALLING_HOURS is %[1]s: line 2: "UK" is no place: write GB
GATE_CALLING_HOURS is %[1]s: line 4: calling hours "25:00-26:00": write them as 08:00-21:00
GATE_CALLING_HOURS is %[1]s: line 6: "2026-12-17" is in the future: write the day the source was read
GATE_MIN_GAP is "soon": accepts a duration from 0s to 720h in whole milliseconds, with its unit, such as 720h`, shown(bad))
	if got := found.Error(); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	value := write(t, "value", bad)
	for _, m := range mistakes(t, readOn(), databaseURL, "GATE_CALLING_HOURS_FILE="+value) {
		if m.Name != "GATE_CALLING_HOURS_FILE" || !strings.HasPrefix(m.Value, `a file that holds "`) || !strings.HasPrefix(m.Text, "line ") {
			t.Errorf("%s", m)
		}
	}
	for _, tt := range []struct{ path, want string }{
		{"./nowhere.yaml", "accepts on, off or a rules file that can be read: no such file or directory"},
		{t.TempDir(), "accepts on, off or a rules file that can be read: is a directory"},
		{write(t, "long.yaml", strings.Repeat("# long\n", 1<<18)), "accepts on, off or a rules file that can be read: it is longer than 1048576 bytes"},
		{write(t, "empty.yaml", ""), "line 1: the file is empty: write rules: and a list of them"},
		{write(t, "other.yaml", "DATABASE_URL=postgres://u:hunter2@h/db\n"), "line 1: the file is keys with values, and its keys are rules and about"},
	} {
		found := mistakes(t, readOn(), databaseURL, "GATE_CALLING_HOURS="+tt.path)
		if len(found) != 1 || found[0].Name != "GATE_CALLING_HOURS" || found[0].Text != tt.want {
			t.Errorf("%s: %v", tt.path, found)
		}
	}
}

// TestBuiltInRules: what is known of a few places, by purpose.
func TestBuiltInRules(t *testing.T) {
	t.Parallel()
	set, err := rules.Parse([]byte(config.BuiltInRules()), time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC))
	if err != nil {
		t.Fatal(err)
	}
	monday := time.Date(2026, 10, 5, 12, 0, 0, 0, time.UTC)
	sunday := monday.AddDate(0, 0, -1)
	for _, tt := range []struct{ place, purpose, monday, sunday string }{
		{"US-TX", rules.Requested, "08:00-21:00", "08:00-21:00"},
		{"PR", rules.Requested, "08:00-21:00", "08:00-21:00"},
		{"US-FL", rules.Requested, "08:00-20:00 & 08:00-21:00", "08:00-20:00 & 08:00-21:00"},
		{"US-CT", rules.Sales, "09:00-20:00 & 08:00-21:00", "09:00-20:00 & 08:00-21:00"},
		{"US-RI", rules.Requested, "09:00-18:00 & 08:00-21:00", "closed & 08:00-21:00"},
		{"US-UT", rules.Requested, "08:00-21:00 & 08:00-21:00", "closed & 08:00-21:00"},
		{"CA-ON", rules.Requested, "09:00-21:30", "10:00-18:00"},
		{"FR", rules.Requested, "10:00-13:00, 14:00-20:00", "closed"},
		{"AU", rules.Requested, "09:00-20:00", "closed"},
		{"DE", rules.Sales, "", ""},
		{"GB", rules.Requested, "", ""},
	} {
		var onMonday, onSunday []string
		for _, r := range set.For(tt.place, tt.purpose) {
			if r.Hours != nil {
				onMonday, onSunday = append(onMonday, r.Hours.On(monday)), append(onSunday, r.Hours.On(sunday))
			}
		}
		if m, s := strings.Join(onMonday, " & "), strings.Join(onSunday, " & "); m != tt.monday || s != tt.sunday {
			t.Errorf("%s: Monday %q, Sunday %q", tt.place, m, s)
		}
	}
	limits := func(place, purpose string) (all string) {
		for _, r := range set.For(place, purpose) {
			if r.Caps.Most() > 0 || r.AfterTalk > 0 || r.Consent {
				all += fmt.Sprint(r.Caps, r.AfterTalk, r.Consent, ";")
			}
		}
		return all
	}
	for _, tt := range []struct{ place, purpose, want string }{
		{"US-MD", rules.Requested, "{3 0 0} 0s false;"},
		{"US-MD", rules.Debt, "{3 0 0} 0s false;{0 7 0} 168h0m0s false;"},
		{"US-TX", rules.Requested, ""},
		{"GU", rules.Debt, "{0 7 0} 168h0m0s false;"},
		{"FR", rules.Requested, "{0 0 4} 0s false;"},
		{"DE", rules.Sales, "{0 0 0} 0s true;"},
		{"DE", rules.Requested, ""},
	} {
		if got := limits(tt.place, tt.purpose); got != tt.want {
			t.Errorf("%s, %s: %q, want %q", tt.place, tt.purpose, got, tt.want)
		}
	}
}

// Two processes judge alike where their settings are alike, wherever the rules were read from.
func TestGateSettings(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "hours.yaml")
	if err := os.WriteFile(file, []byte("# a comment of ours\n"+config.BuiltInRules()), 0o600); err != nil {
		t.Fatal(err)
	}
	load := func(more ...string) map[string]string {
		c, err := config.Load(append([]string{"DATABASE_URL=postgres://localhost/x"}, more...), config.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return c.Gates.Settings()
	}
	own := load()
	if got := load("GATE_CALLING_HOURS="+file, "GATE_MIN_GAP=0s", "GATE_COUNTRIES="); !maps.Equal(got, own) {
		t.Errorf("%v\n%v", got, own)
	}
	if got := load("GATE_MIN_GAP=60m"); got["GATE_MIN_GAP"] != "1h0m0s" {
		t.Errorf("%v", got)
	}
	if off := load("GATE_CALLING_HOURS=off")["GATE_CALLING_HOURS"]; off != "off" {
		t.Error(off)
	}
}

// A pipe that nobody writes to is told of, and hangs nothing.
func TestRulesFromASilentPipe(t *testing.T) {
	t.Parallel()
	pipe := filepath.Join(t.TempDir(), "hours.yaml")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skipf("no pipe can be made here: %v", err)
	}
	_, err := config.Load([]string{"DATABASE_URL=postgres://localhost/x", "GATE_CALLING_HOURS=" + pipe}, config.Options{})
	if err == nil || !strings.Contains(err.Error(), "GATE_CALLING_HOURS is") {
		t.Errorf("%v", err)
	}
}
