package main

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"chasephone/config"
	"chasephone/internal/followup"
	"chasephone/internal/gates"
	"chasephone/internal/store"
)

// asleep is a zone in which it is about two in the morning.
func asleep(now time.Time) string {
	offset := 2 - now.UTC().Hour()
	if offset < -12 {
		offset += 24
	}
	if offset < 0 {
		return fmt.Sprintf("Etc/GMT+%d", -offset)
	}
	return fmt.Sprintf("Etc/GMT-%d", offset)
}

func noon() string  { return awake(time.Now().UTC()) }
func night() string { return asleep(time.Now()) }

// staffed is a terminal whose default tenant has a line, and a daemon that can call on it.
func staffed(t *testing.T) terminal {
	t.Helper()
	v := newTerminal(t)
	v.says(t, "is set", "line", "add", "default", "--carrier", "twilio", "--caller", "+14155550100", "--by", "ada")
	v.alive(t, "alpha", 1, nil)
	return v
}

// alive is a daemon that is alive for as long as a test may take.
func (v terminal) alive(t *testing.T, host string, pid int, settings map[string]string) {
	t.Helper()
	b, err := json.Marshal(settings)
	if err != nil {
		t.Fatal(err)
	}
	v.exec(t, `insert into daemons (id, host, pid, carriers, limits, gates, seen_at)
		values (gen_random_uuid(), $1, $2, '{twilio}', '{}', coalesce(nullif($3::text, 'null'), '{}')::jsonb, clock_timestamp() + interval '1 hour')`, host, pid, string(b))
}

// raw inserts a follow-up as an integrator does, and nobody looks at it.
func (v terminal) raw(t *testing.T, columns, values string, args ...any) string {
	t.Helper()
	return v.read(t, `insert into phone_followups (ref, script, `+columns+`) values ('raw', 'Hello', `+values+`) returning id::text`, args...)
}

func (v terminal) now(t *testing.T, id string) judged {
	t.Helper()
	var got shown
	v.json(t, &got, "show", id, "--now")
	if got.Now == nil {
		t.Fatalf("there is no now in the answer of %s", id)
	}
	return *got.Now
}

// gate is what one gate says.
func (j judged) gate(t *testing.T, name string) gateSays {
	t.Helper()
	for _, g := range j.Gates {
		if g.Gate == name {
			return g
		}
	}
	t.Fatalf("no gate %s in %+v", name, j.Gates)
	return gateSays{}
}

func (j judged) is(t *testing.T, ruling, code, next, says string) {
	t.Helper()
	if j.Ruling == nil || j.Ruling.Finding != ruling || j.Ruling.Code != code || j.Next.Kind != next || !strings.Contains(j.Next.Says, says) {
		t.Errorf("got %+v and %+v; want %s (%s) and %s, %q", j.Ruling, j.Next, ruling, code, next, says)
	}
}

// TestShowNowAtNight: a wait for hours is told with its end, in words and as JSON.
func TestShowNowAtNight(t *testing.T) {
	t.Parallel()
	v := staffed(t)
	zone := night()
	id := v.promise(t, "a", "now", "--time-zone", zone)
	j := v.now(t, id)
	j.is(t, "wait", "outside_hours", nextNotBefore, "outside calling hours: ")
	loc, err := time.LoadLocation(zone)
	if err != nil {
		t.Fatal(err)
	}
	if opens := j.Next.At.In(loc); opens.Hour() != 8 || opens.Minute() != 0 || opens.Second() != 0 || opens.Sub(j.At) > 24*time.Hour {
		t.Errorf("it opens at %s", opens)
	}
	if hours := j.gate(t, gates.GateCallingHours); !hours.Until.Equal(j.Next.At) || hours.On["zone"] != zone || hours.Finding != "wait" {
		t.Errorf("%+v, want until %s", hours, j.Next.At)
	}
	if len(j.Gates) != len(gates.Names()) || len(j.Notes) != 0 {
		t.Errorf("%d gates, notes %q", len(j.Gates), j.Notes)
	}

	out := v.says(t, "", "show", id, "--now")
	numberless(t, out)
	_, told, found := strings.Cut(instants.ReplaceAllString(out, "T"), "\nWhat the gates say now, at T:\n")
	if !found {
		t.Fatalf("%s", out)
	}
	told = regexp.MustCompile(`\d\d:\d\d in Etc/GMT[+-]\d+`).ReplaceAllString(told, "L in Z")
	const closed = "outside calling hours: L in Z, open 08:00–21:00 (rule: 47 CFR 64.1200(c)(1), read 2026-11-30, for US-CA, requested)"
	same(t, told, `
  number         pass    nothing against it
  country        pass    nothing against it
  do_not_call    pass    nothing against it
  consent        pass    nothing against it
  calling_hours  wait    `+closed+` (until T)
  caps           pass    nothing against it
  gap            pass    nothing against it
  in_a_call      pass    nothing against it
  called_in      pass    nothing against it
  approval       pass    nothing against it
  words          pass    nothing against it
  line           pass    nothing against it
  budget         pass    nothing against it
  ruling: wait, by calling_hours (until T)
  next:   not before T: `+closed+`
`)
	if strings.Contains(v.says(t, "", "show", id), "gates say now") {
		t.Error("it is told without --now")
	}
}

