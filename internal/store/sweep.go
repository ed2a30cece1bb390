package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// sweepSQL marks uncertain what nobody answered for: the process died, or cannot reach us.
// A row that is locked is being recorded this very moment.
const sweepSQL = `
with orphan as materialized (
  select f.id, f.tenant_id, a.no, clock_timestamp() as now
  from attempts a join phone_followups f on f.id = a.followup_id and f.attempt_no = a.no
  where a.outcome is null and a.answer_by < clock_timestamp() - @grace::interval and f.state = 'dialing'
    and (@only::text is null or f.id = @only::text::uuid)
  order by f.id
  limit @most
  for no key update of f skip locked
), settled as (
  update attempts a set outcome = 'uncertain', outcome_at = o.now, stage = 'no_record', look_at = o.now
  from orphan o
  where a.followup_id = o.id and a.no = o.no and a.outcome is null
  returning o.*
), moved as (
  update phone_followups f
  set state = 'uncertain', version = coalesce(f.version, 0) + 1, reason = 'no_record', detail = @detail, updated_at = s.now
  from settled s where f.id = s.id
  returning f.version, s.*
)
insert into followup_events (followup_id, version, tenant_id, at, from_state, to_state, outcome, actor, reason, detail, attempt_no)
select id, version, tenant_id, now, 'dialing', 'uncertain', 'uncertain', 'sweep', 'no_record', @detail, no
from moved`

// Sweep marks orphaned attempts uncertain, see drain.Store.
func (s *Store) Sweep(ctx context.Context, grace time.Duration, most int) (int, error) {
	n, err := s.inOne(ctx, inOne{
		sql: sweepSQL,
		args: pgx.StrictNamedArgs{
			"grace": grace, "most": most,
			"detail": "it may have rung: the attempt was committed and nobody recorded what became of it",
		},
		candidates: `
			select followup_id from attempts
			where outcome is null and answer_by < clock_timestamp() - @grace::interval order by answer_by limit @most`,
	})
	if err != nil {
		return n, fmt.Errorf("marking orphaned attempts uncertain: %w", err)
	}
	return n, nil
}
