package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"chasephone/internal/desk"
	"chasephone/internal/followup"
)

// snapshotSQL reads a follow-up for a decision; lockSnapshot has locked it.
const snapshotSQL = `
select clock_timestamp(), ` + limitsColumns + `,
  f.tenant_id, f.ref, f.state,
  case when isfinite(f.due_at) then f.due_at when f.due_at = 'infinity' then timestamptz '9999-01-01' else timestamptz '0001-01-01' end,
  exists (select from do_not_call d where d.e164 = f.e164 and (d.tenant_id is null or d.tenant_id = f.tenant_id)),
  exists (select from evidence v where v.followup_id = any(array(` + lineageSQL + `)) and v.conflict and v.says = 'placed' and not v.doubtful),
  (select count(*) from evidence v where v.followup_id = f.id and v.attempt_no = f.attempt_no and v.says = 'placed')
  + (select count(*) from lookups k cross join jsonb_array_elements(k.found) c
   where k.id = (select max(n.id) from lookups n where n.followup_id = f.id and n.attempt_no = f.attempt_no and n.question = 'search' and n.answered)
     and coalesce(c->>'status', '') not in ('canceled', 'failed')),
  p.id, p.reasons, coalesce(p.decision, ''), coalesce(p.decided_by, ''), p.decided_at,
  a.no, a.answer_by, coalesce(a.outcome, ''), coalesce(a.decided_by, ''), a.outcome_at,
  (select count(*) from attempts x where x.followup_id = f.id and x.outcome = 'did_not_ring'),
  coalesce(e.by_name, ''), e.at,
  coalesce(next.id::text, ''), coalesce(next.due_at, 'epoch')
from phone_followups f
cross join fleet x join limits l on l.id = x.limits_id
left join approvals p on p.id = f.approval_id
left join attempts a on a.followup_id = f.id and a.no = f.attempt_no
left join followup_events e on e.followup_id = f.id and e.version = f.version
left join lateral (select id, due_at from phone_followups s where f.state = 'cancelled' and s.successor_of = f.id limit 1) next on true
where f.id = @id`

// lineageSQL is a follow-up f and what it was rescheduled from: one promise.
const lineageSQL = `
  with recursive line as (
    select f.id, f.successor_of
    union
    select p.id, p.successor_of from phone_followups p join line on p.id = line.successor_of)
  select id from line`

const decideSQL = `
with moved as (
  update phone_followups f
  set state = @state, version = coalesce(version, 0) + 1, reason = @reason, detail = @detail, updated_at = @now,
    decided_by = case when @final then @by else decided_by end,
    next_try_at = case when @state = 'due' then greatest(@now::timestamptz, due_at) else next_try_at end,
    ready = @state = 'due', call_id = coalesce(call_id, @call_id)
  where id = @id
  returning id, version, tenant_id, attempt_no)
insert into followup_events (followup_id, version, tenant_id, at, from_state, to_state, outcome, actor, by_name, reason, detail, attempt_no)
select id, version, tenant_id, @now, @from, @state, @outcome, case when @by::text is null then 'tick' else 'person' end, @by, @reason, @detail,
  case when @settles then attempt_no end
from moved`

// Decide runs one decision under the follow-up's lock, see desk.Store.
func (s *Store) Decide(ctx context.Context, name desk.Name, rule func(desk.Snapshot) (desk.Change, error)) (desk.Result, error) {
	var (
		result  desk.Result
		refused error
	)
	err := s.tx(ctx, func(tx pgx.Tx) error {
		snapshot, err := lockSnapshot(ctx, tx, name)
		if err != nil {
			return err
		}
		result = desk.Result{ID: snapshot.ID, Ref: snapshot.Ref, Tenant: snapshot.Tenant, State: snapshot.State}
		var change desk.Change
		change, refused = rule(snapshot)
		if change.To == "" {
			return nil
		}
		result.State, result.Changed = change.To, true
		if change.Successor != nil {
			if result.Successor, err = s.succeed(ctx, tx, snapshot.ID, *change.Successor); err != nil {
				return err
			}
		}
		if err := writeChange(ctx, tx, snapshot, change); err != nil || change.To != followup.Due {
			return err
		}
		rang, err := s.recall(ctx, tx, []string{snapshot.ID})
		if len(rang) > 0 {
			result.State = followup.CallPlaced
		}
		return err
	})
	if err != nil {
		return desk.Result{}, err
	}
	return result, refused
}

