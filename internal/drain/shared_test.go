package drain_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"chasephone/internal/carrier"
	"chasephone/internal/desk"
	"chasephone/internal/followup"
	"chasephone/internal/gates"
	"chasephone/internal/rules"
)

// What many rows share must not starve, hide or hold up those that could go on.

// older moves every attempt of before back by so much.
func (w *world) older(by time.Duration) {
	w.t.Helper()
	w.exec(`update attempts set created_at = created_at - $1::interval, begin_at = begin_at - $1::interval`, by)
}

// A budget of the fleet that lasts for a part of the tenants only goes round among them all.
func TestFleetBudgetStarvesNobody(t *testing.T) {
	w := newWorld(t, nil)
	w.gated(gates.Options{HoursOff: true, MaxPerMinute: 10})
	w.phones.answer = hungUp
	const tenants = 12
	for i := range tenants {
		id := fmt.Sprintf("t%02d", i)
		w.exec(`insert into tenants (id) values ($1)`, id)
		w.exec(`insert into lines (tenant_id, name, carrier, caller_number) values ($1, 'default', 'scripted', '+12125550123')`, id)
		w.exec(`insert into phone_followups (tenant_id, ref, phone_number, due_at, script)
			select $1::text, $1 || '-' || i, '+1415' || (2000000 + $2::int * 1000 + i)::text, clock_timestamp() - interval '2 hours' + i * interval '1 second', 'Hello'
			from generate_series(1, 40) i`, id, i)
	}
	d := w.daemon()
	for range tenants {
		if err := d.Prepare(w.ctx); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(w.ctx, 3*time.Second) // the slot ends before the minute does
		err := d.Slot(ctx, 64)
		cancel()
		if err != nil {
			t.Fatal(err)
		}
		waitFor(t, func() bool { return w.count(`select count(*) from attempts where outcome is null`) == 0 })
		w.older(61 * time.Second)
		w.again()
		w.nextSlot()
	}
	least := w.count(`select min(n) from (select count(*) as n from attempts group by tenant_id) x`)
	if all := w.count(`select count(distinct tenant_id) from attempts`); all != tenants || least < 6 {
		t.Errorf("%d of %d tenants were rung for, the least of them %d times: want about 10 each", all, tenants, least)
	}
}

// Invariant 10: a row that the database refuses is found and set aside, also where the rows
// before it wait for a line or a budget that they share.
func TestPoisonBesideASharedLimit(t *testing.T) {
	w := newWorld(t, func(l *followup.Limits) { l.PerTick = 3 })
	w.gated(gates.Options{HoursOff: true, LineCallsAtOnce: 1})
	w.exec(`insert into lines (tenant_id, name, carrier, caller_number) values ('default', 'b', 'scripted', '+12125550124')`)
	d := w.daemon()
	slot := func() {
		t.Helper()
		if err := d.Prepare(w.ctx); err != nil {
			t.Fatal(err)
		}
		if err := d.Slot(w.ctx, 64); err != nil {
			t.Fatal(err)
		}
		waitFor(t, func() bool { return w.count(`select count(*) from attempts where outcome is null`) == 0 })
		w.nextSlot()
	}
	w.due("first", 1, 3*time.Hour)
	slot() // it is on the line now
	w.due("a", 20, 2*time.Hour)
	w.dueOn("bad", 1, time.Hour, "b", "")
	w.dueOn("good", 1, time.Hour, "b", "")
	w.exec(`create function poison() returns trigger language plpgsql as $$ begin
		if exists (select from phone_followups where id = new.followup_id and ref = 'bad1') then raise exception using errcode = '22012', message = 'poison'; end if; return new; end $$`)
	w.exec(`create trigger poison before insert on attempts for each row execute function poison()`)
	slot()
	if r := w.row("bad1"); r.Reason != "cannot_be_claimed" {
		t.Errorf("the culprit: %+v", r)
	}
	if r := w.row("good1"); r.State != "call_placed" {
		t.Errorf("its neighbour: %+v", r)
	}
}

