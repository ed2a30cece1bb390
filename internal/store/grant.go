package store

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"chasephone/internal/desk"
)

// Roles are the names of the roles that are no owners of the schema; "" for none.
type Roles struct {
	Daemon string // runs serve and the commands
	Reader string // dashboards and support
}

// Grant gives roles what Rights says, and takes from them what it gave earlier and that no longer
// says. It is to be called after each migration, by the role that migrates: what is new belongs to
// that one alone. beyond says what the roles may do all the same, and by what.
func (s *Store) Grant(ctx context.Context, roles Roles) (beyond []string, err error) {
	if roles.Daemon != "" && roles.Daemon == roles.Reader {
		return nil, &desk.Misuse{Says: "the daemon and the reader are one role: a reader may change nothing, give it a role of its own"}
	}
	err = s.tx(ctx, func(tx pgx.Tx) error {
		// Two that grant at once would get in each other's way.
		if _, err := tx.Exec(ctx, `select pg_advisory_xact_lock($1, hashtext(current_schema()))`, migrationLock); err != nil {
			return fmt.Errorf("waiting for other migrations: %w", err)
		}
		for _, r := range []struct {
			name, flag string
			daemon     bool
		}{{roles.Daemon, "--daemon-role", true}, {roles.Reader, "--reader-role", false}} {
			if r.name == "" {
				continue
			}
			if err := mayBeGranted(ctx, tx, r.name, r.flag); err != nil {
				return err
			}
			if err := grant(ctx, tx, r.name, r.daemon); err != nil {
				return fmt.Errorf("granting role %s its rights: %w", r.name, err)
			}
			more, err := beyondRights(ctx, tx, r.name, r.daemon)
			if err != nil {
				return err
			}
			for _, one := range more {
				beyond = append(beyond, "role "+r.name+" "+one)
			}
		}
		return nil
	})
	return beyond, err
}

// mayBeGranted refuses a role that is not there, or whose rights cannot be bounded.
func mayBeGranted(ctx context.Context, tx pgx.Tx, role, flag string) error {
	of, err := roleNamed(ctx, tx, role)
	if err != nil {
		return err
	}
	name := pgx.Identifier{role}.Sanitize()
	switch {
	case of == nil:
		return &desk.Misuse{Says: fmt.Sprintf("%s: there is no role %s; make it first, as a role that may: create role %s login password '…'", flag, role, name)}
	case of.Superuser:
		return &desk.Misuse{Says: fmt.Sprintf("%s: role %s is a superuser, who may do everything whatever is granted: make one that is none: create role … login password '…'", flag, role)}
	case of.Owner:
		return &desk.Misuse{Says: fmt.Sprintf("%s: role %s owns the tables, or is a member of the role that does, and may do everything with them: make one of its own: create role … login password '…'", flag, role)}
	}
	return nil
}

// grant takes everything from a role and gives it what it needs, in the caller's transaction:
// others see only what it comes to.
func grant(ctx context.Context, tx pgx.Tx, role string, daemon bool) error {
	var schema, database string
	var connects bool
	if err := tx.QueryRow(ctx, `select current_schema(), current_database(), has_database_privilege($1, current_database(), 'connect')`, role).
		Scan(&schema, &database, &connects); err != nil {
		return err
	}
	in := func(name string) string { return pgx.Identifier{schema, name}.Sanitize() }
	to := pgx.Identifier{role}.Sanitize()
	var sql strings.Builder
	do := func(format string, args ...any) { fmt.Fprintf(&sql, format+";\n", args...) }
	if !connects {
		do("grant connect on database %s to %s", pgx.Identifier{database}.Sanitize(), to)
	}
	do("revoke all on schema %s from %s", pgx.Identifier{schema}.Sanitize(), to)
	do("grant usage on schema %s to %s", pgx.Identifier{schema}.Sanitize(), to)
	for _, r := range Rights() {
		do("revoke all on table %s from %s", in(r.Table), to)
		do("grant select%s on table %s to %s", r.verbs(daemon), in(r.Table), to)
	}
	for _, name := range slices.Sorted(maps.Keys(Sequences())) {
		do("revoke all on sequence %s from %s", in(name), to)
		if daemon && Sequences()[name] {
			do("grant usage on sequence %s to %s", in(name), to)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(Functions())) {
		do("revoke all on function %s from %s", in(name), to)
		if daemon && Functions()[name] {
			do("grant execute on function %s to %s", in(name), to)
		}
	}
	// The simple protocol takes several statements.
	_, err := tx.Conn().PgConn().Exec(ctx, sql.String()).ReadAll()
	return err
}

// verbs are what follows "grant select".
func (r Right) verbs(daemon bool) string {
	var verbs string
	if !daemon {
		return verbs
	}
	if r.Insert {
		verbs += ", insert"
	}
	if r.Delete {
		verbs += ", delete"
	}
	switch {
	case len(r.Update) == 0:
	case r.allColumns():
		verbs += ", update"
	default:
		verbs += ", update (" + strings.Join(r.Update, ", ") + ")"
	}
	return verbs
}

func (r Right) allColumns() bool { return slices.Equal(r.Update, everyColumn) }
