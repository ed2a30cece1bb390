package main

import (
	"fmt"
	"strings"
	"testing"

	"chasephone/internal/store"
)

func TestDiffering(t *testing.T) {
	t.Parallel()
	own := map[string]string{"GATE_CALLING_HOURS": "on", "GATE_MIN_GAP": "0s"}
	with := func(host string, pid int, hours, gap string) store.Daemon {
		return store.Daemon{Host: host, PID: pid, Gates: map[string]string{"GATE_CALLING_HOURS": hours, "GATE_MIN_GAP": gap}}
	}
	for _, c := range []struct {
		name    string
		daemons []store.Daemon
		want    string
	}{
		{"none runs", nil, "[]"},
		{"the same", []store.Daemon{with("a", 1, "on", "0s")}, "[]"},
		{"one that did not tell", []store.Daemon{{Host: "a", PID: 1}}, "[]"},
		{"one setting", []store.Daemon{with("a", 1, "on", "1h")}, "[daemon on a (pid 1) has GATE_MIN_GAP=1h, this command's environment has 0s]"},
		{
			"several daemons alike",
			[]store.Daemon{with("a", 1, "on", "0s"), with("b", 2, "off", "1h"), with("c", 3, "off", "1h")},
			"[daemon on b (pid 2), like 1 more, has GATE_CALLING_HOURS=off, this command's environment has on; GATE_MIN_GAP=1h, this command's environment has 0s]",
		},
		{
			"a setting of another release",
			[]store.Daemon{{Host: "a", PID: 1, Gates: map[string]string{"GATE_CALLING_HOURS": "on", "GATE_NEW": "7"}}},
			"[daemon on a (pid 1) has GATE_MIN_GAP=(unset), this command's environment has 0s; GATE_NEW=7, this command's environment has it unset]",
		},
	} {
		if got := fmt.Sprint(differing(c.daemons, own)); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
	}
}

// TestOtherSettingsAreTold: beside the answer of show, and in that of check.
func TestOtherSettingsAreTold(t *testing.T) {
	t.Parallel()
	v := staffed(t)
	id := v.promise(t, "a", "now", "--time-zone", noon())
	v.alive(t, "beta\x1b", 7, map[string]string{"GATE_MIN_GAP": "1h0m0s"})
	v.exec(t, `insert into daemons (id, host, pid, carriers, limits, gates, seen_at)
		values (gen_random_uuid(), 'gone', 8, '{twilio}', '{}', '{"GATE_MIN_GAP": "2h0m0s"}', clock_timestamp() - interval '1 minute')`)
	const says = "GATE_MIN_GAP=1h0m0s, this command's environment has 0s"
	got := v.run(t, "show", id, "--now")
	if got.code != exitDone || !strings.HasPrefix(got.err, "chasephone: daemon on beta\ufffd (pid 7) has ") || !strings.Contains(got.err, says) || strings.Count(got.err, "\n") != 1 || strings.Contains(got.out, "beta") {
		t.Errorf("exit %d, %q, %q", got.code, got.out, got.err)
	}
	got = v.run(t, "check", person, "--time-zone", noon())
	if got.code != exitDone || got.err != "" || !strings.Contains(got.out, "\n  note:   daemon on beta\ufffd (pid 7) has ") || !strings.Contains(got.out, says) {
		t.Errorf("exit %d, %q, %q", got.code, got.out, got.err)
	}
	v.says(t, "", "show", id) // says nothing of it
}
