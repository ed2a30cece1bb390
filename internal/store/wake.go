package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// wakeCountedSQL finds the rows that wait because such an attempt counted. Those that somebody
// else holds are left to them: nothing waits here, so nothing deadlocks.
const wakeCountedSQL = `
update phone_followups f set ready = true, next_try_at = clock_timestamp(), updated_at = clock_timestamp()
where f.id in (
  select w.id
  from unnest(@ids::text[]::uuid[], @nos::smallint[]) as x (id, no)
  join attempts a on a.followup_id = x.id and a.no = x.no and a.outcome in ('refused', 'not_placed', 'did_not_ring')
  join phone_followups w on w.tenant_id = a.tenant_id and (w.e164 = a.e164 or w.reason = 'tenant_budget')
  where w.state = 'due' and w.next_try_at > clock_timestamp() and w.reason in ('too_many_calls', 'too_soon', 'tenant_budget')
  for no key update of w skip locked)`

// wakeCounted makes due at once what waits for a count in which attempts stood that are now
// known not to have rung: they count no longer, and the rows would be late for nothing.
func wakeCounted(ctx context.Context, tx pgx.Tx, ids []string, nos []int16) error {
	if len(ids) == 0 {
		return nil
	}
	if _, err := tx.Exec(ctx, wakeCountedSQL, pgx.StrictNamedArgs{"ids": ids, "nos": nos}); err != nil {
		return fmt.Errorf("waking what waited for a count: %w", err)
	}
	return nil
}
