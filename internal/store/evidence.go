package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"chasephone/internal/carrier"
	"chasephone/internal/drain"
	"chasephone/internal/followup"
	"chasephone/internal/lookup"
)

const standsSQL = `
select x.nth, f.state, f.attempt_no, coalesce(a.outcome, ''), coalesce(a.call_id, ''),
  exists (select from attempts o where o.carrier = a.carrier and o.call_id = x.call_id and (o.followup_id, o.no) <> (a.followup_id, a.no))
from unnest(@nths::int[], @ids::text[]::uuid[], @nos::smallint[], @calls::text[], @tokens::text[]::uuid[]) as x (nth, id, no, call_id, token)
join phone_followups f on f.id = x.id
join attempts a on a.followup_id = x.id and a.no = x.no and (x.token is null or a.token = x.token)`

// weighSet locks the follow-ups that words are about, weighs the words in their order, and writes
// what follows. Words about attempts that do not exist say nothing.
func (s *Store) weighSet(ctx context.Context, tx pgx.Tx, words []word) error {
	if len(words) == 0 {
		return nil
	}
	stands, err := lockStands(ctx, tx, words)
	if err != nil {
		return err
	}
	settled := map[string]knew{} // by follow-up
	for i, w := range words {
		stand, ok := stands[i]
		if !ok {
			continue
		}
		if k, is := settled[w.followUp]; is {
			if stand.state = followup.CallPlaced; k.no == w.no {
				stand.outcome, stand.callID = "placed", k.callID
			}
		}
		v := weigh(stand, w)
		if err := s.writeVerdict(ctx, tx, stand, w, v); err != nil {
			return err
		}
		if v.settle {
			settled[w.followUp] = knew{w.no, w.callID}
		}
	}
	return nil
}

