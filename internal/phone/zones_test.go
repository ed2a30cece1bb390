package phone

import (
	"fmt"
	"slices"
	"testing"
	"time"
	_ "time/tzdata" // what is tested must not depend on the machine's own

	"github.com/nyaruka/phonenumbers"
)

func TestZonesOf(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		e164 string
		want []string
	}{
		{"+14155550123", []string{"America/Los_Angeles"}},
		{"+12125550123", []string{"America/New_York"}},
		{"+16025550123", []string{"America/Phoenix"}},
		{"+13085550123", []string{"America/Chicago", "America/Denver"}},
		{"+12085550123", []string{"America/Boise", "America/Los_Angeles"}},
		// What the library's exchanges do not tell: Creighton, Saskatchewan; Cody, Nebraska; Phenix
		// City, Alabama; and the overlays of these and of eastern Tennessee.
		{"+13065550123", []string{"America/Edmonton", "America/Regina", "America/Winnipeg"}},
		{"+14745550123", []string{"America/Edmonton", "America/Regina", "America/Winnipeg"}},
		{"+16395550123", []string{"America/Edmonton", "America/Regina", "America/Winnipeg"}},
		{"+14025550123", []string{"America/Chicago", "America/Denver"}},
		{"+15315550123", []string{"America/Chicago", "America/Denver"}},
		{"+13345550123", []string{"America/Chicago", "America/New_York"}},
		{"+14835550123", []string{"America/Chicago", "America/New_York"}},
		{"+14235550123", []string{"America/Chicago", "America/New_York"}},
		{"+17295550123", []string{"America/Chicago", "America/New_York"}},
		{"+17095550123", []string{"America/Goose_Bay", "America/Halifax", "America/St_Johns"}},
		{"+33199001234", []string{"Europe/Paris"}},
		{"+34922123456", []string{"Atlantic/Canary"}},
		{"+34612345678", []string{"Atlantic/Canary", "Europe/Madrid"}},
		{"+61491570156", []string{"Australia/Adelaide", "Australia/Brisbane", "Australia/Darwin", "Australia/Perth", "Australia/Sydney"}},
		{"+80012345678", nil},
		{"+881612345678", nil},
		{"", nil},
		{"nonsense", nil},
		{"+", nil},
		{"+1", nil},
	} {
		got := ZonesOf(FromE164(tt.e164))
		if tt.e164 == "+1" {
			if len(got) < 30 {
				t.Errorf("%s: %d zones", tt.e164, len(got))
			}
		} else if !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", tt.e164, got, tt.want)
		}
	}
	if got := ZonesOf(FromE164("+18005550123")); len(got) < 30 {
		t.Errorf("toll-free: %d zones", len(got))
	}
}

// The slice is the caller's: spoiling it spoils nobody else's.
func TestZonesAreACopy(t *testing.T) {
	t.Parallel()
	for _, e164 := range []string{"+35312345678", "+13085550123", "+61491570156"} {
		n := FromE164(e164)
		before := ZonesOf(n)
		want := slices.Clone(before)
		clear(before)
		if got := ZonesOf(n); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", e164, got, want)
		}
	}
}

// Every zone the library has for some exchange of an area code is a candidate for all its numbers.
func TestNoAreaCodeIsNarrowerThanItsExchanges(t *testing.T) {
	t.Parallel()
	const anywhere = 30 // the list for all of +1
	for area := 200; area < 1000; area++ {
		candidates := ZonesOf(FromE164(fmt.Sprintf("+1%d5550123", area)))
		if len(candidates) > anywhere {
			continue
		}
		missing := map[string]int{}
		for exchange := 200; exchange < 1000; exchange++ {
			zones, err := phonenumbers.GetTimezonesForPrefix(fmt.Sprintf("1%d%d", area, exchange))
			if err != nil {
				t.Fatal(err)
			}
			if len(zones) > anywhere {
				continue
			}
			for _, z := range zones {
				if !slices.Contains(candidates, z) {
					missing[z]++
				}
			}
		}
		switch area { // where the table is right and the library is not
		case 208:
			delete(missing, "America/Denver") // Idaho's mountain time is America/Boise
		case 709, 879:
			delete(missing, "America/Puerto_Rico") // stands in for Labrador's winter time
		}
		if len(missing) > 0 {
			t.Errorf("+1 %d: candidates %v lack %v", area, candidates, missing)
		}
	}
}

// A zone that cannot be loaded would hold every call to its numbers for a person.
func TestEveryCandidateZoneCanBeLoaded(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for prefix := range 20_000 {
		for _, z := range ZonesOf(FromE164(fmt.Sprintf("+%d", prefix))) {
			seen[z] = true
		}
	}
	for area := 200; area < 1000; area++ {
		for _, z := range ZonesOf(FromE164(fmt.Sprintf("+1%d5550123", area))) {
			seen[z] = true
		}
	}
	if len(seen) < 200 {
		t.Fatalf("only %d zones", len(seen))
	}
	for z := range seen {
		if _, err := time.LoadLocation(z); err != nil {
			t.Error(err)
		}
	}
}

func BenchmarkParse(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, p := Parse("+1 415 555 0123 x44", "US"); p != "" {
			b.Fatal(p)
		}
	}
}

func BenchmarkZonesOf(b *testing.B) {
	b.ReportAllocs()
	n := FromE164("+33199001234")
	for b.Loop() {
		ZonesOf(n)
	}
}

func BenchmarkRestore(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		Restore("+14155550123", "", "US")
	}
}
