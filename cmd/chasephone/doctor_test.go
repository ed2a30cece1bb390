package main

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"chasephone/internal/followup"
)

// healthy is a database with a line that a daemon can ring on: nothing is in the way.
func healthy(t *testing.T) terminal {
	t.Helper()
	v := newTerminal(t)
	v.says(t, "is set", "line", "add", "default", "--carrier", "twilio", "--caller", "+14155550100", "--by", "ada")
	v.serves(t, "twilio")
	return v
}

// serves puts a daemon in that lives for as long as a test may take, with the limits of an empty
// environment.
func (v terminal) serves(t *testing.T, carriers ...string) {
	t.Helper()
	limits, err := json.Marshal(followup.DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	v.exec(t, `
		insert into daemons (id, host, pid, carriers, limits, seen_at)
		values (gen_random_uuid(), 'box-1', 4711, coalesce($1, '{}'::text[]), $2, clock_timestamp() + interval '1 hour')`, carriers, string(limits))
}

// doctor runs it in an environment and reads what it finds.
func (v terminal) doctor(t *testing.T, code int, environ ...string) diagnosis {
	t.Helper()
	got := command(t, append(environ, "DATABASE_URL="+v.url), "", "doctor", "--json")
	var d diagnosis
	if err := json.Unmarshal([]byte(got.out), &d); err != nil || got.code != code || got.err != "" {
		t.Fatalf("exit %d, want %d: %q, %v in %q", got.code, code, got.err, err, got.out)
	}
	return d
}

// finds checks that some line holds the words, and says which lines there are.
func finds(t *testing.T, lines []string, words string) {
	t.Helper()
	if !slices.ContainsFunc(lines, func(l string) bool { return strings.Contains(l, words) }) {
		t.Errorf("%q is not in %q", words, lines)
	}
}

// not checks that no line holds the words.
func not(t *testing.T, lines []string, words string) {
	t.Helper()
	if slices.ContainsFunc(lines, func(l string) bool { return strings.Contains(l, words) }) {
		t.Errorf("%q is in %q", words, lines)
	}
}

func TestDoctorHealthy(t *testing.T) {
	t.Parallel()
	v := healthy(t)
	out := v.says(t, "\nNothing keeps every call from being rung.\n", "doctor")
	for _, want := range []string{
		"Environment: no mistakes\n", "Calling rules: built in, digest ", "Mon-Fri 10:00-13:00, 14:00-20:00; not on holidays of fr", "47 CFR 64.1200(c)(1)",
		"Database: reached, and its schema is usable\n", "PHONE_FOLLOWUP_PER_TICK=2\n", "1, of which 1 can be rung on now\n",
		"Daemons that run: 1\n", "  box-1  4711  twilio ", "  their gates are set as this environment says\n", "Stops and held lines: none\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in:\n%s", want, out)
		}
	}
	d := v.doctor(t, exitDone)
	if len(d.Problems) != 0 || d.Rules.From != "built in" || d.Rules.Digest == "" || len(d.Rules.Rules) == 0 || d.Rules.Rules[0].Source == "" {
		t.Errorf("%+v", d)
	}
	if !d.Database.Reachable || !d.Database.Usable || d.Database.Limits["PHONE_FOLLOWUP_TICK"] != "1m0s" || d.Database.LimitsBy != "the first migration" || len(d.Database.Daemons) != 1 {
		t.Errorf("%+v", d.Database)
	}
	not(t, d.Remarks, "no calling hours") // the default region has some
}

func TestDoctorBadEnvironment(t *testing.T) {
	t.Parallel()
	bad := rulesOf(t, "rules:\n  - places: XX\n    hours: {Mon: 25:00-26:00}\n    source: s\n    dated: 2020-01-01\n")
	for _, c := range []struct {
		words   []string
		environ []string
	}{
		{[]string{"DATABASE_URL is unset"}, nil},
		{[]string{"GATE_CALLING_HOURS", "line 2: ", "line 3: "}, []string{"DATABASE_URL=postgres://x@127.0.0.1:1/x", bad}},
		{[]string{"PHONE_FOLLOWUP_TICKS", "did you mean PHONE_FOLLOWUP_TICK?"}, []string{"DATABASE_URL=postgres://x@127.0.0.1:1/x", "PHONE_FOLLOWUP_TICKS=1m"}},
	} {
		got := command(t, c.environ, "", "doctor")
		for _, words := range c.words {
			if got.code != exitMisuse || got.out != "" || !strings.Contains(got.err, words) {
				t.Errorf("%q: exit %d, %q, %q; want %q", c.environ, got.code, got.out, got.err, words)
			}
		}
	}
}

