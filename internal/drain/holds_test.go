package drain_test

import (
	"strings"
	"testing"

	"chasephone/internal/desk"
	"chasephone/internal/gates"
	"chasephone/internal/rules"
)

// What a person is asked about, and what their answer is worth.

// The tenant's policy says which calls a person must see first.
func TestApprovalPolicies(t *testing.T) {
	for policy, want := range map[string][3]string{ // plain, the same number again, one that asks for approval
		"row":        {"call_placed", "call_placed", "awaiting_approval"},
		"never":      {"call_placed", "call_placed", "call_placed"},
		"first_call": {"awaiting_approval", "call_placed", "awaiting_approval"},
		"always":     {"awaiting_approval", "awaiting_approval", "awaiting_approval"},
	} {
		w := newWorldIn(t, manyPlaces)
		w.phones.answer = hungUp
		w.exec(`update tenants set approval = $1 where id = 'default'`, policy)
		w.same("plain", "+14155550123", 1)
		w.slot()
		if r := w.row("plain1"); r.State != want[0] {
			t.Errorf("%s: the first call is %+v", policy, r)
		}
		if want[0] == "awaiting_approval" {
			w.decide("approve", "plain1")
			w.slot()
		}
		if r := w.row("plain1"); r.State != "call_placed" {
			t.Errorf("%s: approved, it is %+v", policy, r)
		}
		w.same("again", "+14155550123", 1)
		w.slot()
		if r := w.row("again1"); r.State != want[1] {
			t.Errorf("%s: the second call is %+v", policy, r)
		}
		w.exec(`insert into phone_followups (ref, phone_number, due_at, script, needs_approval) values ('asks', '+14155550124', now() - interval '1 hour', 'x', true)`)
		w.exec(`insert into other_calls (e164, direction, reported_by, began_at) values ('+14155550124', 'out', 'crm', now() - interval '3 hours')`)
		w.slot()
		if r := w.row("asks"); r.State != want[2] {
			t.Errorf("%s: one that asks for approval is %+v", policy, r)
		}
	}
}

// "Called in meanwhile": a person decides, and again when they reach us once more.
func TestCalledInMeanwhile(t *testing.T) {
	w := newWorld(t, manyPlaces)
	w.gated(gates.Options{HoursOff: true})
	in := func() {
		w.exec(`insert into other_calls (e164, direction, source, reported_by) values ('+14155550123', 'in', 'switchboard', 'pbx')`)
	}
	in() // before the promise: it is what the promise came of
	w.same("a", "+14155550123", 1)
	in()
	w.slot()
	if r := w.row("a1"); r.State != "awaiting_approval" || r.Reason != "called_in" || !strings.Contains(r.Detail, "switchboard") {
		t.Fatalf("%+v", r)
	}
	w.decide("approve", "a1")
	in()
	w.slot()
	if r := w.row("a1"); r.State != "awaiting_approval" || r.Reason != "called_in_again" {
		t.Fatalf("reached again after the approval: %+v", r)
	}
	w.decide("approve", "a1")
	w.slot()
	if r := w.row("a1"); r.State != "call_placed" {
		t.Errorf("%+v", r)
	}
	w.same("b", "+14155550124", 1)
	w.exec(`insert into other_calls (e164, direction, reported_by) values ('+14155550124', 'in', 'pbx')`)
	w.gated(gates.Options{HoursOff: true, CalledInOff: true})
	w.slot()
	if r := w.row("b1"); r.State != "call_placed" {
		t.Errorf("with the gate off: %+v", r)
	}
}

// Consent is asked for where a rule needs it, for its purpose.
func TestConsent(t *testing.T) {
	w := newWorld(t, manyPlaces)
	w.gated(gates.Options{Rules: rulesOf(t, `rules:
  - {places: US, hours: {Mon-Sun: "00:00-24:00"}, source: a law, dated: 2025-11-01}
  - {places: US, purposes: sales, consent: required, source: another, dated: 2025-11-01}`)})
	w.exec(`insert into consents (tenant_id, e164, purpose, added_by) values
		('default', '+14155550123', 'sales', 'crm'), ('default', '+14155550124', 'debt', 'crm')`)
	for ref, number := range map[string]string{"given": "+14155550123", "other": "+14155550124", "none": "+14155550125"} {
		w.exec(`insert into phone_followups (ref, phone_number, due_at, script, purpose) values ($1, $2, now() - interval '1 hour', 'x', 'sales')`, ref, number)
	}
	w.same("requested", "+14155550126", 1)
	w.slot()
	for ref, want := range map[string]string{"given": "call_placed", "other": "awaiting_approval", "none": "awaiting_approval", "requested1": "call_placed"} {
		if r := w.row(ref); r.State != want || want == "awaiting_approval" && r.Reason != "no_consent" {
			t.Errorf("%s is %+v", ref, r)
		}
	}
}

// The case optout-while-awaiting-approval, and R9: the gates are all asked again, and the
// approver is told.
func TestReasonsOfAnApprovalAreAskedAgain(t *testing.T) {
	w := newWorld(t, nil)
	w.gated(gates.Options{HoursOff: true, Caps: rules.Caps{Day: 1}})
	w.exec(`insert into phone_followups (ref, phone_number, due_at, script, needs_approval) values ('a', '+14155550123', now() - interval '1 hour', 'x', true)`)
	w.slot()
	w.exec(`insert into other_calls (e164, direction, reported_by) values ('+14155550123', 'out', 'crm')`)
	if _, err := (desk.Desk{Store: w.db}).Approve(w.ctx, desk.Name{Text: "a"}, "ann", ""); err != nil {
		t.Fatal(err)
	}
	w.slot()
	if r := w.row("a"); r.State != "due" || r.Reason != "too_many_calls" || len(w.phones.requests()) != 0 {
		t.Errorf("approved, with its cap used up meanwhile: %+v", r)
	}
}

// A promise written by a clock that is ahead is no younger than the contact that came after it.
func TestCalledInWhateverClockWroteThePromise(t *testing.T) {
	w := newWorld(t, nil)
	w.gated(gates.Options{HoursOff: true})
	w.exec(`insert into phone_followups (ref, phone_number, due_at, script, created_at) values ('a', '+14155550123', now() + interval '1 hour', 'x', now() + interval '2 hours')`)
	if err := w.daemon().Prepare(w.ctx); err != nil {
		t.Fatal(err)
	}
	w.exec(`insert into other_calls (e164, direction, reported_by) values ('+14155550123', 'in', 'pbx')`)
	w.exec(`alter table phone_followups disable trigger user`)
	w.exec(`update phone_followups set due_at = now(), next_try_at = now()`)
	w.exec(`alter table phone_followups enable trigger user`)
	w.slot()
	if r := w.row("a"); r.State != "awaiting_approval" || r.Reason != "called_in" {
		t.Errorf("%+v", r)
	}
}
