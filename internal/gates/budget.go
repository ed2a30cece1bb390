package gates

import (
	"strconv"
	"time"
)

// budgetRetry is how long a call waits for a budget of which nobody knows when it frees.
const budgetRetry = time.Minute

// budget waits while as many calls were made as a tenant may make in 24 hours, or the whole fleet
// in a minute: what a fault or a mistyped file can cost is bounded. A limit of 0 is none.
func budget(perTenantDay, perMinute int) Gate {
	return Gate{GateBudget, func(c Case) Verdict {
		return stricter(
			within(&c, c.TenantDay, perTenantDay, CodeTenantBudget, "24h"),
			within(&c, c.FleetMinute, perMinute, CodeFleetBudget, "1m"),
		)
	}}
}

func within(c *Case, fact Fact[Spent], limit int, code, window string) Verdict {
	if limit <= 0 {
		return Pass{}
	}
	spent, err := fact.get()
	switch {
	case err != nil:
		return unavailable(*c, err)
	case !spent.reaches(limit, c.Now):
		return Pass{}
	}
	until := spent.FreesAt
	if until.IsZero() {
		until = c.Now.Add(budgetRetry)
	}
	return Wait{Grounds{code, map[string]string{"limit": strconv.Itoa(limit), "window": window}}, until.UTC()}
}

// reaches reports whether a limit is used up at an instant.
func (s Spent) reaches(limit int, now time.Time) bool {
	return s.Calls >= limit && (s.FreesAt.IsZero() || now.Before(s.FreesAt))
}