func TestShowNowOfOneThatIsDue(t *testing.T) {
	t.Parallel()
	v := staffed(t)
	id := v.promise(t, "now", "now", "--time-zone", noon())
	v.now(t, id).is(t, "pass", "", nextNow, "now, in the next slot in which a place of its tenant is free")
	v.says(t, "\n  ruling: pass\n  next:   now, in the next slot", "show", id, "--now")

	later := v.promise(t, "later", "+30m", "--time-zone", noon())
	j := v.now(t, later)
	j.is(t, "pass", "", nextNotBefore, ": it is due then")
	if ahead := j.Next.At.Sub(j.At); ahead > 30*time.Minute || ahead < 25*time.Minute {
		t.Errorf("not before %s, at %s", j.Next.At, j.At)
	}

	// What was ruled stands until then, although the gates say otherwise by now.
	waiting := v.promise(t, "waiting", "now", "--time-zone", noon())
	v.exec(t, `alter table phone_followups disable trigger outcome_needs_ledger`)
	v.exec(t, `update phone_followups set ready = false, next_try_at = clock_timestamp() + interval '1 hour', reason = 'too_soon', detail = 'too soon' where id = $1`, waiting)
	j = v.now(t, waiting)
	j.is(t, "pass", "", nextNotBefore, ": too soon")
	if ahead := j.Next.At.Sub(j.At); ahead > time.Hour || ahead < 55*time.Minute {
		t.Errorf("not before %s, at %s", j.Next.At, j.At)
	}
	v.exec(t, `update phone_followups set next_try_at = due_at + interval '25 hours' where id = $1`, waiting)
	v.now(t, waiting).is(t, "pass", "", nextTooLate, "never: it is missed after ")

	late := v.raw(t, `phone_number, due_at, time_zone`, `$1, now() - interval '25 hours', $2`, person, noon())
	v.now(t, late).is(t, "pass", "", nextTooLate, "never: it is too late since ")
}

// TestShowNowWaitsOnTheWay: every reason on the way is told, and a wait that goes beyond the
// greatest lateness is the promise's end.
func TestShowNowWaitsOnTheWay(t *testing.T) {
	t.Parallel()
	v := staffed(t)
	id := v.promise(t, "a", "now", "--time-zone", night())
	v.exec(t, `update lines set held_until = clock_timestamp() + interval '12 hours', held_for = 'by_hand'`)
	j := v.now(t, id)
	j.is(t, "wait", "line_not_ready", nextNotBefore, ": the line default is not ready: it is held (by hand)")
	if ahead := j.Next.At.Sub(j.At); ahead > 12*time.Hour || ahead < 11*time.Hour {
		t.Errorf("not before %s, at %s", j.Next.At, j.At)
	}
	v.exec(t, `update lines set held_until = clock_timestamp() + interval '1 hour'`)
	v.now(t, id).is(t, "wait", "outside_hours", nextNotBefore, ": outside calling hours")
	v.exec(t, `update lines set held_until = clock_timestamp() + interval '20 hours'`) // its evening, after closing
	v.now(t, id).is(t, "wait", "line_not_ready", nextTooLate, "never: it is missed after ")
	v.exec(t, `update lines set held_until = clock_timestamp() + interval '25 hours'`)
	v.now(t, id).is(t, "wait", "line_not_ready", nextTooLate, ": the line default is not ready: it is held (by hand)")

	// Without an end of its own.
	v.exec(t, `update lines set held_until = 'infinity'`)
	j = v.now(t, id)
	j.is(t, "wait", "line_not_ready", nextLasting, "not as long as this lasts: the line default is not ready: it is held (by hand); it is missed after ")
	if line := j.gate(t, gates.GateLine); !line.Until.IsZero() {
		t.Errorf("until %s", line.Until)
	}
	v.exec(t, `update lines set held_until = null, held_for = null`)
	// Behind the night, too.
	v.exec(t, `update daemons set carriers = '{}'`)
	v.now(t, id).is(t, "wait", "outside_hours", nextLasting, "read 2026-11-30, for US-CA, requested); the line default is not ready: no daemon that runs has credentials for its carrier; it is missed after ")
	v.exec(t, `update daemons set carriers = '{twilio}'`)
	v.exec(t, `insert into unfit_lines select id, 'default', 'default', clock_timestamp() + interval '10 hours' from daemons`)
	v.now(t, id).is(t, "wait", "line_not_ready", nextNotBefore, "it is held (carrier unreachable)")
	v.alive(t, "beta", 2, nil)
	v.now(t, id).is(t, "wait", "outside_hours", nextNotBefore, "outside calling hours")
	v.exec(t, `delete from lines`)
	v.now(t, id).is(t, "wait", "outside_hours", nextLasting, "the tenant has no default line")
}

