package drain_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"chasephone/internal/carrier"
	"chasephone/internal/followup"
	"chasephone/internal/gates"
)

// R2: two per tenant and slot, by one daemon working the slot again and again.
func TestTwoPerSlot(t *testing.T) {
	w := newWorld(t, nil)
	w.due("a", 10, time.Hour)
	for range 3 {
		w.slot()
	}
	if n := len(w.phones.requests()); n != 2 {
		t.Fatalf("%d requests in one slot, want 2; states %v", n, w.states())
	}
	w.nextSlot()
	w.slot()
	if n := len(w.phones.requests()); n != 4 {
		t.Fatalf("%d requests in two slots, want 4", n)
	}
}

// R2: the bound holds for the fleet. R3: earliest first. Each follow-up one request.
func TestThreeDaemonsShareASlot(t *testing.T) {
	w := newWorld(t, nil)
	w.due("a", 40, time.Hour)
	if err := w.daemon().Prepare(w.ctx); err != nil {
		t.Fatal(err)
	}
	daemons := []interface {
		Slot(context.Context, int) error
	}{w.daemon(), w.daemon(), w.daemon()}
	for slot := 1; slot <= 10; slot++ {
		var all sync.WaitGroup
		for _, d := range daemons {
			all.Go(func() {
				if err := d.Slot(w.ctx, 64); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if n := w.count(`select count(*) from attempts`); n != 2*slot {
			t.Fatalf("%d attempts after %d slots", n, slot)
		}
		if late := w.count(`select count(*) from phone_followups where state <> 'due' and due_at > (select min(due_at) from phone_followups where state = 'due')`); late > 0 {
			t.Fatalf("%d rung before an earlier one (R3)", late)
		}
		w.nextSlot()
	}
	waitFor(t, func() bool { return w.states()["call_placed"] == 20 })
	for number, n := range w.phones.rings {
		if n != 1 {
			t.Errorf("%s rang %d times", number, n)
		}
	}
}

// R2, R3, row 40: rows that must wait take no place and hide nobody.
func TestWaitingRowsSlowNobody(t *testing.T) {
	w := newWorld(t, nil)
	w.gated(gates.Options{Rules: rulesOf(t, daytime)})
	night, noon := zoneAt(time.Now(), 3), zoneAt(time.Now(), 12)
	w.exec(`insert into lines (tenant_id, name, carrier, caller_number, held_until, held_for) values ('default', 'held', 'scripted', '+12125550124', 'infinity', 'by_hand')`)
	w.dueOn("held", 100, 3*time.Hour, "held", noon)
	w.dueOn("night", 3000, 2*time.Hour, "", night)
	w.dueOn("ok", 2, time.Hour, "", noon)
	w.slot()
	for _, ref := range []string{"ok1", "ok2"} {
		if r := w.row(ref); r.State != "call_placed" || r.CallID == "" {
			t.Errorf("%s is %+v", ref, r)
		}
	}
	if r := w.row("held1"); r.State != "due" || r.Attempts != 0 {
		t.Errorf("held1 is %+v", r)
	}
	if r := w.row("night1"); r.State != "due" || r.Reason != "outside_hours" || r.NextIn < 4*time.Hour || r.NextIn > 5*time.Hour {
		t.Errorf("night1 is %+v", r)
	}
	if n := w.count(`select count(*) from phone_followups where ref like 'night%' and reason is null`); n > 0 {
		t.Errorf("%d of 3000 were not moved on", n)
	}
}

// R6: with no carrier at all every line is not ready, and nothing is rung.
func TestNoCarrier(t *testing.T) {
	w := newWorld(t, nil)
	w.exec(`update lines set carrier = 'not_configured'`)
	w.due("a", 3, time.Hour)
	w.slot()
	if r := w.row("a1"); r.State != "due" || r.Reason != "line_not_ready" || r.NextIn < 59*time.Minute || r.NextIn > time.Hour {
		t.Errorf("a1 is %+v", r)
	}
	if n := w.count(`select count(*) from followup_events where outcome = 'not_ready'`); n != 3 {
		t.Errorf("%d outcomes not_ready, want 3: waiting takes no place", n)
	}
}

// R4: the boundary, its origin, and that a stop does not keep late rows open.
func TestLateIsMissed(t *testing.T) {
	w := newWorld(t, nil)
	w.due("late", 1, 24*time.Hour+2*time.Second)
	w.due("intime", 1, 24*time.Hour-time.Minute)
	w.exec(`update fleet set stopped_at = now(), stopped_by = 'test'`)
	w.slot()
	if r := w.row("late1"); r.State != "missed" || r.Reason != "too_late" || r.Attempts != 0 {
		t.Errorf("late: %+v", r)
	}
	if r := w.row("intime1"); r.State != "due" || r.Attempts != 0 {
		t.Errorf("stopped: %+v", r)
	}
	w.exec(`update fleet set stopped_at = null, stopped_by = null`)
	w.slot()
	if r := w.row("intime1"); r.State != "call_placed" {
		t.Errorf("in time: %+v", r)
	}
}

// The case flood-after-downtime: 30 hours off, 500 fell due.
func TestFloodAfterDowntime(t *testing.T) {
	w := newWorld(t, nil)
	w.exec(`insert into phone_followups (ref, phone_number, due_at, script)
		select 'f' || i, '+1212555' || lpad(i::text, 4, '0'), clock_timestamp() - interval '30 hours' + i * interval '216 seconds' + interval '108 seconds', 'Hello'
		from generate_series(0, 499) i`)
	w.slot()
	states := w.states()
	if states["missed"] != 100 || states["call_placed"] != 2 || states["due"] != 398 {
		t.Fatalf("states %v, want 100 missed, 2 placed, the rest due", states)
	}
}

// R6, R7: what each answer makes of its row, its line and the rows behind it.
func TestWhatFollowsAnAnswer(t *testing.T) {
	const id = "CA0123456789abcdef0123456789abcdef"
	for name, test := range map[string]struct {
		rings  bool
		answer carrier.Answer
		state  string
		reason string
		next   time.Duration
		behind string // the state of a row behind it after one more slot
	}{
		"placed":      {true, carrier.Placed{CallID: id}, "call_placed", "", 0, "refused"},
		"refused":     {false, carrier.Refused{Code: "21211"}, "refused", "carrier_refused", 0, "refused"},
		"not now":     {false, carrier.NotPlaced{Blame: carrier.BlameLine, Code: "20429"}, "due", "line_not_ready", time.Hour, "due"},
		"account":     {false, carrier.NotPlaced{Blame: carrier.BlameAccount, Code: "20003"}, "due", "line_not_ready", time.Hour, "due"},
		"unreachable": {false, carrier.NotPlaced{Blame: carrier.BlameDaemon, Code: "connect_failed"}, "due", "line_not_ready", time.Hour, "refused"}, // by another daemon
		"not begun":   {false, carrier.NotPlaced{Blame: carrier.BlameNobody, Code: "send_by_passed"}, "due", "not_sent", 0, "refused"},
		"unknown":     {true, carrier.Unknown{Stage: carrier.StageAwaiting}, "uncertain", "answer_unknown", 0, "refused"},
		"no answer":   {true, nil, "uncertain", "answer_unknown", 0, "refused"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, func(l *followup.Limits) { l.PerTick = 1 })
			w.due("a", 2, time.Hour)
			first := true
			w.phones.answer = func(context.Context, carrier.Call) (bool, carrier.Answer) {
				if first {
					first = false
					return test.rings, test.answer
				}
				return false, carrier.Refused{Code: "21211"}
			}
			w.slot()
			r := w.row("a1")
			if r.State != test.state || r.Reason != test.reason {
				t.Errorf("a1 is %+v, want %s %s", r, test.state, test.reason)
			}
			if test.next > 0 && (r.NextIn > test.next || r.NextIn < test.next-time.Minute) {
				t.Errorf("a1 is tried again in %s, want %s", r.NextIn, test.next)
			}
			w.nextSlot()
			if name == "not begun" {
				w.exec(`alter table phone_followups disable trigger promise_is_frozen`)
				w.exec(`update phone_followups set due_at = due_at + interval '30 minutes' where ref = 'a1'`)
				w.exec(`alter table phone_followups enable trigger promise_is_frozen`)
			}
			w.slotBy(w.connect()) // another daemon
			if r := w.row("a2"); r.State != test.behind {
				t.Errorf("a2 is %+v, want %s", r, test.behind)
			}
		})
	}
}

// R6: three unknown answers in a row hold the line: the fourth row is not tried.
func TestBreaker(t *testing.T) {
	w := newWorld(t, nil)
	w.phones.answer = func(context.Context, carrier.Call) (bool, carrier.Answer) {
		return true, carrier.Unknown{Stage: carrier.StageAnswered, Code: "500"}
	}
	w.due("a", 8, time.Hour)
	for range 5 {
		w.slot()
		w.nextSlot()
	}
	if n := len(w.phones.requests()); n != 3 {
		t.Errorf("%d requests, want 3", n)
	}
	if states := w.states(); states["uncertain"] != 3 || states["due"] != 5 {
		t.Errorf("states %v", states)
	}
	if held := w.count(`select count(*) from lines where held_for = 'unknown_answers' and held_until > now() + interval '59 minutes'`); held != 1 {
		t.Error("the line is not held for the hour")
	}
	// The hour is over: one more is tried, and no second while the first is unknown.
	w.exec(`update lines set held_until = now() - interval '1 second'`)
	w.slot()
	if n := len(w.phones.requests()); n != 4 {
		t.Errorf("%d requests after the hour, want 4", n)
	}
}

// Settled: another follow-up's call with the same number is under way. Two rows of one
// number in one claim: the second waits. R10: they are not merged.
func TestSameNumberTwice(t *testing.T) {
	w := newWorld(t, nil)
	w.exec(`insert into phone_followups (ref, phone_number, due_at, script) values
		('a', '+1 415 555 0123', now() - interval '2 minutes', 'one'), ('b', '(415) 555-0123', now() - interval '1 minute', 'two')`)
	w.slot()
	if a, b := w.row("a"), w.row("b"); a.State != "call_placed" || b.State != "due" || b.Reason != "in_a_call" || b.NextIn > 5*time.Minute || b.NextIn < 4*time.Minute {
		t.Fatalf("a %+v, b %+v", a, b)
	}
	w.exec(`update phone_followups set call_status = 'completed' where ref = 'a'`)
	w.exec(`update phone_followups set next_try_at = now() where ref = 'b'`)
	w.nextSlot()
	w.slot()
	if b := w.row("b"); b.State != "call_placed" {
		t.Fatalf("b %+v", b)
	}
}

// R7: a paced line's calls begin no closer than its pace, and nobody waits a slot for it.
func TestPacing(t *testing.T) {
	w := newWorld(t, func(l *followup.Limits) { l.PerTick = 4 })
	w.phones.cps = 20
	w.due("a", 4, time.Hour)
	w.slot()
	var begins []time.Time
	rows, err := w.db.Pool.Query(w.ctx, `select begin_at from attempts order by begin_at`)
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		var at time.Time
		if err := rows.Scan(&at); err != nil {
			t.Fatal(err)
		}
		begins = append(begins, at)
	}
	if len(begins) != 4 {
		t.Fatalf("%d attempts, want 4", len(begins))
	}
	for i := 1; i < len(begins); i++ {
		if gap := begins[i].Sub(begins[i-1]); gap < 50*time.Millisecond {
			t.Errorf("calls %d and %d begin %s apart, want 50ms", i, i+1, gap)
		}
	}
}

