package store

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"chasephone/internal/drain"
	"chasephone/internal/followup"
	"chasephone/internal/gates"
	"chasephone/internal/phone"
)

// Invariant: at most PerTick follow-ups of a tenant take a place in one slot. The tenant's
// row is locked while its places are counted and taken, the slot is the one that the
// database's clock is in once the lock is held, and the ledger's key on (tenant, slot,
// place) refuses whatever went around the lock.

// rowsAtOnce bounds the rows that one claim locks and judges: their locks have room in the
// server, and their attempts are committed well before they may be sent no more.
const rowsAtOnce = 1000

// fleetLockSQL holds off stop and a change of limits until this claim is over. What the row
// says is read in the next statement: after a wait for the lock, this one would still join
// the new row with the old limits.
const fleetLockSQL = `select from fleet for share`

const fleetSQL = `
select f.stopped_at is not null, l.id, ` + limitsColumns + `
from fleet f join limits l on l.id = f.limits_id`

// fleetBudgetLock is the last lock that a claim waits for, where calls of the fleet are counted.
const fleetBudgetLock = 0x62756467 // "budg"

// tenantsSQL locks the tenants whose places are about to be counted; one that another
// daemon is claiming is left to it.
const tenantsSQL = `
select id, coalesce(region, ''), approval
from tenants
where id = any(@tenants) and stopped_at is null
order by id
for no key update skip locked`

// linesSQL locks the lines. One that somebody else holds is left out rather than waited for.
const linesSQL = `
select l.tenant_id, l.name, l.carrier, l.caller_number, coalesce(l.url, ''), l.calls_per_second,
  case when l.next_call_at = '-infinity' then null else l.next_call_at end, l.unknowns_in_row,
  o.open, o.silent
from lines l cross join lateral (
  select count(*) as open, count(*) filter (where a.begin_at < clock_timestamp() - interval '3 seconds') as silent
  from attempts a where a.tenant_id = l.tenant_id and a.line = l.name and a.outcome is null) o
where l.tenant_id = any(@tenants)
order by l.tenant_id, l.name
for no key update of l skip locked`

// candidatesSQL finds each tenant's oldest rows whose time has come and whose line is open.
const candidatesSQL = `
with clock as materialized (
  select now, date_bin(@tick::interval, now, timestamptz 'epoch') as slot
  from (select clock_timestamp() as now offset 0) x
), places as materialized (
  select t.id as tenant_id, t.default_line, c.now, c.slot,
    (select count(*) from followup_events e
     where e.tenant_id = t.id and e.place is not null and e.slot_at >= c.slot and e.slot_at < c.slot + @tick::interval) as taken
  from clock c cross join tenants t
  where t.id = any(@tenants)
), open as materialized (
  select p.*, pair.line_key, coalesce(nullif(pair.line_key, ''), p.default_line) as line
  from unnest(@pair_tenants::text[], @pair_lines::text[]) as pair (tenant_id, line_key)
  join places p on p.tenant_id = pair.tenant_id and p.taken < @per_tick::int
  left join lines l on l.tenant_id = pair.tenant_id and l.name = coalesce(nullif(pair.line_key, ''), p.default_line)
  where l.name is null
     or ((l.tenant_id, l.name) in (select * from unnest(@locked_tenants::text[], @locked_lines::text[]))
         and l.stopped_at is null
         and (l.held_until is null or l.held_until <= p.now)
         and not exists (select from unfit_lines u
           where u.daemon_id = @daemon::text::uuid and u.tenant_id = l.tenant_id and u.line = l.name and u.until > p.now)
         and (l.carrier = any(@carriers) or not exists (select from daemons d
           where d.id <> @daemon::text::uuid and d.seen_at > p.now - interval '20 seconds' and l.carrier = any(d.carriers))))
)
select o.now, o.slot, o.taken::int, o.tenant_id, o.line, o.line_key <> '',
  f.id, f.due_at, coalesce(f.promised_at, f.created_at), f.script, coalesce(f.time_zone, ''), f.time_zone is not null, f.purpose, f.needs_approval,
  coalesce(f.e164, ''), coalesce(f.extension, ''), coalesce(f.region, ''), coalesce(f.number_problem, ''),
  coalesce(f.attempt_no, 0), f.approval_id
from open o cross join lateral (
  select * from phone_followups f
  where f.tenant_id = o.tenant_id and f.line_key = o.line_key and f.state = 'due' and f.ready
    and f.due_at <= o.now and f.due_at >= o.now - @max_late::interval and f.next_try_at <= o.now
    and f.id <> all(@skip::text[]::uuid[])
  order by f.due_at, f.id
  limit least(@per_tick::int - o.taken + @look::int, greatest(@rows_at_once::int / cardinality(@pair_tenants::text[]), 1))
  for no key update skip locked) f
order by o.tenant_id, f.due_at, f.id
limit nullif(@rows::int, 0)`

