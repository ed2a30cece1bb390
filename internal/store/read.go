package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"chasephone/internal/carrier"
	"chasephone/internal/desk"
	"chasephone/internal/followup"
	"chasephone/internal/gates"
	"chasephone/internal/lookup"
)

// FollowUp is a row as its readers see it. Instants are text because due_at may be infinite.
type FollowUp struct {
	ID            string         `json:"id"`
	Tenant        string         `json:"tenant_id"`
	Ref           string         `json:"ref"`
	DueAt         string         `json:"due_at"`
	PhoneNumber   string         `json:"phone_number"`
	ContactName   string         `json:"contact_name,omitempty"`
	TimeZone      string         `json:"time_zone,omitempty"`
	Purpose       string         `json:"purpose"`
	Script        string         `json:"script"`
	NeedsApproval bool           `json:"needs_approval"`
	Line          string         `json:"line,omitempty"`
	State         followup.State `json:"state"`
	NextTryAt     string         `json:"next_try_at"`
	Reason        string         `json:"reason,omitempty"`
	Detail        string         `json:"detail,omitempty"`
	CallID        string         `json:"call_id,omitempty"`
	CallStatus    string         `json:"call_status,omitempty"`
	ApprovalID    string         `json:"approval_id,omitempty"`
	CreatedAt     time.Time      `json:"created_at"`
	UpdatedAt     time.Time      `json:"updated_at"`
	DecidedBy     string         `json:"decided_by,omitempty"`
	SuccessorOf   string         `json:"successor_of,omitempty"`
	Successor     string         `json:"successor,omitempty"`
}

const followUpColumns = `f.id, f.tenant_id, f.ref, ` + isoDueAt + `, f.phone_number, coalesce(f.contact_name, ''), coalesce(f.time_zone, ''),
  f.purpose, f.script, f.needs_approval, coalesce(f.line, ''), f.state, ` + isoNextTry + `, coalesce(f.reason, ''), coalesce(f.detail, ''),
  coalesce(f.call_id, ''), coalesce(f.call_status, ''), coalesce(f.approval_id::text, ''), f.created_at, f.updated_at,
  coalesce(f.decided_by, ''), coalesce(f.successor_of::text, ''),
  coalesce((select s.id::text from phone_followups s where f.state = 'cancelled' and s.successor_of = f.id limit 1), '')`

const (
	isoDueAt   = `case when isfinite(f.due_at) then to_char(f.due_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') else f.due_at::text end`
	isoNextTry = `case when isfinite(f.next_try_at) then to_char(f.next_try_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') else '' end`
)

func (f *FollowUp) into() []any {
	return []any{
		&f.ID, &f.Tenant, &f.Ref, &f.DueAt, &f.PhoneNumber, &f.ContactName, &f.TimeZone,
		&f.Purpose, &f.Script, &f.NeedsApproval, &f.Line, &f.State, &f.NextTryAt, &f.Reason, &f.Detail,
		&f.CallID, &f.CallStatus, &f.ApprovalID, &f.CreatedAt, &f.UpdatedAt, &f.DecidedBy, &f.SuccessorOf, &f.Successor,
	}
}

// Filter says which follow-ups to list; empty fields say nothing.
type Filter struct {
	Tenant string
	State  followup.State
	Ref    string
	Most   int
}

// List lists follow-ups: those that are not over, the earliest due first, and behind them
// those that are, the newest first.
func (s *Store) List(ctx context.Context, by Filter) ([]FollowUp, error) {
	open, err := s.list(ctx, by, `f.state in ('due', 'awaiting_approval', 'dialing', 'uncertain')`, `f.due_at, f.id`)
	if err != nil || len(open) >= by.Most {
		return open, err
	}
	by.Most -= len(open)
	over, err := s.list(ctx, by, `f.state in ('call_placed', 'refused', 'missed', 'cancelled')`, `f.id desc`)
	return append(open, over...), err
}

func (s *Store) list(ctx context.Context, by Filter, where, order string) ([]FollowUp, error) {
	rows, err := s.Pool.Query(ctx, `
		select `+followUpColumns+` from phone_followups f
		where `+where+` and (@tenant = '' or f.tenant_id = @tenant) and (@state = '' or f.state = @state) and (@ref = '' or f.ref = @ref)
		order by `+order+` limit @most`,
		pgx.StrictNamedArgs{"tenant": by.Tenant, "state": string(by.State), "ref": by.Ref, "most": by.Most})
	if err != nil {
		return nil, fmt.Errorf("listing follow-ups: %w", err)
	}
	var all []FollowUp
	var f FollowUp
	if _, err := pgx.ForEachRow(rows, f.into(), func() error {
		all = append(all, f)
		return nil
	}); err != nil {
		return nil, fmt.Errorf("listing follow-ups: %w", err)
	}
	return all, nil
}