// TestShowNowWithNoDaemon: the gates are asked all the same, and it is told that nothing rings.
func TestShowNowWithNoDaemon(t *testing.T) {
	t.Parallel()
	v := staffed(t)
	v.exec(t, `update daemons set seen_at = clock_timestamp() - interval '1 minute'`)
	id := v.promise(t, "a", "now", "--time-zone", noon())
	j := v.now(t, id)
	j.is(t, "pass", "", nextNow, "now, ")
	if fmt.Sprint(j.Notes) != "[no daemon is running: nothing is rung until one runs]" {
		t.Errorf("%q", j.Notes)
	}
	v.says(t, "\n  note:   no daemon is running: nothing is rung until one runs\n", "show", id, "--now")
}

func TestShowNowStopped(t *testing.T) {
	t.Parallel()
	v := staffed(t)
	id := v.promise(t, "a", "now", "--time-zone", noon())
	for _, scope := range [][]string{nil, {"--tenant", "default"}, {"--line", "default"}} {
		v.says(t, "stopped", append([]string{"stop", "--by", "ada"}, scope...)...)
		v.now(t, id).is(t, "wait", "line_not_ready", nextStopped, "calls are stopped, for as long as that lasts; once they are resumed: now, ")
		v.says(t, "resumed", append([]string{"resume", "--by", "ada"}, scope...)...)
	}
	v.now(t, id).is(t, "pass", "", nextNow, "now, ")
	v.says(t, "stopped", "stop", "--by", "ada")
	v.says(t, "is on", "dnc", "add", person, "--by", "ada")
	v.now(t, id).is(t, "refuse", "do_not_call", nextRefused, "never: do not call: an opt-out since ")
}

// TestShowNowBeforeAnybodyLooked: a row is judged on what is in it, as admitting it would find it.
func TestShowNowBeforeAnybodyLooked(t *testing.T) {
	t.Parallel()
	v := staffed(t)
	v.exec(t, `insert into tenants (id, region) values ('paris', 'FR')`)
	row := func(number string, more ...string) string {
		tenant, line, due := "default", "", "now"
		for i, to := range []*string{&tenant, &line, &due} {
			if i < len(more) {
				*to = more[i]
			}
		}
		return v.raw(t, `phone_number, time_zone, tenant_id, line, due_at`, `$1, $2, $3, nullif($4, ''), $5::text::timestamptz`, number, noon(), tenant, line, due)
	}
	v.now(t, row("(415) 555-0123")).is(t, "pass", "", nextNow, "now, ")
	v.now(t, row("415")).is(t, "refuse", "too_short", nextRefused, "never: the number is too short")
	v.now(t, row("415 555 0123", "paris")).is(t, "refuse", "too_long", nextRefused, "never: the number is too long")
	v.now(t, row(person, "paris")).is(t, "refuse", "country_not_allowed", nextRefused, "region US, allowed FR")
	v.now(t, row(person, "default", "none")).is(t, "refuse", "unknown_line", nextRefused, "never: there is no line of this name: none")
	v.now(t, row(person, "default", strings.Repeat("é", 101))).is(t, "refuse", "unknown_line", nextRefused, "never: it is refused, because no line has so long a name")
	v.now(t, row(person, "default", "default", "infinity")).is(t, "pass", "", nextRefused, "never: it is refused, because due_at is infinite")

	nobody := row(person, "nobody")
	j := v.now(t, nobody)
	if j.Ruling != nil || len(j.Gates) != 0 || j.Next.Kind != nextRefused || j.At.IsZero() {
		t.Errorf("%+v", j)
	}
	v.says(t, "\n  next:   never: it is refused, because there is no tenant of this name\n", "show", nobody, "--now")
	if left := v.read(t, `select count(*)::text from phone_followups where e164 is null and number_problem is null`); left != "8" {
		t.Errorf("%s rows are left as they were, want 8", left)
	}
}