// Rows that cannot be rung get an outcome of their own; neighbours go on (invariant 10).
func TestBadRows(t *testing.T) {
	w := newWorld(t, func(l *followup.Limits) { l.PerTick = 20 })
	for ref, sql := range map[string]string{
		"no_number":  `insert into phone_followups (ref, phone_number, due_at, script) values ($1, 'call me maybe', now(), 'x')`,
		"emergency":  `insert into phone_followups (ref, phone_number, due_at, script) values ($1, '911', now(), 'x')`,
		"forever":    `insert into phone_followups (ref, phone_number, due_at, script) values ($1, '+14155550101', 'infinity', 'x')`,
		"never":      `insert into phone_followups (ref, phone_number, due_at, script) values ($1, '+14155550102', '-infinity', 'x')`,
		"far":        `insert into phone_followups (ref, phone_number, due_at, script) values ($1, '+14155550106', '294276-12-31', 'x')`,
		"longago":    `insert into phone_followups (ref, phone_number, due_at, script) values ($1, '+14155550107', '4713-01-01 BC', 'x')`,
		"no_line":    `insert into phone_followups (ref, phone_number, due_at, script, line) values ($1, '+14155550103', now(), 'x', 'nowhere')`,
		"no_tenant":  `insert into phone_followups (ref, phone_number, due_at, script, tenant_id) values ($1, '+14155550104', now(), 'x', 'nobody')`,
		"no_words":   `insert into phone_followups (ref, phone_number, due_at, script) values ($1, '+14155550105', now(), '')`,
		"good":       `insert into phone_followups (ref, phone_number, due_at, script) values ($1, '+14155550108', now(), 'x')`,
		"long_words": `insert into phone_followups (ref, phone_number, due_at, script) values ($1, '+14155550109', now(), repeat('x', 100000))`,
	} {
		w.exec(sql, ref)
	}
	w.slot()
	for ref, want := range map[string]string{
		"no_number": "refused", "emergency": "refused", "forever": "refused", "never": "refused", "far": "due", "longago": "missed",
		"no_line": "refused", "no_tenant": "refused", "no_words": "refused", "good": "call_placed", "long_words": "refused",
	} {
		if r := w.row(ref); r.State != want || r.State == "refused" && r.Reason == "" {
			t.Errorf("%s is %+v, want %s", ref, r, want)
		}
	}
}

