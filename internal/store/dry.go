package store

import (
	"context"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"chasephone/internal/desk"
	"chasephone/internal/drain"
	"chasephone/internal/followup"
	"chasephone/internal/gates"
	"chasephone/internal/phone"
)

// A dry run loads what a claim would, and changes nothing: it takes no lock, and its
// transaction is read only.

// Dry is a call with every fact that the gates judge on, as things stand.
type Dry struct {
	Case    gates.Case
	Tenant  string
	Stopped bool // everything, the tenant or the line
	Daemons int  // live ones

	// Of a follow-up only:
	ID    string
	State followup.State
	DueAt *time.Time // nil: infinite
	TryAt *time.Time // a wait that was ruled ends then; nil: none
	// LateAt is the last instant at which it may be rung; nil where it has none.
	LateAt *time.Time
	Never  string          // why intake refuses it, whoever is called; "" where it does not
	Asked  *gates.Approval // the question to a person that is open, as it would be if they said yes now
}

// Call is an outbound call that somebody else wants to place.
type Call struct {
	Tenant   string
	Number   phone.Identity
	Problem  phone.Problem
	Line     string // "": the tenant's default
	Purpose  string
	TimeZone string // confirmed by the person called
}

// heldForUnreachable is why no daemon calls on a line that none of them reaches, for a while.
const heldForUnreachable = "carrier_unreachable"

// drySQL reads the tenant and the line of a call, and which live daemons could call on it.
const drySQL = `
with clock as materialized (select clock_timestamp() as now),
live as materialized (select d.* from daemons d, clock c where d.seen_at > c.now - ` + liveFor + `)
select c.now, ` + limitsColumns + `, t.id is not null,
  coalesce(t.region, ''), coalesce(t.approval, ''), coalesce(nullif(@line, ''), t.default_line, ''),
  f.stopped_at is not null or t.stopped_at is not null or ringing_held(), (select count(*) from live),
  n.name is not null, coalesce(n.carrier, ''), coalesce(n.caller_number, ''), coalesce(n.url, ''),
  n.stopped_at is not null,
  case when n.held_until = 'infinity' then timestamptz '9999-01-01' else n.held_until end, coalesce(n.held_for, ''),
  able.daemons, able.fit_at
from clock c cross join fleet f join limits l on l.id = f.limits_id
left join tenants t on t.id = @tenant
left join lines n on n.tenant_id = t.id and n.name = coalesce(nullif(@line, ''), t.default_line)
cross join lateral (
  select count(*) as daemons, min(coalesce(u.until, c.now)) as fit_at
  from live d left join unfit_lines u
    on u.daemon_id = d.id and u.tenant_id = n.tenant_id and u.line = n.name and u.until > c.now
  where n.carrier = any(d.carriers)) able`

// dryFollowUpSQL reads a follow-up as a claim would.
const dryFollowUpSQL = `
select f.id, f.tenant_id, f.state, case when isfinite(f.due_at) then f.due_at end,
  case when isfinite(f.next_try_at) then f.next_try_at end, coalesce(f.promised_at, f.created_at),
  f.phone_number, coalesce(f.e164, ''), coalesce(f.extension, ''), coalesce(f.region, ''), coalesce(f.number_problem, ''),
  f.script, coalesce(f.time_zone, ''), f.time_zone is not null, f.purpose, f.needs_approval, coalesce(f.line, ''), coalesce(f.approval_id::text, '')
from phone_followups f where f.id = @id`

// askedSQL reads a question to a person that is open.
const askedSQL = `
select p.id, p.asked_at, p.reasons, p.e164, p.line, p.caller_number, p.words
from approvals p where p.id::text = @id and p.decision is null`

// Dry loads what the gates would judge a follow-up on at this moment. fits says whether a
// carrier, by its name, can be given a script.
func (s *Store) Dry(ctx context.Context, name desk.Name, identify drain.Identify, fits func(carrier, script string) bool) (Dry, error) {
	var d Dry
	err := s.dry(ctx, func(tx pgx.Tx, with loading) error {
		found, err := resolve(ctx, tx, name)
		if err != nil {
			return err
		}
		d = Dry{ID: found.id}
		return s.dryFollowUp(ctx, tx, &d, with, identify, fits)
	})
	if err != nil {
		return Dry{}, fmt.Errorf("judging without ringing: %w", err)
	}
	return d, nil
}

func (s *Store) dryFollowUp(ctx context.Context, tx pgx.Tx, d *Dry, with loading, identify drain.Identify, fits func(carrier, script string) bool) error {
	var raw, e164, extension, region, problem, line, approval string
	k := &d.Case
	err := tx.QueryRow(ctx, dryFollowUpSQL, pgx.StrictNamedArgs{"id": d.ID}).Scan(
		&d.ID, &d.Tenant, &d.State, &d.DueAt, &d.TryAt, &k.Promised,
		&raw, &e164, &extension, &region, &problem,
		&k.Script, &k.TimeZone, &k.TimeZoneGiven, &k.Purpose, &k.NeedsApproval, &line, &approval)
	if err != nil {
		return fmt.Errorf("reading follow-up %s: %w", d.ID, err)
	}
	limits, tenantRegion, known, err := s.dryLine(ctx, tx, d, line)
	if err != nil {
		return err
	}
	if d.DueAt != nil {
		at := d.DueAt.Add(limits.MaxLate)
		d.LateAt = &at
	}
	if d.Never = neverAdmitted(known, line, d.DueAt != nil); !known {
		return nil // there is nothing to judge it by
	}
	switch {
	case e164 != "":
		k.Number = phone.Restore(e164, extension, region)
	case problem != "":
		k.Problem = phone.Problem(problem)
	default: // nobody has looked at it yet
		k.Number, k.Problem = identify(raw, tenantRegion)
	}
	k.Line.TooLong = k.Line.Exists && !fits(k.Line.Carrier, k.Script)
	if d.State == followup.AwaitingApproval {
		if err := asked(ctx, tx, d, approval); err != nil {
			return err
		}
	}
	if err := s.dryFacts(ctx, tx, d, approval, with); err != nil {
		return err
	}
	if own := k.InCall.Value; own != nil && own.FollowUp == d.ID {
		k.InCall = gates.Known[*gates.InCall](nil) // it does not stand in its own way
	}
	return nil
}