func TestShowNowOfOneThatIsOver(t *testing.T) {
	t.Parallel()
	v := staffed(t)
	id := v.promise(t, "a", "now", "--time-zone", noon())
	v.says(t, "", "cancel", id, "--by", "ada")
	v.now(t, id).is(t, "pass", "", nextOver, "never: it is over (cancelled)")
	if out := v.says(t, "\n  next:   never: it is over (cancelled)\n", "show", id, "--now"); !regexp.MustCompile(`What the gates say now, at .* UTC, were they asked:`).MatchString(out) {
		t.Errorf("%s", out)
	}
}

// TestShowNowWhileItIsRung: its own call is not what stands in its way, but in another's.
func TestShowNowWhileItIsRung(t *testing.T) {
	t.Parallel()
	v := staffed(t)
	id := v.promise(t, "a", "now", "--time-zone", noon())
	other := v.promise(t, "b", "now", "--time-zone", noon())
	v.dialing(t, id, "1 second")
	v.now(t, id).is(t, "pass", "", nextDialing, "it is being rung")
	j := v.now(t, other)
	j.is(t, "wait", "in_a_call", nextNotBefore, "another call with this number is under way")
	if ahead := j.Next.At.Sub(j.At); ahead > 2*time.Hour || ahead < 115*time.Minute {
		t.Errorf("not before %s, at %s", j.Next.At, j.At)
	}

	v = staffed(t)
	id = v.promise(t, "a", "now", "--time-zone", noon())
	v.uncertain(t, id, "30 seconds")
	v.now(t, id).is(t, "pass", "", nextUncertain, "only after a person says that it did not ring")
}

// TestShowNowOfOneThatNeedsApproval: what is asked, and what is in the way once it is answered.
func TestShowNowOfOneThatNeedsApproval(t *testing.T) {
	t.Parallel()
	v := staffed(t)
	free := v.promise(t, "free", "now", "--needs-approval", "--time-zone", noon())
	v.now(t, free).is(t, "hold", "approval_required", nextApproval, "only after a person approves it: a person must approve this call; then nothing else is in the way")
	closed := v.promise(t, "closed", "now", "--needs-approval", "--time-zone", night())
	j := v.now(t, closed)
	j.is(t, "hold", "approval_required", nextApproval, "; then not before ")
	if j.Next.At.IsZero() || !strings.Contains(j.Next.Says, ": outside calling hours") {
		t.Errorf("%+v", j.Next)
	}
	unknown := v.raw(t, `phone_number, time_zone, due_at`, `$1, 'Mars/Olympus', now()`, person)
	v.now(t, unknown).is(t, "hold", "time_zone_unknown", nextApproval, "together with the time zone of the person called, by whose hours it waits then; then nothing else")

	// A contact that is known already is asked about once.
	called := v.promise(t, "called", "now", "--time-zone", noon(), "--number", "+14155550155")
	v.says(t, "reported", "report", "+14155550155", "--called-in", "--by", "ada")
	j = v.now(t, called)
	j.is(t, "hold", "called_in", nextApproval, "; then nothing else is in the way")

	// Once it is asked, the question stands as it was.
	approval := v.awaiting(t, closed, "approval_required")
	v.exec(t, `alter table approvals disable trigger decision_stands`)
	v.exec(t, `update approvals set words = $2 where id = $1`, approval, gates.Words("Hello", ""))
	j = v.now(t, closed)
	j.is(t, "hold", "approval_required", nextApproval, "only after a person approves it; then not before ")
	if next := j.Next; !strings.Contains(next.Says, ": outside calling hours") {
		t.Errorf("%+v", next)
	}
	v.exec(t, `update approvals set caller_number = '+14155550199' where id = $1`, approval)
	v.now(t, closed).is(t, "hold", "approval_required", nextApproval, "; then a person is asked once more: a person must approve this call; the approval given no longer matches: another caller")
	v.exec(t, `update approvals set caller_number = '+14155550100', reasons = '{first_call}' where id = $1`, approval)
	v.now(t, closed).is(t, "hold", "approval_required", nextApproval, "; then a person is asked once more: a person must approve this call")
	v.exec(t, `update approvals set reasons = '{approval_required}' where id = $1`, approval)
	v.exec(t, `alter table approvals enable trigger decision_stands`)
	v.says(t, "approved", "approve", approval, "--by", "ada")
	v.now(t, closed).is(t, "wait", "outside_hours", nextNotBefore, ": outside calling hours")

	v.says(t, "is on", "dnc", "add", person, "--by", "ada")
	v.now(t, free).is(t, "refuse", "do_not_call", nextRefused, "never: do not call")
}

