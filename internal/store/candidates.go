package store

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"chasephone/internal/drain"
	"chasephone/internal/followup"
	"chasephone/internal/phone"
)

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
  left join lateral (
    select * from lines l
    where l.tenant_id = pair.tenant_id and l.name = coalesce(nullif(pair.line_key, ''), p.default_line) offset 0) l on true -- by its key, never all lines there are
  where l.name is null
     or ((l.tenant_id, l.name) in (select * from unnest(@locked_tenants::text[], @locked_lines::text[]))
         and l.stopped_at is null
         and (l.held_until is null or l.held_until <= p.now)
         and not exists (select from unfit_lines u
           where u.daemon_id = @daemon::text::uuid and u.tenant_id = l.tenant_id and u.line = l.name and u.until > p.now)
         and (l.carrier = any(@carriers) or not exists (select from daemons d
           where d.id <> @daemon::text::uuid and d.seen_at > p.now - ` + liveFor + ` and l.carrier = any(d.carriers))))
)
select o.now, o.slot, o.taken::int, o.tenant_id, o.line, o.line_key <> '',
  f.id, f.due_at, coalesce(f.promised_at, f.created_at), f.script, coalesce(f.time_zone, ''), f.time_zone is not null, f.purpose, f.needs_approval,
  coalesce(f.e164, ''), coalesce(f.extension, ''), coalesce(f.region, ''), coalesce(f.number_problem, ''),
  coalesce(f.attempt_no, 0), f.approval_id, coalesce(f.reason, '')
from open o cross join lateral (
  select * from phone_followups f
  where f.tenant_id = o.tenant_id and f.line_key = o.line_key and f.state = 'due' and f.ready
    and f.due_at <= o.now and f.due_at >= o.now - @max_late::interval and f.next_try_at <= o.now
    and f.id <> all(@skip::text[]::uuid[])
  order by f.due_at, f.id
  limit least(@per_tick::int - o.taken + @look::int, @rows_each::int)
  for no key update skip locked) f
order by o.tenant_id, f.due_at, f.id
limit nullif(@rows::int, 0)`

// candidates locks the rows, and reads the clock under all the locks. c.cut says that there may be
// more where these came from: a tenant's line had as many as each may have looked at at once.
func (c *claiming) candidates(ctx context.Context, found pairs, tenants map[string]tenant, lines map[followup.LineID]line) (drain.Batch, map[string]string, error) {
	b := drain.Batch{
		Limits: c.limits, Most: c.q.Most,
		Taken: map[string]int{}, Lines: map[followup.LineID]drain.LineRoom{},
	}
	approvals := map[string]string{} // follow-up to its newest approval
	lockedTenants, lockedLines := []string{}, []string{}
	each := max(rowsAtOnce/len(found.tenants), 1)
	of := map[followup.LineID]int{}
	for id, l := range lines {
		lockedTenants, lockedLines = append(lockedTenants, id.Tenant), append(lockedLines, id.Name)
		b.Lines[id] = l.room
	}
	rows, err := c.tx.Query(ctx, candidatesSQL, pgx.StrictNamedArgs{
		"tick": c.limits.Tick, "per_tick": c.limits.PerTick, "max_late": c.limits.MaxLate,
		"look": c.q.Look, "rows": c.q.Rows, "rows_each": each, "skip": append([]string{}, c.q.Skip...),
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
		one := &b.Candidates[len(b.Candidates)-1]
		of[one.Line]++
		c.cut = c.cut || of[one.Line] >= each && each < c.limits.PerTick-b.Taken[one.Tenant]+c.q.Look
	}
	if err := rows.Err(); err != nil {
		return b, nil, fmt.Errorf("claiming due rows: %w", err)
	}
	return b, approvals, nil
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
		&e164, &extension, &region, &problem, &one.LastNo, &approval, &one.Reason)
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
	if carrier, ok := c.carriers.Get(k.Line.Carrier); ok {
		k.Line.TooLong = !carrier.Fits(k.Script)
	}
	if approval != nil {
		approvals[one.ID] = *approval
	}
	b.Candidates = append(b.Candidates, one)
	return nil
}

// facts gives the candidates their facts, and keeps only those whose number it could lock:
// the others are being judged by somebody else, and have their turn at the next look.
func (c *claiming) facts(ctx context.Context, b *drain.Batch, approvals map[string]string) error {
	subjects, numbered := make([]subject, len(b.Candidates)), make([]subject, 0, len(b.Candidates))
	for i := range b.Candidates {
		one := &b.Candidates[i]
		subjects[i] = c.subject(one.ID, approvals[one.ID], one.Tenant, one.Line, &one.Case)
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
