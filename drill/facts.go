package main

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// facts are what the tables and the ring book say at one moment: all that the checks look at.
type facts struct {
	now       time.Time
	rings     rings // read before the tables, so that what rang has its attempt there
	followups map[string]*followUp
	attempts  map[string]*attempt // by token
	places    []place
	conflicts int
	stops     []stopped
	said      map[string]promise // by natural key
}

// followUp is a row of phone_followups, with its ledger and its attempts.
type followUp struct {
	id, tenant, ref string
	due             time.Time // zero where it is at infinity
	forever         bool
	number          string
	state, reason   string
	callID, by      string
	nextTry         time.Time
	needsApproval   bool
	approved        []time.Time // when a person approved it
	version         int
	successor       bool
	events          []event
	attempts        []*attempt
}

func (f *followUp) key() string {
	return promise{tenant: f.tenant, ref: f.ref, due: f.due, forever: f.forever}.key()
}

// attempt is a row of attempts, and when it was committed, by the server's own books.
type attempt struct {
	followUp                 string
	no                       int
	token, tenant, line      string
	created, sendBy, answers time.Time
	outcome, callID, by      string
	committed                time.Time
}

// event is a row of the ledger.
type event struct {
	version            int
	at                 time.Time
	from, to           string
	outcome, actor, by string
	reason, detail     string
	attempt            int
	committed, slot    time.Time
	place              int
	tenant, followUp   string
}

// place is how many places of a slot a tenant took.
type place struct {
	tenant string
	slot   time.Time
	taken  int
}

// look reads the ring book and then the tables, at one moment.
func look(ctx context.Context, db *pgxpool.Pool, book string) (*facts, error) {
	f := &facts{followups: map[string]*followUp{}, attempts: map[string]*attempt{}}
	var err error
	if f.rings, err = readBook(book); err != nil {
		return nil, err
	}
	err = pgx.BeginTxFunc(ctx, db, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		for _, read := range []func(context.Context, pgx.Tx) error{f.readFollowUps, f.readAttempts, f.readEvents, f.readRest} {
			if err := read(ctx, tx); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("reading the tables: %w", err)
	}
	return f, nil
}

func (f *facts) readFollowUps(ctx context.Context, tx pgx.Tx) error {
	rows, err := tx.Query(ctx, `
		select id::text, tenant_id, ref, isfinite(due_at), case when isfinite(due_at) then due_at else 'epoch' end, phone_number, state,
		  coalesce(reason, ''), coalesce(call_id, ''), coalesce(decided_by, ''),
		  case when isfinite(next_try_at) then next_try_at else 'epoch' end, needs_approval, coalesce(version, 0), successor_of is not null,
		  array(select decided_at from approvals p where p.followup_id = f.id and p.decision = 'approved')
		from phone_followups f`)
	if err != nil {
		return err
	}
	var (
		one    followUp
		finite bool
	)
	_, err = pgx.ForEachRow(rows, []any{
		&one.id, &one.tenant, &one.ref, &finite, &one.due, &one.number, &one.state, &one.reason, &one.callID, &one.by, &one.nextTry,
		&one.needsApproval, &one.version, &one.successor, &one.approved,
	}, func() error {
		row := one
		row.forever = !finite
		if row.forever {
			row.due = time.Time{}
		}
		f.followups[row.id] = &row
		return nil
	})
	return err
}

func (f *facts) readAttempts(ctx context.Context, tx pgx.Tx) error {
	rows, err := tx.Query(ctx, `
		select followup_id::text, no, token::text, tenant_id, line, created_at, send_by, answer_by,
		  coalesce(outcome, ''), coalesce(call_id, ''), coalesce(decided_by, '')
		from attempts order by followup_id, no`)
	if err != nil {
		return err
	}
	var one attempt
	_, err = pgx.ForEachRow(rows, []any{
		&one.followUp, &one.no, &one.token, &one.tenant, &one.line, &one.created, &one.sendBy, &one.answers, &one.outcome, &one.callID, &one.by,
	}, func() error {
		row := one
		f.attempts[row.token] = &row
		if of := f.followups[row.followUp]; of != nil {
			of.attempts = append(of.attempts, &row)
		}
		return nil
	})
	return err
}

func (f *facts) readEvents(ctx context.Context, tx pgx.Tx) error {
	rows, err := tx.Query(ctx, `
		select followup_id::text, version, at, from_state, to_state, coalesce(outcome, ''), actor, coalesce(by_name, ''),
		  coalesce(reason, ''), coalesce(detail, ''), coalesce(attempt_no, 0), coalesce(pg_xact_commit_timestamp(xid::xid), at),
		  coalesce(slot_at, 'epoch'), coalesce(place, 0), tenant_id
		from followup_events order by followup_id, version`)
	if err != nil {
		return err
	}
	var one event
	taken := map[place]int{}
	_, err = pgx.ForEachRow(rows, []any{
		&one.followUp, &one.version, &one.at, &one.from, &one.to, &one.outcome, &one.actor, &one.by, &one.reason, &one.detail, &one.attempt,
		&one.committed, &one.slot, &one.place, &one.tenant,
	}, func() error {
		if of := f.followups[one.followUp]; of != nil {
			of.events = append(of.events, one)
			for _, a := range of.attempts {
				if one.to == "dialing" && a.no == one.attempt {
					a.committed = one.committed
				}
			}
		}
		if one.place > 0 {
			taken[place{tenant: one.tenant, slot: one.slot}]++
		}
		return nil
	})
	for at, n := range taken {
		at.taken = n
		f.places = append(f.places, at)
	}
	return err
}

func (f *facts) readRest(ctx context.Context, tx pgx.Tx) error {
	return tx.QueryRow(ctx, `select clock_timestamp(), (select count(*) from evidence where conflict)`).Scan(&f.now, &f.conflicts)
}
