package drain_test

import (
	"context"
	"testing"
	"time"

	"chasephone/internal/carrier"
	"chasephone/internal/gates"
	"chasephone/internal/phone"
	"chasephone/internal/rules"
	"chasephone/internal/store"
)

// Public fault reports of outbound systems, each by its name, through the whole drain.

func numberOf(t *testing.T, raw, region string) phone.Number {
	t.Helper()
	id, problem := phone.Parse(raw, region)
	if problem != "" {
		t.Fatal(problem)
	}
	return id.Number
}

// The case optout-in-other-format: an opt-out is by who is called, not by how it was typed.
func TestOptOutInAnotherFormat(t *testing.T) {
	w := newWorld(t, manyPlaces)
	w.exec(`update tenants set region = 'FR' where id = 'default'`)
	if _, err := w.db.AddOptOut(w.ctx, store.OptOut{Number: numberOf(t, "+33 1 99 00 12 34", "FR"), Source: "letter", By: "ann"}); err != nil {
		t.Fatal(err)
	}
	typed := map[string]string{
		"national": "0199001234", "international": "0033199001234", "with a zero": "+33(0)199001234",
		"full width": "＋３３１９９００１２３４", "invisible": "+33\u200e 1\u00a099 00 12 34",
	}
	for ref, number := range typed {
		w.same(ref, number, 1)
	}
	w.slot()
	for ref := range typed {
		if r := w.row(ref + "1"); r.State != "refused" || r.Reason != "do_not_call" {
			t.Errorf("%s: %+v", ref, r)
		}
	}
	if n := len(w.phones.requests()); n != 0 {
		t.Errorf("%d requests", n)
	}
}

// The case emergency-and-premium: matched exactly, before anything is sent, and no ordinary
// number with them.
func TestEmergencyAndPremium(t *testing.T) {
	w := newWorld(t, manyPlaces)
	db := w.db.With(store.Config{
		Daemon: "00000000-0000-0000-0000-000000000001", Gates: w.gates,
		Defaults: store.Defaults{Region: "US", Countries: []string{"US", "NO", "GB"}},
	})
	w.exec(`update tenants set region = 'GB' where id = 'default'`)
	for _, number := range []string{"911", "112", "999", "+1 911 555 0123", "+1 900 555 0123"} {
		w.same("bad"+number, number, 1)
	}
	w.same("good909", "+1 909 555 0123", 1)
	w.same("good47", "+47 911 55 012", 1)
	w.slotBy(db)
	if n := w.count(`select count(*) from phone_followups where ref like 'bad%' and state = 'refused'`); n != 5 {
		t.Errorf("%d of 5 refused", n)
	}
	for _, ref := range []string{"good9091", "good471"} {
		if r := w.row(ref); r.Reason != "line_not_ready" { // this daemon has no carrier: they got as far as the line
			t.Errorf("%s: %+v", ref, r)
		}
	}
}

// The case three-errors-one-bucket: a refusal by policy, a fault before placing and one after
// it are three outcomes, and none of them is "missed".
func TestThreeErrorsAreThreeOutcomes(t *testing.T) {
	w := newWorld(t, manyPlaces)
	w.exec(`insert into do_not_call (e164, added_by) values ('+14155550101', 'x')`)
	for ref, number := range map[string]string{"policy": "+14155550101", "unreachable": "+14155550102", "lost": "+14155550103"} {
		w.same(ref, number, 1)
	}
	w.phones.answer = func(_ context.Context, c carrier.Call) (bool, carrier.Answer) {
		if c.To.E164() == "+14155550102" {
			return false, carrier.NotPlaced{Blame: carrier.BlameNobody, Code: "connect_failed"}
		}
		return true, carrier.Unknown{Stage: carrier.StageAwaiting, Code: "reply_lost"}
	}
	w.slot()
	for ref, want := range map[string]string{"policy1": "refused", "unreachable1": "due", "lost1": "uncertain"} {
		if r := w.row(ref); r.State != want {
			t.Errorf("%s: %+v", ref, r)
		}
	}
}

