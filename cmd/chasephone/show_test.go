package main

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// instants are replaced in stories, which are compared as a whole.
var instants = regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC`) //nolint:gochecknoglobals // a constant

func (v terminal) story(t *testing.T, id string) string {
	t.Helper()
	out := v.says(t, "", "show", id)
	numberless(t, out)
	out = regexp.MustCompile(`\(in .*\)`).ReplaceAllString(instants.ReplaceAllString(out, "T"), "(in H)")
	return strings.ReplaceAll(out, id, "ID")
}

func same(t *testing.T, got, want string) {
	t.Helper()
	if want = strings.TrimPrefix(want, "\n"); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

func TestShowOneThatIsDue(t *testing.T) {
	t.Parallel()
	v := newTerminal(t)
	id := v.promise(t, "order-18", "+2h", "--name", "Ada", "--time-zone", "America/Denver")
	same(t, v.story(t, id), `
order-18  ID
  state        due
  promised     to ring +* *** *** **23 (Ada) at T
  tenant       default
  purpose      requested
  time zone    America/Denver, confirmed by the person called
  line         the tenant's default
  words        “Hello”

What happened
T  promised

What is next
  the gates are asked at T
  it is missed after T (in H)
  withdraw it:                 chasephone cancel ID
`)
	if byRef := v.story(t, "order-18"); !strings.Contains(byRef, id) {
		t.Errorf("by its ref: %s", byRef)
	}
}

func TestShowOneThatAwaitsApproval(t *testing.T) {
	t.Parallel()
	v := newTerminal(t)
	id := v.promise(t, "a", "now", "--needs-approval")
	approval := v.awaiting(t, id, "approval_required", "time_zone_unknown")
	got := strings.ReplaceAll(v.story(t, id), approval, "APPROVAL")
	_, got, _ = strings.Cut(got, "What happened\n")
	same(t, got, `
T  promised
T  due → awaiting_approval, by the gates: a person must approve this call (approval_required)
    slot T, place 1 of the tenant's
    number         pass    nothing against it
    approval       hold    a person must approve this call
    approval APPROVAL is asked for: a person must approve this call; time zone unknown: the number does not tell where its owner is

A person is asked: a person must approve this call; time zone unknown: the number does not tell where its owner is
  it is missed after T (in H)
  approve it:                  chasephone approve APPROVAL --time-zone AREA/CITY
  decline it:                  chasephone decline APPROVAL
`)
	v.says(t, "approved", "approve", approval, "--by", "ada", "--time-zone", "America/Denver")
	after := strings.ReplaceAll(v.story(t, id), approval, "APPROVAL")
	for _, want := range []string{
		"T  awaiting_approval → due, by ada: approved by ada (approved)\n    approval APPROVAL: approved by ada, in time zone America/Denver\n",
		"  the gates are asked in the next slot with a free place\n",
	} {
		if !strings.Contains(after, want) {
			t.Errorf("%q is not in\n%s", want, after)
		}
	}
	if strings.Contains(after, "chasephone approve") {
		t.Errorf("it asks for what was answered:\n%s", after)
	}
	// The commands that show names are the ones that work.
	v.says(t, "you had approved it already", "approve", approval, "--by", "ada")
}

func TestShowAnUncertainOne(t *testing.T) {
	t.Parallel()
	v := newTerminal(t)
	id := v.promise(t, "a", "now")
	v.exec(t, `alter table phone_followups disable trigger promise_is_frozen`)
	v.exec(t, `update phone_followups set created_at = created_at - interval '2 hours'`)
	v.exec(t, `alter table phone_followups enable trigger promise_is_frozen`)
	v.uncertain(t, id, "1 hour")
	_, got, _ := strings.Cut(v.story(t, id), "What happened\n")
	same(t, got, `
T  promised
T  due → dialing, by the gates
    slot T, place 1 of the tenant's
    number         pass    nothing against it
    attempt 1, line default (twilio): to be sent from T to T, the answer awaited until T
T  dialing → uncertain, by the carrier: it may have rung (answer_unknown)
    attempt 1: the answer was timeout no reply

It may have rung
  how far it got: the request was written, and no answer came
  where to look: the carrier's own list of calls to +* *** *** **23 (show --json has it in full), from T to T
  the carrier's records: not asked yet
  the carrier may keep a call waiting until T: before that a list without it proves nothing
  “it did not ring” can be said now: the quarantine was over at T
  said after T it does not ring again: it is missed then
  it rang:                     chasephone settle ID --attempt 1 --rang
  it did not ring, ring again: chasephone settle ID --attempt 1 --did-not-ring
  it did not ring, let it be:  chasephone settle ID --attempt 1 --did-not-ring --cancel