// An approval is asked for by the row, given, and spent; what is proven not placed gives it back.
func TestApprovalIsSpentOnce(t *testing.T) {
	w := newWorld(t, nil)
	w.exec(`insert into phone_followups (ref, phone_number, due_at, script, needs_approval) values ('a', '+14155550123', now(), 'x', true)`)
	w.slot()
	if r := w.row("a"); r.State != "awaiting_approval" {
		t.Fatalf("%+v", r)
	}
	w.decide("approve", "a")
	w.nextSlot()
	w.phones.answer = func(context.Context, carrier.Call) (bool, carrier.Answer) {
		return false, carrier.NotPlaced{Blame: carrier.BlameNobody, Code: "send_by_passed"}
	}
	w.slot()
	if r := w.row("a"); r.State != "due" || r.Attempts != 1 {
		t.Fatalf("given back: %+v", r)
	}
	w.phones.answer = nil
	w.nextSlot()
	w.slot()
	if r := w.row("a"); r.State != "call_placed" || r.Attempts != 2 {
		t.Fatalf("used again: %+v", r)
	}
}

func waitFor(t *testing.T, what func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if what() {
			return
		}
	}
	t.Fatal("waited in vain")
}

// zoneAt is a zone in which it is about the given hour.
func zoneAt(now time.Time, hour int) string {
	offset := (hour - now.UTC().Hour() + 24) % 24
	if offset > 12 {
		return fmt.Sprintf("Etc/GMT+%d", 24-offset) // these names have the sign the other way round
	}
	return fmt.Sprintf("Etc/GMT-%d", offset)
}

