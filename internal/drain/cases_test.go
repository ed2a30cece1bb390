package drain_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"chasephone/internal/carrier"
	"chasephone/internal/desk"
	"chasephone/internal/followup"
)

// Faults that people who run dialers, reminder senders and job queues reported in public,
// each standing for a kind. Those whose kind has a test elsewhere are not told again here.

// Overlapping ticks, locks freed before the dial: two daemons at one instant, answers that
// take longer than the slot. No row is dialed twice, and the bound is the fleet's.
func TestOverlappingTicks(t *testing.T) {
	w := newWorld(t, nil)
	w.due("a", 3, time.Hour)
	answer := make(chan struct{})
	w.phones.answer = func(context.Context, carrier.Call) (bool, carrier.Answer) {
		<-answer
		return true, carrier.Refused{Code: "21211"}
	}
	daemons := []interface {
		Slot(context.Context, int) error
		Prepare(context.Context) error
	}{w.daemon(), w.daemon()}
	if err := daemons[0].Prepare(w.ctx); err != nil {
		t.Fatal(err)
	}
	tick := func() {
		var both sync.WaitGroup
		for _, d := range daemons {
			both.Go(func() {
				if err := d.Slot(w.ctx, 64); err != nil {
					t.Error(err)
				}
			})
		}
		both.Wait()
	}
	tick()
	waitFor(t, func() bool { return len(w.phones.requests()) == 2 })
	tick() // the slot's places are used, whoever asks
	w.nextSlot()
	tick() // the two are still being dialed: one is left
	waitFor(t, func() bool { return len(w.phones.requests()) == 3 })
	if n := w.count(`select count(*) from pg_stat_activity where datname = current_database() and state like 'idle in transaction%'`); n > 0 {
		t.Errorf("%d transactions are open while calls are out", n)
	}
	close(answer)
	waitFor(t, func() bool { return w.states()["refused"] == 3 })
	if n := w.count(`select count(*) from attempts`); n != 3 {
		t.Errorf("%d attempts of three rows", n)
	}
}

// A head that always fails must not starve the rest: two oldest rows on a line that is
// never ready, and a healthy younger one.
func TestFailingHeadStarvesNobody(t *testing.T) {
	w := newWorld(t, nil)
	w.exec(`insert into lines (tenant_id, name, carrier, caller_number) values ('default', 'dead', 'not_configured', '+12125550101')`)
	w.dueOn("dead", 2, 2*time.Hour, "dead", "")
	w.due("healthy", 1, time.Hour)
	w.slot()
	if r := w.row("healthy1"); r.State != "call_placed" {
		t.Errorf("healthy %+v", r)
	}
	for _, ref := range []string{"dead1", "dead2"} {
		if r := w.row(ref); r.State != "due" || r.Reason != "line_not_ready" || r.NextIn < 59*time.Minute {
			t.Errorf("%s %+v", ref, r)
		}
	}
	events := w.count(`select count(*) from followup_events`)
	w.nextSlot()
	w.slot()
	if n := w.count(`select count(*) from followup_events`); n != events {
		t.Errorf("%d more events: the two were looked at before their hour is over", n-events)
	}
}

// Opted out while awaiting approval: every gate is asked again, and nothing rings.
func TestOptOutWhileAwaitingApproval(t *testing.T) {
	w := newWorld(t, nil)
	w.exec(`insert into phone_followups (ref, phone_number, due_at, script, needs_approval) values ('a', '+33 1 99 00 12 34', now(), 'x', true)`)
	w.exec(`update tenants set region = 'FR'`)
	w.slot()
	if r := w.row("a"); r.State != "awaiting_approval" {
		t.Fatalf("%+v", r)
	}
	w.exec(`insert into do_not_call (e164, added_by) values ('+33199001234', 'bob')`)
	w.decide("approve", "a")
	w.nextSlot()
	w.slot()
	if r := w.row("a"); r.State != "refused" || r.Reason != "do_not_call" || r.Attempts != 0 {
		t.Errorf("%+v", r)
	}
}

// Three hours of sweeps and restarts leave a pending approval as it is: the same one.
func TestSweepsLeaveApprovalsAlone(t *testing.T) {
	w := newWorld(t, nil)
	w.exec(`insert into phone_followups (ref, phone_number, due_at, script, needs_approval) values ('a', '+14155550123', now() - interval '3 hours', 'x', true)`)
	w.slot()
	approval := func() (id string) {
		if err := w.db.Pool.QueryRow(w.ctx, `select approval_id::text from phone_followups where ref = 'a'`).Scan(&id); err != nil {
			t.Fatal(err)
		}
		return id
	}
	before := approval()
	for range 3 {
		w.nextSlot()
		w.sweepAll()
		w.slot()
	}
	if r := w.row("a"); r.State != "awaiting_approval" || approval() != before || w.count(`select count(*) from approvals`) != 1 {
		t.Errorf("%+v, approval %s, was %s", r, approval(), before)
	}
	// It ends as missed, with its approval, once it is too late.
	w.exec(`alter table phone_followups disable trigger promise_is_frozen`)
	w.exec(`update phone_followups set due_at = now() - interval '24 hours 1 second'`)
	w.exec(`alter table phone_followups enable trigger promise_is_frozen`)
	w.slot()
	if r := w.row("a"); r.State != "missed" || w.count(`select count(*) from approvals where decision = 'missed'`) != 1 {
		t.Errorf("%+v", r)
	}
	if _, err := (desk.Desk{Store: w.db}).Approve(w.ctx, desk.Name{Text: before}, "ann", ""); err == nil {
		t.Error("approved what is missed")
	}
}

