package gates

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"chasephone/internal/rules"
)

// A fact that could not be loaded makes the call wait with the true cause, whichever it is.
func TestEveryFactThatIsMissingMakesACallWait(t *testing.T) {
	t.Parallel()
	chain := Chain(everyLimit(t))
	facts := 0
	for name, one := range map[string]struct {
		gates []string
		lose  func(*Case, error)
	}{
		"OptOut":      {[]string{GateDoNotCall}, func(c *Case, err error) { c.OptOut = Unknown[*OptOut](err) }},
		"InCall":      {[]string{GateInACall}, func(c *Case, err error) { c.InCall = Unknown[*InCall](err) }},
		"Calls":       {[]string{GateCaps, GateGap, GateApproval}, func(c *Case, err error) { c.Calls = Unknown[Calls](err) }},
		"CalledIn":    {[]string{GateCalledIn}, func(c *Case, err error) { c.CalledIn = Unknown[*CalledIn](err) }},
		"Consent":     {[]string{GateConsent}, func(c *Case, err error) { c.Consent = Unknown[*Consent](err) }},
		"TenantDay":   {[]string{GateBudget}, func(c *Case, err error) { c.TenantDay = Unknown[Spent](err) }},
		"FleetMinute": {[]string{GateBudget}, func(c *Case, err error) { c.FleetMinute = Unknown[Spent](err) }},
		"Line.Calls":  {[]string{GateLine}, func(c *Case, err error) { c.Line.Calls = Unknown[Spent](err) }},
		"ApprovalErr": {[]string{GateApproval}, func(c *Case, err error) { c.NeedsApproval, c.ApprovalErr = true, err }},
	} {
		c := good()
		c.Policy = PolicyFirstCall
		c.Calls = Known(Calls{At: []time.Time{c.Now.AddDate(0, -2, 0)}})
		if name == "Consent" { // only asked where a rule wants it
			c.Number.Place = "US-NE"
			c.Purpose = rules.Sales
		}
		one.lose(&c, errors.New("loading "+name+": connection reset"))
		r, findings := Judge(chain, c)
		if r.Kind() != KindWait || r.Code != CodeFactsUnavailable || !r.Until.Equal(c.Now.Add(5*time.Minute)) {
			t.Errorf("without %s: %+v", name, r)
		}
		for _, f := range findings {
			lost := f.Code() == CodeFactsUnavailable && f.On()["cause"] == "loading "+name+": connection reset"
			if lost != slices.Contains(one.gates, f.Gate) {
				t.Errorf("without %s %s says %+v", name, f.Gate, f)
			}
		}
		if name != "ApprovalErr" {
			facts++
		}
	}
	if n := countFacts(reflect.TypeFor[Case]()); n != facts {
		t.Errorf("a case has %d facts, and %d are tried", n, facts)
	}
}

func countFacts(of reflect.Type) (n int) {
	for i := range of.NumField() {
		switch f := of.Field(i); {
		case strings.HasPrefix(f.Type.Name(), "Fact["):
			n++
		case f.Type == reflect.TypeFor[Line]():
			n += countFacts(f.Type)
		}
	}
	return n
}