// TestDryRunsChangeNothing: not one row, by either command, in no transaction that could.
func TestDryRunsChangeNothing(t *testing.T) {
	t.Parallel()
	v := staffed(t)
	ids := []string{
		v.promise(t, "a", "now", "--time-zone", night()),
		v.raw(t, `phone_number, due_at`, `$1, now() - interval '25 hours'`, person),
		v.raw(t, `phone_number, due_at`, `'911', '-infinity'`),
		v.raw(t, `phone_number, due_at, tenant_id`, `$1, now(), 'nobody'`, person),
		v.promise(t, "b", "now"),
	}
	v.awaiting(t, ids[4], "approval_required")
	v.uncertain(t, v.promise(t, "c", "now"), "1 minute")
	before := v.digest(t)
	for _, id := range ids {
		v.now(t, id)
	}
	v.run(t, "check", person)
	v.run(t, "check", "911")
	if after := v.digest(t); after != before {
		t.Errorf("something was changed:\n%s\n%s", before, after)
	}

	environ := []string{"DATABASE_URL=" + v.url, "GATE_MAX_PER_NUMBER_7D=3", "GATE_MIN_GAP=1h", "GATE_LINE_CALLS_AT_ONCE=2", "GATE_MAX_PER_TENANT_DAY=9", "GATE_MAX_PER_MINUTE=9"}
	conf, err := config.Load(environ, config.Options{})
	if err != nil {
		t.Fatal(err)
	}
	db, err := store.Connect(t.Context(), v.url, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.With(store.Config{Gates: gateOptions(conf), Defaults: defaults(conf)})
	if _, err := db.Pool.Exec(t.Context(), `set default_transaction_read_only = on`); err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		j, _, err := dryRun(t.Context(), db, conf, store.FollowUp{ID: id, State: followup.Due})
		if err != nil || j.Next.Says == "" {
			t.Errorf("%+v, %v", j, err)
		}
	}
	if a, err := (checkCmd{Number: person, Tenant: "default", Purpose: "debt"}).ask(t.Context(), db, conf); err != nil || len(a.Gates) == 0 {
		t.Errorf("%+v, %v", a, err)
	}
	if _, err := db.Pool.Exec(t.Context(), `delete from daemons`); err == nil {
		t.Error("the connection could write")
	}
}

// digest tells every row of every table, and the transaction that wrote it.
func (v terminal) digest(t *testing.T) string {
	t.Helper()
	var all []string
	rows, err := v.db.Query(t.Context(), `select format('%I.%I', schemaname, tablename) from pg_tables where schemaname = current_schema() order by 1`)
	if err != nil {
		t.Fatal(err)
	}
	var tables []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			t.Fatal(err)
		}
		tables = append(tables, name)
	}
	if err := rows.Err(); err != nil || len(tables) < 10 {
		t.Fatalf("%v: %v", tables, err)
	}
	for _, name := range tables {
		all = append(all, name+" "+v.read(t, `select count(*) || ' ' || md5(coalesce(string_agg(xmin || t::text, '|' order by t::text), '')) from `+name+` t`))
	}
	return strings.Join(all, "\n")
}
