package gates_test

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"chasephone/internal/gates"
)

// asHost says, in the environment, that this binary was started again to print its rulings.
const asHost = "CHASEPHONE_TEST_RULINGS"

// rulings are what the gates say of calls to many zones, in summer and winter and at the changes of
// the clocks, and of every day of two years where holidays count.
func rulings(t testing.TB) []string {
	t.Helper()
	set := builtIn(t)
	chain := gates.Chain(gates.Options{Rules: set})
	var all []string
	judge := func(c gates.Case, now time.Time) {
		c.Now = now
		r, findings := gates.Judge(chain, c)
		hours := findings[slices.IndexFunc(findings, func(f gates.Finding) bool { return f.Gate == gates.GateCallingHours })]
		all = append(all, fmt.Sprintf("%s %s %s %s %s: %s",
			c.Number.Place, c.TimeZone, now.Format(time.RFC3339), r.Kind(), r.Until.UTC().Format(time.RFC3339), hours.Sentence()))
	}

	var weeks []time.Time // from shortly before a change of some clock, or far from any
	for _, s := range []string{
		"2026-01-05T00:00:00Z", "2026-03-07T00:00:00Z", "2026-03-28T00:00:00Z", "2026-04-04T00:00:00Z", "2026-07-01T00:00:00Z",
		"2026-10-03T00:00:00Z", "2026-10-24T00:00:00Z", "2026-10-31T00:00:00Z", "2026-12-30T00:00:00Z",
	} {
		weeks = append(weeks, at(s))
	}
	for _, one := range []struct{ number, zone string }{
		{"+12125550123", ""},
		{"+13085550123", ""},
		{"+18005550123", ""},
		{"+17095550123", "America/St_Johns"},
		{"+12125550123", "Asia/Kolkata"},
		{"+12125550123", "America/Havana"},
		{"+12125550123", "Australia/Lord_Howe"},
		{"+12125550123", "Pacific/Apia"},
		{"+33199001234", ""},
	} {
		c := callTo(t, one.number)
		c.TimeZone = one.zone
		for _, week := range weeks {
			for now := week; now.Before(week.Add(60 * time.Hour)); now = now.Add(90 * time.Minute) {
				judge(c, now)
			}
		}
	}
	for _, number := range []string{"+33199001234", "+14015550123", "+61212345678"} { // France, Rhode Island, Australia
		c := callTo(t, number)
		for now := at("2026-01-01T03:30:00Z"); now.Year() < 2028; now = now.Add(12 * time.Hour) {
			judge(c, now)
		}
	}
	return all
}

const rulingPrefix = "ruling: "

// TestRulingsOfThisHost prints them, where it was asked to.
func TestRulingsOfThisHost(t *testing.T) {
	if os.Getenv(asHost) == "" {
		t.Skip("the other tests of this file start it")
	}
	for _, one := range rulings(t) {
		fmt.Println(rulingPrefix + one)
	}
}

// startAgain is this test binary, about to run one test with an environment of its own.
func startAgain(t *testing.T, test string, env ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+test+"$", "-test.count=1")
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "TZ=") || strings.HasPrefix(v, "ZONEINFO=")
	}), env...)
	return cmd
}

// sameRulings compares what was printed with the rulings of this process.
func sameRulings(t *testing.T, host, printed string) {
	t.Helper()
	var got []string
	for line := range strings.Lines(printed) {
		if one, is := strings.CutPrefix(strings.TrimRight(line, "\n"), rulingPrefix); is {
			got = append(got, one)
		}
	}
	want := rulings(t)
	if len(got) != len(want) {
		t.Fatalf("%s: %d rulings, want %d\n%s", host, len(got), len(want), printed)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("%s: %q\nhere %q", host, got[i], want[i])
		}
	}
}

// Where the machine stands decides nothing: not the hours, not the holidays.
func TestRulingsUnderAnyZoneOfTheHost(t *testing.T) {
	t.Parallel()
	for _, zone := range []string{"UTC", "America/Havana", "Asia/Kolkata", "Pacific/Apia"} {
		t.Run(zone, func(t *testing.T) {
			t.Parallel()
			out, err := startAgain(t, "TestRulingsOfThisHost", asHost+"=1", "TZ="+zone).CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			sameRulings(t, zone, string(out))
		})
	}
}
