package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"chasephone/internal/drain"
	"chasephone/internal/followup"
)

// recordLate weighs an answer whose attempt is no longer open. Only the carrier's word that
// it placed the call still moves anything; every other late word is kept for a person (R7, R8).
func (s *Store) recordLate(ctx context.Context, tx pgx.Tx, late drain.Settlement) error {
	var (
		state   followup.State
		newest  int
		outcome *string
		callID  *string
	)
	// First the lock, then a look: what was read before a wait for the lock may be stale.
	if _, err := tx.Exec(ctx, `select from phone_followups where id = $1 for no key update`, late.FollowUp); err != nil {
		return fmt.Errorf("locking the follow-up of a late answer: %w", err)
	}
	err := tx.QueryRow(ctx, `
		select f.state, f.attempt_no, a.outcome, a.call_id
		from phone_followups f join attempts a on a.followup_id = f.id
		where f.id = @id and a.no = @no`,
		pgx.StrictNamedArgs{"id": late.FollowUp, "no": late.AttemptNo}).Scan(&state, &newest, &outcome, &callID)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return nil // the attempt's commit never happened: there is nothing to say
	case err != nil:
		return fmt.Errorf("weighing a late answer: %w", err)
	case outcome == nil:
		return nil // its follow-up is not dialing: unreachable, and not ours to mend here
	case *outcome == string(late.Outcome) && (late.CallID == "" || callID != nil && *callID == late.CallID):
		return nil // said before: the commit's reply was lost
	}
	placed := late.Outcome == drain.AttemptPlaced
	conflict := placed && *outcome == "did_not_ring"
	if _, err := tx.Exec(ctx, `
		insert into evidence (followup_id, attempt_no, source, says, call_id, code, answer, conflict)
		select @id, @no, 'reply', @says, @call_id, @code, @answer, @conflict
		where not exists (select from evidence e where e.followup_id = @id and e.attempt_no = @no and e.source = 'reply'
		  and e.says = @says and e.call_id is not distinct from @call_id)`,
		pgx.StrictNamedArgs{
			"id": late.FollowUp, "no": late.AttemptNo, "says": string(late.Outcome), "call_id": orNull(late.CallID),
			"code": orNull(late.Code), "answer": orNull(late.Answer), "conflict": conflict,
		}); err != nil {
		return fmt.Errorf("keeping a late answer: %w", err)
	}
	if conflict {
		s.log.Error("it rang, although a person said that it did not", "followup", late.FollowUp, "attempt", late.AttemptNo, "call_id", late.CallID)
	}
	switch {
	case !placed:
		return nil
	case state == followup.Uncertain && newest == late.AttemptNo, conflict && state == followup.Due:
		return s.evidencePlaced(ctx, tx, late, state)
	}
	return nil
}

func (s *Store) evidencePlaced(ctx context.Context, tx pgx.Tx, late drain.Settlement, from followup.State) error {
	_, err := tx.Exec(ctx, `
		with placed as (
		  update attempts set outcome = 'placed', outcome_at = clock_timestamp(), call_id = @call_id
		  where followup_id = @id and no = @no
		  returning followup_id
		), moved as (
		  update phone_followups f
		  set state = 'call_placed', version = coalesce(version, 0) + 1, reason = null, detail = @detail,
		    call_id = @call_id, call_status = @status, ready = false, updated_at = clock_timestamp()
		  from placed p where f.id = p.followup_id
		  returning f.id, f.version, f.tenant_id)
		insert into followup_events (followup_id, version, tenant_id, at, from_state, to_state, outcome, actor, detail, attempt_no)
		select id, version, tenant_id, clock_timestamp(), @from, 'call_placed', 'call_placed', 'carrier', @detail, @no from moved`,
		pgx.StrictNamedArgs{
			"id": late.FollowUp, "no": late.AttemptNo, "call_id": late.CallID, "status": orNull(late.CallStatus),
			"from": string(from), "detail": "the carrier's own reply, recorded late: it took the call",
		})
	if err != nil {
		return fmt.Errorf("recording that the carrier took the call after all: %w", err)
	}
	return nil
}