// Story is everything that is known about one follow-up, in the order in which it happened.
type Story struct {
	FollowUp  FollowUp        `json:"followup"`
	Events    []Event         `json:"events"`
	Attempts  []AttemptStory  `json:"attempts"`
	Approvals []ApprovalStory `json:"approvals"`
	Evidence  []Evidence      `json:"evidence"`
	Lookups   []Lookup        `json:"lookups"` // what the carriers' own records showed when they were asked
	Holds     []Held          `json:"holds"`   // what keeps it from being rung now, whatever the gates say
}

// Held is a stop, or a hold of its line.
type Held struct {
	What  string     `json:"what"` // "all ringing held", "everything stopped", "tenant stopped", "line stopped", "line held"
	By    string     `json:"by,omitempty"`
	Since *time.Time `json:"since,omitempty"`
	Until *time.Time `json:"until,omitempty"`
	For   string     `json:"for,omitempty"` // why the line is held
}

// holdsSQL asks only for rows that could be rung if nothing held them.
const holdsSQL = `
select h.what, coalesce(h.by, ''), h.since, case when isfinite(h.until) then h.until end, coalesce(h.why, '')
from phone_followups f
join tenants t on t.id = f.tenant_id
cross join fleet x
left join lines l on l.tenant_id = f.tenant_id and l.name = coalesce(f.line, t.default_line)
left join ringing_holds r on r.released_at is null
cross join lateral (values
  ('` + ringingHeld + `', r.id is not null, null, r.held_at, null::timestamptz, r.why),
  ('everything stopped', x.stopped_at is not null, x.stopped_by, x.stopped_at, null, null),
  ('tenant stopped', t.stopped_at is not null, t.stopped_by, t.stopped_at, null, null),
  ('line stopped', l.stopped_at is not null, l.stopped_by, l.stopped_at, null, null),
  ('line held', l.held_until > clock_timestamp(), l.held_by, null, l.held_until, l.held_for)) as h (what, so, by, since, until, why)
where f.id = @id and h.so and f.state in ('due', 'awaiting_approval')`

// Event is one row of the ledger.
type Event struct {
	Version  int              `json:"version"`
	At       time.Time        `json:"at"`
	From     followup.State   `json:"from"`
	To       followup.State   `json:"to"`
	Outcome  followup.Outcome `json:"outcome,omitempty"`
	Actor    string           `json:"actor"`
	By       string           `json:"by,omitempty"`
	Reason   string           `json:"reason,omitempty"`
	Detail   string           `json:"detail,omitempty"`
	Findings []gates.Finding  `json:"findings,omitempty"`
	Attempt  int              `json:"attempt,omitempty"`
	Slot     *time.Time       `json:"slot_at,omitempty"`
	Place    int              `json:"place,omitempty"`
}

// AttemptStory is one right to ring once, and what it came to.
type AttemptStory struct {
	No        int        `json:"no"`
	Line      string     `json:"line"`
	Carrier   string     `json:"carrier"`
	Created   time.Time  `json:"created_at"`
	BeginAt   time.Time  `json:"begin_at"`
	SendBy    time.Time  `json:"send_by"`
	AnswerBy  time.Time  `json:"answer_by"`
	Outcome   string     `json:"outcome,omitempty"`
	OutcomeAt *time.Time `json:"outcome_at,omitempty"`
	CallID    string     `json:"call_id,omitempty"`
	Code      string     `json:"code,omitempty"`
	Answer    string     `json:"answer,omitempty"`
	Stage     string     `json:"stage,omitempty"`
	By        string     `json:"decided_by,omitempty"`
	OpensAt   *time.Time `json:"did_not_ring_from,omitempty"` // for an uncertain one: when a person may say so
}

// ApprovalStory is one question to a person, and the answer.
type ApprovalStory struct {
	ID        string     `json:"id"`
	Reasons   []string   `json:"reasons"`
	AskedAt   time.Time  `json:"asked_at"`
	Decision  string     `json:"decision,omitempty"`
	DecidedAt *time.Time `json:"decided_at,omitempty"`
	DecidedBy string     `json:"decided_by,omitempty"`
	TimeZone  string     `json:"time_zone,omitempty"`
}

// Lookup is one question to a carrier's records, and what came of it.
type Lookup struct {
	Attempt  int              `json:"attempt"`
	AskedAt  time.Time        `json:"asked_at"`
	Question lookup.Question  `json:"question"`
	Answered bool             `json:"answered"`
	Says     string           `json:"says"`
	Found    []carrier.Record `json:"found"` // calls that may be it, and are no other attempt's
}

// Evidence is what the carrier said beside the answer that settled the attempt.
type Evidence struct {
	Attempt  int       `json:"attempt"`
	At       time.Time `json:"at"`
	Source   string    `json:"source"`
	Says     string    `json:"says"`
	CallID   string    `json:"call_id,omitempty"`
	Code     string    `json:"code,omitempty"`
	Answer   string    `json:"answer,omitempty"`
	Conflict bool      `json:"conflict"`
}