// TestSetUpWithoutTheEnvironment: as every command says it.
func TestSetUpWithoutTheEnvironment(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"consent", "add", person, "--purpose", "sales"},
		{"consent", "remove", person, "--purpose", "sales"},
		{"consent", "list"},
		{"tenant", "add", "acme"},
		{"tenant", "set", "acme", "--region", "US"},
		{"tenant", "list"},
		{"doctor", "--json"},
	} {
		if got := command(t, nil, "", args...); got.code != exitMisuse || got.out != "" || !strings.Contains(got.err, "DATABASE_URL is unset") {
			t.Errorf("%q: exit %d, %q", args, got.code, got.err)
		}
	}
	for _, name := range []string{"consent", "consent add", "tenant", "tenant add", "tenant set", "doctor"} {
		if got := command(t, nil, "", append(strings.Fields(name), "--help")...); got.code != exitDone || !strings.HasPrefix(got.out, "Usage: chasephone "+name) {
			t.Errorf("%s --help: exit %d, %q, %q", name, got.code, got.out, got.err)
		}
	}
}

// TestDoctorWithoutDatabase: the rules are told all the same.
func TestDoctorWithoutDatabase(t *testing.T) {
	t.Parallel()
	got := command(t, []string{"DATABASE_URL=postgres://ada:secret@127.0.0.1:1/none", "GATE_COUNTRIES=GB"}, "", "doctor")
	if got.code != exitFailed || got.err != "" || strings.Contains(got.out, "secret") {
		t.Errorf("exit %d, %q, %q", got.code, got.out, got.err)
	}
	for _, want := range []string{"Calling rules: built in", "47 CFR", "Database: it cannot be reached\n", "GB: no calling hours are known", "Problems: what keeps calls from being rung\n  connecting to the database: "} {
		if !strings.Contains(got.out, want) {
			t.Errorf("%q is not in:\n%s", want, got.out)
		}
	}
}

func TestDoctorSchemaNotUsable(t *testing.T) {
	t.Parallel()
	v := newTerminal(t)
	v.exec(t, `delete from chasephone_migrations where number = (select max(number) from chasephone_migrations)`)
	d := v.doctor(t, exitFailed)
	if !d.Database.Reachable || d.Database.Usable || len(d.Problems) != 1 {
		t.Errorf("%+v", d)
	}
	finds(t, d.Problems, "run chasephone migrate")
	if got := v.run(t, "doctor"); got.code != exitFailed || !strings.Contains(got.out, "Database: reached, and its schema is not usable\n") {
		t.Errorf("exit %d, %q", got.code, got.out)
	}
}

// TestDoctorProblems: what keeps every call from being rung, one cause at a time.
func TestDoctorProblems(t *testing.T) {
	t.Parallel()
	v := newTerminal(t)
	d := v.doctor(t, exitFailed)
	finds(t, d.Problems, "no daemon is running")
	finds(t, d.Problems, "there are no lines")

	v.serves(t)
	if d = v.doctor(t, exitFailed); len(d.Problems) != 1 {
		t.Errorf("%q", d.Problems)
	}
	v.says(t, "is set", "line", "add", "default", "--carrier", "twilio", "--caller", "+14155550100", "--by", "ada")
	d = v.doctor(t, exitFailed)
	finds(t, d.Problems, "no line can be rung on: no daemon that runs has an account with twilio")
	out := v.run(t, "doctor")
	if out.code != exitFailed || out.err != "" || !strings.Contains(out.out, "Problems: what keeps calls from being rung\n  no line can be rung on") {
		t.Errorf("exit %d, %q, %q", out.code, out.out, out.err)
	}

	v.serves(t, "twilio")
	v.doctor(t, exitDone)
	v.says(t, "is held", "line", "hold", "default", "--by", "ada")
	d = v.doctor(t, exitFailed)
	finds(t, d.Problems, "no line is ready: chasephone line list says why")
	if len(d.Database.Holds) != 1 || d.Database.Holds[0].What != "line held" || d.Database.Holds[0].By != "ada" || d.Database.Holds[0].For != "by_hand" {
		t.Errorf("%+v", d.Database.Holds)
	}
	v.says(t, "is released", "line", "release", "default", "--by", "ada")

	v.says(t, "stopped: everything", "stop", "--by", "bob")
	if d = v.doctor(t, exitFailed); len(d.Problems) != 1 {
		t.Errorf("%q", d.Problems)
	}
	finds(t, d.Problems, "everything is stopped, by bob: chasephone resume lifts it")

	v.says(t, "resumed", "resume", "--by", "bob")
	v.exec(t, `update daemons set seen_at = clock_timestamp() - interval '1 minute'`)
	if d = v.doctor(t, exitFailed); len(d.Problems) != 1 || len(d.Database.Daemons) != 0 {
		t.Errorf("%q, %+v", d.Problems, d.Database.Daemons)
	}
	finds(t, d.Problems, "no daemon is running")
}