// The case only-not-before-checked: a row that was retried for its line is asked for its hours
// again, and says so.
func TestARetryIsAskedForItsHours(t *testing.T) {
	w := newWorld(t, nil)
	now := time.Now()
	w.exec(`update lines set carrier = 'away'`)
	w.dueOn("a", 1, 2*time.Hour, "", zoneAt(now, 16))
	w.gated(gates.Options{Rules: rulesOf(t, `rules: [{places: US, hours: {Mon-Sun: "09:00-18:00"}, source: a law, dated: 2025-11-01}]`)})
	w.slot()
	if r := w.row("a1"); r.Reason != "line_not_ready" {
		t.Fatalf("%+v", r)
	}
	w.exec(`update lines set carrier = 'scripted'`)
	w.gated(gates.Options{Rules: rulesOf(t, `rules: [{places: US, hours: {Mon-Sun: "09:00-16:00"}, source: a law, dated: 2025-11-01}]`)}) // the hour is over
	w.again()
	w.slot()
	if r := w.row("a1"); r.State != "due" || r.Reason != "outside_hours" || r.NextIn < 15*time.Hour || len(w.phones.requests()) != 0 {
		t.Errorf("%+v", r)
	}
}

// The case callback-bypasses-attempt-cap: a promised call back is not exempt from its place's
// cap, and waits for the very instant.
func TestAPromisedCallIsUnderTheCap(t *testing.T) {
	w := newWorld(t, nil)
	w.gated(gates.Options{Rules: rulesOf(t, `rules: [{places: US-FL, hours: {Mon-Sun: "00:00-24:00"}, caps: {24h: 3}, source: a law, dated: 2025-11-01}]`)})
	w.exec(`insert into other_calls (e164, direction, began_at, reported_by)
		select '+13055550123', 'out', now() - i, 'crm' from unnest(array[interval '23 hours 30 minutes', interval '10 hours', interval '7 hours']) i`)
	w.same("fl", "305 555 0123", 1)
	w.same("ca", "415 555 0123", 1)
	w.slot()
	if r := w.row("fl1"); r.State != "due" || r.Reason != "too_many_calls" || r.NextIn < 29*time.Minute || r.NextIn > 30*time.Minute {
		t.Errorf("%+v", r)
	}
	if r := w.row("ca1"); r.State != "awaiting_approval" || r.Reason != "no_rules" {
		t.Errorf("a place that nobody has read up: %+v", r)
	}
	w.exec(`update other_calls set began_at = began_at - interval '31 minutes'`)
	w.again()
	w.slot()
	if r := w.row("fl1"); r.State != "call_placed" {
		t.Errorf("when the first has left the window: %+v", r)
	}
}

// The case silence-is-not-optout: how a call ended writes nothing onto the do-not-call list,
// and keeps nobody from being called again.
func TestSilenceIsNoOptOut(t *testing.T) {
	w := newWorld(t, manyPlaces)
	statuses := []string{"no-answer", "busy", "completed", "failed", "canceled"}
	for i, status := range statuses {
		w.phones.answer = func(context.Context, carrier.Call) (bool, carrier.Answer) {
			return true, carrier.Placed{CallID: "CA" + status, Status: status}
		}
		w.same(status, "+14155550123", 1)
		w.slot()
		if r := w.row(status + "1"); r.State != "call_placed" {
			t.Errorf("call %d: %+v", i, r)
		}
	}
	if n := w.count(`select count(*) from do_not_call`); n != 0 {
		t.Errorf("%d entries", n)
	}
}

// A place's rules by purpose, from row to finding: what was judged on is kept with it.
func TestFindingsKeepTheRule(t *testing.T) {
	w := newWorld(t, nil)
	w.gated(gates.Options{Rules: rulesOf(t, `rules:
  - {places: US, hours: {Mon-Sun: "00:00-24:00"}, source: a law, dated: 2025-11-01}
  - {places: US-CO, purposes: sales, hours: {Mon-Sun: "00:00-00:01"}, source: 7 of 1999, dated: 2024-02-29}`), Caps: rules.Caps{Week: 5}})
	w.exec(`insert into phone_followups (ref, phone_number, due_at, script, purpose, time_zone) values ('a', '303 555 0123', now() - interval '1 hour', 'x', 'sales', $1)`, zoneAt(time.Now(), 12))
	w.slot()
	var on map[string]string
	err := w.db.Pool.QueryRow(w.ctx, `
		select x.f -> 'on' from followup_events e, jsonb_array_elements(e.findings) as x (f)
		where x.f ->> 'gate' = 'calling_hours' and x.f ->> 'finding' = 'wait'`).Scan(&on)
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{"place": "US-CO", "purpose": "sales", "rule": "7 of 1999", "dated": "2024-02-29", "window": "00:00-00:01"} {
		if on[key] != want {
			t.Errorf("%s is %q, want %q, in %v", key, on[key], want, on)
		}
	}
}
