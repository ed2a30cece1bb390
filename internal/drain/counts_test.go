package drain_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"chasephone/internal/carrier"
	"chasephone/internal/drain"
	"chasephone/internal/followup"
	"chasephone/internal/gates"
	"chasephone/internal/rules"
)

// hungUp answers with calls that are over at once, so that nobody is in a call.
func hungUp(context.Context, carrier.Call) (bool, carrier.Answer) {
	return true, carrier.Placed{CallID: "CA" + uuid.NewString(), Status: "completed"}
}

// manyPlaces lets a slot take as many as a test wants.
func manyPlaces(l *followup.Limits) { l.PerTick = 100 }

// same puts in n due follow-ups of one number, as typed.
func (w *world) same(prefix, number string, n int) {
	w.t.Helper()
	w.exec(`insert into phone_followups (ref, phone_number, due_at, script)
		select $1 || i, $2, clock_timestamp() - interval '1 hour' + i * interval '1 second', 'Hello ' || i from generate_series(1, $3) i`, prefix, number, n)
}

// again ends every wait.
func (w *world) again() {
	w.t.Helper()
	w.exec(`update phone_followups set next_try_at = clock_timestamp() where state = 'due' and next_try_at > clock_timestamp()`)
}

// together works one slot by several daemons at once.
func (w *world) together(daemons ...*drain.Drain) {
	w.t.Helper()
	var all sync.WaitGroup
	for _, d := range daemons {
		all.Go(func() {
			if err := d.Prepare(w.ctx); err != nil {
				w.t.Error(err)
			}
			if err := d.Slot(w.ctx, 64); err != nil {
				w.t.Error(err)
			}
		})
	}
	all.Wait()
	waitFor(w.t, func() bool { return w.count(`select count(*) from attempts where outcome is null`) == 0 })
}

// R5, "Settled": three daemons and forty due rows of one number give exactly as many calls as
// its cap allows, and another number's row behind them is rung meanwhile.
func TestCapHoldsUnderConcurrency(t *testing.T) {
	w := newWorld(t, manyPlaces)
	w.gated(gates.Options{HoursOff: true, Caps: rules.Caps{Day: 3}})
	w.phones.answer = hungUp
	w.same("many", "+14155550123", 40)
	w.same("other", "+14155550188", 1)
	daemons := []*drain.Drain{w.daemon(), w.daemon(), w.daemon()}
	w.together(daemons...)
	if r := w.row("other1"); r.State != "call_placed" {
		t.Errorf("the other number's row is %+v", r)
	}
	for range 6 {
		w.again()
		w.together(daemons...)
	}
	if n := w.phones.rings["+14155550123"]; n != 3 {
		t.Errorf("%d calls with a cap of three", n)
	}
	if n := w.count(`select count(*) from phone_followups where reason = 'too_many_calls' and next_try_at between now() + interval '23 hours 59 minutes' and now() + interval '24 hours'`); n != 37 {
		t.Errorf("%d rows wait until the cap allows them, want 37: %v", n, w.row("many40"))
	}
}

// R5, "Settled": calls that nobody knows the fate of count, and so do those that were reported;
// what was proven not to ring, another tenant's and another window's calls do not.
func TestWhatCountsInACap(t *testing.T) {
	w := newWorld(t, manyPlaces)
	w.gated(gates.Options{HoursOff: true, Caps: rules.Caps{Day: 3}})
	w.exec(`insert into tenants (id) values ('other')`)
	w.exec(`insert into other_calls (tenant_id, e164, direction, began_at, reported_by) values
		('default', '+14155550123', 'out', now() - interval '23 hours', 'crm'),
		('default', '+14155550123', 'out', now() - interval '25 hours', 'crm'),
		('default', '+14155550123', 'in', now() - interval '2 hours', 'crm'),
		('other', '+14155550123', 'out', now() - interval '1 hour', 'crm'),
		('default', '+14155550124', 'out', now() - interval '1 hour', 'crm')`)
	answers := []carrier.Answer{
		carrier.NotPlaced{Blame: carrier.BlameNobody, Code: "connect_failed"},
		carrier.Unknown{Stage: carrier.StageAwaiting, Code: "timeout"},
		carrier.Placed{CallID: "CA1", Status: "completed"},
	}
	w.phones.answer = func(context.Context, carrier.Call) (bool, carrier.Answer) {
		a := answers[0]
		answers = answers[1:]
		return true, a
	}
	for i := range 3 {
		w.same(fmt.Sprintf("r%d-", i), "+14155550123", 1)
		w.slot()
		w.exec(`update attempts set created_at = created_at - interval '3 hours' where outcome is not null`) // nobody is in a call any more
		w.exec(`delete from unfit_lines`)
	}
	w.same("last", "+14155550123", 1)
	w.slot()
	if r := w.row("last1"); r.Reason != "too_many_calls" || r.NextIn < 59*time.Minute || r.NextIn > time.Hour {
		t.Errorf("after one reported, one uncertain and one placed: %+v", r)
	}
}

