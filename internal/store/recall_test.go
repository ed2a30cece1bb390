package store_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"chasephone/internal/desk"
	"chasephone/internal/drain"
	"chasephone/internal/followup"
	"chasephone/internal/store"
)

// further gives the office a newer attempt: open, or with an outcome, and its follow-up a state.
func (o office) further(t *testing.T, state, outcome, approval string) {
	t.Helper()
	tx, err := o.db.Pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) }()
	for _, one := range []struct {
		sql  string
		args []any
	}{
		{`alter table phone_followups disable trigger user`, nil},
		{`insert into attempts (followup_id, no, token, tenant_id, line, carrier, e164, caller_number, daemon_id, created_at, begin_at, send_by, answer_by, late_at, outcome, outcome_at, decided_by, approval_id)
		 select followup_id, 2, gen_random_uuid(), tenant_id, line, carrier, e164, caller_number, daemon_id, now(), now(), now(), now() + interval '10 s', late_at,
		   nullif($2, ''), case when $2 <> '' then now() end, case when $2 = 'did_not_ring' then 'ana' end, nullif($3, '')::uuid from attempts where followup_id = $1`, []any{o.followUp, outcome, approval}},
		{`update phone_followups set state = $2, attempt_no = 2, ready = $2 = 'due' where id = $1`, []any{o.followUp, state}},
		{`alter table phone_followups enable trigger user`, nil},
	} {
		if _, err := tx.Exec(t.Context(), one.sql, one.args...); err != nil {
			t.Fatalf("%s: %v", one.sql, err)
		}
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// tokenOf is an attempt's.
func tokenOf(t *testing.T, db *store.Store, followUp string, no int) (token string) {
	t.Helper()
	if err := db.Pool.QueryRow(t.Context(), `select token::text from attempts where followup_id = $1 and no = $2`, followUp, no).Scan(&token); err != nil {
		t.Fatal(err)
	}
	return token
}

// R8: evidence that an earlier attempt rang is not forgotten while a newer one is under way: once the
// follow-up would be due again it is call_placed, whoever makes it due.
func TestEvidenceIsRecalled(t *testing.T) {
	t.Parallel()
	for name, again := range map[string]func(t *testing.T, o office){
		"by the carrier's refusal to take the call": func(t *testing.T, o office) {
			reply := drain.Settlement{FollowUp: o.followUp, AttemptNo: 2, Token: tokenOf(t, o.db, o.followUp, 2), Tenant: o.tenant, Line: "default", Outcome: drain.AttemptNotPlaced, To: followup.Due, Ledger: followup.OutcomeNotReady, Reason: "line_not_ready", Wait: true}
			if err := o.db.Record(t.Context(), []drain.Settlement{reply}); err != nil {
				t.Fatal(err)
			}
		},
		"by a person": func(t *testing.T, o office) {
			if _, err := o.db.Pool.Exec(t.Context(), `update limits set quarantine = '1 microsecond'`); err != nil {
				t.Fatal(err)
			}
			if _, err := o.db.Sweep(t.Context(), -time.Hour, 10); err != nil {
				t.Fatal(err)
			}
			for { // the quarantine counts from the answer's last instant
				result, err := desk.Desk{Store: o.db}.DidNotRing(t.Context(), desk.Name{Text: o.followUp}, "ben", desk.Silence{Attempt: 2})
				var early *desk.Refusal
				if errors.As(err, &early) && strings.HasPrefix(early.Says, "too early") {
					continue
				}
				if err != nil || result.State != followup.CallPlaced || !strings.Contains(result.Says, "the promise is kept") {
					t.Errorf("%+v, %v", result, err)
				}
				return
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := open(t)
			o := newOffice(t, db, 1, "did_not_ring", "")
			o.further(t, "dialing", "", "")
			keep(t, db, o.arrival(t, said{sid: sid("CA", 1), kind: "ours", status: "completed"}))
			bridge(t, db, 500)
			again(t, o)
			if got := o.standing(t); !strings.HasPrefix(got, "call_placed ONE completed") {
				t.Error(got)
			}
		})
	}
}

// An approval that a later attempt has spent does not keep evidence of the earlier one from counting.
func TestEvidenceOfASharedApproval(t *testing.T) {
	t.Parallel()
	db := open(t)
	o := newOffice(t, db, 1, "not_placed", "")
	var approval string
	if err := db.Pool.QueryRow(t.Context(), `insert into approvals (followup_id, reasons, e164, line, caller_number, words, asked_at, decision, decided_at, decided_by)
		values ($1, '{approval_required}', $2, 'default', 'x', 'x', now(), 'approved', now(), 'ana') returning id`, o.followUp, o.them).Scan(&approval); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Pool.Exec(t.Context(), `update attempts set approval_id = $1`, approval); err != nil {
		t.Fatal(err)
	}
	o.further(t, "due", "did_not_ring", approval)
	keep(t, db, o.arrival(t, said{sid: sid("CA", 1), kind: "ours", status: "ringing"}))
	bridge(t, db, 500)
	if got := o.standing(t); got != "call_placed ONE ringing attempt placed ONE evidence placed! events 2" {
		t.Error(got)
	}
}

// R8, R10: a promise that was moved is the same promise. Evidence that it rang before it was
// rescheduled keeps its successor from ringing too.
func TestEvidenceFollowsAPromiseThatWasMoved(t *testing.T) {
	t.Parallel()
	db := open(t)
	o := newOffice(t, db, 1, "did_not_ring", "")
	d := desk.Desk{Store: db}
	name := desk.Name{Text: o.followUp}
	for i := range 2 { // moved, and moved again
		moved, err := d.Reschedule(t.Context(), name, "ana", time.Now().Add(time.Duration(i+1)*time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		name.Text = moved.Successor
	}
	keep(t, db, o.arrival(t, said{sid: sid("CA", 1), kind: "ours", status: "completed"}))
	bridge(t, db, 500)
	var state, call, actor string
	if err := db.Pool.QueryRow(t.Context(), `select f.state, f.call_id, e.actor from phone_followups f join followup_events e on e.followup_id = f.id and e.version = f.version where f.id = $1`, name.Text).Scan(&state, &call, &actor); err != nil || state != "call_placed" || call != sid("CA", 1) || actor != "carrier" {
		t.Errorf("the successor is %s %s by %s, %v", state, call, actor, err)
	}
	if got := o.standing(t); got != "cancelled - - attempt did_not_ring - evidence placed! events 2" {
		t.Error(got)
	}
}

// One that awaits a person stays, and neither approving nor moving it on makes it ring.
func TestEvidenceWhileAMovedPromiseAwaitsAPerson(t *testing.T) {
	t.Parallel()
	db := open(t)
	o := newOffice(t, db, 1, "did_not_ring", "")
	d := desk.Desk{Store: db}
	moved, err := d.Reschedule(t.Context(), desk.Name{Text: o.followUp}, "ana", time.Now().Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	for _, sql := range []string{
		`alter table phone_followups disable trigger user`,
		`insert into approvals (followup_id, reasons, e164, line, caller_number, words, asked_at) select id, '{approval_required}', '` + o.them + `', 'default', 'x', 'x', now() from phone_followups where successor_of is not null`,
		`update phone_followups f set state = 'awaiting_approval', approval_id = a.id from approvals a where a.followup_id = f.id`,
		`alter table phone_followups enable trigger user`,
	} {
		if _, err := db.Pool.Exec(t.Context(), sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	keep(t, db, o.arrival(t, said{sid: sid("CA", 1), kind: "ours", status: "completed"}))
	bridge(t, db, 500)
	var refused *desk.Refusal
	if _, err := d.Approve(t.Context(), desk.Name{Text: moved.Successor}, "ana", ""); !errors.As(err, &refused) || !strings.Contains(refused.Says, "rang already") {
		t.Errorf("approving: %v", err)
	}
	if _, err := d.Reschedule(t.Context(), desk.Name{Text: moved.Successor}, "ana", time.Now().Add(2*time.Hour)); !errors.As(err, &refused) || !strings.Contains(refused.Says, "rang already") {
		t.Errorf("rescheduling: %v", err)
	}
}

// waitsForALock waits until some other session of this database waits for one.
func waitsForALock(t *testing.T, db *store.Store) {
	t.Helper()
	for {
		var n int
		if err := db.Pool.QueryRow(t.Context(), `select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`).Scan(&n); err != nil {
			t.Fatal(err)
		}
		if n > 0 {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// While the carrier's word on a promise is being weighed, the one that it was moved to is moved on again.
func TestEvidenceRacesWithReschedule(t *testing.T) {
	t.Parallel()
	db := open(t)
	o := newOffice(t, db, 1, "did_not_ring", "")
	moved, err := desk.Desk{Store: db}.Reschedule(t.Context(), desk.Name{Text: o.followUp}, "ana", time.Now().Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	keep(t, db, o.arrival(t, said{sid: sid("CA", 1), kind: "ours", status: "completed"}))
	bridged := make(chan error, 1)
	again, err := db.Decide(t.Context(), desk.Name{Text: moved.Successor}, func(desk.Snapshot) (desk.Change, error) {
		go func() { _, err := db.Bridge(t.Context(), readers, 500); bridged <- err }()
		waitsForALock(t, db)
		return desk.Change{
			To: followup.Cancelled, Outcome: followup.OutcomeCancelled, By: "ana", Reason: "rescheduled", Detail: "moved",
			Successor: &desk.Successor{DueAt: time.Now().Add(2 * time.Hour)},
		}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := <-bridged; err != nil {
		t.Fatal(err)
	}
	var state string
	if err := db.Pool.QueryRow(t.Context(), `select state from phone_followups where id = $1`, again.Successor).Scan(&state); err != nil || state != "call_placed" {
		t.Errorf("the newest is %s, %v", state, err)
	}
}

// While the carrier's word on a promise is being weighed, the one that it was moved to becomes due.
func TestEvidenceRacesWithAReply(t *testing.T) {
	t.Parallel()
	db := open(t)
	o, other := newOffice(t, db, 1, "did_not_ring", ""), newOffice(t, db, 2, "placed", sid("CA", 9))
	result, err := desk.Desk{Store: db}.Reschedule(t.Context(), desk.Name{Text: o.followUp}, "ana", time.Now().Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	for _, sql := range []string{
		`alter table phone_followups disable trigger user`,
		`insert into attempts (followup_id, no, token, tenant_id, line, carrier, e164, caller_number, daemon_id, created_at, begin_at, send_by, answer_by, late_at)
		 select '` + result.Successor + `', 1, gen_random_uuid(), tenant_id, line, carrier, e164, caller_number, daemon_id, now(), now(), now(), now() + interval '10 s', late_at from attempts where followup_id = '` + o.followUp + `'`,
		`update phone_followups set state = 'dialing', attempt_no = 1, e164 = '` + o.them + `' where id = '` + result.Successor + `'`,
		`alter table phone_followups enable trigger user`,
	} {
		if _, err := db.Pool.Exec(t.Context(), sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	keep(t, db, o.arrival(t, said{sid: sid("CA", 1), kind: "ours", status: "completed"}), other.arrival(t, said{sid: sid("CA", 9), kind: "ours", status: "in-progress"}))
	weighed, goOn := make(chan struct{}), make(chan struct{})
	db.FollowBy(store.Jobs{Speak: func(context.Context, pgx.Tx, string, int) error { close(weighed); <-goOn; return nil }}) // after all was weighed
	done := make(chan error, 2)
	go func() { _, err := db.Bridge(t.Context(), readers, 500); done <- err }()
	<-weighed
	token := tokenOf(t, db, result.Successor, 1)
	go func() {
		done <- db.Record(t.Context(), []drain.Settlement{{FollowUp: result.Successor, AttemptNo: 1, Token: token, Tenant: o.tenant, Line: "default", Outcome: drain.AttemptNotPlaced, To: followup.Due, Ledger: followup.OutcomeNotReady, Reason: "line_not_ready"}})
	}()
	waitsForALock(t, db)
	close(goOn)
	for range 2 {
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	var state string
	if err := db.Pool.QueryRow(t.Context(), `select state from phone_followups where id = $1`, result.Successor).Scan(&state); err != nil || state != "call_placed" {
		t.Errorf("the successor is %s, %v", state, err)
	}
}
