package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"chasephone/internal/drain"
)

// fewestPairs keeps a tenant's lines together, so that its oldest row is seen whatever line
// it is on, when only a few dial slots are free.
const fewestPairs = 16

// scanPairs bounds the tenants and lines that one claim passes over in search of due ones.
const scanPairs = 2000

// pairsSQL steps from one (tenant, line) with ready rows to the next, each by one look into
// the index, until enough of them have due work. What is too late to be rung is told from the index
// alone: very many that were closed, and that an old snapshot keeps from being cleaned away, are
// passed by without a look at the rows.
const pairsSQL = `
with recursive pair as (
  (select tenant_id, line_key, (due_at <= clock_timestamp())::int as due, 1 as n
   from phone_followups
   where state = 'due' and ready and (tenant_id, line_key) > (@tenant, @line_key) and due_at >= (select clock_timestamp()) - @max_late::interval
   order by tenant_id, line_key, due_at, id limit 1)
  union all
  select next.tenant_id, next.line_key, pair.due + next.due, pair.n + 1
  from pair cross join lateral (
    select tenant_id, line_key, (due_at <= clock_timestamp())::int as due
    from phone_followups
    where state = 'due' and ready and (tenant_id, line_key) > (pair.tenant_id, pair.line_key) and due_at >= (select clock_timestamp()) - @max_late::interval
    order by tenant_id, line_key, due_at, id limit 1) next
  where pair.due < @most and pair.n < @scan)
select tenant_id, line_key, due from pair order by n`

// pairs are tenants and lines with due work.
type pairs struct{ tenants, lines []string }

// oneTenant reports whether all that was found is the lines of one tenant, cut off at next.
func (p *pairs) oneTenant(next drain.Cursor) bool {
	return len(p.tenants) > 0 && p.tenants[0] == next.Tenant
}

// keepTenantsWhole leaves a tenant whose lines were cut off by the end of the page to the
// next page, unless it is the only one.
func (p *pairs) keepTenantsWhole(next *drain.Cursor) {
	last := len(p.tenants) - 1
	for last >= 0 && p.tenants[last] == next.Tenant {
		last--
	}
	if last < 0 {
		return
	}
	p.tenants, p.lines = p.tenants[:last+1], p.lines[:last+1]
	*next = drain.Cursor{Tenant: p.tenants[last], LineKey: p.lines[last]}
}

// pairs looks for the tenants and lines with due work behind the query's cursor.
func (c *claiming) pairs(ctx context.Context, most int, claim *drain.Claim) (pairs, error) {
	var found pairs
	rows, err := c.tx.Query(ctx, pairsSQL, pgx.StrictNamedArgs{
		"tenant": c.q.After.Tenant, "line_key": c.q.After.LineKey, "most": most, "scan": scanPairs, "max_late": c.limits.MaxLate,
	})
	if err != nil {
		return found, fmt.Errorf("looking for due work: %w", err)
	}
	var (
		at                drain.Cursor
		n, due, dueBefore int
	)
	_, err = pgx.ForEachRow(rows, []any{&at.Tenant, &at.LineKey, &due}, func() error {
		n++
		if due > dueBefore {
			found.tenants, found.lines = append(found.tenants, at.Tenant), append(found.lines, at.LineKey)
		}
		dueBefore, claim.Next = due, at
		return nil
	})
	if err != nil {
		return found, fmt.Errorf("looking for due work: %w", err)
	}
	claim.End = due < most && n < scanPairs
	return found, nil
}
