package store

import (
	"time"

	"github.com/jackc/pgx/v5"

	"chasephone/internal/followup"
	"chasephone/internal/gates"
)

// Counts of calls, for caps, gaps and budgets. A call counts when it may have rung: it is
// being asked for, was placed, nobody knows, or the carrier says so against what was recorded. One
// that was reported counts like ours, also where the reporter's clock is a minute ahead.
//
// The clock is asked for in a subquery, so that it is one value which an index can be searched
// by: as a function whose value changes it would be compared with every call ever made.

// mayHaveRung is such an attempt, as a condition on attempts a.
const mayHaveRung = `(a.outcome is null or a.outcome in ('placed', 'uncertain')
  or exists (select from evidence v where v.followup_id = a.followup_id and v.attempt_no = a.no and v.conflict and v.says = 'placed' and not v.doubtful))`

// withoutEnd is an attempt whose call may still be going on, as a condition on attempts a
// and its follow-up f: its status is not a final one, and it was made less than gates.OnLine ago.
const withoutEnd = `(a.outcome is null
  or a.outcome in ('placed', 'uncertain') and a.created_at > (select clock_timestamp()) - interval '2 hours'
     and (a.no <> f.attempt_no or coalesce(f.call_status, '') not in ('completed', 'busy', 'failed', 'no-answer', 'canceled')))`

// inCallsSQL finds the newest call under way with each number, one that is being asked for
// before one that was placed.
const inCallsSQL = `
select distinct on (a.e164) a.e164, a.followup_id, a.outcome is null, a.created_at
from attempts a join phone_followups f on f.id = a.followup_id
where a.e164 = any(@numbers) and ` + withoutEnd + `
order by a.e164, (a.outcome is null) desc, a.created_at desc`

func inCalls(subjects []subject) fact {
	found := map[string]*gates.InCall{}
	return fact{
		name: factInCall, of: subjects, sql: inCallsSQL, args: pgx.StrictNamedArgs{"numbers": numbersOf(subjects)},
		row: func(rows pgx.Rows) error {
			var e164 string
			var call gates.InCall
			err := rows.Scan(&e164, &call.FollowUp, &call.Dialing, &call.Since)
			call.Ends = call.Since.Add(gates.OnLine)
			found[e164] = &call
			return err
		},
		give: func(s subject, broken error) { s.InCall = known(found[s.e164()], broken) },
	}
}

// mostTalks is how many of a number's newest calls are looked at for one that reached somebody.
const mostTalks = 1000

// contact is one number as one tenant knows it: caps count by it.
type contact struct{ tenant, e164 string }

// callsSQL takes a call of ours to have reached somebody until its status says that it did not.
const callsSQL = `
select x.tenant_id, x.e164, c.began_at, c.talked
from (select distinct * from unnest(@tenants::text[], @numbers::text[]) as x (tenant_id, e164)) x
cross join lateral (
  (select a.begin_at, a.no <> f.attempt_no or coalesce(f.call_status, '') not in ('busy', 'failed', 'no-answer', 'canceled')
   from attempts a join phone_followups f on f.id = a.followup_id
   where a.e164 = x.e164 and a.tenant_id = x.tenant_id and ` + mayHaveRung + `
   order by a.created_at desc limit @most)
  union all
  (select o.began_at, o.talked
   from other_calls o
   where o.e164 = x.e164 and o.tenant_id = x.tenant_id and o.direction = 'out' and o.began_at <= (select clock_timestamp()) + interval '1 minute'
   order by o.began_at desc limit @most)) as c (began_at, talked)
order by c.began_at desc`

func calls(subjects []subject) fact {
	most := 0
	for _, one := range subjects {
		if most = max(most, one.needs.Calls); one.needs.Talk {
			most = mostTalks
		}
	}
	found := map[contact]gates.Calls{}
	return fact{
		name: factCalls, of: subjects, sql: callsSQL,
		args: pgx.StrictNamedArgs{"tenants": tenantsOf(subjects), "numbers": numbersOf(subjects), "most": most},
		row: func(rows pgx.Rows) error {
			var with contact
			var began time.Time
			var talked bool
			err := rows.Scan(&with.tenant, &with.e164, &began, &talked)
			all := found[with]
			all.At = append(all.At, began)
			if talked && all.Talked.IsZero() { // the newest come first
				all.Talked = began
			}
			found[with] = all
			return err
		},
		give: func(s subject, broken error) { s.Calls = known(found[contact{s.tenant, s.e164()}], broken) },
	}
}

const calledInSQL = `
select x.tenant_id, x.e164, o.began_at, o.source, o.reported_at
from (select distinct * from unnest(@tenants::text[], @numbers::text[]) as x (tenant_id, e164)) x
cross join lateral (
  select o.began_at, o.source, max(o.reported_at) over () as reported_at from other_calls o
  where o.e164 = x.e164 and o.tenant_id = x.tenant_id and o.direction = 'in' and o.began_at <= (select clock_timestamp()) + interval '1 minute'
  order by o.began_at desc limit 1) o`