type tenant struct {
	region string
	policy gates.Policy
}

// Claim is T1, see drain.Store.
func (s *Store) Claim(ctx context.Context, q drain.Query, rule drain.Rule) (drain.Claim, error) {
	var claim drain.Claim
	err := s.tx(ctx, func(tx pgx.Tx) error {
		claim = drain.Claim{}
		c := claiming{Store: s, tx: tx, q: q}
		pairs, err := c.begin(ctx, &claim)
		if err != nil || claim.Stopped || len(pairs.tenants) == 0 {
			return err
		}
		tenants, err := c.lockTenants(ctx, pairs.tenants)
		if err != nil || len(tenants) == 0 {
			return err
		}
		lines, err := c.lockLines(ctx, tenants, &claim)
		if err != nil {
			return err
		}
		claim.Clock.Local = time.Now() // before the database's clock is read, never after
		batch, approvals, err := c.candidates(ctx, pairs, tenants, lines)
		if err != nil || len(batch.Candidates) == 0 {
			return err
		}
		found := len(batch.Candidates)
		if err := c.facts(ctx, &batch, approvals); err != nil {
			return err
		}
		claim.Clock.Database = batch.Now
		for _, one := range batch.Candidates {
			claim.Looked = append(claim.Looked, one.ID)
		}
		decisions := rule(batch)
		claim.Waited, claim.Left, claim.PacedTo = decisions.Waited, decisions.Left, decisions.PacedTo
		for _, d := range decisions.Decided {
			claim.Findings = append(claim.Findings, d.Findings...)
			if d.Place > 0 {
				claim.Reached = d.Candidate.Tenant
			}
			if d.Attempt != nil {
				claim.Attempts = append(claim.Attempts, *d.Attempt)
			}
		}
		// There may be more where it was cut short, as long as something came of it.
		claim.Full = decisions.Full || len(decisions.Decided) > decisions.Shared && (q.Rows > 0 || found >= rowsAtOnce/2)
		return rowError(c.write(ctx, batch, decisions))
	})
	return claim, err
}

// claiming is one claim under way.
type claiming struct {
	*Store
	tx       pgx.Tx
	q        drain.Query
	limits   followup.Limits
	limitsID int64
}

// begin locks the fleet's row and looks for tenants with due work.
func (c *claiming) begin(ctx context.Context, claim *drain.Claim) (pairs, error) {
	batch := &pgx.Batch{}
	batch.Queue(fleetLockSQL)
	batch.Queue(fleetSQL).QueryRow(func(row pgx.Row) error {
		return row.Scan(append([]any{&claim.Stopped, &c.limitsID}, limitsInto(&c.limits)...)...)
	})
	if err := c.tx.SendBatch(ctx, batch).Close(); err != nil {
		return pairs{}, fmt.Errorf("locking the fleet: %w", err)
	}
	most := min(max(c.q.Most, fewestPairs), 500)
	found, err := c.pairs(ctx, most, claim)
	if err != nil {
		return pairs{}, err
	}
	claim.Limits = c.limits
	for most < scanPairs && !claim.End && found.oneTenant(claim.Next) {
		most = min(8*most, scanPairs) // a tenant with very many lines: all of them, for its oldest row
		if found, err = c.pairs(ctx, most, claim); err != nil {
			return pairs{}, err
		}
	}
	if !claim.End {
		found.keepTenantsWhole(&claim.Next)
	}
	return found, nil
}

