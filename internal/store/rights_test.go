package store_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"chasephone/internal/pgtest"
	"chasephone/internal/store"
)

func texts(t *testing.T, db *pgxpool.Pool, sql string, args ...any) []string {
	t.Helper()
	rows, err := db.Query(t.Context(), sql, args...)
	if err != nil {
		t.Fatal(err)
	}
	all, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// Every object of the schema is decided on: one that a migration adds is in Rights, Functions or
// Sequences, or this fails.
func TestEveryObjectIsDecidedOn(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	var tables []string
	for _, r := range store.Rights() {
		if slices.Contains(tables, r.Table) {
			t.Errorf("%s is there twice", r.Table)
		}
		tables = append(tables, r.Table)
		if is := texts(t, pool, `select attname from pg_attribute where attrelid = $1::text::regclass and attnum > 0 and not attisdropped`, r.Table); !slices.Equal(r.Update, []string{"*"}) {
			for _, column := range r.Update {
				if !slices.Contains(is, column) {
					t.Errorf("%s has no column %s", r.Table, column)
				}
			}
		}
	}
	compare := func(kind string, decided, are []string) {
		slices.Sort(decided)
		slices.Sort(are)
		for _, name := range are {
			if !slices.Contains(decided, name) {
				t.Errorf("nobody has decided who may use the %s %s: see store.Rights", kind, name)
			}
		}
		for _, name := range decided {
			if !slices.Contains(are, name) {
				t.Errorf("there is no %s %s", kind, name)
			}
		}
	}
	compare("table", tables, texts(t, pool, `select relname from pg_class where relnamespace = current_schema()::regnamespace and relkind in ('r', 'p', 'v', 'm', 'f')`))
	compare("function", keys(store.Functions()), texts(t, pool, `select proname from pg_proc where pronamespace = current_schema()::regnamespace`))
	compare("sequence", keys(store.Sequences()), texts(t, pool, `
		select relname from pg_class c where relnamespace = current_schema()::regnamespace and relkind = 'S'
		  and not exists (select from pg_depend d where d.objid = c.oid and d.deptype = 'i')`)) // an identity column's own needs no right
}

func keys(m map[string]bool) (all []string) {
	for k := range m {
		all = append(all, k)
	}
	return all
}

// roles are a database's, with connections as each.
type roles struct{ owner, daemon, reader *pgxpool.Pool }

func newRoles(t *testing.T) roles {
	t.Helper()
	owner := pgtest.New(t)
	d, r, ok := pgtest.Roles(t, owner.Config().ConnString())
	if !ok {
		t.Skip("the role of DATABASE_URL may not make roles")
	}
	connect := func(url string) *pgxpool.Pool {
		pool, err := pgxpool.New(t.Context(), url)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(pool.Close)
		return pool
	}
	return roles{owner, connect(d), connect(r)}
}

// store is the owner's, who grants.
func (r roles) store(t *testing.T) *store.Store {
	t.Helper()
	db, err := store.Connect(t.Context(), r.owner.Config().ConnString(), 2)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return db
}

// Granting gives a role what it needs and nothing beyond, however often; and what is given no
// more is taken.
func TestGrantIsExact(t *testing.T) {
	t.Parallel()
	r := newRoles(t)
	db := r.store(t)
	names := store.Roles{Daemon: r.daemon.Config().ConnConfig.User, Reader: r.reader.Config().ConnConfig.User}
	before := acl(t, r.owner)
	if _, err := r.owner.Exec(t.Context(), `
		grant delete, truncate on followup_events to "`+names.Daemon+`"; grant update (script) on phone_followups to "`+names.Daemon+`";
		grant all on attempts to "`+names.Reader+`"; revoke insert on attempts from "`+names.Daemon+`"`); err != nil {
		t.Fatal(err)
	}
	as, err := store.Connect(t.Context(), r.daemon.Config().ConnString(), 2)
	if err != nil {
		t.Fatal(err)
	}
	defer as.Close()
	role, err := as.Role(t.Context())
	if err != nil || !slices.Equal(role.Lacks, []string{"insert on attempts"}) ||
		!slices.Equal(role.Beyond, []string{"may do to followup_events: delete, truncate", "may do to phone_followups: update script"}) {
		t.Errorf("%v: %+v", err, role)
	}
	if err := as.MayServe(t.Context()); err == nil || !strings.Contains(err.Error(), "run chasephone migrate --daemon-role "+names.Daemon) {
		t.Errorf("a daemon that may not ring may serve: %v", err)
	}
	for range 2 {
		if beyond, err := db.Grant(t.Context(), names); err != nil || len(beyond) > 0 {
			t.Fatalf("%q, %v", beyond, err)
		}
	}
	if after := acl(t, r.owner); after != before {
		t.Errorf("rights were\n%s\nand are\n%s", before, after)
	}
	if role, err = as.Role(t.Context()); err != nil || len(role.Lacks)+len(role.Beyond) > 0 || role.Owner || role.Superuser {
		t.Errorf("%v: %+v", err, role)
	}
	if err := as.MayServe(t.Context()); err != nil {
		t.Error(err)
	}
	if role, err = db.Role(t.Context()); err != nil || !role.Owner || len(role.Lacks) > 0 {
		t.Errorf("%v: %+v", err, role)
	}
	// What everybody may is told, and left alone: others may rely on it.
	if _, err := r.owner.Exec(t.Context(), `do $$ begin execute format('grant temporary on database %I to public', current_database()); end $$`); err != nil {
		t.Fatal(err)
	}
	if beyond, err := db.Grant(t.Context(), names); err != nil || len(beyond) != 2 || !strings.Contains(beyond[0], "may make temporary tables: revoke temporary on database") {
		t.Errorf("%q, %v", beyond, err)
	}
}

// act is something that a role must not be able to do.
type act struct{ name, sql string }

// forbidden are the acts that nobody but the owner may do, each in one statement.
func forbidden(t *testing.T, r roles) (all []act) {
	t.Helper()
	add := func(name, sql string) { all = append(all, act{name, sql}) }
	for _, table := range []string{"followup_events", "desk_events", "evidence", "lookups"} {
		column := texts(t, r.owner, `select attname from pg_attribute where attrelid = $1::text::regclass and attnum > 0 and attidentity = '' order by attnum`, table)[0]
		add("update "+table, `update `+table+` set `+column+` = `+column)
		add("delete from "+table, `delete from `+table)
		add("truncate "+table, `truncate `+table)
		add("disable the trigger of "+table, `alter table `+table+` disable trigger user`)
		add("drop the trigger of "+table, `drop trigger `+texts(t, r.owner, `select tgname from pg_trigger where tgrelid = $1::text::regclass and not tgisinternal`, table)[0]+` on `+table)
	}
	for _, table := range []string{"phone_followups", "attempts", "tenants", "approvals", "limits", "fleet", "tick_fence", "lines", "ringing_holds", "tenant_twilio_events", "contacts", "messages", "chasephone_migrations", "river_migration"} {
		add("delete from "+table, `delete from `+table)
		add("truncate "+table, `truncate `+table)
	}
	for _, c := range []string{
		"phone_followups.due_at", "phone_followups.phone_number", "phone_followups.script", "phone_followups.tenant_id", "phone_followups.ref",
		"phone_followups.line", "phone_followups.time_zone", "phone_followups.purpose", "phone_followups.needs_approval", "phone_followups.created_at",
		"attempts.token", "attempts.e164", "attempts.no", "attempts.followup_id", "attempts.daemon_id", "attempts.send_by", "attempts.answer_by",
		"attempts.late_at", "attempts.line", "attempts.carrier", "attempts.caller_number", "attempts.created_at", "attempts.begin_at",
		"approvals.e164", "approvals.words", "approvals.reasons", "approvals.line", "approvals.caller_number", "approvals.asked_at",
		"limits.per_tick", "limits.quarantine", "limits.set_by", "do_not_call.e164", "consents.e164", "consents.purpose",
		"tenant_twilio_events.body", "tenant_telnyx_events.body", "tenant_sip_events.body", "tenants.id", "lines.name", "ringing_holds.why", "ringing_holds.since",
		"chasephone_migrations.checksum",
	} {
		table, column, _ := strings.Cut(c, ".")
		add("update "+c, `update `+table+` set `+column+` = `+column)
	}
	for _, name := range []string{
		`drop table attempts`, `drop table river_job`, `alter table attempts add column x int`, `alter table attempts drop constraint attempts_deadlines`,
		`alter table phone_followups disable trigger all`, `drop index attempts_one_live`, `create index on attempts (code)`, `create table mine (x int)`,
		`create temporary table mine (x int)`, `create view mine as select 1`, `create function mine() returns int language sql as 'select 1'`,
		`create or replace function forbid() returns trigger language plpgsql as 'begin return new; end'`, `drop function forbid()`,
		`create trigger mine before insert on attempts for each row execute function forbid()`, `create rule mine as on update to attempts do instead nothing`,
		`create schema mine`, `drop schema public cascade`, `create role mine`, `alter role current_user superuser`, `create extension pg_trgm`,
		`set session_replication_role = replica`,
		`alter table attempts owner to current_user`, `copy attempts to program 'true'`, `copy attempts to '/tmp/attempts'`,
		`select pg_read_file('/etc/passwd')`, `select lo_export(1, '/tmp/x')`, `alter sequence river_job_id_seq restart`, `select setval('followup_events_id_seq', 1)`,
		`reindex index attempts_one_live`, `alter database ` + r.owner.Config().ConnConfig.Database + ` set synchronous_commit = off`,
		`comment on table attempts is 'x'`, `lock table attempts in access exclusive mode`, `set role "` + r.owner.Config().ConnConfig.User + `"`,
	} {
		add(name, name)
	}
	return all
}

// try does an act and takes it back.
func try(t *testing.T, db *pgxpool.Pool, sql string) error {
	t.Helper()
	tx, err := db.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(t.Context()) }()
	_, err = tx.Exec(t.Context(), sql)
	return err
}

