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
		{"there is no carrier acme: there is twilio", "--carrier=acme"},
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
