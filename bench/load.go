package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/jackc/pgx/v5"
)

// A large database as chasephone leaves it: of its follow-ups one in ten is promised for the next 90
// days and admitted; of the others, all final, one in five has its whole story (an attempt and two
// ledger rows), the rest only the row. None is due.
const (
	scaleTenants = 10_000
	loadPart     = 500_000 // rows in one statement
)

// indexes are dropped for the load and built after it: many times as fast.
const savedIndexes = `
create table bench_indexes as
select format('create %s', substr(indexdef, 8)) as make, format('drop index %I', indexname) as drop, indexname::text as name
from pg_indexes i
where schemaname = 'public' and tablename in ('phone_followups', 'attempts', 'followup_events')
  and not exists (select from pg_constraint c where c.conname = i.indexname)
union all
select format('alter table %s add constraint %I %s', conrelid::regclass, conname, pg_get_constraintdef(oid)),
  format('alter table %s drop constraint %I', conrelid::regclass, conname), conname::text
from pg_constraint where conname in ('phone_followups_natural_key', 'attempts_token')`

const loadFollowUps = `
insert into phone_followups (id, tenant_id, ref, due_at, phone_number, contact_name, time_zone, script, state, next_try_at, reason, detail, call_id, call_status,
  created_at, updated_at, e164, region, ready, promised_at, attempt_no, version)
select lpad(to_hex(i), 32, '0')::uuid, 't' || (i % @tenants::int) + 1, 'order ' || i,
  case when i % 10 = 0 then now() + interval '1 day' + (i % 7689600) * interval '1 second' else now() - interval '2 days' - (i % 31536000) * interval '1 second' end,
  '+1415' || 2000000 + i % 7999999, 'Customer ' || i, 'America/Los_Angeles', 'This is the garage: your car is ready. We are open until six.',
  case when i % 10 = 0 then 'due' when i % 10 = 1 then 'missed' else 'call_placed' end,
  case when i % 10 = 0 then now() + interval '1 day' + (i % 7689600) * interval '1 second' else now() - interval '2 days' end,
  case when i % 10 = 1 then 'too_late' end, case when i % 10 > 1 then 'the carrier took the call' end,
  case when i % 10 > 1 then 'CA' || lpad(to_hex(i), 32, '0') end, case when i % 10 > 1 then 'completed' end,
  now() - interval '3 days', now() - interval '2 days', '+1415' || 2000000 + i % 7999999, 'US', false, now() - interval '3 days',
  case when i % 50 = 2 then 1 end, case when i % 50 = 2 then 2 end
from generate_series(@from::bigint, @to::bigint - 1) i`

const loadAttempts = `
insert into attempts (followup_id, no, token, tenant_id, line, carrier, e164, caller_number, daemon_id, created_at, begin_at, send_by, answer_by, late_at, outcome, outcome_at, call_id)
select id, 1, gen_random_uuid(), tenant_id, 'default', '` + accountName + `', e164, '+12125550100', '00000000-0000-0000-0000-000000000001', updated_at - interval '1 minute',
  updated_at - interval '1 minute', updated_at - interval '55 seconds', updated_at - interval '45 seconds', due_at + interval '400 days', 'placed', updated_at, call_id
from phone_followups where attempt_no = 1 and id >= @low::uuid`

const loadEvents = `
insert into followup_events (followup_id, version, tenant_id, at, from_state, to_state, outcome, actor, findings, attempt_no, slot_at, place, limits_id, per_tick)
select f.id, v, f.tenant_id, f.updated_at, case v when 1 then 'due' else 'dialing' end, case v when 1 then 'dialing' else 'call_placed' end,
  case v when 2 then 'call_placed' end, case v when 1 then 'gates' else 'carrier' end,
  case v when 1 then '["number", "country", "do_not_call", "consent", "calling_hours", "caps", "gap", "in_a_call", "called_in", "approval", "words", "line", "budget"]'::jsonb end, 1,
  case v when 1 then timestamptz '2020-01-01' + ('x' || right(f.id::text, 7))::bit(28)::int * interval '1 minute' end, case v when 1 then 1 end,
  case v when 1 then l.id end, case v when 1 then l.per_tick end
from phone_followups f, generate_series(1, 2) v, (select id, per_tick from limits order by id limit 1) l (id, per_tick)
where f.attempt_no = 1 and f.id >= @low::uuid`

// load fills a migrated database with rows follow-ups.
func load(ctx context.Context, conn *pgx.Conn, rows int64) error {
	begun := time.Now()
	step := func(what, sql string, args pgx.NamedArgs) error {
		at := time.Now()
		if _, err := conn.Exec(ctx, sql, args); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		if took := time.Since(at); took > time.Second {
			fmt.Fprintf(os.Stderr, "loading %d rows: %s in %s\n", rows, what, took.Round(time.Second/10))
		}
		return nil
	}
	if err := step("without triggers", `set session_replication_role = replica`, nil); err != nil {
		return err
	}
	if err := step("tenants", `insert into tenants (id) select 't' || i from generate_series(1, @tenants::int) i`, pgx.NamedArgs{"tenants": scaleTenants}); err != nil {
		return err
	}
	if err := step("lines", `insert into lines (tenant_id, name, carrier, caller_number, calls_per_second) select id, 'default', '`+accountName+`', '+12125550100', 0 from tenants`, nil); err != nil {
		return err
	}
	if err := step("saving indexes", savedIndexes, nil); err != nil {
		return err
	}
	if err := each(ctx, conn, `select drop from bench_indexes order by name`, step); err != nil {
		return err
	}
	for from := int64(1); from <= rows; from += loadPart {
		to := min(from+loadPart, rows+1)
		args := pgx.NamedArgs{"tenants": scaleTenants, "from": from, "to": to}
		if err := step(fmt.Sprintf("follow-ups to %d", to-1), loadFollowUps, args); err != nil {
			return err
		}
	}
	low := pgx.NamedArgs{"low": "00000000-0000-0000-0000-000000000000"}
	if err := step("attempts", loadAttempts, low); err != nil {
		return err
	}
	if err := step("ledger", loadEvents, low); err != nil {
		return err
	}
	if err := each(ctx, conn, `select make from bench_indexes order by name`, step); err != nil {
		return err
	}
	for _, sql := range []string{`drop table bench_indexes`, `set session_replication_role = default`, `vacuum analyze`, `checkpoint`} {
		if err := step(sql, sql, nil); err != nil {
			return err
		}
	}
	fmt.Fprintf(os.Stderr, "loaded %d rows in %s\n", rows, time.Since(begun).Round(time.Second))
	return nil
}

// each runs every statement that a query returns.
func each(ctx context.Context, conn *pgx.Conn, query string, step func(what, sql string, args pgx.NamedArgs) error) error {
	rows, err := conn.Query(ctx, query)
	if err != nil {
		return err
	}
	all, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return err
	}
	for _, sql := range all {
		if err := step(sql, sql, nil); err != nil {
			return err
		}
	}
	return nil
}
