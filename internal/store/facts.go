package store

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"chasephone/internal/drain"
	"chasephone/internal/gates"
	"chasephone/internal/phone"
)

// Facts are loaded for the whole claimed set, in a number of statements that does not grow
// with it. Each statement sees what was committed when it began, so what is read under a
// number's lock includes every attempt on that number.

// numbersSQL locks the numbers: whoever else is judging one of them has its rows first.
const numbersSQL = `
select e164, pg_try_advisory_xact_lock(hashtextextended(e164, 0))
from (select distinct e164 from unnest(@numbers::text[]) as x (e164) order by e164) x`

const optOutsSQL = `
select e164, coalesce(tenant_id, ''), source, added_at
from do_not_call
where e164 = any(@numbers) and (tenant_id is null or tenant_id = any(@tenants))`

// inCallSQL: another call is being asked for, or was (perhaps) placed and has had no final
// word for less than two hours.
const inCallSQL = `
select distinct on (a.e164) a.e164, a.followup_id, a.outcome is null, a.created_at
from attempts a join phone_followups f on f.id = a.followup_id
where a.e164 = any(@numbers)
  and (a.outcome is null
       or a.outcome in ('placed', 'uncertain') and a.created_at > clock_timestamp() - interval '2 hours'
          and coalesce(f.call_status, '') not in ('completed', 'busy', 'failed', 'no-answer', 'canceled'))
order by a.e164, (a.outcome is null) desc, a.created_at desc`

const approvalsSQL = `
select p.id, p.followup_id, p.decided_by, p.decided_at, p.reasons, coalesce(p.time_zone, ''), p.e164, p.line, p.caller_number, p.words
from approvals p
where p.id = any(@approvals::text[]::uuid[]) and p.decision = 'approved'
  and not exists (select from attempts a where a.approval_id = p.id and (a.outcome is null or a.outcome <> 'not_placed'))`

// facts loads what the gates judge on. It returns the candidates whose number it could lock.
func (c *claiming) facts(ctx context.Context, candidates []drain.Candidate, approvalOf map[string]string) ([]drain.Candidate, error) {
	numbers, tenants := make([]string, 0, len(candidates)), make([]string, 0, len(candidates))
	for _, one := range candidates {
		if n := one.Case.Number.Number; !n.IsZero() {
			numbers = append(numbers, n.E164())
		}
		tenants = append(tenants, one.Tenant)
	}
	approvals := make([]string, 0, len(approvalOf))
	for _, id := range approvalOf {
		approvals = append(approvals, id)
	}
	var (
		locked   = map[phone.Number]bool{}
		optOuts  = map[phone.Number]map[string]*gates.OptOut{} // by tenant, "" for all
		inCall   = map[phone.Number]*gates.InCall{}
		approved = map[string]*gates.Approval{}
	)
	load := []statement{
		{factNumbers, numbersSQL, pgx.StrictNamedArgs{"numbers": numbers}, func(rows pgx.Rows) error {
			var e164 string
			var ok bool
			err := rows.Scan(&e164, &ok)
			locked[phone.FromE164(e164)] = ok
			return err
		}},
		{factOptOuts, optOutsSQL, pgx.StrictNamedArgs{"numbers": numbers, "tenants": tenants}, func(rows pgx.Rows) error {
			var e164, tenant string
			var o gates.OptOut
			if err := rows.Scan(&e164, &tenant, &o.Source, &o.Since); err != nil {
				return err
			}
			n := phone.FromE164(e164)
			o.Global = tenant == ""
			if optOuts[n] == nil {
				optOuts[n] = map[string]*gates.OptOut{}
			}
			optOuts[n][tenant] = &o
			return nil
		}},
		{factInCall, inCallSQL, pgx.StrictNamedArgs{"numbers": numbers}, func(rows pgx.Rows) error {
			var e164 string
			var call gates.InCall
			err := rows.Scan(&e164, &call.FollowUp, &call.Dialing, &call.Since)
			inCall[phone.FromE164(e164)] = &call
			return err
		}},
		{factApprovals, approvalsSQL, pgx.StrictNamedArgs{"approvals": approvals}, func(rows pgx.Rows) error {
			var a gates.Approval
			var of, e164, caller string
			err := rows.Scan(&a.ID, &of, &a.By, &a.At, &a.Reasons, &a.TimeZone, &e164, &a.Line, &caller, &a.Words)
			a.Number, a.Caller = phone.FromE164(e164), phone.FromE164(caller)
			approved[of] = &a
			return err
		}},
	}
	asked := slices.DeleteFunc(load, func(l statement) bool { return c.q.Broken[l.fact] != nil })
	if c.q.Careful {
		for _, l := range asked {
			if err := each(func() (pgx.Rows, error) { return c.tx.Query(ctx, l.sql, l.args) }, l.row); err != nil {
				return nil, factError(l.fact, err)
			}
		}
	} else {
		batch := &pgx.Batch{}
		for _, l := range asked {
			batch.Queue(l.sql, l.args)
		}
		results := c.tx.SendBatch(ctx, batch)
		for _, l := range asked {
			if err := each(results.Query, l.row); err != nil {
				_ = results.Close()
				return nil, factError("", err)
			}
		}
		if err := results.Close(); err != nil {
			return nil, factError("", err)
		}
	}

	judged := candidates[:0]
	for _, one := range candidates {
		k := &one.Case
		n := k.Number.Number
		if !n.IsZero() && !locked[n] {
			continue // somebody else is judging this number: at its next look
		}
		k.OptOut = fact(c, factOptOuts, first(optOuts[n][""], optOuts[n][one.Tenant]))
		k.InCall = fact(c, factInCall, inCall[n])
		k.Approval, k.ApprovalErr = approved[one.ID], c.q.Broken[factApprovals]
		judged = append(judged, one)
	}
	return judged, nil
}

const (
	factNumbers   = "numbers" // without the locks nothing is judged at all
	factOptOuts   = "do_not_call"
	factInCall    = "in_a_call"
	factApprovals = "approvals"
)

func fact[T any](c *claiming, name string, v T) gates.Fact[T] {
	if err := c.q.Broken[name]; err != nil {
		return gates.Unknown[T](err)
	}
	return gates.Known(v)
}

// statement loads one fact.
type statement struct {
	fact string
	sql  string
	args pgx.StrictNamedArgs
	row  func(pgx.Rows) error
}

func first(all ...*gates.OptOut) *gates.OptOut {
	for _, o := range all {
		if o != nil {
			return o
		}
	}
	return nil
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
// In a batch it cannot be told which one it was: fact is "" then.
func factError(fact string, err error) error {
	var refused *pgconn.PgError
	if fact != factNumbers && errors.As(err, &refused) && !Unreachable(err) {
		return &drain.FactError{Fact: fact, Err: err}
	}
	return fmt.Errorf("loading facts: %w", err)
}