func (c *claiming) lockTenants(ctx context.Context, ids []string) (map[string]tenant, error) {
	rows, err := c.tx.Query(ctx, tenantsSQL, pgx.StrictNamedArgs{"tenants": ids})
	if err != nil {
		return nil, fmt.Errorf("locking tenants: %w", err)
	}
	locked := map[string]tenant{}
	var (
		id string
		t  tenant
	)
	_, err = pgx.ForEachRow(rows, []any{&id, &t.region, &t.policy}, func() error {
		locked[id] = t
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("locking tenants: %w", err)
	}
	return locked, nil
}

// line is a line as the claim locked it.
type line struct {
	gate gates.Line
	room drain.LineRoom
}

// lockLines locks the lines of the tenants. claim.Busy says that one of them was held by
// somebody else.
func (c *claiming) lockLines(ctx context.Context, tenants map[string]tenant, claim *drain.Claim) (map[followup.LineID]line, error) {
	ids := slices.Collect(maps.Keys(tenants))
	lines := map[followup.LineID]line{}
	var all int
	batch := &pgx.Batch{}
	batch.Queue(linesSQL, pgx.StrictNamedArgs{"tenants": ids}).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			id, l, err := c.scanLine(rows)
			if err != nil {
				return err
			}
			lines[id] = l
		}
		return rows.Err()
	})
	batch.Queue(`select count(*) from lines where tenant_id = any(@tenants)`, pgx.StrictNamedArgs{"tenants": ids}).QueryRow(func(row pgx.Row) error {
		return row.Scan(&all)
	})
	if c.gates.MaxPerMinute > 0 {
		// Whoever counts the fleet's calls has counted and committed before the next one does.
		batch.Queue(`select pg_advisory_xact_lock($1)`, fleetBudgetLock)
	}
	if err := c.tx.SendBatch(ctx, batch).Close(); err != nil {
		return nil, fmt.Errorf("locking lines: %w", err)
	}
	claim.Busy = len(lines) < all
	return lines, nil
}

// candidates locks the rows, and reads the clock under all the locks.
func (c *claiming) candidates(ctx context.Context, found pairs, tenants map[string]tenant, lines map[followup.LineID]line) (drain.Batch, map[string]string, error) {
	b := drain.Batch{
		Limits: c.limits, Most: c.q.Most,
		Taken: map[string]int{}, Lines: map[followup.LineID]drain.LineRoom{},
	}
	approvals := map[string]string{} // follow-up to its newest approval
	lockedTenants, lockedLines := []string{}, []string{}
	for id, l := range lines {
		lockedTenants, lockedLines = append(lockedTenants, id.Tenant), append(lockedLines, id.Name)
		b.Lines[id] = l.room
	}
	rows, err := c.tx.Query(ctx, candidatesSQL, pgx.StrictNamedArgs{
		"tick": c.limits.Tick, "per_tick": c.limits.PerTick, "max_late": c.limits.MaxLate,
		"look": c.q.Look, "rows": c.q.Rows, "rows_at_once": rowsAtOnce, "skip": append([]string{}, c.q.Skip...),
		"tenants": slices.Collect(maps.Keys(tenants)), "pair_tenants": found.tenants, "pair_lines": found.lines,
		"locked_tenants": lockedTenants, "locked_lines": lockedLines,
		"daemon": c.daemon, "carriers": c.carrierNames(),
	})
	if err != nil {
		return b, nil, fmt.Errorf("claiming due rows: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := c.scanCandidate(rows, &b, lines, tenants, approvals); err != nil {
			return b, nil, fmt.Errorf("claiming due rows: %w", err)
		}
	}
	if err := rows.Err(); err != nil {
		return b, nil, fmt.Errorf("claiming due rows: %w", err)
	}
	return b, approvals, nil
}

