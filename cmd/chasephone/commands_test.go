package main

import (
	"bytes"
	"context"
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"chasephone/internal/pgtest"
)

// person is the number that no text output may hold.
const person = "+1 415 555 0123"

// terminal is a database with the command line in front of it, which has a daemon's role.
type terminal struct {
	url string
	db  *pgx.Conn // as the owner
}

func newTerminal(t *testing.T) terminal {
	t.Helper()
	url := pgtest.URL(t)
	db, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close(context.Background()) })
	url, _, _ = pgtest.Roles(t, url)
	return terminal{url, db}
}

// answer is what a command came to.
type answer struct {
	code     int
	out, err string
}

func (v terminal) run(t *testing.T, args ...string) answer {
	t.Helper()
	return v.pipe(t, "", args...)
}

func (v terminal) pipe(t *testing.T, stdin string, args ...string) answer {
	t.Helper()
	return command(t, []string{"DATABASE_URL=" + v.url}, stdin, args...)
}

func command(t testing.TB, environ []string, stdin string, args ...string) answer {
	t.Helper()
	var out, errs bytes.Buffer
	code := run(t.Context(), process{args: args, environ: environ, stdin: strings.NewReader(stdin), stdout: &out, stderr: &errs})
	return answer{code, out.String(), errs.String()}
}

// says runs a command that must succeed, with one line that holds the words.
func (v terminal) says(t *testing.T, words string, args ...string) string {
	t.Helper()
	got := v.run(t, args...)
	if got.code != exitDone || got.err != "" || !strings.Contains(got.out, words) {
		t.Errorf("%q: exit %d, %q, %q; want exit 0 and %q", args, got.code, got.out, got.err, words)
	}
	return got.out
}

// fails runs a command that must fail with one line on standard error.
func (v terminal) fails(t *testing.T, code int, words string, args ...string) {
	t.Helper()
	got := v.run(t, args...)
	if got.code != code || !strings.Contains(got.err, words) || strings.Count(got.err, "\n") != 1 {
		t.Errorf("%q: exit %d, %q; want exit %d and one line with %q", args, got.code, got.err, code, words)
	}
}

// json runs a command that must succeed, and reads its one document.
func (v terminal) json(t *testing.T, into any, args ...string) {
	t.Helper()
	got := v.run(t, append(args, "--json")...)
	if got.code != exitDone || got.err != "" {
		t.Fatalf("%q: exit %d, %q", args, got.code, got.err)
	}
	if err := json.Unmarshal([]byte(got.out), into); err != nil {
		t.Fatalf("%q: %v in %q", args, err, got.out)
	}
}

func (v terminal) exec(t *testing.T, sql string, args ...any) {
	t.Helper()
	if _, err := v.db.Exec(t.Context(), sql, args...); err != nil {
		t.Fatalf("%v in %s", err, sql)
	}
}

func (v terminal) read(t *testing.T, sql string, args ...any) string {
	t.Helper()
	var s string
	if err := v.db.QueryRow(t.Context(), sql, args...).Scan(&s); err != nil {
		t.Fatalf("%v in %s", err, sql)
	}
	return s
}

// promise puts a follow-up in and returns its id.
func (v terminal) promise(t *testing.T, ref, due string, more ...string) string {
	t.Helper()
	var a added
	v.json(t, &a, append([]string{"add", "--ref", ref, "--due-at", due, "--number", person, "--script", "Hello"}, more...)...)
	if !a.Added {
		t.Fatalf("%s was there already", ref)
	}
	return a.ID
}

