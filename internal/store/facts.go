package store

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"chasephone/internal/drain"
	"chasephone/internal/followup"
	"chasephone/internal/gates"
	"chasephone/internal/phone"
)

// Facts are loaded for a whole set of cases, in a number of statements that does not grow with
// it. Each statement sees what was committed when it began, so what is read under a number's
// lock includes every attempt on that number.

// subject is a case whose facts are to be loaded.
type subject struct {
	followUp string // its id; "" for a call that is no follow-up's
	approval string // the id of its newest approval
	tenant   string
	line     followup.LineID
	*gates.Case
	needs gates.Needs
}

func (s subject) e164() string { return s.Number.Number.E164() }

// fact is one statement that loads something for all subjects, and how each gets its own.
type fact struct {
	name string
	of   []subject
	sql  string
	args pgx.StrictNamedArgs
	row  func(pgx.Rows) error
	give func(s subject, broken error) // broken: why it could not be loaded
}

// Names of the facts.
const (
	factNumbers     = "numbers" // their locks: without them nothing is judged at all
	factOptOuts     = "do_not_call"
	factInCall      = "in_a_call"
	factApprovals   = "approvals"
	factCalls       = "calls"
	factCalledIn    = "called_in"
	factConsents    = "consents"
	factLineCalls   = "line_calls"
	factTenantDay   = "tenant_budget"
	factFleetMinute = "fleet_budget"
)

// known is a fact that was loaded, or why it could not be.
func known[T any](v T, broken error) gates.Fact[T] {
	if broken != nil {
		return gates.Unknown[T](broken)
	}
	return gates.Known(v)
}

// subject is a case with the facts that these gates ask about it.
func (s *Store) subject(followUp, approval, tenant string, line followup.LineID, c *gates.Case) subject {
	return subject{followUp, approval, tenant, line, c, s.gates.Needs(c)}
}

// facts are all that the gates may ask about these subjects.
func (s *Store) facts(subjects []subject) []fact {
	numbered := slices.DeleteFunc(slices.Clone(subjects), func(one subject) bool { return one.Number.Number.IsZero() })
	all := []fact{optOuts(numbered), inCalls(numbered), approvals(subjects)}
	for _, more := range []struct {
		of   []subject
		need func(gates.Needs) bool
		make func([]subject) fact
	}{
		{numbered, func(n gates.Needs) bool { return n.Calls > 0 || n.Talk }, calls},
		{numbered, func(n gates.Needs) bool { return n.CalledIn }, calledIn},
		{numbered, func(n gates.Needs) bool { return n.Consent }, consents},
		{subjects, func(n gates.Needs) bool { return n.LineCalls }, s.lineCalls},
		{subjects, func(n gates.Needs) bool { return n.TenantDay }, s.tenantDay},
		{subjects, func(n gates.Needs) bool { return n.FleetMinute }, s.fleetMinute},
	} {
		needing := slices.DeleteFunc(slices.Clone(more.of), func(one subject) bool { return !more.need(one.needs) })
		if len(needing) > 0 {
			all = append(all, more.make(needing))
		}
	}
	return all
}

// load runs the statements and gives each fact to the subjects that it was loaded for: the others
// do without it, and a gate that asks it of them after all waits. Carefully, one by one, a fact
// that the database cannot give is told from the others; those known to be broken are left out.
func load(ctx context.Context, tx pgx.Tx, all []fact, careful bool, broken map[string]error) error {
	asked := slices.DeleteFunc(slices.Clone(all), func(f fact) bool { return broken[f.name] != nil })
	if careful {
		for _, f := range asked {
			if err := each(func() (pgx.Rows, error) { return tx.Query(ctx, f.sql, f.args) }, f.row); err != nil {
				return factError(f.name, err)
			}
		}
	} else {
		batch := &pgx.Batch{}
		for _, f := range asked {
			batch.Queue(f.sql, f.args)
		}
		results := tx.SendBatch(ctx, batch)
		for _, f := range asked {
			if err := each(results.Query, f.row); err != nil {
				_ = results.Close()
				return factError("", err)
			}
		}
		if err := results.Close(); err != nil {
			return factError("", err)
		}
	}
	for _, f := range all {
		for _, one := range f.of {
			f.give(one, broken[f.name])
		}
	}
	return nil
}

// numberKey is what locks a number, for claims and for whoever changes what they judge on.
const numberKey = `hashtextextended(e164, 0)`

// numbersSQL locks the numbers: whoever else is judging one of them has its rows first.
const numbersSQL = `
select e164, pg_try_advisory_xact_lock(` + numberKey + `)
from (select distinct e164 from unnest(@numbers::text[]) as x (e164) order by e164) x`

// numberLocks locks the subjects' numbers, as far as nobody else holds them; locked says which.
func numberLocks(subjects []subject, locked map[phone.Number]bool) fact {
	return fact{
		name: factNumbers, sql: numbersSQL, args: pgx.StrictNamedArgs{"numbers": numbersOf(subjects)},
		row: func(rows pgx.Rows) error {
			var e164 string
			var ok bool
			err := rows.Scan(&e164, &ok)
			locked[phone.FromE164(e164)] = ok
			return err
		},
		give: func(subject, error) {},
	}
}

