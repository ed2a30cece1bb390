package main

import (
	"strings"
	"testing"
)

// TestUsage: a mistake is one line and exit code 2, before any database is asked.
func TestUsage(t *testing.T) {
	t.Parallel()
	add := func(more ...string) []string {
		return append([]string{"add", "--ref", "r", "--number", person, "--script", "s"}, more...)
	}
	for _, c := range []struct {
		name string
		args []string
		want string
	}{
		{"unknown command", []string{"lst"}, `unexpected argument lst, did you mean "list"?`},
		{"unknown flag", []string{"list", "--statee", "due"}, `unknown flag --statee, did you mean "--state"?`},
		{"no command", nil, `expected one of "serve", "migrate", "add", "list", "show", ...`},
		{"no subcommand", []string{"dnc"}, `expected one of "add", "remove", "list", "import"`},
		{"no id", []string{"show"}, `expected "<id>"`},
		{"state", []string{"list", "--state", "gone"}, `--state: "gone" is no state: there are due awaiting_approval dialing uncertain call_placed refused missed cancelled`},
		{"most", []string{"list", "--most", "0"}, `--most: accepts 1 to 100000`},
		{"no date", add(), `missing flags: --due-at=T`},
		{"date", add("--due-at", "tomorrow"), `--due-at: "tomorrow" is no instant: give it as 2026-10-06T13:30:00-04:00, now, or +2h30m`},
		{"date without a zone", add("--due-at", "2026-10-06T13:30:00"), `--due-at: "2026-10-06T13:30:00" is no instant: give it as 2026-10-06T13:30:00-04:00, now, or +2h30m`},
		{"date before now", add("--due-at", "+-2h"), `--due-at: "+-2h" is no instant: give it as 2026-10-06T13:30:00-04:00, now, or +2h30m`},
		{"zone", add("--due-at", "now", "--time-zone", "Mars/Olympus"), `--time-zone: there is no time zone "Mars/Olympus": give it as Area/City, America/Denver for instance`},
		{"the machine's own zone", add("--due-at", "now", "--time-zone", "Local"), `--time-zone: there is no time zone "Local": give it as Area/City, America/Denver for instance`},
		{"purpose", add("--due-at", "now", "--purpose", "fun"), `--purpose must be one of "requested","sales","debt" but got "fun"`},
		{"no words", []string{"add", "--ref", "r", "--number", person, "--due-at", "now", "--script", " "}, `--script is empty: say what is to be said`},
		{"no words from standard input", []string{"add", "--ref", "r", "--number", person, "--due-at", "now", "--script", "-"}, `--script is empty: say what is to be said`},
		{"empty ref", []string{"add", "--ref", "", "--number", person, "--due-at", "now", "--script", "s"}, `--ref is 1 to 500 printable characters`},
		{"long ref", []string{"add", "--ref", strings.Repeat("é", 501), "--number", person, "--due-at", "now", "--script", "s"}, `--ref is 1 to 500 printable characters`},
		{"not UTF-8", []string{"show", "\xff"}, `the argument "\xff" is not UTF-8`},
		{"settled neither way", []string{"settle", "x"}, `missing flags: --rang or --did-not-ring`},
		{"settled both ways", []string{"settle", "x", "--rang", "--did-not-ring"}, `--rang and --did-not-ring can't be used together`},
		{"rang and cancelled", []string{"settle", "x", "--rang", "--cancel"}, `--cancel goes with --did-not-ring: what rang cannot be cancelled`},
		{"stop with an empty tenant", []string{"stop", "--tenant="}, `stop: --tenant and --line must not be empty: leave them out for everything`},
		{"resume with an empty line", []string{"resume", "--line", ""}, `resume: --tenant and --line must not be empty: leave them out for everything`},
		{"dnc for an empty tenant", []string{"dnc", "add", person, "--tenant="}, `dnc add: --tenant must not be empty: leave it out for every tenant`},
		{"dnc file", []string{"dnc", "import", "/nowhere/list"}, `open /nowhere/list: no such file or directory`},
		{"caller", []string{"line", "add", "l", "--carrier", "twilio", "--caller", "415"}, `--caller: accepts E.164 form: + and 7 to 15 digits, nothing between`},
		{"hold until", []string{"line", "hold", "l", "--until", "noon"}, `--until: "noon" is no instant: give it as 2026-10-06T13:30:00-04:00, now, or +2h30m`},
		{"a number where none belongs", []string{"list", "+14155550123"}, `unexpected argument +*********23`},
		{"terminal's escapes", []string{"list", "--state", "\x1b[2J"}, `--state: "\x1b[2J" is no state: there are due awaiting_approval dialing uncertain call_placed refused missed cancelled`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := command(t, nil, "", c.args...)
			if want := "chasephone: " + c.want + "\n"; got.code != exitMisuse || got.err != want || got.out != "" {
				t.Errorf("%q: exit %d\n got %q and %q\nwant %q", c.args, got.code, got.err, got.out, want)
			}
		})
	}
}

func TestHelpOfEveryCommand(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"add", "list", "show", "approve", "decline", "settle", "cancel", "reschedule", "stop", "resume", "dnc", "dnc import", "line", "line add"} {
		got := command(t, nil, "", append(strings.Fields(name), "--help")...)
		if got.code != exitDone || got.err != "" || !strings.HasPrefix(got.out, "Usage: chasephone "+name) {
			t.Errorf("%s --help: exit %d, %q, %q", name, got.code, got.out, got.err)
		}
	}
}

// TestNothingWithoutTheEnvironment: every command that needs the database says what is
// missing, and that this is no failure of its own.
func TestNothingWithoutTheEnvironment(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"add", "--ref", "r", "--number", person, "--script", "s", "--due-at", "now"},
		{"list"},
		{"show", "x"},
		{"approve", "x"},
		{"decline", "x"},
		{"settle", "x", "--rang"},
		{"cancel", "x"},
		{"reschedule", "x", "--due-at", "now"},
		{"stop"},
		{"resume"},
		{"dnc", "add", person},
		{"dnc", "remove", person},
		{"dnc", "list"},
		{"dnc", "import", "-"},
		{"line", "add", "l", "--carrier", "twilio", "--caller", "+14155550100"},
		{"line", "hold", "l"},
		{"line", "release", "l"},
		{"line", "list"},
	} {
		got := command(t, nil, "", args...)
		if got.code != exitMisuse || !strings.Contains(got.err, "DATABASE_URL is unset") {
			t.Errorf("%q: exit %d, %q", args, got.code, got.err)
		}
	}
}