// neverAdmitted is why the intake refuses a row, see admit.
func neverAdmitted(tenant bool, line string, finite bool) string {
	switch {
	case !tenant:
		return "there is no tenant of this name"
	case utf8.RuneCountInString(line) > 100:
		return "no line has so long a name"
	case !finite:
		return "due_at is infinite: it is never due"
	}
	return ""
}

func asked(ctx context.Context, tx pgx.Tx, d *Dry, approval string) error {
	yes := gates.Approval{By: "whoever approves it", At: d.Case.Now}
	var e164, caller string
	err := tx.QueryRow(ctx, askedSQL, pgx.StrictNamedArgs{"id": approval}).Scan(&yes.ID, &yes.Asked, &yes.Reasons, &e164, &yes.Line, &caller, &yes.Words)
	switch {
	case isNoRows(err):
		return nil // it has been answered since
	case err != nil:
		return fmt.Errorf("reading what a person is asked: %w", err)
	}
	yes.Number, yes.Caller = phone.FromE164(e164), phone.FromE164(caller)
	d.Asked = &yes
	return nil
}

// DryCall loads what the gates would judge somebody else's call on at this moment.
func (s *Store) DryCall(ctx context.Context, c Call) (Dry, error) {
	var d Dry
	err := s.dry(ctx, func(tx pgx.Tx, with loading) error {
		d = Dry{Tenant: c.Tenant, Case: gates.Case{
			Number: c.Number, Problem: c.Problem, Purpose: c.Purpose, TimeZone: c.TimeZone, TimeZoneGiven: c.TimeZone != "",
		}}
		switch _, _, known, err := s.dryLine(ctx, tx, &d, c.Line); {
		case err != nil:
			return err
		case !known:
			return &desk.Misuse{Says: fmt.Sprintf("there is no tenant %s", c.Tenant)}
		}
		return s.dryFacts(ctx, tx, &d, "", with)
	})
	if err != nil {
		return Dry{}, fmt.Errorf("judging without ringing: %w", err)
	}
	return d, nil
}

// loading is how facts are loaded, see load.
type loading struct {
	careful bool
	broken  map[string]error
}

// dry runs do in a transaction that can change nothing; once more, as a claim would, for every
// fact that the database cannot give: the gate that needs it says so.
func (s *Store) dry(ctx context.Context, do func(pgx.Tx, loading) error) error {
	with := loading{broken: map[string]error{}}
	for {
		err := pgx.BeginTxFunc(ctx, s.Pool, pgx.TxOptions{AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error { return do(tx, with) })
		var lost *drain.FactError
		if !errors.As(err, &lost) || with.careful && (lost.Fact == "" || with.broken[lost.Fact] != nil) {
			return err
		}
		if with.careful {
			with.broken[lost.Fact] = lost.Err
		}
		with.careful = true
	}
}

// dryLine gives the case its clock, its tenant's settings and its line; known is false where
// there is no such tenant.
func (s *Store) dryLine(ctx context.Context, tx pgx.Tx, d *Dry, line string) (limits followup.Limits, region string, known bool, err error) {
	var (
		k           = &d.Case
		caller      string
		held, fitAt *time.Time
		stopped     bool
		able        int // live daemons that have the line's carrier
	)
	into := append([]any{&k.Now}, limitsInto(&limits)...)
	into = append(into, &known, &region, &k.Policy, &k.Line.Name, &stopped, &d.Daemons,
		&k.Line.Exists, &k.Line.Carrier, &caller, &k.Line.URL, &k.Line.Stopped, &held, &k.Line.HeldFor, &able, &fitAt)
	err = tx.QueryRow(ctx, drySQL, pgx.StrictNamedArgs{"tenant": d.Tenant, "line": line}).Scan(into...)
	if err != nil {
		return limits, "", false, fmt.Errorf("reading the line: %w", err)
	}
	k.RetryAfter, k.Countries = limits.RetryAfter, s.defaults.allowed(region)
	k.Line.Named, k.Line.Caller, k.Line.HeldUntil = line != "", phone.FromE164(caller), orZero(held)
	// Where no daemon runs nobody can say that none of them has the carrier. That none runs is
	// for the caller to tell.
	k.Line.Configured = able > 0 || d.Daemons == 0
	if fitAt != nil && fitAt.After(k.Now) && fitAt.After(k.Line.HeldUntil) { // all of them leave it alone till then
		k.Line.HeldUntil, k.Line.HeldFor = *fitAt, heldForUnreachable
	}
	k.Line.Stopped = k.Line.Stopped || stopped
	d.Stopped = k.Line.Stopped
	if region == "" {
		region = s.defaults.Region
	}
	return limits, region, known, nil
}

func (s *Store) dryFacts(ctx context.Context, tx pgx.Tx, d *Dry, approval string, with loading) error {
	subjects := []subject{s.subject(d.ID, approval, d.Tenant, followup.LineID{Tenant: d.Tenant, Name: d.Case.Line.Name}, &d.Case)}
	return load(ctx, tx, s.facts(subjects), with.careful, with.broken)
}