// A call that is proven not to have been placed, or that a person says did not ring, counts no
// longer, and what waited because it counted is due at once.
func TestWhatDidNotRingWakesWhatWaitedForIt(t *testing.T) {
	for name, tt := range map[string]struct {
		gates  gates.Options
		reason string
		answer carrier.Answer
		number string // of the row that waits
	}{
		"a cap, refused":          {gates.Options{HoursOff: true, Caps: rules.Caps{Day: 1}}, "too_many_calls", carrier.Refused{Code: "21211"}, "+14155550123"},
		"a gap, nothing was sent": {gates.Options{HoursOff: true, MinGap: time.Hour}, "too_soon", carrier.NotPlaced{Blame: carrier.BlameNobody, Code: "connect_failed"}, "+14155550123"},
		"a budget, refused":       {gates.Options{HoursOff: true, MaxPerTenantDay: 1}, "tenant_budget", carrier.Refused{Code: "21211"}, "+14155550124"},
		"a cap, did not ring":     {gates.Options{HoursOff: true, Caps: rules.Caps{Day: 1}}, "too_many_calls", carrier.Unknown{Stage: carrier.StageAwaiting, Code: "timeout"}, "+14155550123"},
	} {
		w := newWorldIn(t, manyPlaces)
		w.gated(tt.gates)
		other, first := w.daemon(), true
		w.phones.answer = func(context.Context, carrier.Call) (bool, carrier.Answer) {
			if !first {
				return true, carrier.Placed{CallID: "CA" + name, Status: "completed"}
			}
			first = false
			// While this one is being asked for, the other row is judged.
			w.same("b", tt.number, 1)
			if err := other.Prepare(w.ctx); err != nil {
				t.Error(err)
			}
			if err := other.Slot(w.ctx, 64); err != nil {
				t.Error(err)
			}
			if r := w.row("b1"); r.Reason != tt.reason || r.NextIn < 59*time.Minute {
				t.Errorf("%s: meanwhile b is %+v", name, r)
			}
			return false, tt.answer
		}
		w.same("a", "+14155550123", 1)
		w.slot()
		if _, unknown := tt.answer.(carrier.Unknown); unknown {
			w.quarantineOver()
			w.decide("did-not-ring", "a1")
		}
		if w.row("a1").State == "due" { // or it would be rung before b
			w.decide("cancel", "a1")
		}
		w.exec(`delete from unfit_lines`)
		w.slot()
		if r := w.row("b1"); r.State != "call_placed" {
			t.Errorf("%s: afterwards b is %+v", name, r)
		}
	}
}

// Rescheduling answers no question: whoever has reached us since the promise was first made is
// asked about again.
func TestRescheduledItIsTheSamePromise(t *testing.T) {
	w := newWorld(t, nil)
	w.gated(gates.Options{HoursOff: true})
	w.same("a", "+14155550123", 1)
	w.exec(`insert into other_calls (e164, direction, reported_by) values ('+14155550123', 'in', 'pbx')`)
	w.slot()
	result, err := (desk.Desk{Store: w.db}).Reschedule(w.ctx, desk.Name{Text: "a1"}, "ann", time.Now().Add(-time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	w.nextSlot()
	w.slot()
	if n := w.count(`select count(*) from phone_followups where id = $1::text::uuid and state = 'awaiting_approval' and reason = 'called_in'`, result.Successor); n != 1 {
		t.Errorf("the successor is not held: states %v", w.states())
	}
}

// R3: who was told of a limit that all share keeps its turn: what frees up is the oldest's,
// however many slots have gone by in between.
func TestOldestFirstUnderASharedLimit(t *testing.T) {
	for name, o := range map[string]gates.Options{
		"fleet": {HoursOff: true, MaxPerMinute: 2}, "tenant": {HoursOff: true, MaxPerTenantDay: 2}, "line": {HoursOff: true, LineCallsAtOnce: 2},
	} {
		w := newWorldIn(t, manyPlaces)
		w.gated(o)
		w.due("a", 12, time.Hour)
		slot := func() {
			ctx, cancel := context.WithTimeout(w.ctx, 300*time.Millisecond)
			defer cancel()
			d := w.daemon()
			if err := d.Prepare(w.ctx); err != nil {
				t.Fatal(err)
			}
			if err := d.Slot(ctx, 64); err != nil {
				t.Fatal(err)
			}
			waitFor(t, func() bool { return w.count(`select count(*) from attempts where outcome is null`) == 0 })
			w.nextSlot()
		}
		for range 5 {
			slot()
		}
		if n := w.count(`select count(*) from attempts`); n != 2 {
			t.Fatalf("%s: %d calls, want 2", name, n)
		}
		w.older(25 * time.Hour) // all that was called counts no longer
		w.exec(`update phone_followups set next_try_at = clock_timestamp() where state = 'due' and next_try_at > clock_timestamp()`)
		slot()
		if n := w.count(`select count(*) from phone_followups where ref in ('a1', 'a2', 'a3', 'a4') and state = 'call_placed'`); n != 4 {
			t.Errorf("%s: the oldest four are not those that were rung: %v", name, w.states())
		}
	}
}
