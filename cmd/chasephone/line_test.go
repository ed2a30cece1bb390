package main

import (
	"fmt"
	"strings"
	"testing"
)

func TestLine(t *testing.T) {
	t.Parallel()
	v := newTerminal(t)
	v.says(t, "no lines: every follow-up waits for one\n", "line", "list")
	add := []string{"line", "add", "main", "--carrier", "twilio", "--caller", "+14155550123", "--by", "ada"}
	v.says(t, "line main of tenant default is set: twilio, calling from +*********23\n", add...)
	v.says(t, "line main of tenant default was just so already", add...)
	v.says(t, "is set", append(add, "--url", "https://example.com/say?x=1", "--calls-per-second", "0.5")...)
	out := v.says(t, "not ready: no daemon that runs can ring on it now", "line", "list")
	numberless(t, out)

	for _, c := range []struct{ words, more string }{
		{"there is no carrier acme: there are twilio, telnyx, sip", "--carrier=acme"},
		{"--url accepts an https URL", "--url=http://example.com"},
		{"--url accepts an https URL", "--url=https://user:secret@example.com"},
		{"--url accepts an https URL", "--url=https://"},
		{"--calls-per-second accepts 0 to 1000", "--calls-per-second=-1"},
		{"--calls-per-second accepts 0 to 1000", "--calls-per-second=NaN"},
		{"--calls-per-second accepts 0, which is no pacing", "--calls-per-second=0.00001"},
		{"there is no tenant nobody", "--tenant=nobody"},
	} {
		v.fails(t, exitMisuse, c.words, append(add, c.more)...)
	}
	v.fails(t, exitMisuse, "a line's name is 1 to 100 printable characters", "line", "add", strings.Repeat("x", 101), "--carrier", "twilio", "--caller", "+14155550123", "--by", "ada")
	v.fails(t, exitMisuse, "a line's name is 1 to 100 printable characters", "line", "add", "a\x1b", "--carrier", "twilio", "--caller", "+14155550123", "--by", "ada")
}

// TestLineOfAnAccount: a line names the variables that hold its account, and what they hold is
// nowhere in the database.
func TestLineOfAnAccount(t *testing.T) {
	t.Parallel()
	v := newTerminal(t)
	const sid, token = "AC0123456789abcdef0123456789abcdef", "fedcba9876543210fedcba9876543210"
	add := []string{"line", "add", "main", "--carrier", "twilio", "--caller", "+14155550123", "--by", "ada"}
	got := command(t, []string{"DATABASE_URL=" + v.url, "ACME_ACCOUNT_SID=" + sid, "ACME_AUTH_TOKEN=" + token}, "", append(add, "--account-env", "ACME")...)
	if want := "line main of tenant default is set: twilio/ACME, calling from +*********23\n"; got.code != exitDone || got.out != want || got.err != "" {
		t.Errorf("%+v, want %q", got, want)
	}
	kept := v.read(t, `select string_agg(r, E'\n') from (select l::text from lines l union all select e::text from desk_events e) all_rows (r)`)
	if !strings.Contains(kept, "twilio/ACME") || strings.Contains(kept, sid) || strings.Contains(kept, token) {
		t.Errorf("the database keeps %s", kept)
	}
	v.says(t, "twilio/ACME", "line", "list")

	// The daemons have the variables: a shell without them adds lines all the same.
	for _, c := range []struct{ name, carrier, prefix, want string }{
		{"two", "telnyx", "ACME_EU", "telnyx/ACME_EU"},
		{"three", "sip", "TRUNK", "sip/TRUNK"},
	} {
		var change lineChange
		v.json(t, &change, "line", "add", c.name, "--carrier", c.carrier, "--account-env", c.prefix, "--caller", "+14155550123", "--by", "ada")
		if change != (lineChange{"default", c.name, c.want, true}) {
			t.Errorf("%+v, want %s", change, c.want)
		}
	}
	var all linesListed
	v.json(t, &all, "line", "list")
	var carriers []string
	for _, l := range all.Lines {
		carriers = append(carriers, l.Carrier)
	}
	if list := strings.Join(carriers, " "); list != "twilio/ACME sip/TRUNK telnyx/ACME_EU" {
		t.Errorf("the lines' carriers are %s", list)
	}
	v.says(t, "is set: sip, calling from", append(add, "--carrier=sip")...) // the carrier's own again

	for _, c := range []struct{ words, more string }{
		{"--account-env accepts what the account's variables begin with", "--account-env="},
		{"--account-env accepts what the account's variables begin with", "--account-env=acme"},
		{"--account-env accepts no TWILIO: its variables are", "--account-env=TWILIO"},
		{"--account-env accepts no GATE: what begins with GATE_ is chasephone's own", "--account-env=GATE"},
	} {
		v.fails(t, exitMisuse, c.words, append(add, c.more)...)
	}
	if got := v.run(t, append(add, "--account-env="+token)...); got.code != exitMisuse || strings.Contains(got.err, token) {
		t.Errorf("a token for a prefix: %+v", got)
	}
	sip := append(add, "--carrier=sip", "--url=https://example.com/say")
	v.fails(t, exitMisuse, "--url is nothing for a SIP trunk, which fetches no document: it plays the file that SIP_SOUND names", sip...)
	v.fails(t, exitMisuse, "it plays the file that TRUNK_SOUND names", append(sip, "--account-env=TRUNK")...)
}

