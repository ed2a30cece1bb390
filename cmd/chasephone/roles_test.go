package main

import (
	"net/url"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"chasephone/internal/pgtest"
)

func roleOf(t testing.TB, address string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return u.User.Username()
}

// migrate runs the command as the owner, for a schema of the search path, "" for the usual one.
func (f *fleet) migrate(schema string, args ...string) {
	f.t.Helper()
	to := f.db.Config().ConnString()
	if schema != "" {
		to = withParameter(f.t, to, "search_path", schema)
	}
	if roleOf(f.t, to) == roleOf(f.t, f.url) { // the server of DATABASE_URL has one role only
		args = nil
	}
	got := command(f.t, []string{"DATABASE_URL=" + to}, "", append([]string{"migrate"}, args...)...)
	if got.code != exitDone {
		f.t.Fatalf("migrate: exit %d, %q, %q", got.code, got.out, got.err)
	}
}

// restricted skips a test where the server of DATABASE_URL has but one role.
func restricted(t testing.TB, owner string) (daemon, reader string) {
	t.Helper()
	daemon, reader, ok := pgtest.Roles(t, owner)
	if !ok {
		t.Skip("the role of DATABASE_URL may not make roles")
	}
	return daemon, reader
}

// All tests of commands and fleets run as a role that has a daemon's rights and no others: what
// they prove is proven of that one.
func TestTheseTestsRunAsADaemonsRole(t *testing.T) {
	t.Parallel()
	v := newTerminal(t)
	if roleOf(t, v.url) == v.read(t, `select current_user::text`) {
		t.Skip("the role of DATABASE_URL may not make roles")
	}
	role := v.doctor(t, exitFailed).Database.Role
	if role == nil || role.Name != roleOf(t, v.url) || role.Owner || role.Superuser || len(role.Lacks)+len(role.Beyond) > 0 {
		t.Errorf("%+v", role)
	}
}

// A daemon without its rights waits, says which and what to do, and serves once it has them. It
// needs none to migrate.
func TestServeWaitsForItsRights(t *testing.T) {
	f := newFleet(t)
	role := roleOf(t, f.url)
	if role == f.db.Config().ConnConfig.User {
		t.Skip("the role of DATABASE_URL may not make roles")
	}
	f.exec(`revoke insert on attempts from "` + role + `"`)
	d := f.start("serve")
	f.wait("it says what it lacks", func() bool {
		return strings.Contains(d.log.String(), "the role "+role+" has not the rights of a daemon (insert on attempts): run chasephone migrate --daemon-role "+role)
	})
	f.exec(`revoke all on chasephone_migrations from "` + role + `"`)
	f.wait("it says that it may not read", func() bool { return strings.Contains(d.log.String(), "the role "+role+" may not read the schema") })
	if m := f.start("migrate"); true { // the daemon's role cannot do it itself
		<-m.done
		if m.ProcessState.ExitCode() != exitFailed || !strings.Contains(m.log.String(), "permission denied") {
			t.Errorf("migrate as the daemon's role: exit %d, %s", m.ProcessState.ExitCode(), m.log)
		}
		*m.log = lines{} // it was to say so
	}
	*d.log = lines{}
	f.migrate("", "--daemon-role", role)
	f.wait("it serves", func() bool { return strings.Contains(d.log.String(), "msg=serving") })
	f.due(1, "1 minute")
	f.wait("it rings", func() bool { return f.state("r1") == "call_placed" })
}

// River's leader does its upkeep as the daemon's role: finished jobs are deleted, stuck ones
// rescued.
func TestRiverKeepsUpAsTheDaemonsRole(t *testing.T) {
	f := newFleet(t)
	f.exec(`insert into river_job (kind, state, max_attempts, args, queue, created_at, attempted_at, finalized_at, attempt) values
		('tick', 'completed', 1, '{"slot_ms": 1}', 'tick', now() - interval '3 days', now() - interval '3 days', now() - interval '3 days', 1),
		('tick', 'running', 1, '{"slot_ms": 2}', 'tick', now() - interval '1 day', now() - interval '1 day', null, 1)`)
	f.exec(`insert into river_queue (name, created_at, updated_at) values ('of old', now() - interval '3 days', now() - interval '3 days')`)
	f.daemon()
	f.wait("there is a leader", func() bool { return f.count(`select count(*) from river_leader`) == 1 })
	f.wait("the finished one is deleted", func() bool { return f.count(`select count(*) from river_job where args->>'slot_ms' = '1'`) == 0 })
	f.wait("the stuck one is rescued", func() bool {
		return f.count(`select count(*) from river_job where args->>'slot_ms' = '2' and state = 'discarded'`) == 1
	})
}

