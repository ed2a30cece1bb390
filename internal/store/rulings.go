package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"chasephone/internal/drain"
	"chasephone/internal/followup"
	"chasephone/internal/gates"
)

// rulingsSQL writes a whole claim's rulings: the follow-ups, what they need beside them, and
// the ledger. It touches only rows that are still due, and its caller counts the ledger rows.
const rulingsSQL = `
with ruling as (
  select * from unnest(@ids::text[]::uuid[], @states::text[], @outcomes::text[], @reasons::text[], @details::text[],
      @next_tries::timestamptz[], @findings::text[], @places::smallint[], @asks::text[], @words::text[],
      @attempts::smallint[], @tokens::text[]::uuid[], @lines::text[], @carriers::text[], @numbers::text[], @callers::text[],
      @spends::text[]::uuid[], @begins::timestamptz[], @send_bys::timestamptz[], @answer_bys::timestamptz[], @late_ats::timestamptz[], @stays::boolean[])
    as x (id, state, outcome, reason, detail, next_try_at, findings, place, asks, words,
      attempt_no, token, line, carrier, e164, caller, spends, begin_at, send_by, answer_by, late_at, stays)
), named as materialized (
  select *, case when state = 'awaiting_approval' then uuid_v7() end as approval from ruling
), moved as (
  update phone_followups f
  set state = x.state, version = coalesce(f.version, 0) + 1, reason = x.reason, detail = x.detail, updated_at = @now::timestamptz,
    next_try_at = coalesce(x.next_try_at, f.next_try_at), ready = x.stays,
    approval_id = coalesce(x.approval, f.approval_id), attempt_no = coalesce(x.attempt_no, f.attempt_no),
    call_status = case when x.attempt_no is null then f.call_status end
  from named x
  where f.id = x.id and f.state = 'due'
  returning f.tenant_id, f.version, x.*
), asked as (
  insert into approvals (id, followup_id, reasons, e164, line, caller_number, words, asked_at)
  select approval, id, string_to_array(asks, ','), e164, line, coalesce(caller, ''), words, @now::timestamptz
  from moved where state = 'awaiting_approval'
), begun as (
  insert into attempts (followup_id, no, token, tenant_id, line, carrier, e164, caller_number, daemon_id, approval_id,
    created_at, begin_at, send_by, answer_by, late_at)
  select id, attempt_no, token, tenant_id, line, carrier, e164, caller, @daemon::text::uuid, spends,
    @now::timestamptz, begin_at, send_by, answer_by, late_at
  from moved where state = 'dialing'
)
insert into followup_events (followup_id, version, tenant_id, at, from_state, to_state, outcome, actor, reason, detail,
  findings, attempt_no, slot_at, place, limits_id, per_tick)
select id, version, tenant_id, @now::timestamptz, 'due', state, outcome, 'gates', reason, detail,
  findings::jsonb, attempt_no, case when place is not null then @slot::timestamptz end, place,
  case when place is not null then @limits_id::bigint end, case when place is not null then @per_tick::smallint end
from moved`

const paceSQL = `
update lines l set next_call_at = x.at
from unnest(@tenants::text[], @names::text[], @ats::timestamptz[]) as x (tenant_id, name, at)
where l.tenant_id = x.tenant_id and l.name = x.name`

// columns of rulingsSQL, one element per decision.
type columns struct {
	ids, states, findings                          []string
	outcomes, reasons, details                     []*string
	nextTries, begins, sendBys, answerBys, lateAts []*time.Time
	places, attempts                               []*int16
	asks, words, tokens, lines, carriers           []*string
	numbers, callers, spends                       []*string
	stays                                          []bool
}

