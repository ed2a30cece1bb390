package store_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"chasephone/internal/store"
)

// The claim stays bound to its indexes when most of the table is final, an old snapshot is
// held open, and a generic plan is used: it reads what is due and nothing else.
func TestPlansStayIndexBound(t *testing.T) {
	t.Parallel()
	db, ctx := open(t), t.Context()
	for _, sql := range []string{
		`alter table phone_followups disable trigger user`,
		`insert into phone_followups (tenant_id, ref, phone_number, due_at, script, state, reason, e164, ready)
		 select 't' || i % 50, 'r' || i, 'x', now() - interval '2 days' + i * interval '1 second', 'x', 'missed', 'too_late', '+14155550123', false from generate_series(1, 30000) i`,
		`insert into phone_followups (tenant_id, ref, phone_number, due_at, script, e164, ready, next_try_at)
		 select 't' || i % 50, 'd' || i, 'x', now() - i * interval '1 second', 'x', '+14155550123', true, now() - interval '1 day' from generate_series(1, 100) i`,
		`alter table phone_followups enable trigger user`,
		`insert into tenants (id) select 't' || i from generate_series(0, 49) i`,
		`insert into lines (tenant_id, name, carrier, caller_number) select 't' || i % 50, 'l' || i, 'twilio', '+1212' || (2000000 + i)::text from generate_series(1, 2000) i`,
		`analyze`,
	} {
		if _, err := db.Pool.Exec(ctx, sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	old, err := db.Pool.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = old.Rollback(ctx) }()
	if _, err := old.Exec(ctx, `select count(*) from tenants`); err != nil {
		t.Fatal(err)
	}
	for name, q := range map[string]planned{
		"pairs": {store.PairsSQL, pgx.NamedArgs{"tenant": "", "line_key": "", "most": 64, "scan": 2000, "max_late": 24 * time.Hour}},
		"candidates": {store.CandidatesSQL, pgx.NamedArgs{
			"tick": time.Minute, "per_tick": 2, "max_late": 24 * time.Hour, "look": 50, "rows": 0, "rows_each": 500, "skip": []string{},
			"locked_tenants": []string{}, "locked_lines": []string{},
			"tenants": []string{"t1", "t2"}, "pair_tenants": []string{"t1", "t2"}, "pair_lines": []string{"", ""},
			"daemon": "00000000-0000-0000-0000-000000000001", "carriers": []string{"x"},
		}},
		"close":  {store.ClosesSQL, pgx.NamedArgs{"most": 500, "only": nil}},
		"waited": {store.WaitedSQL, pgx.NamedArgs{"most": 500}},
		"ahead":  {store.AheadSQL, pgx.NamedArgs{"most": 500}},
		"new":    {store.NewSQL, pgx.NamedArgs{"most": 500}},
	} {
		q.readsNoWhole(t, db, name, "phone_followups", "lines")
	}
}

// What a slot writes finds its rows by their keys, also where the plan was made while the tables
// were empty: there would be no end to what such a plan reads once they are not.
func TestPlansOfEmptyTables(t *testing.T) {
	t.Parallel()
	db, ctx := open(t), t.Context()
	if _, err := db.Pool.Exec(ctx, `vacuum analyze`); err != nil {
		t.Fatal(err)
	}
	for name, sql := range map[string]string{"record": store.RecordSQL, "rulings": store.RulingsSQL} {
		tx, err := db.Pool.BeginTx(ctx, pgx.TxOptions{BeginQuery: store.BeginSQL})
		if err != nil {
			t.Fatal(err)
		}
		rows, err := tx.Query(ctx, `explain (costs off) `+sql, nulls(sql))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		plan, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		text := strings.Join(plan, "\n")
		for table, by := range map[string]string{"phone_followups": "phone_followups_pkey", "attempts": "attempts_pkey"} {
			for _, line := range plan {
				if strings.Contains(line, "Scan") && strings.Contains(line, " on "+table) && !strings.Contains(line, "using "+by) {
					t.Errorf("%s: %s\n%s", name, line, text)
				}
			}
		}
		if err := tx.Rollback(ctx); err != nil {
			t.Fatal(err)
		}
	}
}

// nulls are no arguments at all, by the names that a statement has.
func nulls(sql string) pgx.NamedArgs {
	args := pgx.NamedArgs{}
	for _, found := range regexp.MustCompile(`@([a-z_]+)`).FindAllStringSubmatch(sql, -1) {
		args[found[1]] = nil
	}
	return args
}

// Counts read what they count, and not a year's calls.
func TestFactsStayIndexBound(t *testing.T) {
	t.Parallel()
	db, ctx := open(t), t.Context()
	for _, sql := range []string{
		`alter table phone_followups disable trigger user`,
		`insert into tenants (id) select 't' || i from generate_series(0, 49) i`,
		`insert into phone_followups (tenant_id, ref, phone_number, due_at, script, state, reason, e164, call_id)
		 select 't' || i % 50, 'r' || i, 'x', now() - i * interval '10 minutes', 'x', 'call_placed', null, '+1415' || (2000000 + i % 5000)::text, 'c' || i from generate_series(1, 30000) i`,
		`insert into attempts (followup_id, no, token, tenant_id, line, carrier, e164, caller_number, daemon_id, created_at, begin_at, send_by, answer_by, late_at, outcome, outcome_at, call_id)
		 select id, 1, gen_random_uuid(), tenant_id, 'default', 'x', e164, '+12125550123', gen_random_uuid(), due_at, due_at, due_at, due_at + interval '10 s', due_at + interval '1 day', 'placed', due_at, call_id from phone_followups`,
		`insert into other_calls (tenant_id, e164, direction, began_at, reported_by)
		 select 't' || i % 50, '+1415' || (2000000 + i % 5000)::text, case when i % 3 = 0 then 'in' else 'out' end, now() - i * interval '10 minutes', 'x' from generate_series(1, 30000) i`,
		`insert into consents (tenant_id, e164, purpose, added_by) select 't' || i % 50, '+1415' || (2000000 + i)::text, 'sales', 'x' from generate_series(1, 30000) i`,
		`insert into do_not_call (e164, added_by) select '+1415' || (2000000 + i)::text, 'x' from generate_series(1, 30000) i`,
		`analyze`,
	} {
		if _, err := db.Pool.Exec(ctx, sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	numbers, tenants := []string{"+14152000100", "+14152000200"}, []string{"t1", "t2"}
	contacts := pgx.NamedArgs{"tenants": tenants, "numbers": numbers}
	for name, q := range map[string]planned{
		"do not call":    {store.OptOutsSQL, contacts},
		"in a call":      {store.InCallsSQL, pgx.NamedArgs{"numbers": numbers}},
		"calls":          {store.CallsSQL, pgx.NamedArgs{"tenants": tenants, "numbers": numbers, "most": 7}},
		"called in":      {store.CalledInSQL, contacts},
		"consents":       {store.ConsentsSQL, pgx.NamedArgs{"tenants": tenants, "numbers": numbers, "purposes": []string{"sales", "sales"}}},
		"tenant's day":   {store.TenantDaySQL, pgx.NamedArgs{"tenants": tenants, "limit": 100}},
		"fleet's minute": {store.FleetMinuteSQL, pgx.NamedArgs{"limit": 100}},
		"calls at once":  {store.LineCallsSQL, pgx.NamedArgs{"tenants": tenants, "lines": []string{"default", "default"}, "limit": 100}},
	} {
		q.readsNoWhole(t, db, name, "phone_followups", "attempts", "other_calls", "consents", "do_not_call")
		q.passesByFew(t, db, name)
	}
}

// passesByFew fails where the statement, run for once, reads many rows that it then has no use for.
func (p planned) passesByFew(t *testing.T, db *store.Store, name string) {
	t.Helper()
	rows, err := db.Pool.Query(t.Context(), `explain (analyze, costs off, timing off, summary off) `+p.sql, p.args)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	plan, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	for _, line := range plan {
		var removed int
		if _, err := fmt.Sscanf(strings.TrimSpace(line), "Rows Removed by Filter: %d", &removed); err == nil && removed > 300 {
			t.Errorf("%s reads %d rows in vain:\n%s", name, removed, strings.Join(plan, "\n"))
		}
	}
}

// planned is a statement with arguments it may be run with.
type planned struct {
	sql  string
	args pgx.NamedArgs
}

// readsNoWhole fails where the statement would read all of one of the tables, planned for its
// arguments or for any.
func (p planned) readsNoWhole(t *testing.T, db *store.Store, name string, tables ...string) {
	t.Helper()
	for _, mode := range []string{"force_custom_plan", "force_generic_plan"} {
		err := pgx.BeginFunc(t.Context(), db.Pool, func(tx pgx.Tx) error {
			if _, err := tx.Exec(t.Context(), `select set_config('plan_cache_mode', $1, true)`, mode); err != nil {
				return err
			}
			rows, err := tx.Query(t.Context(), `explain (costs off) `+p.sql, p.args)
			if err != nil {
				return err
			}
			plan, err := pgx.CollectRows(rows, pgx.RowTo[string])
			if err != nil {
				return err
			}
			text := strings.Join(plan, "\n")
			for _, table := range tables {
				if strings.Contains(text, "Seq Scan on "+table) {
					t.Errorf("%s, %s, reads all of %s:\n%s", name, mode, table, text)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
}

// What arrivals and look-ups ask reads what it is about, and not a year's calls.
func TestEvidenceStaysIndexBound(t *testing.T) {
	t.Parallel()
	db, ctx := open(t), t.Context()
	for _, sql := range []string{
		`alter table phone_followups disable trigger user`,
		`insert into tenants (id) select 't' || i from generate_series(0, 49) i`,
		`insert into lines (tenant_id, name, carrier, caller_number) select 't' || i % 50, 'l' || i, 'twilio', '+1212' || (2000000 + i)::text from generate_series(1, 2000) i`,
		`insert into phone_followups (tenant_id, ref, phone_number, due_at, script, state, e164, call_id)
		 select 't' || i % 50, 'r' || i, 'x', now() - i * interval '10 minutes', 'x', 'call_placed', '+1415' || (2000000 + i % 5000)::text, 'c' || i from generate_series(1, 30000) i`,
		`insert into attempts (followup_id, no, token, tenant_id, line, carrier, e164, caller_number, daemon_id, created_at, begin_at, send_by, answer_by, late_at, outcome, outcome_at, call_id)
		 select id, 1, gen_random_uuid(), tenant_id, 'default', 'twilio', e164, '+12125550123', gen_random_uuid(), due_at, due_at, due_at, due_at + interval '10 s', due_at + interval '1 day', 'placed', due_at, call_id from phone_followups`,
		`insert into contacts (tenant_id, e164) select distinct tenant_id, e164 from phone_followups`,
		`insert into threads (tenant_id, contact_id, first_at, last_at) select tenant_id, id, now(), now() from contacts`,
		`insert into messages (tenant_id, thread_id, account, external_id, kind, direction, status, began_at)
		 select f.tenant_id, t.id, 'twilio', f.call_id, 'call', 'out', 'completed', f.due_at from phone_followups f join contacts c using (tenant_id, e164) join threads t on t.contact_id = c.id`,
		`insert into other_calls (tenant_id, e164, direction, reported_by, message_id) select m.tenant_id, c.e164, 'in', 'x', m.id from messages m join threads t on t.id = m.thread_id join contacts c on c.id = t.contact_id where m.external_id like '%0'`,
		`insert into tenant_twilio_events (tenant_id, account, kind, body, bridged_at) select tenant_id, account, 'status', '', now() from messages`,
		`analyze`,
	} {
		if _, err := db.Pool.Exec(ctx, sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	var id, token string
	if err := db.Pool.QueryRow(ctx, `select followup_id, token from attempts where call_id = 'c100'`).Scan(&id, &token); err != nil {
		t.Fatal(err)
	}
	tenants, accounts, calls, numbers := []string{"t0"}, []string{"twilio"}, []string{"c100"}, []string{"+14152000100"}
	none := []*string{nil}
	keep := pgx.NamedArgs{
		"nths": []int32{0}, "signed": accounts, "kinds": []string{"status"}, "tokens": none, "attempts": none, "numbers": []string{"+12122000100"}, "bodies": [][]byte{{}},
		"account_sid": none, "call_sid": none, "message_sid": none, "call_status": none, "direction": none, "from_number": none, "to_number": none, "sequence_number": none, "foreign": "x",
	}
	message := pgx.NamedArgs{"tenants": tenants, "accounts": accounts, "ids": calls}
	for name, q := range map[string]planned{
		"keep":         {store.KeepSQL(), keep},
		"to bridge":    {store.ToBridgeSQL(), pgx.NamedArgs{"most": 500, "passed": []int64{}}},
		"joined":       {store.JoinedSQL, pgx.NamedArgs{"nths": []int32{0}, "tenants": tenants, "accounts": accounts, "ids": calls, "tokens": []string{token}}},
		"spans":        {store.SpansSQL, pgx.NamedArgs{"tenants": tenants, "numbers": numbers}},
		"others":       {store.OthersSQL, message},
		"ours":         {store.OursSQL, message},
		"stands":       {store.StandsSQL, pgx.NamedArgs{"nths": []int32{0}, "ids": []string{id}, "nos": []int16{1}, "calls": calls, "tokens": []*string{nil}}},
		"statuses":     {store.StatusesSQL, pgx.NamedArgs{"ids": []string{id}, "nos": []int16{1}, "calls": calls, "statuses": []string{"busy"}, "stranges": []bool{false}}},
		"look-ups due": {store.LookupsDueSQL, pgx.NamedArgs{"carriers": accounts, "most": 100}},
	} {
		q.readsNoWhole(t, db, name, "phone_followups", "attempts", "messages", "contacts", "threads", "other_calls", "tenant_twilio_events", "lines")
	}
}