func TestLineHoldAndRelease(t *testing.T) {
	t.Parallel()
	v := newTerminal(t)
	v.says(t, "is set", "line", "add", "main", "--carrier", "twilio", "--caller", "+14155550123", "--by", "ada")
	v.says(t, "line main of tenant default is held until it is released, by ada\n", "line", "hold", "main", "--by", "ada")
	v.says(t, "held (by hand, ada)", "line", "list")
	v.says(t, "line main of tenant default is held until 2099-01-01 00:00:00 UTC, by bob\n", "line", "hold", "main", "--until", "2099-01-01T00:00:00Z", "--by", "bob")
	v.says(t, "held (by hand, bob) until 2099-01-01 00:00:00 UTC", "line", "list")
	v.says(t, "stopped: line main", "stop", "--line", "main", "--by", "carol")
	v.says(t, "stopped by carol; held (by hand, bob)", "line", "list")

	var got map[string]any
	v.json(t, &got, "line", "list", "--tenant", "default")
	for path, want := range map[string]string{
		"lines.0.caller_number": "+14155550123", "lines.0.held_by": "bob", "lines.0.held_until": "2099-01-01T00:00:00Z", "lines.0.ready": "false", "lines.0.stopped_by": "carol",
	} {
		if at := reach(got, strings.Split(path, ".")...); fmt.Sprint(at) != want {
			t.Errorf("%s is %v, want %s", path, at, want)
		}
	}

	id := v.promise(t, "a", "now", "--line", "main")
	v.waitsForLine(t, id)
	v.says(t, "line main of tenant default is released; 1 follow-up(s) that waited for it are due at once\n", "line", "release", "main", "--by", "ada")
	if out := v.says(t, "", "line", "list"); strings.Contains(out, "held") {
		t.Errorf("it is still held: %s", out)
	}

	v.fails(t, exitMisuse, "--until is over already: it is ", "line", "hold", "main", "--until", "2020-01-01T00:00:00Z", "--by", "ada")
	v.fails(t, exitMisuse, "tenant default has no line none", "line", "hold", "none", "--by", "ada")
	v.fails(t, exitMisuse, "tenant default has no line none", "line", "release", "none", "--by", "ada")
	v.fails(t, exitMisuse, "the name given with --by must be printable", "line", "release", "main", "--by", "a\x07")
	var h held
	v.json(t, &h, "line", "hold", "main", "--until", "+2h", "--by", "ada")
	if h.Until == nil || h.By != "ada" || h.Name != "main" {
		t.Errorf("%+v", h)
	}
	var r released
	v.json(t, &r, "line", "release", "main", "--by", "ada")
	if r != (released{"default", "main", 0}) {
		t.Errorf("%+v", r)
	}
}

// waitsForLine makes a promise wait its hour, as a line that was not ready leaves it.
func (v terminal) waitsForLine(t *testing.T, id string) {
	t.Helper()
	v.exec(t, `alter table phone_followups disable trigger outcome_needs_ledger`)
	v.exec(t, `update phone_followups set ready = false, reason = 'line_not_ready', next_try_at = clock_timestamp() + interval '1 hour' where id = $1`, id)
	v.exec(t, `alter table phone_followups enable trigger outcome_needs_ledger`)
}