// lockStands takes the locks first, and then looks: what was read before a wait for a lock may
// be stale.
func lockStands(ctx context.Context, tx pgx.Tx, words []word) (map[int]stand, error) {
	n := len(words)
	nths, ids, nos, calls, tokens := make([]int32, n), make([]string, n), make([]int16, n), make([]*string, n), make([]*string, n)
	for i, w := range words {
		nths[i], ids[i], nos[i], calls[i], tokens[i] = int32(i), w.followUp, int16(w.no), orNull(w.callID), orNull(w.token)
	}
	if err := lockPromises(ctx, tx, ids); err != nil {
		return nil, err
	}
	rows, err := tx.Query(ctx, standsSQL, pgx.StrictNamedArgs{"nths": nths, "ids": ids, "nos": nos, "calls": calls, "tokens": tokens})
	if err != nil {
		return nil, fmt.Errorf("reading how attempts stand: %w", err)
	}
	stands := map[int]stand{}
	var nth int
	var one stand
	_, err = pgx.ForEachRow(rows, []any{&nth, &one.state, &one.newest, &one.outcome, &one.callID, &one.owned}, func() error {
		stands[nth] = one
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("reading how attempts stand: %w", err)
	}
	return stands, nil
}

const keepEvidenceSQL = `
insert into evidence (followup_id, attempt_no, source, says, call_id, code, answer, conflict, doubtful)
select @id, @no, @source, @says, @call_id, @code, @answer, @conflict, @doubtful
where not exists (select from evidence e where e.followup_id = @id and e.attempt_no = @no and (e.source = @source or e.conflict and @conflict)
  and e.says = @says and e.call_id is not distinct from @call_id)`

// placedSQL settles an attempt by evidence. A late reply does not move the call's status back behind what
// was reported of it. Where the call has no end yet it is asked about later. An
// approval that a later attempt has spent stays that one's.
const placedSQL = `
with told as (
  select status from (values (@status::text), ((
    select g.status from attempts a join messages g on g.tenant_id = a.tenant_id and g.account = a.carrier and g.external_id = @call_id
    where a.followup_id = @id and a.no = @no))) as v (status)
  where @status::text is not null -- what is reported moves it in a statement of its own: see statusesSQL
  order by call_status_rank(status) desc, status is null limit 1
), placed as (
  update attempts a set outcome = 'placed', outcome_at = clock_timestamp(), call_id = @call_id, looks = 0,
    approval_id = case when not exists (select from attempts o where o.approval_id = a.approval_id and o.no <> a.no and (o.outcome is null or o.outcome <> 'not_placed')) then approval_id end,
    look_at = case when call_status_rank((select status from told)) < 5 then clock_timestamp() + ` + firstLook + ` end
  where followup_id = @id and no = @no
  returning followup_id
), moved as (
  update phone_followups f
  set state = 'call_placed', version = coalesce(version, 0) + 1, reason = null, detail = @detail,
    call_id = @call_id, call_status = coalesce((select status from told), f.call_status), ready = false, updated_at = clock_timestamp()
  from placed p where f.id = p.followup_id
  returning f.id, f.version, f.tenant_id)
insert into followup_events (followup_id, version, tenant_id, at, from_state, to_state, outcome, actor, detail, attempt_no)
select id, version, tenant_id, clock_timestamp(), @from, 'call_placed', 'call_placed', 'carrier', @detail, @no from moved`

func (s *Store) writeVerdict(ctx context.Context, tx pgx.Tx, stand stand, w word, v verdict) error {
	args := pgx.StrictNamedArgs{"id": w.followUp, "no": w.no, "call_id": orNull(w.callID)}
	if v.keep {
		keep := pgx.StrictNamedArgs{
			"id": w.followUp, "no": w.no, "source": w.source, "says": w.says, "call_id": orNull(w.callID),
			"code": orNull(w.code), "answer": orNull(w.answer), "conflict": v.conflict, "doubtful": v.doubtful,
		}
		tag, err := tx.Exec(ctx, keepEvidenceSQL, keep)
		if err != nil {
			return fmt.Errorf("keeping evidence: %w", err)
		}
		v.conflict = v.conflict && tag.RowsAffected() > 0 // told once
		if v.conflict && !v.doubtful && !v.settle && w.says == string(drain.AttemptPlaced) {
			if err := s.keepSuccessors(ctx, tx, w.followUp); err != nil {
				return err
			}
		}
	}
	if v.conflict {
		s.log.Error("the carrier's word contradicts what was recorded", "followup", w.followUp, "attempt", w.no, "recorded", stand.outcome, "says", w.says, "call_id", w.callID)
	}
	switch {
	case v.own:
		// From now on it can be asked about, and cancelled where it is queued and too late.
		if _, err := tx.Exec(ctx, `
			update attempts set call_id = @call_id, looks = 0, look_at = clock_timestamp() + `+firstLook+`
			where followup_id = @id and no = @no and call_id is null`, args); err != nil {
			return fmt.Errorf("noting which call an attempt was: %w", err)
		}
	case v.settle:
		args["from"], args["status"], args["detail"] = string(stand.state), orNull(w.status), tookIt(w.source)
		err := pgx.BeginFunc(ctx, tx, func(tx pgx.Tx) error {
			_, err := tx.Exec(ctx, placedSQL, args)
			return err
		})
		if isRowError(err) { // what cannot be settled is still shown
			s.log.Error("evidence cannot settle a call: it is for a person", "followup", w.followUp, "attempt", w.no, "err", err)
			return nil
		}
		if err != nil {
			return fmt.Errorf("recording that the carrier took the call after all: %w", err)
		}
		s.log.Info("the carrier's word settles a call as placed", "followup", w.followUp, "attempt", w.no, "was", string(stand.state), "source", w.source, "call_id", w.callID)
	}
	return nil
}

func tookIt(source string) string {
	switch source {
	case fromReply:
		return "the carrier's own reply, recorded late: it took the call"
	case fromWebhook:
		return "the carrier's webhook: it took the call"
	case fromRecord:
		return "the carrier's own record: it took the call"
	}
	return "the trunk's signalling: it took the call"
}

// lateWord is an answer whose attempt is no longer open.
func lateWord(late drain.Settlement) word {
	return word{
		followUp: late.FollowUp, no: late.AttemptNo, token: late.Token, source: fromReply, says: string(late.Outcome),
		callID: late.CallID, status: late.CallStatus, code: late.Code, answer: late.Answer,
	}
}

// statusesSQL moves call_status on, never back (R12). What is told of a call before it is known to be
// placed is not lost: recordSQL reads it from the message.
const statusesSQL = `
with x as (
  select * from unnest(@ids::text[]::uuid[], @nos::smallint[], @calls::text[], @statuses::text[], @stranges::boolean[]) as x (id, no, call_id, status, strange)
), moved as (
  update phone_followups f set call_status = x.status
  from x
  where f.id = x.id and f.state = 'call_placed' and (f.call_id = x.call_id or f.call_id is null and f.attempt_no = x.no and not x.strange)
    and call_status_rank(x.status) > call_status_rank(f.call_status)
  returning x.id, x.no, x.status
), over as (
  update attempts a set look_at = null
  from x
  where a.followup_id = x.id and a.no = x.no and a.outcome = 'placed' and a.call_id = x.call_id and a.look_at is not null and call_status_rank(x.status) >= 5
)
select id, no from moved where status = 'in-progress'`

// weighAll weighs what messages say of our attempts: that a call was placed, or that nobody was
// rung; how far it has come; and that it ended in two ways.
func (s *Store) weighAll(ctx context.Context, tx pgx.Tx, all []told) error {
	var (
		words                []word
		ids, calls, statuses []string
		nos                  []int16
		stranges             []bool
	)
	for _, m := range all {
		if m.followUp == "" || m.Kind != carrier.KindCall || m.Direction != carrier.DirectionOut {
			continue
		}
		w := word{followUp: m.followUp, no: m.no, source: m.source(), says: string(drain.AttemptPlaced), callID: m.ID, strange: m.strange}
		if len(m.fresh.Dialed) == 0 {
			w.says, w.answer = saysNotDialed, string(m.fresh.Status)
		}
		words = append(words, w)
		ids, nos, calls, statuses = append(ids, m.followUp), append(nos, int16(m.no)), append(calls, m.ID), append(statuses, string(m.Status))
		stranges = append(stranges, m.strange)
	}
	if len(words) == 0 {
		return nil
	}
	if err := s.weighSet(ctx, tx, words); err != nil {
		return err
	}
	if err := s.moveStatuses(ctx, tx, pgx.StrictNamedArgs{"ids": ids, "nos": nos, "calls": calls, "statuses": statuses, "stranges": stranges}); err != nil {
		return err
	}
	for _, m := range all {
		if m.followUp == "" || !m.Conflict() {
			continue
		}
		w := word{followUp: m.followUp, no: m.no, source: m.source(), says: saysEnds, callID: m.ID}
		if err := s.writeVerdict(ctx, tx, stand{outcome: "placed"}, w, verdict{keep: true, conflict: true}); err != nil {
			return err
		}
	}
	return nil
}

// moveStatuses moves call statuses on, and tells whoever has words to say of calls that were
// answered this moment.
func (s *Store) moveStatuses(ctx context.Context, tx pgx.Tx, args pgx.StrictNamedArgs) error {
	rows, err := tx.Query(ctx, statusesSQL, args)
	if err != nil {
		return fmt.Errorf("moving call statuses on: %w", err)
	}
	var answered []lookup.Ref
	var ref lookup.Ref
	if _, err := pgx.ForEachRow(rows, []any{&ref.FollowUp, &ref.No}, func() error { answered = append(answered, ref); return nil }); err != nil {
		return fmt.Errorf("moving call statuses on: %w", err)
	}
	if s.jobs.Speak == nil {
		return nil
	}
	for _, ref := range answered {
		if err := s.jobs.Speak(ctx, tx, ref.FollowUp, ref.No); err != nil {
			return fmt.Errorf("having the words said: %w", err)
		}
	}
	return nil
}

// source is where the newest word of a message came from.
func (t told) source() string {
	switch name, _ := carrier.SplitAccount(t.Account); {
	case name == "sip":
		return fromSignalling
	case t.fresh.Asked:
		return fromRecord
	}
	return fromWebhook
}
