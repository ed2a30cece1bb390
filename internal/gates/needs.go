package gates

import "chasephone/internal/rules"

// Needs are the facts that a chain asks about one case, so that no others need be loaded. A
// gate that asks for one that is missing waits.
type Needs struct {
	Calls       int  // newest calls with the number; 0: none
	Talk        bool // the newest that reached somebody
	CalledIn    bool
	Consent     bool
	LineCalls   bool
	TenantDay   bool
	FleetMinute bool
}

// Needs are the facts that the chain with these options asks about a case.
func (o Options) Needs(c *Case) Needs {
	n := Needs{
		Calls:    o.Caps.Most(),
		CalledIn: !o.CalledInOff && !c.Promised.IsZero(), LineCalls: o.LineCallsAtOnce > 0,
		TenantDay: o.MaxPerTenantDay > 0, FleetMinute: o.MaxPerMinute > 0,
	}
	if o.MinGap > 0 || c.Policy == PolicyFirstCall {
		n.Calls = max(n.Calls, 1)
	}
	for _, r := range o.bind(c) {
		n.Calls = max(n.Calls, r.Caps.Most())
		n.Consent = n.Consent || r.Consent
		n.Talk = n.Talk || r.AfterTalk > 0
	}
	return n
}

func (o Options) bind(c *Case) []*rules.Rule {
	if o.HoursOff {
		return nil
	}
	return o.Rules.For(c.Number.Place, c.Purpose)
}
