package gates

import (
	"errors"
	"testing"
)

func TestConsent(t *testing.T) {
	in := func(place, purpose string) func(*Case) {
		return func(c *Case) { c.Number.Place, c.Purpose = place, purpose }
	}
	missing := func(place, purpose, rule, dated string) Verdict {
		return Hold{Grounds{CodeNoConsent, map[string]string{"place": place, "purpose": purpose, "rule": rule, "dated": dated}}}
	}
	given := func(source string) func(*Case) {
		return func(c *Case) { c.Consent = Known(&Consent{Source: source, Since: at("2026-01-02T03:04:05+01:00")}) }
	}
	onFile := func(source string) Verdict {
		return Pass{Grounds{On: map[string]string{"consent": source, "since": "2026-01-02T02:04:05Z"}}}
	}
	testGate(t, consent(law(t, strict)), []gateTest{
		{"no rule wants it", nil, Pass{}},
		{"no rule wants it, so nobody asks", func(c *Case) { c.Consent = Fact[*Consent]{} }, Pass{}},
		{"a place nobody has read up", in("BR", "sales"), Pass{}},
		{"none on file", in("DE", "requested"), missing("DE", "requested", "7a UWG", "2025-11-05")},
		{"for another purpose", in("US-NE", "requested"), Pass{}},
		{"for this purpose", in("US-NE", "sales"), missing("US-NE", "sales", "made up", "2025-11-03")},
		{"for a purpose nobody knows", in("US-NE", "survey of +1 212 555 0123"), missing("US-NE", "survey of +#", "made up", "2025-11-03")},
		{"on file", both(in("DE", "sales"), given("web form")), onFile("web form")},
		{"on file, its source naming the number", both(in("DE", "sales"), given("call to 212-555-0123")), onFile("call to #")},
		{"on file, from nowhere", both(in("DE", "sales"), given("")), onFile("an unnamed source")},
		{"unknown", both(in("DE", "sales"), func(c *Case) { c.Consent = Unknown[*Consent](errors.New("timeout")) }), Wait{
			Grounds{CodeFactsUnavailable, map[string]string{"cause": "timeout"}}, at("2026-10-06T16:05:00Z"),
		}},
		{"never loaded", both(in("DE", "sales"), func(c *Case) { c.Consent = Fact[*Consent]{} }), notLoaded()},
		{"no number", noNumber, Pass{Grounds{Code: CodeNoNumber}}},
	})
}
