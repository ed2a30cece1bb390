package sequences_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"chasephone/internal/arrivals"
	"chasephone/internal/carrier"
	"chasephone/internal/carrier/twilio"
	"chasephone/internal/drain"
	"chasephone/internal/followup"
	"chasephone/internal/gates"
	"chasephone/internal/pgtest"
	"chasephone/internal/phone"
	"chasephone/internal/store"
)

// postgres is the product's store, on a database whose clock stands where it is put: the product
// asks clock_timestamp(), and finds ours before the server's. What was bound when the schema was
// made keeps the server's clock: created_at and the like, on which nothing here depends.
type postgres struct {
	*store.Store
}

func newPostgres(t testing.TB) *postgres {
	t.Helper()
	address, err := url.Parse(pgtest.URL(t))
	if err != nil {
		t.Fatal(err)
	}
	query := address.Query()
	query.Set("search_path", "public,pg_catalog")
	address.RawQuery = query.Encode()
	db, err := store.Connect(t.Context(), address.String(), 4)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	for _, sql := range []string{
		`create table stands (at timestamptz not null)`,
		`insert into stands values ('epoch')`,
		`create function clock_timestamp() returns timestamptz language sql volatile as 'select at from public.stands'`,
		// What is kept for good is kept for one sequence: nothing else may be done to it, here as there.
		`drop trigger followups_are_kept on phone_followups`,
		`drop trigger attempts_are_kept on attempts`,
		`create or replace trigger ledger_is_append_only before update or truncate on followup_events for each statement execute function forbid('append-only')`,
		`create or replace trigger evidence_is_append_only before update or truncate on evidence for each statement execute function forbid('append-only')`,
		`create or replace trigger desk_events_are_append_only before update or truncate on desk_events for each statement execute function forbid('append-only')`,
	} {
		if _, err := db.Pool.Exec(t.Context(), sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	return &postgres{db}
}

// begin empties the database for one more sequence. Rows hang on each other in circles, so one statement takes all.
func (p *postgres) begin() error {
	b := &pgx.Batch{}
	b.Queue(`
		with a as (delete from followup_events), b as (delete from evidence), c as (delete from approvals), d as (delete from other_calls),
		  e as (delete from messages), f as (delete from threads), g as (delete from contacts), h as (delete from tenant_twilio_events),
		  i as (delete from unfit_lines), j as (delete from lines), k as (delete from desk_events), l as (delete from attempts)
		delete from phone_followups`)
	b.Queue(`update fleet set stopped_at = null, stopped_by = null`)
	b.Queue(`update tenants set stopped_at = null, stopped_by = null`)
	b.Queue(`update stands set at = $1`, epoch)
	for _, t := range office() {
		b.Queue(`insert into tenants (id, approval) values ($1, $2) on conflict do nothing`, t.name, string(t.policy))
		for _, name := range t.lines {
			b.Queue(`insert into lines (tenant_id, name, carrier, caller_number) values ($1, $2, $3, $4)`, t.name, name, account, callerNumber)
		}
	}
	if err := p.Pool.SendBatch(context.Background(), b).Close(); err != nil {
		return fmt.Errorf("emptying the database: %w", err)
	}
	return nil
}

func (p *postgres) process(id string, carriers *drain.Carriers) drain.Store {
	return (&store.Store{Pool: p.Pool}).With(store.Config{
		Daemon: id, Carriers: carriers, Unknowns: breaker, Gates: gates.Options{HoursOff: true},
		Defaults: store.Defaults{Region: region}, Log: slog.New(slog.DiscardHandler),
	})
}

func (p *postgres) setClock(t time.Time) error {
	_, err := p.Pool.Exec(context.Background(), `update stands set at = $1`, t)
	return err
}

func (p *postgres) insert(f followUp) error {
	_, err := p.Pool.Exec(context.Background(), `
		insert into phone_followups (id, tenant_id, ref, due_at, phone_number, script, needs_approval, line)
		values ($1, $2, $3, $4, $5, $6, $7, nullif($8, ''))`, f.ID, f.Tenant, f.Ref, f.DueAt, f.Number, f.Script, f.NeedsApproval, f.Line)
	return err
}

func (p *postgres) committed(token string) (is bool, err error) {
	err = p.Pool.QueryRow(context.Background(), `select exists (select from attempts where token = $1 and outcome is null)`, token).Scan(&is)
	return is, err
}

func (p *postgres) holdLine(id followup.LineID, by string, until time.Time) error {
	return p.HoldLine(context.Background(), id.Tenant, id.Name, by, &until)
}

func (p *postgres) releaseLine(id followup.LineID, by string) error {
	_, err := p.ReleaseLine(context.Background(), id.Tenant, id.Name, by)
	return err
}

// arrive has Twilio's webhook kept and bridged, as the handler and its job do.
func (p *postgres) arrive(r report) error {
	form := url.Values{"AccountSid": {"AC1"}, "CallSid": {r.callID}, "CallStatus": {string(r.status)}, "From": {callerNumber}, "To": {r.number}, "Direction": {"outbound-api"}}
	d := carrier.Delivery{Kind: "status", Token: r.token, Body: []byte(form.Encode())}
	said, err := twilio.Read(d)
	if err != nil {
		return err
	}
	ctx := context.Background()
	if _, err := p.Keep(ctx, []arrivals.Arrival{{Accounts: []string{account}, Delivery: d, Report: said}}); err != nil {
		return err
	}
	_, err = p.Bridge(ctx, func(string) func(carrier.Delivery) (carrier.Report, error) { return twilio.Read }, 100)
	return err
}

const rowsSQL = `
select id, tenant_id, ref, due_at, coalesce(line, ''), coalesce(successor_of::text, ''), state,
  case when isfinite(next_try_at) then next_try_at end, ready, coalesce(reason, ''), coalesce(call_id, ''), coalesce(call_status, ''), coalesce(decided_by, ''), coalesce(e164, '')
from phone_followups order by id`

const attemptsSQL = `
select a.followup_id, a.no, a.token::text, a.line,
  case when a.approval_id is null then 0 else (select count(*)::int from approvals p, approvals own where own.id = a.approval_id and p.followup_id = own.followup_id and (p.asked_at, p.id) <= (own.asked_at, own.id)) end,
  a.created_at, a.send_by, a.answer_by, coalesce(a.outcome, ''), a.outcome_at, coalesce(a.call_id, ''), coalesce(a.decided_by, '')
from attempts a order by a.followup_id, a.no`

const approvalsSQL = `
select followup_id, reasons, e164, line, caller_number, words, asked_at, coalesce(decision, ''), decided_at, coalesce(decided_by, '') from approvals order by followup_id, asked_at, id`

const evidenceSQL = `select followup_id, attempt_no, source, says, coalesce(call_id, ''), conflict from evidence order by id`

const ledgerSQL = `
select followup_id, version, at, from_state, to_state, coalesce(outcome, ''), actor, coalesce(by_name, ''), coalesce(reason, ''), coalesce(attempt_no, 0), slot_at, coalesce(place, 0)
from followup_events order by followup_id, version`

const linesSQL = `
select tenant_id, name, stopped_at is not null, held_until, coalesce(held_for, ''), coalesce(held_by, ''), unknowns_in_row from lines order by tenant_id, name`

// read shows what the database has, in one round trip.
func (p *postgres) read() ([]*followUp, []lineRow, error) {
	var (
		all   []*followUp
		lines []lineRow
		of    string
		byID  = map[string]*followUp{}
		b     = &pgx.Batch{}
	)
	each(b, rowsSQL, func(rows pgx.Rows) error {
		f := &followUp{}
		var next *time.Time
		var e164 string
		err := rows.Scan(&f.ID, &f.Tenant, &f.Ref, &f.DueAt, &f.Line, &f.SuccessorOf, &f.State, &next, &f.Ready, &f.Reason, &f.CallID, &f.CallStatus, &f.DecidedBy, &e164)
		f.NextTryAt, f.identity.Number = orZero(next), phone.FromE164(e164)
		all, byID[f.ID] = append(all, f), f
		return err
	})
	each(b, attemptsSQL, func(rows pgx.Rows) error {
		a := &attempt{}
		var at *time.Time
		err := rows.Scan(&of, &a.No, &a.Token, &a.Line, &a.Spends, &a.Created, &a.SendBy, &a.AnswerBy, &a.Outcome, &at, &a.CallID, &a.By)
		a.At = orZero(at)
		byID[of].Attempts = append(byID[of].Attempts, a)
		return err
	})
	each(b, approvalsSQL, func(rows pgx.Rows) error {
		a := &approval{}
		var at *time.Time
		err := rows.Scan(&of, &a.Reasons, &a.Number, &a.Line, &a.Caller, &a.Words, &a.Asked, &a.Decision, &at, &a.By)
		a.At = orZero(at)
		byID[of].Approvals = append(byID[of].Approvals, a)
		return err
	})
	each(b, evidenceSQL, func(rows pgx.Rows) error {
		var e evidence
		err := rows.Scan(&of, &e.No, &e.Source, &e.Says, &e.CallID, &e.Conflict)
		byID[of].Evidence = append(byID[of].Evidence, e)
		return err
	})
	each(b, ledgerSQL, func(rows pgx.Rows) error {
		var e entry
		var slot *time.Time
		err := rows.Scan(&of, &e.Version, &e.At, &e.From, &e.To, &e.Outcome, &e.Actor, &e.By, &e.Reason, &e.No, &slot, &e.Place)
		e.Slot = orZero(slot)
		byID[of].Ledger = append(byID[of].Ledger, e)
		return err
	})
	each(b, linesSQL, func(rows pgx.Rows) error {
		var l lineRow
		var held *time.Time
		err := rows.Scan(&l.Tenant, &l.Name, &l.Stopped, &held, &l.HeldFor, &l.HeldBy, &l.Unknowns)
		l.Held = orZero(held)
		lines = append(lines, l)
		return err
	})
	if err := p.Pool.SendBatch(context.Background(), b).Close(); err != nil {
		return nil, nil, fmt.Errorf("reading what the database has: %w", err)
	}
	return all, lines, nil
}

func each(b *pgx.Batch, sql string, row func(pgx.Rows) error) {
	b.Queue(sql).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			if err := row(rows); err != nil {
				return err
			}
		}
		return rows.Err()
	})
}

func orZero(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return *t
}