// A gap keeps two calls to one number apart, and merges no two follow-ups.
func TestGap(t *testing.T) {
	w := newWorld(t, manyPlaces)
	w.gated(gates.Options{HoursOff: true, MinGap: 90 * time.Minute})
	w.phones.answer = hungUp
	w.same("a", "(415) 555-0123", 2)
	w.slot()
	w.again()
	w.slot()
	if r := w.row("a2"); r.State != "due" || r.Reason != "too_soon" || r.NextIn < 89*time.Minute || r.NextIn > 90*time.Minute {
		t.Errorf("the second is %+v", r)
	}
	w.exec(`update attempts set created_at = created_at - interval '2 hours', begin_at = begin_at - interval '2 hours'`)
	w.again()
	w.slot()
	if r := w.row("a2"); r.State != "call_placed" {
		t.Errorf("after the gap it is %+v", r)
	}
}

// A line takes so many calls at once, under three daemons; a final status frees it.
func TestLineCallsAtOnce(t *testing.T) {
	w := newWorld(t, manyPlaces)
	w.gated(gates.Options{HoursOff: true, LineCallsAtOnce: 2})
	w.exec(`insert into lines (tenant_id, name, carrier, caller_number) values ('default', 'free', 'scripted', '+12125550124')`)
	w.due("a", 8, time.Hour)
	w.dueOn("b", 1, time.Minute, "free", "")
	w.together(w.daemon(), w.daemon(), w.daemon())
	if n := w.count(`select count(*) from attempts where line = 'default'`); n != 2 {
		t.Errorf("%d calls at once, want 2", n)
	}
	if r := w.row("b1"); r.State != "call_placed" {
		t.Errorf("on another line: %+v", r)
	}
	if n := w.count(`select count(*) from phone_followups where reason = 'line_busy' and next_try_at <= now() + interval '1 minute'`); n < 1 || n > 6 {
		t.Errorf("%d rows were told that the line is busy, want one for each look of each daemon", n)
	}
	w.exec(`update phone_followups set call_status = 'completed' where ref = 'a1'`)
	w.again()
	w.slot()
	if n := w.count(`select count(*) from attempts where line = 'default'`); n != 3 {
		t.Errorf("%d calls after one has ended, want 3", n)
	}
	w.exec(`update attempts set created_at = created_at - interval '121 minutes', begin_at = begin_at - interval '121 minutes'`)
	w.again()
	w.slot()
	if n := w.count(`select count(*) from attempts where line = 'default'`); n != 5 {
		t.Errorf("%d calls after two hours, want 5", n)
	}
}

// A tenant's budget of a day is spent by calls only, holds under three daemons, and hides nobody
// else's rows.
func TestTenantBudget(t *testing.T) {
	w := newWorld(t, manyPlaces)
	w.gated(gates.Options{HoursOff: true, MaxPerTenantDay: 3})
	w.exec(`insert into tenants (id) values ('other')`)
	w.exec(`insert into lines (tenant_id, name, carrier, caller_number) values ('other', 'default', 'scripted', '+12125550124')`)
	w.exec(`insert into do_not_call (e164, added_by) values ('+14155550123', 'x')`)
	w.exec(`insert into other_calls (e164, direction, began_at, reported_by) values ('+12125550199', 'out', now() - interval '23 hours', 'crm')`)
	w.same("refused", "+14155550123", 20) // they spend nothing
	w.due("a", 80, 30*time.Minute)
	w.exec(`insert into phone_followups (ref, phone_number, due_at, script, needs_approval) values ('asks', '+14155550178', now() - interval '1 minute', 'x', true)`)
	w.exec(`insert into phone_followups (tenant_id, ref, phone_number, due_at, script) values ('other', 'o1', '+14155550177', now() - interval '1 minute', 'x')`)
	w.together(w.daemon(), w.daemon(), w.daemon())
	if n := w.count(`select count(*) from attempts where tenant_id = 'default'`); n != 2 {
		t.Errorf("%d calls beside one that was reported, want 2", n)
	}
	if r := w.row("o1"); r.State != "call_placed" {
		t.Errorf("another tenant's row: %+v", r)
	}
	if r := w.row("asks"); r.State != "awaiting_approval" {
		t.Errorf("behind eighty that must wait, one that a person must see: %+v", r)
	}
	if n := w.states()["refused"]; n != 20 {
		t.Errorf("%d refused", n)
	}
	if r := w.row("a3"); r.Reason != "tenant_budget" || r.NextIn < 59*time.Minute || r.NextIn > time.Hour {
		t.Errorf("the first that the budget does not allow: %+v", r)
	}
	if n := w.count(`select count(*) from phone_followups where reason = 'tenant_budget'`); n > 9 {
		t.Errorf("%d rows were moved on for what they share, want one for each look of each daemon", n)
	}
}