func (c *claiming) write(ctx context.Context, b drain.Batch, d drain.Decisions) error {
	if len(d.Decided) == 0 {
		return nil
	}
	var col columns
	for _, one := range d.Decided {
		col.add(one)
	}
	batch := &pgx.Batch{}
	batch.Queue(rulingsSQL, pgx.StrictNamedArgs{
		"ids": col.ids, "states": col.states, "outcomes": col.outcomes, "reasons": col.reasons, "details": col.details,
		"next_tries": col.nextTries, "findings": col.findings, "places": col.places, "asks": col.asks, "words": col.words,
		"attempts": col.attempts, "tokens": col.tokens, "lines": col.lines, "carriers": col.carriers,
		"numbers": col.numbers, "callers": col.callers, "spends": col.spends,
		"begins": col.begins, "send_bys": col.sendBys, "answer_bys": col.answerBys, "late_ats": col.lateAts, "stays": col.stays,
		"now": b.Now, "slot": b.Slot, "limits_id": c.limitsID, "per_tick": c.limits.PerTick, "daemon": c.daemon,
	})
	if len(d.Paced) > 0 {
		var tenants, names []string
		var ats []time.Time
		for id, at := range d.Paced {
			tenants, names, ats = append(tenants, id.Tenant), append(names, id.Name), append(ats, at)
		}
		batch.Queue(paceSQL, pgx.StrictNamedArgs{"tenants": tenants, "names": names, "ats": ats})
	}
	results := c.tx.SendBatch(ctx, batch)
	tag, err := results.Exec()
	if closing := results.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return fmt.Errorf("writing rulings: %w", err)
	}
	if n := int(tag.RowsAffected()); n != len(d.Decided) {
		return fmt.Errorf("writing rulings: %d of %d rows were due under the claim's own lock", n, len(d.Decided))
	}
	return nil
}

func (c *columns) add(one drain.Decision) {
	k := &one.Candidate.Case
	var state followup.State
	var outcome followup.Outcome
	var next *time.Time
	switch one.Ruling.Kind() {
	case gates.KindWait:
		state, outcome, next = followup.Due, followup.OutcomeNotReady, &one.Ruling.Until
		if one.Ruling.Code == gates.CodeLineBusy { // nobody knows when: it is asked about in its turn
			next = nil
		}
	case gates.KindHold:
		state, outcome = followup.AwaitingApproval, followup.OutcomeAwaitingApproval
	case gates.KindRefuse:
		state, outcome = followup.Refused, followup.OutcomeRefused
	case gates.KindPass:
		state = followup.Dialing
	}
	c.ids, c.states = append(c.ids, one.Candidate.ID), append(c.states, string(state))
	c.outcomes = append(c.outcomes, orNull(string(outcome)))
	c.reasons, c.details = append(c.reasons, orNull(one.Ruling.Code)), append(c.details, orNull(one.Ruling.Sentence()))
	c.findings, c.nextTries = append(c.findings, string(gates.AppendLedger(nil, one.Findings))), append(c.nextTries, next)
	c.places, c.stays = append(c.places, number(one.Place)), append(c.stays, one.Shared)

	a := one.Attempt
	if a == nil {
		a = &drain.Attempt{To: k.Number.Number, Line: one.Candidate.Line.Name, From: k.Line.Caller}
	}
	var asks string
	for i, code := range one.Asks {
		if i > 0 {
			asks += ","
		}
		asks += code
	}
	var words *string
	if asks != "" {
		words = orNull(gates.Words(k.Script, k.Line.URL))
	}
	c.asks, c.words = append(c.asks, orNull(asks)), append(c.words, words)
	c.attempts, c.tokens = append(c.attempts, number(a.No)), append(c.tokens, orNull(a.Token))
	c.lines, c.carriers = append(c.lines, orNull(a.Line)), append(c.carriers, orNull(a.Carrier))
	c.numbers, c.callers = append(c.numbers, orNull(a.To.E164())), append(c.callers, orNull(a.From.E164()))
	c.spends = append(c.spends, orNull(a.ApprovalID))
	c.begins, c.sendBys = append(c.begins, instant(a.BeginAt)), append(c.sendBys, instant(a.SendBy))
	c.answerBys, c.lateAts = append(c.answerBys, instant(a.AnswerBy)), append(c.lateAts, instant(a.LateAt))
}

func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func number(n int) *int16 {
	if n == 0 {
		return nil
	}
	small := int16(n)
	return &small
}

func instant(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