func (c *claiming) scanLine(rows pgx.Rows) (followup.LineID, line, error) {
	var (
		id     followup.LineID
		l      line
		caller string
		cps    *float64
		next   *time.Time

		unknowns, open, silent int
	)
	err := rows.Scan(&id.Tenant, &id.Name, &l.gate.Carrier, &caller, &l.gate.URL, &cps, &next, &unknowns, &open, &silent)
	if err != nil {
		return id, l, err
	}
	l.gate.Name, l.gate.Exists, l.gate.Caller = id.Name, true, phone.FromE164(caller)
	if carrier, ok := c.carriers[l.gate.Carrier]; ok {
		l.gate.Configured = true
		if cps == nil {
			own := carrier.CallsPerSecond()
			cps = &own
		}
	}
	if cps != nil && *cps > 0 {
		l.room.Every = time.Duration(float64(time.Second) / *cps)
	}
	if next != nil {
		l.room.NextAt = *next
	}
	if c.unknowns > 0 && unknowns+silent > 0 {
		// What is in flight may turn out unknown too, once one did or keeps silent: no more than
		// would fill the count, and one at a time to try a line that was held for it.
		l.room.Bounded, l.room.Calls = true, max(c.unknowns-unknowns, 1)-open
	}
	return id, l, nil
}

// facts gives the candidates their facts, and keeps only those whose number it could lock:
// the others are being judged by somebody else, and have their turn at the next look.
func (c *claiming) facts(ctx context.Context, b *drain.Batch, approvals map[string]string) error {
	subjects, numbered := make([]subject, len(b.Candidates)), make([]subject, 0, len(b.Candidates))
	for i := range b.Candidates {
		one := &b.Candidates[i]
		subjects[i] = subject{one.ID, approvals[one.ID], one.Tenant, one.Line, &one.Case}
		if !one.Case.Number.Number.IsZero() {
			numbered = append(numbered, subjects[i])
		}
	}
	locked := map[phone.Number]bool{}
	all := append([]fact{numberLocks(numbered, locked)}, c.Store.facts(subjects)...)
	if err := load(ctx, c.tx, all, c.q.Careful, c.q.Broken); err != nil {
		return err
	}
	b.Candidates = slices.DeleteFunc(b.Candidates, func(one drain.Candidate) bool {
		n := one.Case.Number.Number
		return !n.IsZero() && !locked[n]
	})
	return nil
}

func (c *claiming) scanCandidate(rows pgx.Rows, b *drain.Batch, lines map[followup.LineID]line, tenants map[string]tenant, approvals map[string]string) error {
	var (
		one      drain.Candidate
		taken    int
		name     string
		named    bool
		approval *string

		e164, extension, region, problem string
	)
	k := &one.Case
	err := rows.Scan(&b.Now, &b.Slot, &taken, &one.Tenant, &name, &named,
		&one.ID, &one.DueAt, &k.Promised, &k.Script, &k.TimeZone, &k.TimeZoneGiven, &k.Purpose, &k.NeedsApproval,
		&e164, &extension, &region, &problem, &one.LastNo, &approval)
	if err != nil {
		return err
	}
	t := tenants[one.Tenant]
	b.Taken[one.Tenant] = taken
	one.Line = followup.LineID{Tenant: one.Tenant, Name: name}
	k.Now, k.RetryAfter = b.Now, c.limits.RetryAfter
	one.Extension = extension
	if e164 != "" {
		k.Number = phone.Restore(e164, extension, region)
	}
	k.Problem = phone.Problem(problem)
	k.Countries, k.Policy = c.defaults.allowed(t.region), t.policy
	k.Line = lines[one.Line].gate
	k.Line.Name, k.Line.Named = name, named
	if carrier, ok := c.carriers[k.Line.Carrier]; ok {
		k.Line.TooLong = !carrier.Fits(k.Script)
	}
	if approval != nil {
		approvals[one.ID] = *approval
	}
	b.Candidates = append(b.Candidates, one)
	return nil
}

// allowed is the country allow-list of a tenant: empty means its own region only.
func (d Defaults) allowed(region string) []string {
	switch {
	case len(d.Countries) > 0:
		return d.Countries
	case region != "":
		return []string{region}
	}
	return []string{d.Region}
}
