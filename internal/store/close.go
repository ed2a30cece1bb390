package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// closeSQL closes as missed what is more than the greatest lateness late (R4), with the
// approval that was asked for it. It does not ask whether anything is stopped.
const closeSQL = `
with late as materialized (
  select f.id, f.tenant_id, f.state, f.approval_id, now.at, date_trunc('second', now.at - f.due_at) as lateness
  from (select clock_timestamp() as at, l.max_late from fleet x join limits l on l.id = x.limits_id offset 0) now
  cross join lateral (
    select * from phone_followups f
    where f.state in ('due', 'awaiting_approval') and f.due_at < now.at - now.max_late and f.due_at > '-infinity'
      and (@only::text is null or f.id = @only::text::uuid)
    order by f.due_at
    limit @most
    for no key update skip locked) f
), lapsed as (
  update approvals p set decision = 'missed', decided_at = l.at
  from late l where p.id = l.approval_id and p.decision is null
), moved as (
  update phone_followups f
  set state = 'missed', version = coalesce(f.version, 0) + 1, reason = 'too_late', detail = l.lateness || ' late', ready = false, updated_at = l.at
  from late l where f.id = l.id
  returning f.version, f.detail, l.*
)
insert into followup_events (followup_id, version, tenant_id, at, from_state, to_state, outcome, actor, reason, detail)
select id, version, tenant_id, at, state, 'missed', 'missed', 'tick', 'too_late', detail
from moved`

// CloseLate closes late rows, see drain.Store.
func (s *Store) CloseLate(ctx context.Context, most int) (int, error) {
	n, err := s.inOne(ctx, inOne{
		sql:  closeSQL,
		args: pgx.StrictNamedArgs{"most": most},
		candidates: `
			select f.id from phone_followups f cross join fleet x join limits l on l.id = x.limits_id
			where f.state in ('due', 'awaiting_approval') and f.due_at < clock_timestamp() - l.max_late and f.due_at > '-infinity'
			order by f.due_at limit @most`,
	})
	if err != nil {
		return n, fmt.Errorf("closing late follow-ups as missed: %w", err)
	}
	return n, nil
}
