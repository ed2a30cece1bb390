package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"chasephone/internal/drain"
)

// aheadOfDue is how long before it is due a follow-up is made ready. A tick passes over the tenants that
// have ready rows, so those of later days must not be among them; and very many that are due at once
// must not keep those of others from being ready in time.
const aheadOfDue = `interval '1 hour'`

const toAdmit = `
select f.id, f.phone_number, coalesce(t.region, ''), t.id is not null, isfinite(f.due_at), f.e164 is not null or f.number_problem is not null,
  coalesce(length(f.line), 0) > 100
from phone_followups f left join tenants t on t.id = f.tenant_id
where f.state = 'due' and not f.ready and `

// Rows to look at are of three kinds, and each has its share of every commit: very many new ones do
// not keep those waiting whose wait is over. The clock is asked for in a subquery, so that it is one
// value which an index can be searched by.
const (
	waitedSQL = toAdmit + `f.next_try_at > '-infinity' and f.next_try_at <= (select clock_timestamp())
order by f.next_try_at limit @most for no key update of f skip locked`
	aheadSQL = toAdmit + `f.next_try_at = f.due_at and f.due_at <= (select clock_timestamp()) + ` + aheadOfDue + `
order by f.due_at limit @most for no key update of f skip locked`
	newSQL = toAdmit + `f.next_try_at = '-infinity'
limit @most for no key update of f skip locked`
	admitOneSQL = toAdmit + `f.id = @id
  and (f.next_try_at <= clock_timestamp() or f.next_try_at = f.due_at and f.due_at <= clock_timestamp() + ` + aheadOfDue + `)
for no key update of f skip locked`
)

const admitSQL = `
update phone_followups f
set ready = f.due_at <= clock_timestamp() + ` + aheadOfDue + `, next_try_at = greatest(f.due_at, f.next_try_at),
  -- Whatever clock the row was written by, it was promised no later than it was first looked at.
  promised_at = least(coalesce(f.promised_at, f.created_at), clock_timestamp()),
  e164 = coalesce(f.e164, x.e164), extension = coalesce(f.extension, x.extension),
  region = coalesce(f.region, x.region), number_problem = coalesce(f.number_problem, x.problem)
from unnest(@ids::text[]::uuid[], @e164s::text[], @extensions::text[], @regions::text[], @problems::text[])
  as x (id, e164, extension, region, problem)
where f.id = x.id`

// refuseNewSQL gives rows that can never be rung, whoever is called, an outcome of their own.
const refuseNewSQL = `
with moved as (
  update phone_followups f
  set state = 'refused', version = coalesce(f.version, 0) + 1, reason = x.reason, detail = x.detail, updated_at = clock_timestamp()
  from unnest(@ids::text[]::uuid[], @reasons::text[], @details::text[]) as x (id, reason, detail)
  where f.id = x.id
  returning f.id, f.version, f.tenant_id, x.reason, x.detail)
insert into followup_events (followup_id, version, tenant_id, at, from_state, to_state, outcome, actor, reason, detail)
select id, version, tenant_id, clock_timestamp(), 'due', 'refused', 'refused', 'intake', reason, detail
from moved`

// Admit looks at rows that are new or have waited long enough, see drain.Store.
func (s *Store) Admit(ctx context.Context, most int, identify drain.Identify) (int, error) {
	var n int
	err := s.tx(ctx, func(tx pgx.Tx) (err error) {
		n, err = s.admit(ctx, tx, nil, most, identify)
		return err
	})
	if isRowError(err) {
		n, err = s.admitOneByOne(ctx, most, identify)
	}
	if err != nil {
		return n, fmt.Errorf("admitting new follow-ups: %w", err)
	}
	return n, nil
}

// admitOneByOne goes around rows that the database refuses to have admitted.
func (s *Store) admitOneByOne(ctx context.Context, most int, identify drain.Identify) (int, error) {
	ids, err := s.ids(ctx, inOne{
		candidates: `
			select id from phone_followups
			where state = 'due' and not ready
			  and (next_try_at <= (select clock_timestamp()) or next_try_at = due_at and due_at <= (select clock_timestamp()) + ` + aheadOfDue + `)
			order by next_try_at limit @most`,
		args: pgx.StrictNamedArgs{"most": most},
	})
	if err != nil {
		return 0, err
	}
	return oneByOne(ids, func(id string) (n int, err error) {
		err = s.tx(ctx, func(tx pgx.Tx) (err error) {
			n, err = s.admit(ctx, tx, &id, 1, identify)
			return err
		})
		if isRowError(err) {
			// An outcome of its own, so that it does not stand before the others again.
			return 1, errors.Join(err, s.setAside(ctx, id, "cannot_be_admitted", err))
		}
		return n, err
	})
}

