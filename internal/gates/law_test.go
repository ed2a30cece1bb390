package gates

import (
	"testing"
	"time"

	"chasephone/internal/rules"
)

// usHours is the federal rule that most tests judge by.
const usHours = `
rules:
- {places: US, hours: {Mon-Sun: "08:00-21:00"}, source: 47 CFR 64.1200(c)(1), dated: 2025-11-01}
`

// strict has everything that a rule can say, of few places.
const strict = `
rules:
- {places: US, hours: {Mon-Sun: "08:00-21:00"}, source: 47 CFR 64.1200(c)(1), dated: 2025-11-01}
- {places: US, purposes: debt, caps: {7d: 7}, after_talk: 7d, source: Reg F, dated: 2025-11-01}
- {places: [US-NY, US-FL], hours: {Mon-Sat: "08:00-20:00"}, caps: {24h: 3}, source: Fla. 501.616(6), dated: 2025-11-02}
- {places: US-NE, purposes: sales, consent: required, source: made up, dated: 2025-11-03}
- {places: FR, hours: {Mon-Fri: "10:00-13:00, 14:00-20:00"}, holidays: fr, caps: {30d: 4}, source: Décret 2022-1313, dated: 2025-11-04}
- {places: DE, consent: required, source: 7a UWG, dated: 2025-11-05}
- {places: AU, after_talk: 72h, source: made up, dated: 2025-11-06}
`

// law is rules as they stand in a file.
func law(t testing.TB, text string) *rules.Set {
	t.Helper()
	set, err := rules.Parse([]byte(text), time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	return set
}
