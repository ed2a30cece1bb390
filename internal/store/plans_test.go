package store_test

import (
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
	for name, q := range map[string]struct {
		sql  string
		args pgx.NamedArgs
	}{
		"pairs": {store.PairsSQL, pgx.NamedArgs{"tenant": "", "line_key": "", "most": 64, "scan": 2000}},
		"candidates": {store.CandidatesSQL, pgx.NamedArgs{
			"tick": time.Minute, "per_tick": 2, "max_late": 24 * time.Hour, "look": 50, "rows": 0, "rows_at_once": 1000, "skip": []string{},
			"locked_tenants": []string{}, "locked_lines": []string{},
			"tenants": []string{"t1", "t2"}, "pair_tenants": []string{"t1", "t2"}, "pair_lines": []string{"", ""},
			"daemon": "00000000-0000-0000-0000-000000000001", "carriers": []string{"x"},
		}},
		"close":   {store.ClosesSQL, pgx.NamedArgs{"most": 500, "only": nil}},
		"waiting": {store.WaitingSQL, pgx.NamedArgs{"most": 500}},
	} {
		for _, mode := range []string{"force_custom_plan", "force_generic_plan"} {
			err := pgx.BeginFunc(ctx, db.Pool, func(tx pgx.Tx) error {
				if _, err := tx.Exec(ctx, `select set_config('plan_cache_mode', $1, true)`, mode); err != nil {
					return err
				}
				rows, err := tx.Query(ctx, `explain (costs off) `+q.sql, q.args)
				if err != nil {
					return err
				}
				plan, err := pgx.CollectRows(rows, pgx.RowTo[string])
				if err != nil {
					return err
				}
				if text := strings.Join(plan, "\n"); strings.Contains(text, "Seq Scan on phone_followups") {
					t.Errorf("%s, %s, reads the whole table:\n%s", name, mode, text)
				}
				return nil
			})
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
	}
}
