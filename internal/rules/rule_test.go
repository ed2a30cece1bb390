package rules

import (
	"fmt"
	"slices"
	"testing"
)

const several = `
rules:
  - {places: [US, PR], hours: {Mon-Sun: "08:00-21:00"}, source: federal, dated: 2025-11-01}
  - {places: US-FL, caps: {24h: 3}, source: florida, dated: 2025-11-01}
  - {places: US, purposes: [debt], caps: {7d: 7}, after_talk: 7d, source: reg f, dated: 2025-11-01}
  - {places: [US, US-WA], purposes: [sales, survey], consent: required, source: both, dated: 2025-11-01}
  - {places: DE, purposes: sales, consent: required, source: german, dated: 2025-11-01}
`

func TestFor(t *testing.T) {
	t.Parallel()
	s := parse(t, several)
	for _, tt := range []struct {
		place, purpose string
		want           []string
	}{
		{"US", Requested, []string{"federal"}},
		{"US", Debt, []string{"federal", "reg f"}},
		{"US-FL", Requested, []string{"florida", "federal"}}, // its own before its country's
		{"US-FL", Debt, []string{"florida", "federal", "reg f"}},
		{"US-FL", "survey", []string{"florida", "federal", "both"}},
		{"US-WA", Sales, []string{"both", "federal"}}, // named with its country: once
		{"US-TX", Requested, []string{"federal"}},     // named nowhere
		{"US-TX", "other", []string{"federal", "reg f", "both"}},
		{"PR", Sales, []string{"federal"}},
		{"DE", Requested, nil},
		{"DE", Sales, []string{"german"}},
		{"DE", "", []string{"german"}},
		{"DE", "Sales", []string{"german"}}, // a purpose nobody knows may be any
		{"FR", Requested, nil},
		{"", "", nil},
	} {
		var got []string
		for _, r := range s.For(tt.place, tt.purpose) {
			got = append(got, r.Source)
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s, %q: %q, want %q", tt.place, tt.purpose, got, tt.want)
		}
	}
	if !s.HasHours("US-FL", Debt) || s.HasHours("DE", Sales) || s.HasHours("FR", Requested) {
		t.Error("whether places have hours")
	}
	if got := fmt.Sprint(s.Purposes()); got != "[debt requested sales survey]" {
		t.Errorf("purposes: %s", got)
	}
	if got := s.All(); len(got) != 5 || got[1].Line != 4 || got[1].Purpose() != "every purpose" || got[3].Purpose() != "sales, survey" {
		t.Errorf("%v", got)
	}
	none := (*Set)(nil)
	if none.For("US", Debt) != nil || none.HasHours("US", Debt) || none.All() != nil || none.Purposes() != nil || none.Digest() != "" {
		t.Error("no set has something")
	}
}
