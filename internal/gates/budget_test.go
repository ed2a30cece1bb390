package gates

import (
	"errors"
	"testing"
	"time"
)

func TestBudget(t *testing.T) {
	spent := func(day, minute Spent) func(*Case) {
		return func(c *Case) { c.TenantDay, c.FleetMinute = Known(day), Known(minute) }
	}
	tomorrow, soon := at("2026-10-07T09:00:00Z"), at("2026-10-06T16:00:20Z")
	tenant := func(until time.Time) Verdict {
		return Wait{Grounds{CodeTenantBudget, map[string]string{"limit": "10", "window": "24h"}}, until}
	}
	fleet := func(until time.Time) Verdict {
		return Wait{Grounds{CodeFleetBudget, map[string]string{"limit": "3", "window": "1m"}}, until}
	}
	now := good().Now
	testGate(t, budget(10, 3), []gateTest{
		{"none", nil, Pass{}},
		{"one is left", spent(Spent{9, tomorrow}, Spent{2, soon}), Pass{}},
		{"the tenant's", spent(Spent{10, tomorrow}, Spent{2, soon}), tenant(tomorrow)},
		{"more than the tenant's", spent(Spent{11, tomorrow}, Spent{}), tenant(tomorrow)},
		{"the fleet's", spent(Spent{9, tomorrow}, Spent{3, soon}), fleet(soon)},
		{"both: the longer", spent(Spent{10, tomorrow}, Spent{3, soon}), tenant(tomorrow)},
		{"both: the longer is the fleet's", spent(Spent{10, now.Add(time.Second)}, Spent{3, soon}), fleet(soon)},
		{"both, as long", spent(Spent{10, soon}, Spent{3, soon}), tenant(soon)},
		{"free from now on", spent(Spent{10, now}, Spent{3, now}), Pass{}},
		{"free a moment later", spent(Spent{10, now.Add(time.Microsecond)}, Spent{}), tenant(now.Add(time.Microsecond))},
		{"nobody knows when it frees", spent(Spent{Calls: 10}, Spent{}), tenant(at("2026-10-06T16:01:00Z"))},
		{"the tenant's never loaded", func(c *Case) { c.TenantDay = Fact[Spent]{} }, notLoaded()},
		{"the fleet's never loaded", func(c *Case) { c.FleetMinute = Fact[Spent]{} }, notLoaded()},
		{"one unknown, the other used up for longer", func(c *Case) {
			spent(Spent{10, tomorrow}, Spent{})(c)
			c.FleetMinute = Unknown[Spent](errors.New("timeout"))
		}, tenant(tomorrow)},
		{"one unknown, the other used up for less", func(c *Case) {
			spent(Spent{}, Spent{3, soon})(c)
			c.TenantDay = Unknown[Spent](errors.New("timeout"))
		}, Wait{Grounds{CodeFactsUnavailable, map[string]string{"cause": "timeout"}}, at("2026-10-06T16:05:00Z")}},
	})
}

func TestNoBudget(t *testing.T) {
	testGate(t, budget(0, 0), []gateTest{
		{"never loaded", func(c *Case) { c.TenantDay, c.FleetMinute = Fact[Spent]{}, Fact[Spent]{} }, Pass{}},
		{"a million calls", func(c *Case) { c.TenantDay, c.FleetMinute = Known(Spent{Calls: 1e6}), Known(Spent{Calls: 1e6}) }, Pass{}},
	})
}
