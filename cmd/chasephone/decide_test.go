package main

import (
	"encoding/json"
	"strings"
	"testing"

	"chasephone/internal/desk"
)

func TestApproveAndDecline(t *testing.T) {
	t.Parallel()
	v := newTerminal(t)
	id := v.promise(t, "a", "+1h")
	v.fails(t, exitFailed, "nobody asked for an approval: it is due", "approve", "a", "--by", "ada")
	approval := v.awaiting(t, id, "approval_required")
	out := v.says(t, "approved: due at ", "approve", approval, "--by", "ada")
	if !strings.HasPrefix(out, "a ("+id+"): approved: due at ") {
		t.Errorf("%q", out)
	}
	v.says(t, "you had approved it already, at ", "approve", "a", "--by", "ada")
	v.fails(t, exitFailed, "too late: approved by ada at ", "decline", "a", "--by", "bob")

	other := v.promise(t, "b", "+2h")
	v.awaiting(t, other, "time_zone_unknown")
	v.fails(t, exitFailed, "(--time-zone Area/City)", "approve", "b", "--by", "ada")
	v.fails(t, exitMisuse, "time zone mars is not known", "approve", "b", "--by", "ada", "--time-zone", "mars")
	v.says(t, "approved", "approve", "b", "--by", "ada", "--time-zone", "America/Denver")
	if got := v.read(t, `select time_zone from approvals where followup_id = $1`, other); got != "America/Denver" {
		t.Errorf("the zone is %q", got)
	}

	third := v.promise(t, "c", "+3h")
	v.awaiting(t, third, "approval_required")
	v.says(t, "declined: it will not be rung", "decline", "c", "--by", "ada", "--why", "called 415 555 0123\x07 herself")
	if got := v.read(t, `select detail from followup_events where followup_id = $1 and to_state = 'refused'`, third); got != "declined by ada: called *** *** **23� herself" {
		t.Errorf("the ledger has %q", got)
	}
}

func TestSettle(t *testing.T) {
	t.Parallel()
	v := newTerminal(t)
	early := v.promise(t, "early", "now")
	v.fails(t, exitFailed, "there is nothing to settle: it is due", "settle", early, "--rang", "--by", "ada")
	v.uncertain(t, early, "1 minute")
	v.fails(t, exitFailed, "it may have rung: settle it first", "cancel", early, "--by", "ada")
	v.fails(t, exitFailed, "too early: until ", "settle", early, "--did-not-ring", "--by", "ada")
	v.says(t, "settled: it rang, and the promise is kept", "settle", early, "--rang", "--by", "ada")
	v.says(t, "you had settled it already", "settle", early, "--rang", "--by", "ada")
	v.fails(t, exitFailed, "too late: ada said that it rang at ", "settle", early, "--did-not-ring", "--by", "bob")

	again := v.promise(t, "again", "now")
	v.uncertain(t, again, "1 hour")
	v.says(t, "settled: it did not ring, and is due again", "settle", "again", "--did-not-ring", "--by", "ada")
	let := v.promise(t, "let", "now")
	v.uncertain(t, let, "1 hour")
	v.says(t, "settled: it did not ring, and is cancelled", "settle", "let", "--did-not-ring", "--cancel", "--by", "ada")
	if got := v.read(t, `select string_agg(state || ' ' || coalesce(decided_by, '-'), ', ' order by created_at) from phone_followups`); got != "call_placed ada, due -, cancelled ada" {
		t.Errorf("%q", got)
	}
}

func TestCancelAndReschedule(t *testing.T) {
	t.Parallel()
	v := newTerminal(t)
	id := v.promise(t, "a", "+1h")
	v.fails(t, exitFailed, "more than 24h0m0s ago: it would be missed at once", "reschedule", "a", "--due-at", "2020-01-01T00:00:00Z", "--by", "ada")
	out := v.says(t, "rescheduled: this one is cancelled, its successor is due at 2099-01-01 00:00:00 UTC\nits successor is ", "reschedule", "a", "--due-at", "2099-01-01T00:00:00Z", "--by", "ada")
	next := strings.TrimSpace(out[strings.LastIndex(out, " ")+1:])
	if got := v.read(t, `select successor_of::text from phone_followups where id = $1`, next); got != id {
		t.Errorf("the successor %s is of %s", next, got)
	}
	var result desk.Result // of the two with this ref one is over: the other is meant
	v.json(t, &result, "cancel", "a", "--by", "ada", "--why", "she rang us")
	if result.ID != next || result.State != "cancelled" || !result.Changed || result.Says == "" {
		t.Errorf("%+v", result)
	}
	v.says(t, "you had cancelled it already", "cancel", next, "--by", "ada")
	v.fails(t, exitFailed, "too late: it is cancelled, by ada at ", "cancel", next, "--by", "bob")
	v.fails(t, exitMisuse, "several follow-ups have the ref \"a\", name one by its id: ", "cancel", "a", "--by", "ada")
}

// TestARefusalIsAnAnswerToo: with --json there is one document, whatever the exit code.
func TestARefusalIsAnAnswerToo(t *testing.T) {
	t.Parallel()
	v := newTerminal(t)
	v.exec(t, `insert into phone_followups (ref, phone_number, due_at, script) values ('late', '+14155550123', now() - interval '25 hours', 'Hello')`)
	got := v.run(t, "cancel", "late", "--by", "ada", "--json")
	var result desk.Result
	if err := json.Unmarshal([]byte(got.out), &result); err != nil || got.code != exitFailed || strings.Count(got.err, "\n") != 1 {
		t.Fatalf("exit %d, %q, %q (%v)", got.code, got.out, got.err, err)
	}
	if result.State != "missed" || !result.Changed || !strings.HasPrefix(result.Says, "too late: it was due at ") {
		t.Errorf("%+v", result)
	}
}

// TestNoSuchFollowUp: an id that is well formed is not found; what can be neither an id nor
// a ref is a mistake in the command.
func TestNoSuchFollowUp(t *testing.T) {
	t.Parallel()
	v := newTerminal(t)
	const id = "01890a5d-ac96-774b-bcce-b302099a8057"
	for _, args := range [][]string{
		{"show"}, {"approve"}, {"decline"}, {"settle", "--rang"}, {"cancel"}, {"reschedule", "--due-at", "+1h"},
	} {
		v.fails(t, exitFailed, "no such follow-up: \""+id+"\"", append(args, id)...)
		v.fails(t, exitMisuse, `no such follow-up: "nonsense" is not an id, and no follow-up has it as its ref`, append(args, "nonsense")...)
		v.fails(t, exitMisuse, "which follow-up? give its id or its ref", append(args, "")...)
	}
	v.fails(t, exitMisuse, "the name given with --by must be printable", "cancel", id, "--by", "a\x1bda")
}