// Everything that a slot has places and time for is drained in it, however its claims cut it into pages:
// many tenants with many rows each, and two that drain at once.
func TestSlotLeavesNothingBehind(t *testing.T) {
	w := newWorld(t, func(l *followup.Limits) { l.PerTick, l.DialSlots = 6, 1000 })
	w.exec(`insert into tenants (id) select 't' || i from generate_series(1, 900) i`)
	w.exec(`insert into lines (tenant_id, name, carrier, caller_number) select 't' || i, 'default', 'scripted', '+12125550123' from generate_series(1, 900) i`)
	w.exec(`insert into phone_followups (tenant_id, ref, phone_number, due_at, script)
		select 't' || i, 'r' || j, '+1415' || (2000000 + i * 10 + j)::text, clock_timestamp() - interval '1 hour', 'Hello' from generate_series(1, 900) i, generate_series(0, 5) j`)
	first := w.daemon()
	if err := first.Prepare(w.ctx); err != nil {
		t.Fatal(err)
	}
	for _, pass := range []int{1, 2} { // what the one skips because the other has it locked is the other's
		var drainers sync.WaitGroup
		for range pass {
			drainers.Go(func() {
				if err := first.Slot(w.ctx, w.limits.DialSlots); err != nil {
					t.Error(err)
				}
			})
		}
		drainers.Wait()
		waitFor(t, func() bool { return w.count(`select count(*) from attempts where outcome is null`) == 0 })
		if n := w.count(`select count(*) from phone_followups where state = 'due'`); n > 0 {
			t.Fatalf("%d of 5400 are due still after a slot of %d drainers", n, pass)
		}
		w.nextSlot()
		w.exec(`insert into phone_followups (tenant_id, ref, phone_number, due_at, script)
			select 't' || i, 's' || j, '+1628' || (2000000 + i * 10 + j)::text, clock_timestamp() - interval '1 hour', 'Hello' from generate_series(1, 900) i, generate_series(0, 5) j on conflict do nothing`)
		if err := first.Prepare(w.ctx); err != nil {
			t.Fatal(err)
		}
	}
}

// What is promised for later is looked at at once and ready an hour ahead, without being rung before it is due.
func TestReadyAnHourAhead(t *testing.T) {
	w := newWorld(t, nil)
	w.due("far", 1, -3*time.Hour)
	w.due("near", 1, -50*time.Minute)
	w.slot()
	ready := func(ref string) bool {
		return w.count(`select count(*) from phone_followups where ref = $1 and ready`, ref) == 1
	}
	if known := w.count(`select count(*) from phone_followups where e164 is not null`); known != 2 || ready("far1") || !ready("near1") {
		t.Errorf("%d have an identity; ready: the far one %t, the near one %t", known, ready("far1"), ready("near1"))
	}
	if w.states()["due"] != 2 {
		t.Errorf("%v", w.states())
	}
	sooner := func(by time.Duration) {
		w.exec(`alter table phone_followups disable trigger user`)
		w.exec(`update phone_followups set due_at = due_at - $1::interval, next_try_at = next_try_at - $1::interval where state = 'due'`, by)
		w.exec(`alter table phone_followups enable trigger user`)
	}
	sooner(130 * time.Minute) // the far one is due in 50 minutes
	w.slot()
	if !ready("far1") || w.row("far1").State != "due" || w.row("near1").State != "call_placed" {
		t.Errorf("the far one is ready: %t; %v", ready("far1"), w.states())
	}
	sooner(51 * time.Minute)
	w.slot()
	if w.row("far1").State != "call_placed" {
		t.Errorf("%+v", w.row("far1"))
	}
}