// admit looks at the row named, or at up to most rows of each kind. It says how many it handled of the
// kind that it handled most of: with fewer than most, it has looked at all there were.
func (s *Store) admit(ctx context.Context, tx pgx.Tx, id *string, most int, identify drain.Identify) (int, error) {
	var all admissions
	if id != nil {
		n, err := s.look(ctx, tx, &all, identify, admitOneSQL, pgx.StrictNamedArgs{"id": *id})
		if err != nil {
			return 0, err
		}
		return n, all.write(ctx, tx)
	}
	mostOfAKind := 0
	for _, sql := range []string{waitedSQL, aheadSQL, newSQL} {
		n, err := s.look(ctx, tx, &all, identify, sql, pgx.StrictNamedArgs{"most": most})
		if err != nil {
			return 0, err
		}
		mostOfAKind = max(mostOfAKind, n)
	}
	return mostOfAKind, all.write(ctx, tx)
}

// look says what becomes of the rows that sql finds, and how many they are.
func (s *Store) look(ctx context.Context, tx pgx.Tx, all *admissions, identify drain.Identify, sql string, args pgx.StrictNamedArgs) (int, error) {
	rows, err := tx.Query(ctx, sql, args)
	if err != nil {
		return 0, err
	}
	var (
		row                             waitingRow
		hasTenant, finite, isIdentified bool
		tooLong                         bool
	)
	scan := []any{&row.id, &row.number, &row.region, &hasTenant, &finite, &isIdentified, &tooLong}
	tag, err := pgx.ForEachRow(rows, scan, func() error {
		switch {
		case all.has(row.id): // it is of two kinds
		case !hasTenant:
			all.refuse(row.id, "unknown_tenant", "there is no tenant of this name")
		case tooLong:
			all.refuse(row.id, "unknown_line", "no line has so long a name")
		case !finite:
			all.refuse(row.id, "due_at_not_finite", "due_at is infinite: it is never due")
		case isIdentified:
			all.add(row.id, nil)
		default:
			if row.region == "" {
				row.region = s.defaults.Region
			}
			all.identify(row, identify)
		}
		return nil
	})
	return int(tag.RowsAffected()), err
}

type waitingRow struct{ id, number, region string }

// admissions are the columns of admitSQL, and of refuseNewSQL.
type admissions struct {
	seen                                 map[string]bool
	ids                                  []string
	e164s, extensions, regions, problems []*string
	refused, reasons, details            []string
}

func (a *admissions) has(id string) bool { return a.seen[id] }

func (a *admissions) saw(id string) {
	if a.seen == nil {
		a.seen = map[string]bool{}
	}
	a.seen[id] = true
}

func (a *admissions) refuse(id, reason, detail string) {
	a.saw(id)
	a.refused, a.reasons, a.details = append(a.refused, id), append(a.reasons, reason), append(a.details, detail)
}

func (a *admissions) write(ctx context.Context, tx pgx.Tx) error {
	if len(a.ids) > 0 {
		if _, err := tx.Exec(ctx, admitSQL, a.args()); err != nil {
			return err
		}
	}
	if len(a.refused) > 0 {
		if _, err := tx.Exec(ctx, refuseNewSQL, pgx.StrictNamedArgs{"ids": a.refused, "reasons": a.reasons, "details": a.details}); err != nil {
			return err
		}
	}
	return nil
}

type identity struct{ e164, extension, region, problem string }

func (a *admissions) identify(row waitingRow, identify drain.Identify) {
	found, problem := identify(row.number, row.region)
	if problem != "" {
		a.add(row.id, &identity{problem: string(problem)})
		return
	}
	a.add(row.id, &identity{e164: found.Number.E164(), extension: found.Extension, region: found.Region})
}

func (a *admissions) add(id string, i *identity) {
	if i == nil {
		i = &identity{}
	}
	a.saw(id)
	a.ids = append(a.ids, id)
	a.e164s, a.extensions = append(a.e164s, orNull(i.e164)), append(a.extensions, orNull(i.extension))
	a.regions, a.problems = append(a.regions, orNull(i.region)), append(a.problems, orNull(i.problem))
}

func (a *admissions) args() pgx.StrictNamedArgs {
	return pgx.StrictNamedArgs{"ids": a.ids, "e164s": a.e164s, "extensions": a.extensions, "regions": a.regions, "problems": a.problems}
}