// The fleet's budget of a minute holds over tenants and daemons.
func TestFleetBudget(t *testing.T) {
	w := newWorld(t, nil)
	w.gated(gates.Options{HoursOff: true, MaxPerMinute: 5})
	w.exec(`insert into tenants (id) select 't' || i from generate_series(1, 20) i`)
	w.exec(`insert into lines (tenant_id, name, carrier, caller_number) select 't' || i, 'default', 'scripted', '+12125550124' from generate_series(1, 20) i`)
	w.exec(`insert into phone_followups (tenant_id, ref, phone_number, due_at, script)
		select 't' || i, 'r' || j, '+1415555' || (2000 + i * 10 + j)::text, now() - interval '1 hour', 'x' from generate_series(1, 20) i, generate_series(1, 5) j`)
	daemons := []*drain.Drain{w.daemon(), w.daemon(), w.daemon()}
	ctx, cancel := context.WithTimeout(w.ctx, 2*time.Second) // the slot ends before the minute does
	defer cancel()
	var all sync.WaitGroup
	for _, d := range daemons {
		all.Go(func() {
			if err := d.Prepare(ctx); err != nil {
				t.Error(err)
			}
			if err := d.Slot(ctx, 64); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n := w.count(`select count(*) from attempts`); n != 5 {
		t.Errorf("%d calls in a minute, want 5", n)
	}
	if n := w.count(`select count(*) from phone_followups where reason = 'fleet_budget'`); n < 1 || n > 20 {
		t.Errorf("%d rows wait for the fleet's budget, want one for each claim that comes to it", n)
	}
	w.exec(`update attempts set created_at = created_at - interval '1 minute', begin_at = begin_at - interval '1 minute'`)
	w.nextSlot()
	w.again()
	ctx, cancel = context.WithTimeout(w.ctx, 2*time.Second)
	defer cancel()
	if err := daemons[0].Slot(ctx, 64); err != nil {
		t.Fatal(err)
	}
	if n := w.count(`select count(*) from attempts`); n != 10 {
		t.Errorf("%d calls in two minutes, want 10", n)
	}
}

// R5, fail closed: whichever fact cannot be loaded, what needs it waits with the true cause,
// and what does not need it goes on.
func TestEveryFactFailsClosed(t *testing.T) {
	for table, o := range map[string]gates.Options{
		"other_calls": {HoursOff: true, MinGap: time.Hour},
		"consents":    {Rules: rulesOf(t, `rules: [{places: US, hours: {Mon-Sun: "00:00-24:00"}, consent: required, source: a law, dated: 2025-11-01}]`)},
	} {
		w := newWorldIn(t, nil)
		w.gated(o)
		w.exec(`insert into consents (tenant_id, e164, purpose, added_by) values ('default', '+14155550123', 'requested', 'x')`)
		w.same("a", "+14155550123", 1)
		w.exec(`alter table ` + table + ` rename to elsewhere`)
		w.slot()
		if r := w.row("a1"); r.State != "due" || r.Reason != "facts_unavailable" || !strings.Contains(r.Detail, table) || r.NextIn <= 0 {
			t.Errorf("%s: %+v", table, r)
		}
		w.exec(`alter table elsewhere rename to ` + table)
		w.again()
		w.slot()
		if r := w.row("a1"); r.State != "call_placed" {
			t.Errorf("%s, afterwards: %+v", table, r)
		}
	}
}

// Facts are loaded in a number of statements that does not grow with what is claimed.
func TestClaimsTakeAFixedNumberOfStatements(t *testing.T) {
	t.Parallel()
	counted := &statements{}
	db := benchStore(t, counted, &instant{}, 64, everyGate(t))
	took := map[int]int64{}
	for _, tenants := range []int{1, 20, 100} {
		prepare(t, db, tenants)
		before, cases := counted.queries.Load(), 0
		_, err := db.Claim(t.Context(), drain.Query{Most: 1000}, func(b drain.Batch) drain.Decisions {
			cases = len(b.Candidates)
			return drain.Decisions{}
		})
		if err != nil || cases != 2*tenants {
			t.Fatalf("%d cases, %v", cases, err)
		}
		took[tenants] = counted.queries.Load() - before
	}
	if took[1] != took[20] || took[20] != took[100] {
		t.Errorf("statements by tenants: %v", took)
	}
}