// acl is what all roles may do with the schema.
func acl(t *testing.T, db *pgxpool.Pool) string {
	t.Helper()
	return strings.Join(texts(t, db, `
		select x from (
		  select relname || coalesce(relacl::text, '') as x from pg_class where relnamespace = current_schema()::regnamespace
		  union all select attrelid::regclass || '.' || attname || attacl::text from pg_attribute where attacl is not null and attrelid::regclass::text !~ '^pg_'
		  union all select proname || coalesce(proacl::text, '') from pg_proc where pronamespace = current_schema()::regnamespace
		  union all select nspname || nspacl::text from pg_namespace where oid = current_schema()::regnamespace) x order by 1`), "\n")
}

// As the daemon's role and as the reader's, everything that could undo a guarantee is refused by
// the database for want of the right, before any trigger is asked.
func TestRolesMayNot(t *testing.T) {
	t.Parallel()
	r := newRoles(t)
	acts := forbidden(t, r)
	readers := []act{}
	for _, right := range store.Rights() {
		column := texts(t, r.owner, `select attname from pg_attribute where attrelid = $1::text::regclass and attnum > 0 and attidentity = '' and attgenerated = '' order by attnum`, right.Table)[0]
		readers = append(readers,
			act{"insert into " + right.Table, `insert into ` + right.Table + ` default values`},
			act{"update " + right.Table, `update ` + right.Table + ` set ` + column + ` = ` + column},
			act{"delete from " + right.Table, `delete from ` + right.Table},
			act{"truncate " + right.Table, `truncate ` + right.Table},
			act{"lock a row of " + right.Table, `select from ` + right.Table + ` for share`})
	}
	readers = append(readers, act{"draw from a sequence", `select nextval('river_job_id_seq')`}, act{"stop", `update fleet set stopped_at = now(), stopped_by = 'x'`})
	for _, as := range []struct {
		name string
		db   *pgxpool.Pool
		acts []act
	}{{"daemon", r.daemon, acts}, {"reader", r.reader, append(acts, readers...)}} {
		t.Run(as.name, func(t *testing.T) {
			for _, a := range as.acts {
				if err := try(t, as.db, a.sql); !isDenied(err) {
					t.Errorf("%s: %v", a.name, err)
				}
			}
			if _, err := as.db.Exec(t.Context(), `alter system set fsync = off`); !isDenied(err) { // in no transaction
				t.Errorf("alter system: %v", err)
			}
			before := acl(t, r.owner)
			for _, sql := range []string{`grant select on attempts to public`, `grant usage on schema public to public`, `grant execute on function uuid_v7() to public`} {
				if _, err := as.db.Exec(t.Context(), sql); err != nil && !isDenied(err) { // a warning, where it has the right itself
					t.Errorf("%s: %v", sql, err)
				}
			}
			if after := acl(t, r.owner); after != before {
				t.Errorf("rights were\n%s\nand are\n%s", before, after)
			}
			t.Logf("%d acts refused", len(as.acts))
		})
	}
	for _, right := range store.Rights() { // and a reader reads everything
		if _, err := r.reader.Exec(t.Context(), `select * from `+right.Table); err != nil {
			t.Errorf("reading %s: %v", right.Table, err)
		}
	}
}