`)
	v.says(t, "due again", "settle", id, "--did-not-ring", "--by", "ada")
	v.exec(t, `
		insert into evidence (followup_id, attempt_no, source, says, call_id, conflict) values ($1, 1, 'reply', 'placed', 'CA00000000000000000000000000000001', true)`, id)
	after := v.story(t, id)
	for _, want := range []string{
		"T  uncertain → due, by ada: ada says that it did not ring (settled_did_not_ring)\n    attempt 1: now did not ring by the word of ada\n",
		"T  evidence on attempt 1, the carrier's reply: placed, call CA00000000000000000000000000000001\n    CONFLICT: this contradicts what was recorded before\n",
	} {
		if !strings.Contains(after, want) {
			t.Errorf("%q is not in\n%s", want, after)
		}
	}
}

func TestShowOneInQuarantine(t *testing.T) {
	t.Parallel()
	v := newTerminal(t)
	id := v.promise(t, "a", "now")
	v.dialing(t, id, "20 seconds")
	if got := v.story(t, id); !strings.Contains(got, "The carrier is being asked\n  its answer is awaited until T; without one it is uncertain some seconds later\n") {
		t.Errorf("while it is dialing:\n%s", got)
	}
	other := v.promise(t, "b", "+1s")
	v.exec(t, `update attempts set outcome = 'not_placed', outcome_at = clock_timestamp() where followup_id = $1`, id)
	v.uncertain(t, other, "30 seconds")
	if got := v.story(t, other); !strings.Contains(got, "“it did not ring” can be said from T: until then a process that was paused could still ring\n") {
		t.Errorf("in quarantine:\n%s", got)
	}
}

// TestShowHidesThePerson: the number is in every text that people write, and so are a
// terminal's escapes; neither reaches the terminal.
func TestShowHidesThePerson(t *testing.T) {
	t.Parallel()
	v := newTerminal(t)
	const bad = "4155550123 \x1b[2J\u009b31m\u202e"
	var id string
	if err := v.db.QueryRow(t.Context(), `
		insert into phone_followups (ref, phone_number, due_at, script, contact_name, purpose, line) values ($1, $2, now(), $1, $1, $1, $1) returning id::text`,
		bad, person+bad).Scan(&id); err != nil {
		t.Fatal(err)
	}
	v.exec(t, `
		insert into followup_events (followup_id, version, tenant_id, at, from_state, to_state, outcome, actor, by_name, reason, detail)
		values ($1, 1, 'default', now(), 'due', 'cancelled', 'cancelled', 'person', $2, $2, $2)`, id, bad)
	v.exec(t, `
		insert into approvals (followup_id, reasons, e164, line, caller_number, words, asked_at) values ($1, array[$2], 'x', $2, 'x', 'x', now())`, id, bad)
	v.exec(t, `update phone_followups set state = 'cancelled', version = 1, reason = $2, detail = $2, decided_by = $2, call_id = $2, call_status = $2 where id = $1`, id, bad)
	numberless(t, v.says(t, "cancelled", "show", id))
	numberless(t, v.says(t, "cancelled", "list"))

	var got shown
	v.json(t, &got, "show", id)
	if got.FollowUp.PhoneNumber != person+bad || got.FollowUp.Script != bad || len(got.Events) != 1 || got.LateAt != nil {
		t.Errorf("%+v", got)
	}
}

func TestShowJSON(t *testing.T) {
	t.Parallel()
	v := newTerminal(t)
	id := v.promise(t, "a", "2099-01-01T00:00:00Z")
	approval := v.awaiting(t, id, "approval_required")
	var got map[string]any
	v.json(t, &got, "show", approval)
	for path, want := range map[string]string{
		"late_at": "2099-01-02T00:00:00Z", "followup.id": id, "followup.phone_number": person, "followup.state": "awaiting_approval",
		"events.0.findings.1.code": "approval_required", "approvals.0.id": approval, "approvals.0.reasons.0": "approval_required",
		"attempts": "[]", "evidence": "[]",
	} {
		if at := reach(got, strings.Split(path, ".")...); fmt.Sprint(at) != want {
			t.Errorf("%s is %v, want %s", path, at, want)
		}
	}
}

// reach walks down a JSON document.
func reach(v any, path ...string) any {
	for _, step := range path {
		switch at := v.(type) {
		case map[string]any:
			v = at[step]
		case []any:
			var i int
			if _, err := fmt.Sscan(step, &i); err != nil || i >= len(at) {
				return nil
			}
			v = at[i]
		}
	}
	return v
}

// TestShowAWait: a wait moves nothing, and says until when and why, gate by gate.
func TestShowAWait(t *testing.T) {
	t.Parallel()
	v := newTerminal(t)
	id := v.promise(t, "a", "now")
	v.exec(t, `
		insert into followup_events (followup_id, version, tenant_id, at, from_state, to_state, outcome, actor, reason, detail, findings)
		values ($1, 1, 'default', clock_timestamp(), 'due', 'due', 'not_ready', 'gates', 'outside_hours', 'outside calling hours', $2)`, id, `[
		{"gate":"number","finding":"pass"},
		{"gate":"calling_hours","finding":"wait","code":"outside_hours","until":"2099-01-01T15:00:00Z","on":{"zone":"America/Denver","local":"07:30","window":"08:00-21:00"}},
		{"gate":"line","finding":"wait","code":"line_not_ready","until":"2099-01-01T14:00:00Z","on":{"line":"main","cause":"stopped"}}]`)
	want := `
T  still due, by the gates: outside calling hours (outside_hours)
    number         pass    nothing against it
    calling_hours  wait    outside calling hours: 07:30 in America/Denver, open 08:00–21:00 (until T)
    line           wait    the line main is not ready: calls are stopped (until T)
`
	if got := v.story(t, id); !strings.Contains(got, want) {
		t.Errorf("%s\nis not in\n%s", want, got)
	}
}