// Story tells the whole story of one follow-up from the ledger and the rows beside it.
func (s *Store) Story(ctx context.Context, name desk.Name) (Story, error) {
	story := Story{Events: []Event{}, Attempts: []AttemptStory{}, Approvals: []ApprovalStory{}, Evidence: []Evidence{}, Lookups: []Lookup{}, Holds: []Held{}}
	found, err := resolve(ctx, s.Pool, name)
	if err != nil {
		return story, err
	}
	args := pgx.StrictNamedArgs{"id": found.id}
	batch := &pgx.Batch{}
	batch.Queue(`select `+followUpColumns+` from phone_followups f where f.id = @id`, args).QueryRow(func(row pgx.Row) error {
		return row.Scan(story.FollowUp.into()...)
	})
	batch.Queue(`
		select version, at, from_state, to_state, coalesce(outcome, ''), actor, coalesce(by_name, ''), coalesce(reason, ''), coalesce(detail, ''),
		  coalesce(findings::text, '[]'), coalesce(attempt_no, 0), slot_at, coalesce(place, 0)
		from followup_events where followup_id = @id order by version`, args).Query(func(rows pgx.Rows) error {
		var e Event
		var findings string
		into := []any{&e.Version, &e.At, &e.From, &e.To, &e.Outcome, &e.Actor, &e.By, &e.Reason, &e.Detail, &findings, &e.Attempt, &e.Slot, &e.Place}
		_, err := pgx.ForEachRow(rows, into, func() error {
			one := e
			if err := json.Unmarshal([]byte(findings), &one.Findings); err != nil {
				return fmt.Errorf("reading the findings of event %d: %w", e.Version, err)
			}
			story.Events = append(story.Events, one)
			return nil
		})
		return err
	})
	batch.Queue(`
		select a.no, a.line, a.carrier, a.created_at, a.begin_at, a.send_by, a.answer_by, coalesce(a.outcome, ''), a.outcome_at,
		  coalesce(a.call_id, ''), coalesce(a.code, ''), coalesce(a.answer, ''), coalesce(a.stage, ''), coalesce(a.decided_by, ''),
		  case when a.outcome = 'uncertain' then a.answer_by + l.quarantine end
		from attempts a cross join fleet f join limits l on l.id = f.limits_id
		where a.followup_id = @id order by a.no`, args).Query(func(rows pgx.Rows) error {
		var a AttemptStory
		into := []any{&a.No, &a.Line, &a.Carrier, &a.Created, &a.BeginAt, &a.SendBy, &a.AnswerBy, &a.Outcome, &a.OutcomeAt, &a.CallID, &a.Code, &a.Answer, &a.Stage, &a.By, &a.OpensAt}
		_, err := pgx.ForEachRow(rows, into, func() error { story.Attempts = append(story.Attempts, a); return nil })
		return err
	})
	batch.Queue(`
		select id, reasons, asked_at, coalesce(decision, ''), decided_at, coalesce(decided_by, ''), coalesce(time_zone, '')
		from approvals where followup_id = @id order by asked_at, id`, args).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			var a ApprovalStory
			if err := rows.Scan(&a.ID, &a.Reasons, &a.AskedAt, &a.Decision, &a.DecidedAt, &a.DecidedBy, &a.TimeZone); err != nil {
				return err
			}
			story.Approvals = append(story.Approvals, a)
		}
		return rows.Err()
	})
	batch.Queue(holdsSQL, args).Query(func(rows pgx.Rows) error {
		var h Held
		_, err := pgx.ForEachRow(rows, []any{&h.What, &h.By, &h.Since, &h.Until, &h.For}, func() error {
			story.Holds = append(story.Holds, h)
			return nil
		})
		return err
	})
	batch.Queue(`
		select attempt_no, at, source, says, coalesce(call_id, ''), coalesce(code, ''), coalesce(answer, ''), conflict
		from evidence where followup_id = @id order by id`, args).Query(func(rows pgx.Rows) error {
		var e Evidence
		_, err := pgx.ForEachRow(rows, []any{&e.Attempt, &e.At, &e.Source, &e.Says, &e.CallID, &e.Code, &e.Answer, &e.Conflict}, func() error {
			story.Evidence = append(story.Evidence, e)
			return nil
		})
		return err
	})
	batch.Queue(`select attempt_no, asked_at, question, answered, says, found::text from lookups where followup_id = @id order by id`, args).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			var l Lookup
			var found string
			if err := rows.Scan(&l.Attempt, &l.AskedAt, &l.Question, &l.Answered, &l.Says, &found); err != nil {
				return err
			}
			if err := json.Unmarshal([]byte(found), &l.Found); err != nil {
				return fmt.Errorf("reading what a look-up found: %w", err)
			}
			story.Lookups = append(story.Lookups, l)
		}
		return rows.Err()
	})
	if err := s.Pool.SendBatch(ctx, batch).Close(); err != nil {
		return story, fmt.Errorf("reading the story of follow-up %s: %w", found.id, err)
	}
	return story, nil
}