func writeChange(ctx context.Context, tx pgx.Tx, s desk.Snapshot, c desk.Change) error {
	if c.Decision != "" {
		if _, err := tx.Exec(ctx, `
			update approvals set decision = @decision, decided_at = @now, decided_by = @by, time_zone = @zone
			where id = @id and decision is null`,
			pgx.StrictNamedArgs{"decision": c.Decision, "now": s.Now, "by": orNull(c.By), "zone": orNull(c.TimeZone), "id": s.Approval.ID}); err != nil {
			return fmt.Errorf("writing the approval's answer: %w", err)
		}
	}
	if c.Attempt != "" {
		if _, err := tx.Exec(ctx, `
			update attempts set outcome = @outcome, outcome_at = @now, decided_by = @by, call_id = coalesce(call_id, @call_id),
			  looks = 0, look_at = case when coalesce(call_id, @call_id) is not null and @outcome = 'placed' then clock_timestamp() end
			where followup_id = @id and no = @no`,
			pgx.StrictNamedArgs{"outcome": c.Attempt, "now": s.Now, "by": c.By, "id": s.ID, "no": s.Attempt.No, "call_id": orNull(c.CallID)}); err != nil {
			return fmt.Errorf("settling the attempt: %w", ownedError(err, c.CallID))
		}
		if err := wakeCounted(ctx, tx, []string{s.ID}, []int16{int16(s.Attempt.No)}); err != nil {
			return err
		}
	}
	_, err := tx.Exec(ctx, decideSQL, pgx.StrictNamedArgs{
		"id": s.ID, "now": s.Now, "from": string(s.State), "state": string(c.To), "outcome": orNull(string(c.Outcome)),
		"by": orNull(c.By), "reason": orNull(c.Reason), "detail": orNull(c.Detail), "call_id": orNull(c.CallID),
		"final": c.To.Final() && c.By != "", "settles": c.Attempt != "",
	})
	if err != nil {
		return fmt.Errorf("writing the decision: %w", err)
	}
	return nil
}

// succeed makes the follow-up that replaces one that is rescheduled: the same promise, due
// at another instant.
func (s *Store) succeed(ctx context.Context, tx pgx.Tx, id string, next desk.Successor) (string, error) {
	var made string
	err := tx.QueryRow(ctx, `
		insert into phone_followups (tenant_id, ref, due_at, phone_number, contact_name, time_zone, purpose, script, needs_approval, line, successor_of, promised_at)
		select tenant_id, ref, @due_at, phone_number, contact_name, time_zone, purpose, script, needs_approval, line, id, coalesce(promised_at, created_at)
		from phone_followups where id = @id
		on conflict on constraint phone_followups_natural_key do nothing
		returning id`,
		pgx.StrictNamedArgs{"id": id, "due_at": next.DueAt}).Scan(&made)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", &desk.Refusal{Says: "there is a follow-up with this ref due at that very instant already"}
	}
	if err != nil {
		return "", fmt.Errorf("making the successor: %w", err)
	}
	return made, nil
}

func lockSnapshot(ctx context.Context, tx pgx.Tx, name desk.Name) (desk.Snapshot, error) {
	var s desk.Snapshot
	found, err := resolve(ctx, tx, name)
	if err != nil {
		return s, err
	}
	if _, err := tx.Exec(ctx, `select from phone_followups where id = $1 for no key update`, found.id); err != nil {
		return s, fmt.Errorf("locking the follow-up: %w", err)
	}
	s.ID, s.Named = found.id, found.approval
	var (
		approval            desk.Approval
		approvalID          *string
		decidedAt           *time.Time
		attempt             desk.Attempt
		no                  *int
		answerBy, outcomeAt *time.Time
		ended               desk.Said
		endedAt             *time.Time
	)
	into := append([]any{&s.Now}, limitsInto(&s.Limits)...)
	into = append(into, &s.Tenant, &s.Ref, &s.State, &s.DueAt, &s.OptedOut, &s.Conflict, &s.Listed,
		&approvalID, &approval.Reasons, &approval.Decision, &approval.By, &decidedAt,
		&no, &answerBy, &attempt.Outcome, &attempt.By, &outcomeAt, &s.DidNotRing,
		&ended.By, &endedAt, &s.Successor, &s.SuccDueAt)
	if err := tx.QueryRow(ctx, snapshotSQL, pgx.StrictNamedArgs{"id": s.ID}).Scan(into...); err != nil {
		return s, fmt.Errorf("reading the follow-up: %w", err)
	}
	if approvalID != nil {
		approval.ID, approval.At = *approvalID, orZero(decidedAt)
		s.Approval = &approval
	}
	if no != nil {
		attempt.No, attempt.AnswerBy, attempt.At = *no, orZero(answerBy), orZero(outcomeAt)
		s.Attempt = &attempt
	}
	if endedAt != nil {
		ended.At = *endedAt
		s.Ended = &ended
	}
	return s, nil
}

func orZero(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return *t
}

// ownedError says in words that a call was another attempt's.
func ownedError(err error, callID string) error {
	var refused *pgconn.PgError
	if errors.As(err, &refused) && refused.ConstraintName == "attempts_call_id" {
		return &desk.Misuse{Says: "call " + callID + " is another attempt's"}
	}
	return badText(err)
}