// Three errors, three buckets: a policy's refusal, a fault before placing, and one after it.
func TestThreeErrorsThreeBuckets(t *testing.T) {
	w := newWorld(t, func(l *followup.Limits) { l.PerTick = 5 })
	w.exec(`insert into lines (tenant_id, name, carrier, caller_number) values ('default', 'two', 'scripted', '+12125550101')`)
	w.due("opted", 1, 3*time.Hour)
	w.exec(`insert into do_not_call (e164, added_by) select phone_number, 'bob' from phone_followups`)
	w.dueOn("tcp", 1, 2*time.Hour, "two", "")
	w.due("lost", 1, time.Hour)
	w.phones.answer = func(_ context.Context, call carrier.Call) (bool, carrier.Answer) {
		if call.From.E164() == "+12125550101" {
			return false, carrier.NotPlaced{Blame: carrier.BlameDaemon, Code: "connect_failed"}
		}
		return true, carrier.Unknown{Stage: carrier.StageAwaiting}
	}
	w.slot()
	for ref, want := range map[string]string{"opted1": "refused", "tcp1": "due", "lost1": "uncertain"} {
		if r := w.row(ref); r.State != want {
			t.Errorf("%s %+v, want %s", ref, r, want)
		}
	}
}

// The customer called in meanwhile: cancelled while due, while awaiting approval, and one
// moment too late.
func TestCancelledMeanwhile(t *testing.T) {
	w := newWorld(t, nil)
	w.due("due", 1, time.Hour)
	w.exec(`insert into phone_followups (ref, phone_number, due_at, script, needs_approval) values ('asked', '+14155550123', now() - interval '2 hours', 'x', true)`)
	w.decide("cancel", "due1")
	w.slot()
	w.decide("cancel", "asked")
	w.due("out", 1, time.Hour)
	w.claimOnly()
	_, err := desk.Desk{Store: w.db}.Cancel(w.ctx, desk.Name{Text: "out1"}, "ann", "")
	var refused *desk.Refusal
	if !errors.As(err, &refused) {
		t.Errorf("cancelled while it goes out: %v", err)
	}
	w.nextSlot()
	w.sweepAll()
	w.slot()
	for ref, want := range map[string]string{"due1": "cancelled", "asked": "cancelled", "out1": "uncertain"} {
		if r := w.row(ref); r.State != want {
			t.Errorf("%s %+v, want %s", ref, r, want)
		}
	}
	if n := w.count(`select count(*) from approvals where decision = 'cancelled' and decided_by = 'ann'`); n != 1 {
		t.Errorf("the approval is not void")
	}
	if n := len(w.phones.requests()); n != 0 {
		t.Errorf("%d requests", n)
	}
}

// R8: the fifth time that a person says it did not ring ends it.
func TestFifthTime(t *testing.T) {
	w := newWorld(t, nil)
	w.due("a", 1, time.Hour)
	for range 5 {
		if n := len(w.claimOnly()); n != 1 {
			t.Fatalf("%d attempts", n)
		}
		w.sweepAll()
		w.quarantineOver()
		w.decide("did-not-ring", "a1")
		w.nextSlot()
	}
	if r := w.row("a1"); r.State != "refused" || r.Reason != "attempts_exhausted" || r.Attempts != 5 {
		t.Errorf("%+v", r)
	}
}

// R10: rescheduling cancels one and makes its successor, in one transaction; doing it again
// changes nothing further.
func TestReschedule(t *testing.T) {
	w := newWorld(t, nil)
	w.due("a", 1, time.Hour)
	later := time.Now().Add(time.Hour).Truncate(time.Second)
	var id string
	if err := w.db.Pool.QueryRow(w.ctx, `select id::text from phone_followups`).Scan(&id); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := (desk.Desk{Store: w.db}).Reschedule(w.ctx, desk.Name{Text: id}, "ann", later); err != nil {
			t.Fatal(err)
		}
	}
	if states := w.states(); states["cancelled"] != 1 || states["due"] != 1 {
		t.Errorf("%v", states)
	}
	if n := w.count(`select count(*) from phone_followups n join phone_followups o on n.successor_of = o.id
		where n.due_at > o.due_at and n.ref = o.ref and n.script = o.script and n.phone_number = o.phone_number`); n != 1 {
		t.Error("the successor is not the same promise")
	}
	w.slot()
	if n := len(w.phones.requests()); n != 0 {
		t.Errorf("%d requests", n)
	}
}

// The ledger outlives the job runner's rows.
func TestLedgerOutlivesRiver(t *testing.T) {
	w := newWorld(t, nil)
	w.due("placed", 1, time.Hour)
	w.due("missed", 1, 25*time.Hour)
	w.exec(`insert into phone_followups (ref, phone_number, due_at, script) values ('refused', '911', now(), 'x')`)
	w.slot()
	w.exec(`delete from river_job`)
	for ref, want := range map[string]followup.Outcome{"placed1": followup.OutcomeCallPlaced, "missed1": followup.OutcomeMissed, "refused": followup.OutcomeRefused} {
		story, err := w.db.Story(w.ctx, desk.Name{Text: ref})
		if err != nil || len(story.Events) == 0 {
			t.Fatalf("%s: %v", ref, err)
		}
		if last := story.Events[len(story.Events)-1]; last.Outcome != want || last.At.IsZero() || last.Actor == "" || last.Detail == "" {
			t.Errorf("%s ends with %+v", ref, last)
		}
	}
}