// awaiting makes a promise one that a person was asked about, as a claim does it, and
// returns the approval's id.
func (v terminal) awaiting(t *testing.T, id string, reasons ...string) string {
	t.Helper()
	approval := v.read(t, `
		insert into approvals (followup_id, reasons, e164, line, caller_number, words, asked_at)
		values ($1, $2, '+14155550123', 'default', '+14155550100', 'w', clock_timestamp()) returning id::text`, id, reasons)
	v.exec(t, `
		insert into followup_events (followup_id, version, tenant_id, at, from_state, to_state, outcome, actor, reason, detail, findings, slot_at, place, limits_id, per_tick)
		select f.id, coalesce(f.version, 0) + 1, f.tenant_id, p.asked_at, 'due', 'awaiting_approval', 'awaiting_approval', 'gates', p.reasons[1], 'a person must approve this call',
		  '[{"gate":"number","finding":"pass"},{"gate":"approval","finding":"hold","code":"approval_required"}]',
		  p.asked_at, 1, x.limits_id, l.per_tick
		from approvals p join phone_followups f on f.id = p.followup_id cross join fleet x join limits l on l.id = x.limits_id where p.id = $1`, approval)
	v.exec(t, `
		update phone_followups set state = 'awaiting_approval', approval_id = $2, version = coalesce(version, 0) + 1, ready = false,
		  reason = 'approval_required', detail = 'a person must approve this call' where id = $1`, id, approval)
	return approval
}

// dialing gives a promise an attempt that began so long ago.
func (v terminal) dialing(t *testing.T, id, ago string) {
	t.Helper()
	v.exec(t, `
		insert into attempts (followup_id, no, token, tenant_id, line, carrier, e164, caller_number, daemon_id, created_at, begin_at, send_by, answer_by, late_at)
		select f.id, coalesce(f.attempt_no, 0) + 1, gen_random_uuid(), f.tenant_id, 'default', 'twilio', f.e164, '+14155550100', gen_random_uuid(),
		  x.at, x.at, x.at + interval '5 seconds', x.at + interval '15 seconds', f.due_at + interval '24 hours'
		from phone_followups f cross join (select clock_timestamp() - $2::text::interval as at) x where f.id = $1`, id, ago)
	v.exec(t, `
		insert into followup_events (followup_id, version, tenant_id, at, from_state, to_state, actor, findings, attempt_no, slot_at, place, limits_id, per_tick)
		select f.id, coalesce(f.version, 0) + 1, f.tenant_id, a.created_at, 'due', 'dialing', 'gates', '[{"gate":"number","finding":"pass"}]', a.no,
		  a.created_at, 1, x.limits_id, l.per_tick
		from phone_followups f join attempts a on a.followup_id = f.id and a.no = coalesce(f.attempt_no, 0) + 1
		cross join fleet x join limits l on l.id = x.limits_id where f.id = $1`, id)
	v.exec(t, `
		update phone_followups set state = 'dialing', attempt_no = coalesce(attempt_no, 0) + 1, version = coalesce(version, 0) + 1, ready = false where id = $1`, id)
}

// uncertain is dialing, and then no answer.
func (v terminal) uncertain(t *testing.T, id, ago string) {
	t.Helper()
	v.dialing(t, id, ago)
	v.exec(t, `
		update attempts set outcome = 'uncertain', outcome_at = answer_by, stage = 'awaiting', code = 'timeout', answer = 'no reply'
		where followup_id = $1 and outcome is null`, id)
	v.exec(t, `
		insert into followup_events (followup_id, version, tenant_id, at, from_state, to_state, outcome, actor, reason, detail, attempt_no)
		select f.id, f.version + 1, f.tenant_id, a.answer_by, 'dialing', 'uncertain', 'uncertain', 'carrier', 'answer_unknown', 'it may have rung', a.no
		from phone_followups f join attempts a on a.followup_id = f.id and a.no = f.attempt_no where f.id = $1`, id)
	v.exec(t, `
		update phone_followups set state = 'uncertain', version = version + 1, reason = 'answer_unknown', detail = 'it may have rung' where id = $1`, id)
}

// numberless checks a text output: not the number, in no spelling, and nothing that a
// terminal obeys.
func numberless(t *testing.T, text string) {
	t.Helper()
	if strings.Contains(digitsOf(text), "4155550123") || strings.Contains(text, "555 0123") {
		t.Errorf("the person's number is in %q", text)
	}
	if regexp.MustCompile("[\x00-\x09\x0b-\x1f\x7f\u0080-\u009f\u202e]").MatchString(text) {
		t.Errorf("a control character is in %q", text)
	}
}