// doctor tells the role, and remarks on one that the database holds nothing against.
func TestDoctorTellsTheRole(t *testing.T) {
	t.Parallel()
	owner := pgtest.URL(t)
	daemon, reader := restricted(t, owner)
	as := func(address string) diagnosis { return terminal{url: address}.doctor(t, exitFailed) } // no daemon runs
	for address, words := range map[string]string{
		owner:  "the role " + roleOf(t, owner) + " owns the tables: if daemons run as it, nothing keeps them from changing what was said and done",
		reader: "the role " + roleOf(t, reader) + " may not do all that a daemon does (",
	} {
		d := as(address)
		finds(t, d.Remarks, words)
		if len(d.Problems) != 2 || d.Database.Role == nil || d.Database.Role.Name != roleOf(t, address) {
			t.Errorf("%q, %+v", d.Problems, d.Database.Role)
		}
	}
	not(t, as(daemon).Remarks, "the role")
	if out := (terminal{url: owner}).run(t, "doctor").out; !strings.Contains(out, "  role       "+roleOf(t, owner)+", which owns the tables\n") {
		t.Errorf("the role is not told:\n%s", out)
	}
}

func TestMigrateRoles(t *testing.T) {
	t.Parallel()
	owner := pgtest.URL(t)
	daemon, reader := restricted(t, owner)
	v := terminal{url: owner}
	out := v.says(t, "role "+roleOf(t, daemon)+" has the daemon's rights\n", "migrate", "--daemon-role", roleOf(t, daemon), "--reader-role", roleOf(t, reader))
	if !strings.Contains(out, "role "+roleOf(t, reader)+" has a reader's rights\n") || strings.Contains(out, "but ") {
		t.Errorf("%q", out)
	}
	v.fails(t, exitMisuse, `--daemon-role: there is no role nobody; make it first, as a role that may: create role "nobody" login password '…'`, "migrate", "--daemon-role", "nobody")
	v.fails(t, exitMisuse, "owns the tables", "migrate", "--daemon-role", roleOf(t, owner))
	v.fails(t, exitMisuse, "are one role", "migrate", "--daemon-role", roleOf(t, daemon), "--reader-role", roleOf(t, daemon))
}

// everyCommand has a line of each command that the program has, in an order that gives each
// something to do, and whether it only reads.
var everyCommand = []struct {
	line  string
	reads bool
}{
	{"add --ref a --due-at +1h --number 4155550123 --script Hello", false},
	{"add --ref b --due-at +1h --number 4155550124 --script Hello", false},
	{"add --ref c --due-at +1h --number 4155550125 --script Hello", false},
	{"add --ref d --due-at now --number 4155550126 --script Hello", false},
	{"list", true},
	{"show a", true},
	{"show a --now", true},
	{"approve b --by ada", false},
	{"decline c --by ada", false},
	{"settle d --rang --by ada", false},
	{"reschedule a --due-at +2h --by ada", false},
	{"cancel a --by ada", false},
	{"stop --by ada", false},
	{"resume --by ada", false},
	{"stop --tenant default --by ada", false},
	{"resume --tenant default --by ada", false},
	{"check 4155550127", true},
	{"report 4155550127 --placed --by ada", false},
	{"dnc add 4155550128 --by ada", false},
	{"dnc list", true},
	{"dnc remove 4155550128 --by ada", false},
	{"consent add 4155550128 --purpose sales --by ada", false},
	{"consent list", true},
	{"consent remove 4155550128 --purpose sales --by ada", false},
	{"tenant add acme --by ada", false},
	{"tenant set acme --region US --by ada", false},
	{"tenant list", true},
	{"line add main --carrier twilio --caller +12125550100 --by ada", false},
	{"line hold main --by ada", false},
	{"line list", true},
	{"line release main --by ada", false},
	{"release --by ada", false},
	{"bridge --all", false},
	{"doctor", true},
}

// notOfTheDatabase are the commands that ask none, and those that other tests run.
var notOfTheDatabase = []string{"serve", "migrate", "carrier-sim", "version", "dnc import"}