// TestDoctorRemarks: what is odd and keeps no call from being rung on other lines.
func TestDoctorRemarks(t *testing.T) {
	t.Parallel()
	v := healthy(t)
	v.exec(t, `insert into tenants (id) values ('acme'), ('gone'), ('lineless')`)
	v.exec(t, `insert into lines (tenant_id, name, carrier, caller_number) values ('acme', 'default', 'other', '+14155550100'), ('gone', 'default', 'twilio', '+14155550100')`)
	v.exec(t, `insert into unfit_lines select id, 'gone', 'default', clock_timestamp() + interval '1 hour' from daemons`)
	v.exec(t, `
		insert into daemons (id, host, pid, carriers, limits, gates, seen_at)
		values (gen_random_uuid(), 'box-2', 12, '{twilio}', '{"Tick": 5000000000}', '{"GATE_MIN_GAP": "99h0m0s"}', clock_timestamp() + interval '1 hour')`)
	v.exec(t, `update fleet set demo = true`)
	v.says(t, "stopped: tenant gone", "stop", "--tenant", "gone", "--by", "bob")
	d := v.doctor(t, exitDone, "PHONE_FOLLOWUP_MAX_LATE_HOURS=48")
	for _, want := range []string{
		"no daemon that runs has an account with the carrier of line default of tenant acme (other)",
		"left alone for now by daemons that could not reach the carrier: line default of tenant gone (1)",
		"the default line is not there, and follow-ups that name no line wait for it: tenant lineless (line default)",
		"1 daemon has other limits in the environment (PHONE_FOLLOWUP_DIAL_SLOTS, ",
		"daemon on box-2 (pid 12) has ", "GATE_MIN_GAP=99h0m0s",
		"nobody is rung for real",
		"PHONE_FOLLOWUP_MAX_LATE_HOURS is 48",
	} {
		finds(t, d.Remarks, want)
	}
	if len(d.Database.Holds) != 1 || d.Database.Holds[0].What != "tenant stopped" || d.Database.Holds[0].Tenant != "gone" || d.Database.Lines != 3 || d.Database.Ready != 1 {
		t.Errorf("%+v", d.Database)
	}
	if len(d.Database.OtherGates) != 1 {
		t.Errorf("%+v", d.Database.OtherGates)
	}
	out := v.says(t, "tenant stopped  gone ", "doctor")
	numberless(t, out)
}

// TestDoctorChangesNothing: not a row, whatever it finds.
func TestDoctorChangesNothing(t *testing.T) {
	t.Parallel()
	v := healthy(t)
	v.promise(t, "a", "now")
	v.says(t, "stopped", "stop", "--by", "ada")
	before := v.everything(t)
	v.doctor(t, exitFailed)
	if got := v.run(t, "doctor"); got.code != exitFailed {
		t.Errorf("exit %d, %q", got.code, got.err)
	}
	if after := v.everything(t); after != before {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
}

// everything is all rows of all tables.
func (v terminal) everything(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	for table := range strings.SplitSeq(v.read(t, `select string_agg(quote_ident(tablename), ' ' order by tablename) from pg_tables where schemaname = current_schema()`), " ") {
		all.WriteString(table + ":\n" + v.read(t, `select coalesce(string_agg(x::text, E'\n' order by x::text), '') from `+table+` x`) + "\n")
	}
	return all.String()
}