func calledIn(subjects []subject) fact {
	found := map[contact]*gates.CalledIn{}
	return fact{
		name: factCalledIn, of: subjects, sql: calledInSQL,
		args: pgx.StrictNamedArgs{"tenants": tenantsOf(subjects), "numbers": numbersOf(subjects)},
		row: func(rows pgx.Rows) error {
			var from contact
			var call gates.CalledIn
			err := rows.Scan(&from.tenant, &from.e164, &call.At, &call.Source, &call.Known)
			found[from] = &call
			return err
		},
		give: func(s subject, broken error) {
			s.CalledIn = known(found[contact{s.tenant, s.e164()}], broken)
		},
	}
}

// The newest calls up to the limit are enough to know a budget: how many they are, and when
// the oldest of them counts no longer.

const tenantDaySQL = `
select x.tenant_id, count(*), min(c.began_at) + interval '24 hours'
from (select distinct * from unnest(@tenants::text[]) as x (tenant_id)) x
cross join lateral (
  select began_at from (
    (select a.begin_at from attempts a
     where a.tenant_id = x.tenant_id and a.begin_at > (select clock_timestamp()) - interval '24 hours' and ` + mayHaveRung + `
     order by a.begin_at desc limit @limit)
    union all
    (select o.began_at from other_calls o
     where o.tenant_id = x.tenant_id and o.direction = 'out' and o.began_at > (select clock_timestamp()) - interval '24 hours' and o.began_at <= (select clock_timestamp()) + interval '1 minute'
     order by o.began_at desc limit @limit)) as both_kinds (began_at)
  order by began_at desc limit @limit) c
group by x.tenant_id`

func (s *Store) tenantDay(subjects []subject) fact {
	found := map[string]gates.Spent{}
	return fact{
		name: factTenantDay, of: subjects, sql: tenantDaySQL,
		args: pgx.StrictNamedArgs{"tenants": tenantsOf(subjects), "limit": s.gates.MaxPerTenantDay},
		row: func(rows pgx.Rows) error {
			var tenant string
			var spent gates.Spent
			err := rows.Scan(&tenant, &spent.Calls, &spent.FreesAt)
			found[tenant] = spent
			return err
		},
		give: func(s subject, broken error) { s.TenantDay = known(found[s.tenant], broken) },
	}
}

const fleetMinuteSQL = `
select count(*), min(c.began_at) + interval '1 minute'
from (
  select began_at from (
    (select a.begin_at from attempts a
     where a.begin_at > (select clock_timestamp()) - interval '1 minute' and ` + mayHaveRung + `
     order by a.begin_at desc limit @limit)
    union all
    (select o.began_at from other_calls o
     where o.direction = 'out' and o.began_at > (select clock_timestamp()) - interval '1 minute' and o.began_at <= (select clock_timestamp()) + interval '1 minute'
     order by o.began_at desc limit @limit)) as both_kinds (began_at)
  order by began_at desc limit @limit) c
having count(*) > 0`

func (s *Store) fleetMinute(subjects []subject) fact {
	var found gates.Spent
	return fact{
		name: factFleetMinute, of: subjects, sql: fleetMinuteSQL, args: pgx.StrictNamedArgs{"limit": s.gates.MaxPerMinute},
		row:  func(rows pgx.Rows) error { return rows.Scan(&found.Calls, &found.FreesAt) },
		give: func(s subject, broken error) { s.FleetMinute = known(found, broken) },
	}
}

const lineCallsSQL = `
select x.tenant_id, x.line, count(*), min(c.begin_at) + interval '2 hours'
from (select distinct * from unnest(@tenants::text[], @lines::text[]) as x (tenant_id, line)) x
cross join lateral (
  select a.begin_at from attempts a join phone_followups f on f.id = a.followup_id
  where a.tenant_id = x.tenant_id and a.begin_at > (select clock_timestamp()) - interval '2 hours' and a.line = x.line and ` + withoutEnd + `
  order by a.begin_at desc limit @limit) c
group by x.tenant_id, x.line`

func (s *Store) lineCalls(subjects []subject) fact {
	found := map[followup.LineID]gates.Spent{}
	lines := make([]string, len(subjects))
	for i, one := range subjects {
		lines[i] = one.line.Name
	}
	return fact{
		name: factLineCalls, of: subjects, sql: lineCallsSQL,
		args: pgx.StrictNamedArgs{"tenants": tenantsOf(subjects), "lines": lines, "limit": s.gates.LineCallsAtOnce},
		row: func(rows pgx.Rows) error {
			var id followup.LineID
			var spent gates.Spent
			err := rows.Scan(&id.Tenant, &id.Name, &spent.Calls, &spent.FreesAt)
			found[id] = spent
			return err
		},
		give: func(s subject, broken error) { s.Line.Calls = known(found[s.line], broken) },
	}
}
