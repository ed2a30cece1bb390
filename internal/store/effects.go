package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"chasephone/internal/drain"
	"chasephone/internal/followup"
)

// What answers say about their lines: a line that is not ready is held for everybody, one
// that this daemon cannot reach is left to the others, and unknown answers in a row are
// counted until they hold it too (R6).

// lockLinesSQL locks the lines that may change, before any follow-up is locked.
const lockLinesSQL = `
select l.tenant_id, l.name
from unnest(@tenants::text[], @names::text[], @effects::text[]) as x (tenant_id, name, effect)
join lines l on l.tenant_id = x.tenant_id and l.name = x.name
where x.effect not in ('', 'answered') or l.unknowns_in_row > 0
order by l.tenant_id, l.name
for no key update of l`

const effectsSQL = `
with x as (
  select * from unnest(@tenants::text[], @names::text[], @resets::boolean[], @unknowns::int[], @holds::text[])
    as x (tenant_id, name, reset, unknowns, hold)
), changed as (
  select l.tenant_id, l.name, clock_timestamp() + @retry_after::interval as until, n.unknowns,
    case when x.hold <> '' then x.hold when @breaker::int > 0 and x.unknowns > 0 and n.unknowns >= @breaker then 'unknown_answers' end as held_for,
    l.held_by is not null and l.held_until > clock_timestamp() + @retry_after::interval as by_person
  from x join lines l on l.tenant_id = x.tenant_id and l.name = x.name
  cross join lateral (select case when x.reset then 0 else l.unknowns_in_row end + x.unknowns as unknowns) n
)
update lines l
set unknowns_in_row = c.unknowns,
  held_until = case when c.held_for is null or c.by_person then l.held_until else c.until end,
  held_for = case when c.held_for is null or c.by_person then l.held_for else c.held_for end,
  held_by = case when c.held_for is null or c.by_person then l.held_by end
from changed c
where l.tenant_id = c.tenant_id and l.name = c.name
returning l.tenant_id, l.name, coalesce(c.held_for, '')`

const unfitSQL = `
insert into unfit_lines (daemon_id, tenant_id, line, until)
select @daemon::text::uuid, x.tenant_id, x.name, clock_timestamp() + @retry_after::interval
from unnest(@tenants::text[], @names::text[]) as x (tenant_id, name)
on conflict (daemon_id, tenant_id, line) do update set until = excluded.until`

// lineEffect is what a set of answers, in their order, comes to for one line.
type lineEffect struct {
	reset    bool // an answer that is known came before the unknowns
	unknowns int
	hold     string
	unfit    bool
}

type lineEffects map[followup.LineID]*lineEffect

func lineOf(s drain.Settlement) followup.LineID {
	return followup.LineID{Tenant: s.Tenant, Name: s.Line}
}

func (all lineEffects) add(s drain.Settlement) {
	e := all[lineOf(s)]
	if e == nil {
		e = &lineEffect{}
		all[lineOf(s)] = e
	}
	switch s.OnLine {
	case drain.LineAnswered:
		e.reset, e.unknowns = true, 0
	case drain.LineUnknown:
		e.unknowns++
	case drain.LineNotReady:
		e.hold, e.reset, e.unknowns = "carrier_not_ready", true, 0
	case drain.LineAccount:
		e.hold, e.reset, e.unknowns = "account_rejected", true, 0
	case drain.LineUnfit:
		e.unfit = true
	case drain.LineUntouched:
	}
}

func lockLines(ctx context.Context, tx pgx.Tx, set []drain.Settlement) (map[followup.LineID]bool, time.Duration, error) {
	tenants, names, kinds, ids := make([]string, len(set)), make([]string, len(set)), make([]string, len(set)), make([]string, len(set))
	for i, one := range set {
		tenants[i], names[i], kinds[i], ids[i] = one.Tenant, one.Line, string(one.OnLine), one.FollowUp
	}
	var retryAfter time.Duration
	locked := map[followup.LineID]bool{}
	batch := &pgx.Batch{}
	batch.Queue(`select l.retry_after from fleet f join limits l on l.id = f.limits_id`).QueryRow(func(row pgx.Row) error {
		return row.Scan(&retryAfter)
	})
	batch.Queue(lockLinesSQL, pgx.StrictNamedArgs{"tenants": tenants, "names": names, "effects": kinds}).Query(func(rows pgx.Rows) error {
		var id followup.LineID
		_, err := pgx.ForEachRow(rows, []any{&id.Tenant, &id.Name}, func() error {
			locked[id] = true
			return nil
		})
		return err
	})
	// All that the set is about, whatever its state, in the order in which everybody locks.
	batch.Queue(`select from phone_followups where id = any(@ids::text[]::uuid[]) order by id for no key update`, pgx.StrictNamedArgs{"ids": ids})
	if err := tx.SendBatch(ctx, batch).Close(); err != nil {
		return nil, 0, fmt.Errorf("locking the lines of answered attempts: %w", err)
	}
	return locked, retryAfter, nil
}

func (s *Store) writeEffects(ctx context.Context, tx pgx.Tx, all lineEffects, retryAfter time.Duration) error {
	if len(all) == 0 {
		return nil
	}
	var (
		tenants, names, holds    []string
		resets                   []bool
		unknowns                 []int32
		unfitTenants, unfitNames []string
	)
	for id, e := range all {
		tenants, names, holds = append(tenants, id.Tenant), append(names, id.Name), append(holds, e.hold)
		resets, unknowns = append(resets, e.reset), append(unknowns, int32(e.unknowns))
		if e.unfit {
			unfitTenants, unfitNames = append(unfitTenants, id.Tenant), append(unfitNames, id.Name)
		}
	}
	batch := &pgx.Batch{}
	batch.Queue(effectsSQL, pgx.StrictNamedArgs{
		"tenants": tenants, "names": names, "resets": resets, "unknowns": unknowns, "holds": holds,
		"breaker": s.unknowns, "retry_after": retryAfter,
	}).Query(func(rows pgx.Rows) error {
		var tenant, name, heldFor string
		_, err := pgx.ForEachRow(rows, []any{&tenant, &name, &heldFor}, func() error {
			if heldFor != "" {
				s.log.Error("line held", "tenant", tenant, "line", name, "held_for", heldFor, "retry_after", retryAfter)
			}
			return nil
		})
		return err
	})
	if len(unfitTenants) > 0 {
		batch.Queue(unfitSQL, pgx.StrictNamedArgs{
			"daemon": s.daemon, "tenants": unfitTenants, "names": unfitNames, "retry_after": retryAfter,
		})
	}
	if err := tx.SendBatch(ctx, batch).Close(); err != nil {
		return fmt.Errorf("noting what answers say about their lines: %w", err)
	}
	return nil
}
