package main

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestAdd(t *testing.T) {
	t.Parallel()
	v := newTerminal(t)
	add := func(more ...string) []string {
		return append([]string{"add", "--ref", "order-18", "--due-at", "2099-10-06T13:30:00-04:00", "--script", "Hello"}, more...)
	}
	out := v.says(t, "added, to be rung at 2099-10-06 17:30:00 UTC", add("--number", person, "--name", "Ada", "--time-zone", "America/Denver", "--needs-approval")...)
	numberless(t, out)
	id := v.read(t, `select id::text from phone_followups`)
	if want := fmt.Sprintf("order-18 (%s): added, to be rung at 2099-10-06 17:30:00 UTC\n", id); out != want {
		t.Errorf("it says %q, want %q", out, want)
	}
	want := "default order-18 2099-10-06 17:30:00 +1 415 555 0123 Ada America/Denver requested Hello t - due +14155550123"
	if got := v.read(t, `
		select concat_ws(' ', tenant_id, ref, due_at at time zone 'UTC', phone_number, contact_name, time_zone, purpose, script, needs_approval, coalesce(line, '-'), state, e164)
		from phone_followups`); got != want {
		t.Errorf("in the database: %q\nwant %q", got, want)
	}

	v.says(t, "order-18 ("+id+"): it was there already, just so, and nothing was changed\n", add("--number", person)...)
	for name, other := range map[string][]string{
		"another number": add("--number", "+1 415 555 0124"),
		"other words":    {"add", "--ref", "order-18", "--due-at", "2099-10-06T13:30:00-04:00", "--number", person, "--script", "Goodbye"},
	} {
		t.Run(name, func(t *testing.T) {
			v.fails(t, exitFailed, "there is a follow-up of this tenant, ref and due_at with another number or other words (it is "+id+"): nothing was changed", other...)
		})
	}
	for _, c := range []struct{ number, words string }{
		{"415", "--number cannot be rung: the number is too short for its country"},
		{"911", "--number cannot be rung: this is an emergency number (it was read as in region US)"},
		{"ring me", "--number cannot be rung: the number holds letters"},
		{"+1 900 555 0123", "--number cannot be rung: this is a premium rate number"},
		{"", "--number cannot be rung: no telephone number was given"},
	} {
		v.fails(t, exitMisuse, c.words, add("--number", c.number)...)
	}
	v.fails(t, exitMisuse, "there is no tenant nobody", add("--number", person, "--tenant", "nobody")...)
	v.fails(t, exitMisuse, "tenant default has no line second: it has no lines", add("--number", person, "--line", "second")...)
	if n := v.read(t, `select count(*)::text from phone_followups`); n != "1" {
		t.Errorf("there are %s follow-ups, want 1", n)
	}
}

func TestAddByTheDatabasesClock(t *testing.T) {
	t.Parallel()
	v := newTerminal(t)
	for _, due := range []string{"now", "+2h", "+90m"} {
		var a added
		v.json(t, &a, "add", "--ref", due, "--due-at", due, "--number", person, "--script", "Hello")
		at, ok := parsed(a.DueAt)
		if !ok || !a.Added || a.Tenant != "default" || a.Ref != due || len(a.Notes) != 0 {
			t.Fatalf("%s: %+v", due, a)
		}
		if got := v.read(t, `select to_char(due_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') from phone_followups where id = $1`, a.ID); got != a.DueAt {
			t.Errorf("%s: it says %s and stored %s", due, a.DueAt, got)
		}
		ahead, _ := time.ParseDuration(strings.TrimPrefix(strings.Replace(due, "now", "+0s", 1), "+"))
		if off := v.read(t, `select (abs(extract(epoch from $1::timestamptz - created_at - $2::interval)) < 60)::text from phone_followups where id = $3`, at, ahead.String(), a.ID); off != "true" {
			t.Errorf("%s became %s", due, a.DueAt)
		}
	}
}

func TestAddNotes(t *testing.T) {
	t.Parallel()
	v := newTerminal(t)
	add := []string{"add", "--ref", "r", "--number", person, "--script", "Hello", "--due-at"}
	v.says(t, "note: it is more than 24 hours late already: it will be closed as missed, not rung\n", append(add, "2020-01-01T00:00:00Z")...)
	v.says(t, "note: 1 other follow-up(s) with this ref, due at another instant, will be rung as well\n", append(add, "+1h")...)
	if out := v.says(t, "added", "add", "--ref", "another", "--number", person, "--script", "Hello", "--due-at", "+1h"); strings.Contains(out, "note") {
		t.Errorf("a note on nothing: %q", out)
	}
}

func TestAddWordsFromStandardInput(t *testing.T) {
	t.Parallel()
	v := newTerminal(t)
	args := []string{"add", "--ref", "r", "--number", person, "--due-at", "+1h", "--script", "-"}
	if got := v.pipe(t, "Hello,\nAda.\n", args...); got.code != exitDone {
		t.Fatalf("exit %d, %q", got.code, got.err)
	}
	if got := v.read(t, `select script from phone_followups`); got != "Hello,\nAda." {
		t.Errorf("the script is %q", got)
	}
	for stdin, words := range map[string]string{
		"nul\x00": "the script holds a NUL byte or is not UTF-8", "bad\xff": "the script holds a NUL byte or is not UTF-8",
		strings.Repeat("a", mostScript+1): "the script is longer than 1 MiB", "\n": "--script is empty",
	} {
		if got := v.pipe(t, stdin, args...); got.code != exitMisuse || !strings.Contains(got.err, words) {
			t.Errorf("exit %d, %q; want %q", got.code, got.err, words)
		}
	}
}

// TestAddInTheTenantsRegion: a number without a country code is read where the tenant is.
func TestAddInTheTenantsRegion(t *testing.T) {
	t.Parallel()
	v := newTerminal(t)
	v.exec(t, `insert into tenants (id, region) values ('paris', 'FR')`)
	args := []string{"add", "--ref", "r", "--due-at", "+1h", "--script", "Bonjour", "--number", "01 99 00 12 34"}
	v.fails(t, exitMisuse, "(it was read as in region US)", args...)
	v.says(t, "added", append(args, "--tenant", "paris")...)
	if got := v.read(t, `select e164 from phone_followups`); got != "+33199001234" {
		t.Errorf("it would ring %s", got)
	}
}