// Every command works as the daemon's role. As a reader's those that read do, and the others are
// refused by the database.
func TestEveryCommandAsEachRole(t *testing.T) {
	t.Parallel()
	var ran []string
	for _, c := range everyCommand {
		ran = append(ran, c.line)
	}
	for _, name := range commandNames(t) {
		if !slices.Contains(notOfTheDatabase, name) && !slices.ContainsFunc(ran, func(line string) bool { return strings.HasPrefix(line+" ", name+" ") }) {
			t.Errorf("no line of %s is in the table", name)
		}
	}
	owner := pgtest.URL(t)
	daemon, reader := restricted(t, owner)
	for _, c := range everyCommand {
		if !c.reads {
			got := (terminal{url: reader}).run(t, strings.Fields(c.line)...)
			if said := got.out + got.err; got.code == exitDone && !strings.Contains(said, "nothing") && !strings.Contains(said, "0 arrival(s)") {
				t.Errorf("%s, as a reader: exit %d, %q", c.line, got.code, said)
			}
		}
		got := (terminal{url: daemon}).run(t, strings.Fields(c.line)...)
		if said := got.out + got.err; strings.Contains(said, "permission denied") || got.code == exitMisuse && !strings.Contains(said, "is not uncertain") && !strings.Contains(said, "awaits") {
			t.Errorf("%s, as the daemon: exit %d, %q", c.line, got.code, said)
		}
		if c.reads {
			if got := (terminal{url: reader}).run(t, strings.Fields(c.line)...); strings.Contains(got.out+got.err, "permission denied") {
				t.Errorf("%s, as a reader: exit %d, %q", c.line, got.code, got.out+got.err)
			}
		}
	}
}

// commandNames are those of the program, subcommands with their command's name.
func commandNames(t *testing.T) (all []string) {
	t.Helper()
	parser, err := kong.New(&cli{}, kong.Name("chasephone"))
	if err != nil {
		t.Fatal(err)
	}
	for _, leaf := range parser.Model.Leaves(true) {
		all = append(all, strings.TrimPrefix(leaf.FullPath(), "chasephone "))
	}
	if len(all) < reflect.TypeFor[cli]().NumField() {
		t.Fatalf("%q", all)
	}
	return all
}

// What docs/security.md tells operators to copy does what it says: an owner that migrates, a daemon
// with nothing beyond its rights, and a reader.
func TestSecurityDocument(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	_, block, _ := strings.Cut(string(text), "```sql\n")
	block, _, found := strings.Cut(block, "```")
	if !found {
		t.Fatal("there is no SQL in docs/security.md")
	}
	server, _ := startServer(t, serverDir(t))
	db := connect(t, server)
	// The server has a database of the usual name.
	block = strings.NewReplacer("database chasephone", "database documented", "'…'", "'secret'").Replace(block)
	for statement := range strings.SplitSeq(block, ";\n") {
		if _, err := db.Exec(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	as := func(role string) string {
		u, err := url.Parse(server)
		if err != nil {
			t.Fatal(err)
		}
		u.User, u.Path = url.UserPassword("chasephone_"+role, "secret"), "/documented"
		return u.String()
	}
	var version int
	if err := db.QueryRow(t.Context(), `select current_setting('server_version_num')::int`).Scan(&version); err != nil {
		t.Fatal(err)
	}
	if version < 150000 {
		superuser, err := url.Parse(server)
		if err != nil {
			t.Fatal(err)
		}
		superuser.Path = "/documented"
		if _, err := connect(t, superuser.String()).Exec(t.Context(), `revoke create on schema public from public`); err != nil {
			t.Fatal(err)
		}
	}
	v := terminal{url: as("owner")}
	for range 2 {
		if out := v.says(t, "role chasephone_daemon has the daemon's rights\nrole chasephone_reader has a reader's rights\n",
			"migrate", "--daemon-role", "chasephone_daemon", "--reader-role", "chasephone_reader"); strings.Contains(out, "but ") {
			t.Errorf("%q", out)
		}
	}
	f := newFleetOn(t, as("daemon"), connect(t, as("owner")))
	f.as = strict
	f.daemon()
	f.due(1, "1 minute")
	f.wait("it rings", func() bool { return f.state("r1") == "call_placed" })
	not(t, terminal{url: as("daemon")}.doctor(t, exitDone).Remarks, "the role")
	if got := (terminal{url: as("reader")}).run(t, "list"); got.code != exitDone || !strings.Contains(got.out, "call_placed") {
		t.Errorf("a reader: exit %d, %q, %q", got.code, got.out, got.err)
	}
}
