package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"chasephone/internal/followup"
)

// horizonSQL is the transaction before which all of this database's have ended, and the mark.
// The server's own horizon would do, but a long transaction in any other database of the
// cluster holds that back: it is used only where other sessions' transactions are hidden from us.
const horizonSQL = `
with snap as materialized (
  select pg_snapshot_xmin(s)::text::bigint as xmin, pg_snapshot_xmax(s)::text::bigint as xmax from pg_current_snapshot() s
), running as (
  select bool_or(query = '<insufficient privilege>') as hidden,
    min(xmax - behind) filter (where behind < 2147483648) as oldest
  from snap cross join pg_stat_activity cross join lateral (
    select mod(mod(xmax - backend_xid::text::bigint, 4294967296) + 4294967296, 4294967296) as behind) x
  where datname = current_database() and pid <> pg_backend_pid()
)
select case when coalesce(hidden, false) then xmin else least(xmax, oldest) end, t.upto::text::bigint > xmax
from snap cross join running cross join outcome_tally t`

// tallySQL counts the ledger's outcomes on from where it was counted last up to the horizon,
// so that nothing that commits late is passed over. A mark ahead of every transaction there
// is was brought here from another cluster, by dump and restore: what came with it was
// counted there.
const tallySQL = `
with mark as materialized (
  select upto as was, above, (@horizon::bigint)::text::xid8 as now from outcome_tally
), counted as (
  select e.outcome, count(*) as n
  from mark m join followup_events e on e.xid >= m.was and e.xid < m.now
  where e.outcome is not null and e.id > m.above
  group by e.outcome
), added as (
  update outcome_totals t set total = t.total + c.n from counted c where t.outcome = c.outcome
)
update outcome_tally t
set upto = m.now, above = case when @restored then (select coalesce(max(id), 0) from followup_events) else m.above end
from mark m where m.now > m.was or @restored`

// Tally brings the totals of outcomes up to date; one daemon counts at a time.
func (s *Store) Tally(ctx context.Context) error {
	err := s.tx(ctx, func(tx pgx.Tx) error {
		// In a statement of its own: what is counted is seen after the lock is held.
		tag, err := tx.Exec(ctx, `select from outcome_tally for no key update skip locked`)
		if err != nil || tag.RowsAffected() == 0 {
			return err
		}
		var (
			horizon  int64
			restored bool
		)
		if err := tx.QueryRow(ctx, horizonSQL).Scan(&horizon, &restored); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, tallySQL, pgx.StrictNamedArgs{"horizon": horizon, "restored": restored})
		return err
	})
	if err != nil {
		return fmt.Errorf("counting outcomes from the ledger: %w", err)
	}
	return nil
}

// Gauges are the numbers that describe the whole fleet's database at one instant.
type Gauges struct {
	Outcomes        map[followup.Outcome]int64
	FollowUps       map[followup.State]int64 // of the states that are not final
	OldestDue       time.Duration            // age of the oldest promise that is due and not kept; 0: none
	OldestUncertain time.Duration
	AtRisk          int64 // due or awaiting a person, and missed within two hours unless something happens
	Conflicts       int64
	WithoutEnd      int64 // calls that the carrier took one to eight days ago and told no end of
	Lines           []Line
	Limits          followup.Limits
	LimitChanges    int64
	Held            bool // all ringing, until a person releases it
}

// Gauges reads them all. None of its statements reads a row in a final state, but for calls that
// were placed and have no end, which have an index of their own.
func (s *Store) Gauges(ctx context.Context) (Gauges, error) {
	g := Gauges{Outcomes: map[followup.Outcome]int64{}, FollowUps: map[followup.State]int64{}}
	batch := &pgx.Batch{}
	batch.Queue(`select outcome, total from outcome_totals`).Query(func(rows pgx.Rows) error {
		var o followup.Outcome
		var n int64
		_, err := pgx.ForEachRow(rows, []any{&o, &n}, func() error { g.Outcomes[o] = n; return nil })
		return err
	})
	batch.Queue(`
		select state, count(*) from phone_followups where state in ('due', 'awaiting_approval') group by state
		union all select state, count(*) from phone_followups where state in ('uncertain', 'dialing') group by state`).Query(func(rows pgx.Rows) error {
		var state followup.State
		var n int64
		_, err := pgx.ForEachRow(rows, []any{&state, &n}, func() error { g.FollowUps[state] = n; return nil })
		return err
	})
	batch.Queue(`
		select
		  coalesce(extract(epoch from clock_timestamp() - (select min(due_at) from phone_followups
		    where state in ('due', 'awaiting_approval') and state = 'due' and due_at > '-infinity' and due_at <= (select clock_timestamp()))), 0)::float8,
		  coalesce(extract(epoch from clock_timestamp() - (select min(updated_at) from phone_followups where state in ('uncertain', 'dialing') and state = 'uncertain')), 0)::float8,
		  (select count(*) from phone_followups f where state in ('due', 'awaiting_approval')
		    and due_at <= (select clock_timestamp() - l.max_late + interval '2 hours') and due_at > '-infinity'),
		  (select count(*) from evidence where conflict),
		  (select count(*) from phone_followups where state = 'call_placed' and call_id is not null and call_status_rank(call_status) < 5
		    and attempt_no is not null -- otherwise an attempt of what it was rescheduled from
		    and updated_at < (select clock_timestamp()) - interval '1 day' and updated_at > (select clock_timestamp()) - interval '8 days'),
		  (select count(*) - 1 from limits), ringing_held(),
		  ` + limitsColumns + `
		from fleet f join limits l on l.id = f.limits_id`).QueryRow(func(row pgx.Row) error {
		var due, uncertain float64
		err := row.Scan(append([]any{&due, &uncertain, &g.AtRisk, &g.Conflicts, &g.WithoutEnd, &g.LimitChanges, &g.Held}, limitsInto(&g.Limits)...)...)
		g.OldestDue, g.OldestUncertain = seconds(due), seconds(uncertain)
		return err
	})
	if err := s.Pool.SendBatch(ctx, batch).Close(); err != nil {
		return g, fmt.Errorf("reading the gauges: %w", err)
	}
	lines, err := s.Lines(ctx, defaultTenant)
	g.Lines = lines
	return g, err
}

func seconds(s float64) time.Duration { return max(0, time.Duration(s*float64(time.Second))) }
