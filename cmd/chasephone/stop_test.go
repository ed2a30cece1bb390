package main

import (
	"strings"
	"testing"
)

func TestStopAndResume(t *testing.T) {
	t.Parallel()
	v := newTerminal(t)
	v.exec(t, `insert into tenants (id) values ('other')`)
	v.says(t, "is set", "line", "add", "default", "--carrier", "twilio", "--caller", "+14155550100", "--by", "ada")
	v.says(t, "is set", "line", "add", "default", "--tenant", "other", "--carrier", "twilio", "--caller", "+14155550100", "--by", "ada")
	for _, c := range []struct {
		name  string
		args  []string
		scope string
	}{
		{"all", nil, "everything"},
		{"a tenant", []string{"--tenant", "other"}, "tenant other"},
		{"a line", []string{"--line", "default"}, "line default of tenant default"},
		{"a tenant's line", []string{"--line", "default", "--tenant", "other"}, "line default of tenant other"},
	} {
		t.Run(c.name, func(t *testing.T) {
			with := func(verb, by string) []string { return append([]string{verb, "--by", by}, c.args...) }
			v.says(t, "nothing to resume: "+c.scope+" was not stopped\n", with("resume", "ada")...)
			v.says(t, "stopped: "+c.scope+", by ada at ", with("stop", "ada")...)
			v.says(t, c.scope+" is stopped already, by ada at ", with("stop", "bob")...)
			v.says(t, "resumed: "+c.scope+"; 0 follow-up(s) that waited for a line are due at once\n", with("resume", "bob")...)
			v.says(t, "nothing to resume", with("resume", "bob")...)
		})
	}
	v.fails(t, exitMisuse, "there is no tenant nobody", "stop", "--tenant", "nobody", "--by", "ada")
	v.fails(t, exitMisuse, "there is no tenant �[2J", "stop", "--tenant", "\x1b[2J", "--by", "ada")
	v.fails(t, exitMisuse, "there is no line none of tenant default", "resume", "--line", "none", "--by", "ada")
}

func TestStopTellsWhatIsOut(t *testing.T) {
	t.Parallel()
	v := newTerminal(t)
	v.says(t, "no call is out\n", "stop", "--line", add(t, v), "--by", "ada")
	id := v.promise(t, "a", "now")
	v.dialing(t, id, "1 second")
	out := v.says(t, "1 call(s) were out already and may ring:\n", "stop", "--by", "ada")
	if row := strings.Join(strings.Fields(strings.Split(out, "\n")[3]), " "); !strings.HasPrefix(row, id+" 1 default default 20") {
		t.Errorf("the row is %q", row)
	}
	var got stopped
	v.json(t, &got, "stop", "--by", "bob")
	if !got.Already || got.By != "ada" || got.Scope != "everything" || len(got.Out) != 1 || got.Out[0].FollowUp != id {
		t.Errorf("%+v", got)
	}
	// A narrower stop outlives the wider one, and is told of.
	v.says(t, "still stopped, by ada: line second of tenant default\n", "resume", "--by", "bob")
	var r resumed
	v.json(t, &r, "resume", "--by", "bob")
	if r.Lifted || len(r.Stopped) != 1 || r.Stopped[0] != (still{"default", "second", "ada"}) {
		t.Errorf("%+v", r)
	}
}

func add(t *testing.T, v terminal) string {
	t.Helper()
	v.says(t, "line second of tenant default is set", "line", "add", "second", "--carrier", "twilio", "--caller", "+14155550100", "--by", "ada")
	return "second"
}

// TestResumeMakesDue: what waited for the line does not wait out its hour.
func TestResumeMakesDue(t *testing.T) {
	t.Parallel()
	v := newTerminal(t)
	id := v.promise(t, "a", "now")
	v.waitsForLine(t, id)
	v.says(t, "stopped: everything", "stop", "--by", "ada")
	v.says(t, "resumed: everything; 1 follow-up(s) that waited for a line are due at once\n", "resume", "--by", "ada")
	if got := v.read(t, `select (ready and next_try_at <= clock_timestamp())::text from phone_followups`); got != "true" {
		t.Errorf("due at once: %s", got)
	}
}

// TestShowSaysWhatHoldsIt: why nobody is called back while calls are stopped, or the line is held.
func TestShowSaysWhatHoldsIt(t *testing.T) {
	t.Parallel()
	v := newTerminal(t)
	id := v.promise(t, "a", "now")
	v.says(t, "", "stop", "--by", "ada")
	v.says(t, "", "line", "add", "default", "--carrier", "twilio", "--caller", "+14155550100", "--by", "bob")
	v.says(t, "", "line", "hold", "default", "--by", "bob")
	out := v.says(t, "", "show", id)
	for _, want := range []string{"everything stopped by ada since 20", "line held (by hand) by bob"} {
		if !strings.Contains(out, "not rung while this lasts: "+want) {
			t.Errorf("%q is not in:\n%s", want, out)
		}
	}
}