// Roles that grants would mean nothing to are refused, with what to do instead.
func TestGrantRefuses(t *testing.T) {
	t.Parallel()
	r := newRoles(t)
	db := r.store(t)
	owner, daemon := r.owner.Config().ConnConfig.User, r.daemon.Config().ConnConfig.User
	superuser := texts(t, r.owner, `select rolname from pg_roles where rolsuper limit 1`)[0]
	for _, c := range []struct {
		roles store.Roles
		words string
	}{
		{store.Roles{Daemon: `no "body"`}, `--daemon-role: there is no role no "body"; make it first, as a role that may: create role "no ""body""" login password '…'`},
		{store.Roles{Reader: "nobody"}, `--reader-role: there is no role nobody; make it first`},
		{store.Roles{Daemon: "public"}, `there is no role public`},
		{store.Roles{Daemon: superuser}, `is a superuser`},
		{store.Roles{Daemon: owner}, `owns the tables`},
		{store.Roles{Daemon: daemon, Reader: daemon}, `are one role`},
	} {
		if _, err := db.Grant(t.Context(), c.roles); err == nil || !strings.Contains(err.Error(), c.words) {
			t.Errorf("%+v: %v, want %q", c.roles, err, c.words)
		}
	}
}

// isDenied reports whether the database refused for want of a right, and for nothing else.
func isDenied(err error) bool {
	refused, is := errors.AsType[*pgconn.PgError](err)
	return is && refused.Code == "42501"
}
