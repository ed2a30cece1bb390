package store_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"chasephone/internal/followup"
	"chasephone/internal/pgtest"
)

// The database allows exactly the transitions of the table in the code: each pair is tried.
func TestDatabaseHoldsTheTransitions(t *testing.T) {
	t.Parallel()
	pool, ctx := pgtest.New(t), t.Context()
	allowed := map[string]bool{}
	for _, tr := range followup.Transitions() {
		allowed[string(tr.From+">"+tr.To)] = true
	}
	for _, from := range followup.States() {
		for _, to := range followup.States() {
			if from == to {
				continue
			}
			err := inRolledBack(ctx, pool.BeginTx, func(tx pgx.Tx) error {
				return run(ctx, tx,
					`alter table phone_followups disable trigger integrator_sets_no_state`,
					`alter table phone_followups disable trigger outcome_needs_ledger`,
					`alter table phone_followups drop constraint attempt_exists, drop constraint approval_exists`,
					fmt.Sprintf(`insert into phone_followups (ref, phone_number, due_at, script, state, reason, call_id, attempt_no, approval_id)
						values ('a', 'x', now(), 'x', '%s', 'r', 'c', 1, gen_random_uuid())`, from),
					fmt.Sprintf(`update phone_followups set state = '%s'`, to))
			})
			pair := string(from + ">" + to)
			switch {
			case allowed[pair] && err != nil:
				t.Errorf("%s is in the table and the database says: %v", pair, err)
			case !allowed[pair] && constraint(err) != "state_moves":
				t.Errorf("%s is not in the table and the database says: %v", pair, err)
			}
		}
	}
}