// lockNumber waits for the claims that judge calls to a number now, and keeps others from
// beginning to. In a statement of its own: what the next one reads is read under the lock.
func lockNumber(ctx context.Context, tx pgx.Tx, n phone.Number) error {
	_, err := tx.Exec(ctx, `select pg_advisory_xact_lock(`+numberKey+`) from (values ($1::text)) as x (e164)`, n.E164())
	return err
}

const optOutsSQL = `
select e164, coalesce(tenant_id, ''), source, added_at
from do_not_call
where e164 = any(@numbers) and (tenant_id is null or tenant_id = any(@tenants))`

func optOuts(subjects []subject) fact {
	type list struct{ tenant, e164 string } // tenant "" for all
	found := map[list]*gates.OptOut{}
	return fact{
		name: factOptOuts, of: subjects, sql: optOutsSQL,
		args: pgx.StrictNamedArgs{"numbers": numbersOf(subjects), "tenants": tenantsOf(subjects)},
		row: func(rows pgx.Rows) error {
			var on list
			var o gates.OptOut
			err := rows.Scan(&on.e164, &on.tenant, &o.Source, &o.Since)
			o.Global = on.tenant == ""
			found[on] = &o
			return err
		},
		give: func(s subject, broken error) {
			entry := found[list{"", s.e164()}]
			if entry == nil {
				entry = found[list{s.tenant, s.e164()}]
			}
			s.OptOut = known(entry, broken)
		},
	}
}

const approvalsSQL = `
select p.id, p.followup_id, p.decided_by, p.asked_at, p.decided_at, p.reasons, coalesce(p.time_zone, ''), p.e164, p.line, p.caller_number, p.words
from approvals p
where p.id = any(@approvals::text[]::uuid[]) and p.decision = 'approved'
  and not exists (select from attempts a where a.approval_id = p.id and (a.outcome is null or a.outcome <> 'not_placed'))`

func approvals(subjects []subject) fact {
	ids := []string{}
	for _, s := range subjects {
		if s.approval != "" {
			ids = append(ids, s.approval)
		}
	}
	found := map[string]*gates.Approval{}
	return fact{
		name: factApprovals, of: subjects, sql: approvalsSQL, args: pgx.StrictNamedArgs{"approvals": ids},
		row: func(rows pgx.Rows) error {
			var a gates.Approval
			var of, e164, caller string
			err := rows.Scan(&a.ID, &of, &a.By, &a.Asked, &a.At, &a.Reasons, &a.TimeZone, &e164, &a.Line, &caller, &a.Words)
			a.Number, a.Caller = phone.FromE164(e164), phone.FromE164(caller)
			found[of] = &a
			return err
		},
		give: func(s subject, broken error) { s.Approval, s.ApprovalErr = found[s.followUp], broken },
	}
}

const consentsSQL = `
select c.tenant_id, c.e164, c.purpose, c.source, c.given_at
from consents c join unnest(@tenants::text[], @numbers::text[], @purposes::text[]) as x (tenant_id, e164, purpose)
  using (tenant_id, e164, purpose)
where c.given_at <= (select clock_timestamp())`

func consents(subjects []subject) fact {
	type to struct{ tenant, e164, purpose string }
	found := map[to]*gates.Consent{}
	purposes := make([]string, len(subjects))
	for i, s := range subjects {
		purposes[i] = s.Purpose
	}
	return fact{
		name: factConsents, of: subjects, sql: consentsSQL,
		args: pgx.StrictNamedArgs{"tenants": tenantsOf(subjects), "numbers": numbersOf(subjects), "purposes": purposes},
		row: func(rows pgx.Rows) error {
			var is to
			var c gates.Consent
			err := rows.Scan(&is.tenant, &is.e164, &is.purpose, &c.Source, &c.Since)
			found[is] = &c
			return err
		},
		give: func(s subject, broken error) {
			s.Consent = known(found[to{s.tenant, s.e164(), s.Purpose}], broken)
		},
	}
}

func numbersOf(subjects []subject) []string {
	all := make([]string, len(subjects))
	for i, s := range subjects {
		all[i] = s.e164()
	}
	return all
}

func tenantsOf(subjects []subject) []string {
	all := make([]string, len(subjects))
	for i, s := range subjects {
		all[i] = s.tenant
	}
	return all
}

func each(ask func() (pgx.Rows, error), row func(pgx.Rows) error) error {
	rows, err := ask()
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := row(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// factError tells a fact that the database cannot give from a database that is not there.
// In a batch it cannot be told which one it was: name is "" then.
func factError(name string, err error) error {
	var refused *pgconn.PgError
	if name != factNumbers && errors.As(err, &refused) && !Unreachable(err) {
		return &drain.FactError{Fact: name, Err: err}
	}
	return fmt.Errorf("loading facts: %w", err)
}
