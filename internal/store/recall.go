package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"chasephone/internal/drain"
)

// recallSQL finds what is known of follow-ups that are due again: that an earlier attempt rang, and how
// far its call has come.
const recallSQL = `
select distinct on (v.followup_id) v.followup_id, v.attempt_no, v.source, v.call_id, coalesce(g.status, '')
from evidence v
join phone_followups f on f.id = v.followup_id
join attempts a on a.followup_id = v.followup_id and a.no = v.attempt_no
left join messages g on g.tenant_id = a.tenant_id and g.account = a.carrier and g.external_id = v.call_id
where v.followup_id = any(@ids::text[]::uuid[]) and v.conflict and v.says = 'placed' and not v.doubtful and v.call_id is not null
  and f.state = 'due' and a.outcome in ('did_not_ring', 'not_placed')
order by v.followup_id, v.id`

// keptSQL finds follow-ups among some that are due, and were rescheduled from one of which the
// carrier says that it rang.
const keptSQL = `
with recursive line as (
  select f.id as due, f.successor_of as id from phone_followups f where f.id = any(@ids::text[]::uuid[]) and f.successor_of is not null
  union
  select l.due, p.successor_of from line l join phone_followups p on p.id = l.id where p.successor_of is not null
), told as (
  select distinct on (l.due) l.due, v.call_id
  from line l join evidence v on v.followup_id = l.id and v.conflict and v.says = 'placed' and not v.doubtful and v.call_id is not null
  order by l.due, v.id
), moved as (
  update phone_followups f
  set state = 'call_placed', version = coalesce(version, 0) + 1, reason = null, detail = @detail, call_id = t.call_id, ready = false, updated_at = clock_timestamp()
  from told t where f.id = t.due and f.state = 'due'
  returning f.id, f.version, f.tenant_id)
insert into followup_events (followup_id, version, tenant_id, at, from_state, to_state, outcome, actor, detail)
select id, version, tenant_id, clock_timestamp(), 'due', 'call_placed', 'call_placed', 'carrier', @detail from moved
returning followup_id`

// keepMoved settles those among some follow-ups that are due although the call rang before they were
// rescheduled: a promise that was moved is the same promise (R8, R10).
func (s *Store) keepMoved(ctx context.Context, tx pgx.Tx, ids []string) ([]string, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	rows, err := tx.Query(ctx, keptSQL, pgx.StrictNamedArgs{"ids": ids, "detail": "the carrier's word: it rang before it was rescheduled"})
	if err != nil {
		return nil, fmt.Errorf("settling what was rescheduled: %w", err)
	}
	kept, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("settling what was rescheduled: %w", err)
	}
	return kept, nil
}

// keepSuccessors settles what a follow-up of which the carrier says that it rang was rescheduled to.
func (s *Store) keepSuccessors(ctx context.Context, tx pgx.Tx, id string) error {
	all, err := promises(ctx, tx, []string{id})
	if err != nil {
		return err
	}
	_, err = s.keepMoved(ctx, tx, all)
	return err
}

// recall settles follow-ups that have become due again although the carrier has said meanwhile that an
// earlier attempt rang (R8). It says which.
func (s *Store) recall(ctx context.Context, tx pgx.Tx, ids []string) ([]string, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	moved, err := s.keepMoved(ctx, tx, ids)
	if err != nil {
		return nil, err
	}
	rows, err := tx.Query(ctx, recallSQL, pgx.StrictNamedArgs{"ids": ids})
	if err != nil {
		return nil, fmt.Errorf("recalling evidence: %w", err)
	}
	var (
		words []word
		kept  []string
		w     = word{says: string(drain.AttemptPlaced)}
	)
	_, err = pgx.ForEachRow(rows, []any{&w.followUp, &w.no, &w.source, &w.callID, &w.status}, func() error {
		words, kept = append(words, w), append(kept, w.followUp)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("recalling evidence: %w", err)
	}
	return append(kept, moved...), s.weighSet(ctx, tx, words)
}

// promisesSQL is some follow-ups and all that they were rescheduled to.
const promisesSQL = `
with recursive line as (
  select id from unnest(@ids::text[]::uuid[]) as x (id)
  union
  select f.id from phone_followups f join line l on f.successor_of = l.id)
select coalesce(array_agg(id::text order by id), '{}') from line`

func promises(ctx context.Context, tx pgx.Tx, ids []string) (all []string, err error) {
	if err := tx.QueryRow(ctx, promisesSQL, pgx.StrictNamedArgs{"ids": ids}).Scan(&all); err != nil {
		return nil, fmt.Errorf("looking for what was rescheduled: %w", err)
	}
	return all, nil
}

// lockPromises locks follow-ups and what they were rescheduled to, in the order in which everybody
// locks, so that none of them becomes due, or is moved on, beside what evidence says of another.
func lockPromises(ctx context.Context, tx pgx.Tx, ids []string) error {
	for locked := 0; ; {
		all, err := promises(ctx, tx, ids)
		if err != nil || len(all) == locked {
			return err
		}
		if _, err := tx.Exec(ctx, `select from phone_followups where id = any(@ids::text[]::uuid[]) order by id for no key update`, pgx.StrictNamedArgs{"ids": all}); err != nil {
			return fmt.Errorf("locking the follow-ups that evidence is about: %w", err)
		}
		locked = len(all)
	}
}