// Acts of a buggy or a hostile process, each stopped by the constraint that is there for it.
func TestDatabaseHoldsTheBounds(t *testing.T) {
	t.Parallel()
	pool, ctx := pgtest.New(t), t.Context()
	// a is dialing with an open attempt, b is due, c was placed, d is uncertain.
	if err := run(ctx, pool, `alter table phone_followups disable trigger user;
		alter table phone_followups drop constraint state_has_a_ledger_row, drop constraint attempt_exists;
		insert into phone_followups (id, ref, phone_number, due_at, script, state, e164, ready, attempt_no, version, call_id, reason) values
		  ('00000000-0000-0000-0000-00000000000a', 'a', '+14155550101', now(), 'x', 'dialing', '+14155550101', false, 1, 1, null, null),
		  ('00000000-0000-0000-0000-00000000000b', 'b', '+14155550102', now(), 'x', 'due', '+14155550102', true, null, null, null, null),
		  ('00000000-0000-0000-0000-00000000000c', 'c', '+14155550103', now(), 'x', 'call_placed', '+14155550103', false, 1, 1, 'CAc', null),
		  ('00000000-0000-0000-0000-00000000000d', 'd', '+14155550104', now(), 'x', 'uncertain', '+14155550104', false, 1, 1, null, 'r');
		insert into attempts (followup_id, no, token, tenant_id, line, carrier, e164, caller_number, daemon_id, created_at, begin_at, send_by, answer_by, late_at, outcome, outcome_at, call_id)
		select id, 1, gen_random_uuid(), 'default', 'default', 'twilio', e164, '+12125550100', gen_random_uuid(), now(), now(), now(), now() + interval '10 s', now() + interval '1 day',
		  case state when 'call_placed' then 'placed' when 'uncertain' then 'uncertain' end, case when state <> 'dialing' then now() end, call_id
		from phone_followups where state <> 'due';
		insert into followup_events (followup_id, version, tenant_id, at, from_state, to_state, outcome, actor, attempt_no, slot_at, place, limits_id, per_tick)
		select id, 1, 'default', now(), 'due', 'dialing', null, 'gates', 1, '2026-01-01', case ref when 'a' then 1 else 2 end, (select limits_id from fleet), 2
		from phone_followups where ref in ('a', 'c');
		insert into followup_events (followup_id, version, tenant_id, at, from_state, to_state, outcome, actor)
		select id, 1, 'default', now(), 'dialing', 'uncertain', 'uncertain', 'sweep' from phone_followups where ref = 'd';
		alter table phone_followups enable trigger user;
		alter table phone_followups
		  add constraint state_has_a_ledger_row foreign key (id, version) references followup_events (followup_id, version),
		  add constraint attempt_exists foreign key (id, attempt_no) references attempts (followup_id, no)`); err != nil {
		t.Fatal(err)
	}
	const (
		a = "'00000000-0000-0000-0000-00000000000a'"
		b = "'00000000-0000-0000-0000-00000000000b'"
		c = "'00000000-0000-0000-0000-00000000000c'"
		d = "'00000000-0000-0000-0000-00000000000d'"
	)
	attempt := func(id, no, more string) string {
		return `insert into attempts (followup_id, no, token, tenant_id, line, carrier, e164, caller_number, daemon_id, created_at, begin_at, send_by, answer_by, late_at)
			values (` + id + `, ` + no + `, gen_random_uuid(), 'default', 'default', 'twilio', ` + more + `)`
	}
	const soon = `now(), now(), now() + interval '5 s', now() + interval '15 s', now() + interval '1 day'`
	event := func(id, version, more string) string {
		return `insert into followup_events (followup_id, version, tenant_id, at, from_state, to_state, actor, by_name, slot_at, place, limits_id, per_tick)
			values (` + id + `, ` + version + `, 'default', now(), 'due', ` + more + `)`
	}
	for name, act := range map[string]struct{ sql, constraint string }{
		"a second open attempt":                {attempt(a, "2", "'+14155550101', '+1', gen_random_uuid(), "+soon), "attempts_one_live"},
		"an attempt after one that rang":       {attempt(c, "2", "'+14155550103', '+1', gen_random_uuid(), "+soon), "attempts_one_live"},
		"an attempt after an uncertain one":    {attempt(d, "2", "'+14155550104', '+1', gen_random_uuid(), "+soon), "attempts_one_live"},
		"the same attempt twice":               {attempt(a, "1", "'+14155550101', '+1', gen_random_uuid(), "+soon), "attempts_pkey"},
		"two calls of one number at once":      {attempt(b, "1", "'+14155550101', '+1', gen_random_uuid(), "+soon), "attempts_one_open_per_number"},
		"a request later than the promise":     {attempt(b, "1", "'+14155550102', '+1', gen_random_uuid(), now(), now(), now() + interval '25 h', now() + interval '26 h', now() + interval '24 h'"), "attempts_deadlines"},
		"an attempt moved to another number":   {`update attempts set e164 = '+14155550109' where followup_id = ` + a, "attempt_is_frozen"},
		"an outcome changed":                   {`update attempts set outcome = 'not_placed' where followup_id = ` + c, "attempt_is_frozen"},
		"placed without evidence":              {`update attempts set outcome = 'placed', outcome_at = now() where followup_id = ` + a, "attempts_placed_needs_evidence"},
		"did not ring, said by nobody":         {`update attempts set outcome = 'did_not_ring', outcome_at = now() where followup_id = ` + d, "attempts_did_not_ring_needs_a_name"},
		"an attempt taken away":                {`delete from attempts where followup_id = ` + a, "attempts_are_kept"},
		"a place taken twice":                  {event(b, "1", "'dialing', 'gates', null, '2026-01-01', 1, (select limits_id from fleet), 2"), "followup_events_place"},
		"a third place of two":                 {event(b, "1", "'dialing', 'gates', null, '2026-01-01', 3, (select limits_id from fleet), 2"), "a_place_is_whole"},
		"a limit of one's own":                 {event(b, "1", "'dialing', 'gates', null, '2026-01-01', 3, (select limits_id from fleet), 5"), "a_place_is_under_the_limit"},
		"a ruling without a place":             {event(b, "1", "'dialing', 'gates', null, null, null, null, null"), "a_ruling_takes_a_place"},
		"a decision by nobody":                 {event(b, "1", "'cancelled', 'person', '', null, null, null, null"), "nobody_unnamed_decides"},
		"a ledger row changed":                 {`update followup_events set at = now()`, "ledger_is_append_only"},
		"a ledger row deleted":                 {`delete from followup_events`, "ledger_is_append_only"},
		"the ledger emptied":                   {`truncate followup_events cascade`, "ledger_is_append_only"},
		"a state without a ledger row":         {`update phone_followups set state = 'cancelled', reason = 'r' where id = ` + b, "outcome_needs_ledger"},
		"a call id without a ledger row":       {`update phone_followups set call_id = 'CAx' where id = ` + b, "outcome_needs_ledger"},
		"a version without a ledger row":       {`update phone_followups set state = 'cancelled', reason = 'r', version = 1 where id = ` + b, "state_has_a_ledger_row"},
		"out of a final state":                 {`update phone_followups set state = 'due', version = 2 where id = ` + c, "state_moves"},
		"dialing without an attempt":           {`update phone_followups set state = 'dialing', version = 1 where id = ` + b, "dialing_needs_attempt"},
		"call placed without evidence":         {`update phone_followups set state = 'call_placed', version = 2 where id = ` + d, "placed_needs_evidence"},
		"due_at moved":                         {`update phone_followups set due_at = due_at + interval '1 h' where id = ` + b, "promise_is_frozen"},
		"other words":                          {`update phone_followups set script = 'y' where id = ` + b, "promise_is_frozen"},
		"another number":                       {`update phone_followups set phone_number = '+14155550110' where id = ` + b, "promise_is_frozen"},
		"another identity":                     {`update phone_followups set e164 = '+14155550110' where id = ` + b, "identity_is_worked_out"},
		"another identity, in our name":        {`set local chasephone.writes = on; update phone_followups set e164 = '+14155550110' where id = ` + b, "promise_is_frozen"},
		"a tenant deleted":                     {`delete from tenants`, "tenants_are_kept"},
		"an uncertain one opened again":        {`update attempts set outcome = null, outcome_at = null where followup_id = ` + d, "attempt_is_frozen"},
		"an older version":                     {`update phone_followups set state = 'cancelled', reason = 'r', version = 3 where id = ` + d, "outcome_needs_ledger"},
		"approval no longer needed":            {`update phone_followups set needs_approval = true where id = ` + b + `; update phone_followups set needs_approval = false where id = ` + b, "promise_is_frozen"},
		"a follow-up deleted":                  {`delete from phone_followups where id = ` + b, "followups_are_kept"},
		"an integrator who sets the state":     {`insert into phone_followups (ref, phone_number, due_at, script, state) values ('z', 'x', now(), 'x', 'call_placed')`, "integrator_sets_no_state"},
		"an integrator who sets the identity":  {`insert into phone_followups (ref, phone_number, due_at, script, e164, ready) values ('z', 'x', now(), 'x', '+14155550111', true)`, "integrator_sets_no_state"},
		"the same promise twice":               {`insert into phone_followups (ref, phone_number, due_at, script) select ref, phone_number, due_at, script from phone_followups where ref = 'b'`, "phone_followups_natural_key"},
		"a fleet of two":                       {`insert into fleet (one, limits_id) select false, limits_id from fleet`, "fleet_one_check"},
		"a stop by nobody":                     {`update fleet set stopped_at = now()`, "fleet_check"},
		"a call id changed":                    {`update attempts set call_id = 'CAother' where followup_id = ` + c, "attempt_is_frozen"},
		"a refused attempt that was placed":    {`update attempts set outcome = 'refused', outcome_at = now() where followup_id = ` + a + `; update attempts set outcome = 'placed', call_id = 'CAa' where followup_id = ` + a, "attempt_is_frozen"},
		"one call of two attempts":             {`update attempts set call_id = 'CAc' where followup_id = ` + a, "attempts_call_id"},
		"evidence of a new kind":               {`insert into evidence (followup_id, attempt_no, source, says) values (` + a + `, 1, 'rumour', 'placed')`, "evidence_source_check"},
		"evidence that says nothing known":     {`insert into evidence (followup_id, attempt_no, source, says) values (` + a + `, 1, 'webhook', 'perhaps')`, "evidence_says_check"},
		"a look-up taken away":                 {`delete from lookups`, "lookups_are_append_only"},
		"a message of a status nobody knows":   {`insert into messages (tenant_id, account, external_id, kind, direction, status, began_at) values ('default', 'twilio', 'x', 'call', 'out', 'hovering', now())`, "messages_status_check"},
		"a message of half an attempt":         {`insert into messages (tenant_id, account, external_id, kind, direction, began_at, attempt_no) values ('default', 'twilio', 'x', 'call', 'out', now(), 1)`, "messages_check"},
		"an arrival of nobody's kind":          {`insert into tenant_twilio_events (account, kind, body) values ('twilio', 'gossip', '')`, "tenant_twilio_events_kind_check"},
		"an opt-out by nobody":                 {`insert into do_not_call (e164, added_by) values ('+14155550101', '')`, "do_not_call_added_by_check"},
		"a call reported by nobody":            {`insert into other_calls (e164, direction, reported_by) values ('+14155550101', 'out', '')`, "other_calls_reported_by_check"},
		"a call in no direction":               {`insert into other_calls (e164, direction, reported_by) values ('+14155550101', 'up', 'x')`, "other_calls_direction_check"},
		"a call to a number as typed":          {`insert into other_calls (e164, direction, reported_by) values ('(415) 555-0101', 'out', 'x')`, "other_calls_e164_check"},
		"a call that never began":              {`insert into other_calls (e164, direction, reported_by, began_at) values ('+14155550101', 'out', 'x', 'infinity')`, "other_calls_began_at_check"},
		"consent by nobody":                    {`insert into consents (tenant_id, e164, purpose, added_by) values ('default', '+14155550101', 'sales', '')`, "consents_added_by_check"},
		"consent to nothing":                   {`insert into consents (tenant_id, e164, purpose, added_by) values ('default', '+14155550101', '', 'x')`, "consents_purpose_check"},
		"a policy that nobody knows":           {`update tenants set approval = 'sometimes'`, "tenants_approval_check"},
		"more in a slot than can be conceived": {`insert into limits (tick, per_tick, retry_after, max_late, dial_timeout, dial_slots, drainers, quarantine, set_by) values ('1 m', 101, '1 h', '24 h', '10 s', 64, 1, '15 m', 'x')`, "limits_per_tick_check"},
	} {
		t.Run(name, func(t *testing.T) {
			err := inRolledBack(ctx, pool.BeginTx, func(tx pgx.Tx) error { return run(ctx, tx, act.sql) })
			if got := constraint(err); got != act.constraint {
				t.Errorf("stopped by %q (%v), want %q", got, err, act.constraint)
			}
		})
	}
}

type execer interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
}

func run(ctx context.Context, on execer, all ...string) error {
	for _, sql := range all {
		for one := range strings.SplitSeq(sql, ";") {
			if _, err := on.Exec(ctx, one); err != nil {
				return err
			}
		}
	}
	return nil
}

func inRolledBack(ctx context.Context, begin func(context.Context, pgx.TxOptions) (pgx.Tx, error), do func(pgx.Tx) error) error {
	tx, err := begin(ctx, pgx.TxOptions{})
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback(ctx) }()
	return do(tx)
}

func constraint(err error) string {
	var refused *pgconn.PgError
	if errors.As(err, &refused) {
		return refused.ConstraintName
	}
	return ""
}
