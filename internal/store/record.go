package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"chasephone/internal/drain"
	"chasephone/internal/followup"
)

// recordSQL writes what became of attempts that nobody has settled yet, whose follow-ups are locked. The
// attempt's own emptiness and the follow-up's state are the compare in compare-and-set: whoever comes
// second changes nothing here. The token is part of it: what a process gives back whose commit's
// reply was lost may be the number of another's attempt by now, which rings.
//
// Rows are found by their keys: a condition in which no index's predicate is recognized keeps the planner
// from walking what it takes for the few rows in a state.
const recordSQL = `
with x as (
  select * from unnest(@ids::text[]::uuid[], @nos::smallint[], @tokens::text[]::uuid[], @outcomes::text[], @states::text[], @ledgers::text[], @reasons::text[],
      @details::text[], @call_ids::text[], @call_statuses::text[], @codes::text[], @answers::text[], @stages::text[], @waits::boolean[])
    as x (id, no, token, outcome, state, ledger, reason, detail, call_id, call_status, code, answer, stage, wait)
), settled as (
  update attempts a
  set outcome = x.outcome, outcome_at = now.at, call_id = x.call_id, code = x.code, answer = x.answer, stage = x.stage,
    look_at = case x.outcome when 'uncertain' then now.at when 'placed' then now.at + ` + firstLook + ` end
  from (select clock_timestamp() as at offset 0) now, x join phone_followups f on f.id = x.id
  where f.state || '' = 'dialing' and f.attempt_no = x.no
    and a.followup_id = x.id and a.no = x.no and a.token = x.token and coalesce(a.outcome, '') = ''
  returning x.*, f.tenant_id, a.carrier, now.at as now
), moved as (
  update phone_followups f
  set state = s.state, version = coalesce(f.version, 0) + 1, reason = s.reason, detail = s.detail, updated_at = s.now,
    call_id = coalesce(s.call_id, f.call_id),
    call_status = case when s.call_id is null then f.call_status
      when call_status_rank(g.status) > call_status_rank(s.call_status) then g.status else s.call_status end,
    next_try_at = case when s.state <> 'due' then f.next_try_at when s.wait then s.now + @retry_after::interval else s.now end,
    ready = s.state = 'due' and not s.wait
  from settled s left join messages g on g.tenant_id = s.tenant_id and g.account = s.carrier and g.external_id = s.call_id
  where f.id = s.id
  returning f.version, s.*
), told as (
  insert into followup_events (followup_id, version, tenant_id, at, from_state, to_state, outcome, actor, reason, detail, attempt_no)
  select id, version, tenant_id, now, 'dialing', state, ledger, case when ledger is null then 'daemon' else 'carrier' end, reason, detail, no
  from moved
)
select token::text from moved`

// Record is T2, see drain.Store.
func (s *Store) Record(ctx context.Context, set []drain.Settlement) error {
	err := s.tx(ctx, func(tx pgx.Tx) error {
		locked, retryAfter, err := lockLines(ctx, tx, set)
		if err != nil {
			return err
		}
		applied, err := record(ctx, tx, set, retryAfter)
		if err != nil {
			return err
		}
		effects := lineEffects{}
		var ids, again []string
		var nos []int16
		var late []word
		for _, one := range set {
			if one.Outcome == drain.AttemptRefused || one.Outcome == drain.AttemptNotPlaced {
				ids, nos = append(ids, one.FollowUp), append(nos, int16(one.AttemptNo))
			}
			was := applied[one.Token]
			switch {
			case !was:
				late = append(late, lateWord(one))
			case one.To == followup.Due:
				again = append(again, one.FollowUp)
			}
			// That the carrier answers is so, whoever was first to say what it answered.
			if locked[lineOf(one)] && (was || one.OnLine == drain.LineAnswered) {
				effects.add(one)
			}
		}
		if err := s.weighSet(ctx, tx, late); err != nil {
			return err
		}
		if _, err := s.recall(ctx, tx, again); err != nil {
			return err
		}
		if err := wakeCounted(ctx, tx, ids, nos); err != nil {
			return err
		}
		return s.writeEffects(ctx, tx, effects, retryAfter)
	})
	return rowError(err)
}

// record says, by their tokens, which attempts it settled.
func record(ctx context.Context, tx pgx.Tx, set []drain.Settlement, retryAfter time.Duration) (map[string]bool, error) {
	n := len(set)
	ids, nos, outcomes, states := make([]string, n), make([]int16, n), make([]string, n), make([]string, n)
	ledgers, reasons, details, callIDs := make([]*string, n), make([]*string, n), make([]*string, n), make([]*string, n)
	statuses, codes, answers, stages := make([]*string, n), make([]*string, n), make([]*string, n), make([]*string, n)
	tokens, waits := make([]string, n), make([]bool, n)
	for i, one := range set {
		ids[i], nos[i], outcomes[i], states[i] = one.FollowUp, int16(one.AttemptNo), string(one.Outcome), string(one.To)
		ledgers[i], reasons[i], details[i], callIDs[i] = orNull(string(one.Ledger)), orNull(one.Reason), orNull(one.Detail), orNull(one.CallID)
		statuses[i], codes[i], answers[i], stages[i] = orNull(one.CallStatus), orNull(one.Code), orNull(one.Answer), orNull(string(one.Stage))
		tokens[i], waits[i] = one.Token, one.Wait
	}
	rows, err := tx.Query(ctx, recordSQL, pgx.StrictNamedArgs{
		"ids": ids, "nos": nos, "tokens": tokens, "outcomes": outcomes, "states": states, "ledgers": ledgers, "reasons": reasons,
		"details": details, "call_ids": callIDs, "call_statuses": statuses, "codes": codes, "answers": answers,
		"stages": stages, "waits": waits, "retry_after": retryAfter,
	})
	if err != nil {
		return nil, fmt.Errorf("recording what became of attempts: %w", err)
	}
	applied := make(map[string]bool, n)
	var token string
	_, err = pgx.ForEachRow(rows, []any{&token}, func() error {
		applied[token] = true
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("recording what became of attempts: %w", err)
	}
	return applied, nil
}
