package store

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Role is a role of the database, as far as it matters to the schema.
type Role struct {
	Name      string `json:"name"`
	Superuser bool   `json:"superuser"`
	Owner     bool   `json:"owner"` // of the tables, or a member of the role that is

	// Lacks is what a daemon's role needs and this one does not have.
	Lacks []string `json:"lacks"`
	// Beyond is what it may do and no daemon needs; empty for a superuser and an owner, who may
	// do everything.
	Beyond []string `json:"beyond"`
}

// Unbounded says why the database holds nothing against this role, or "".
func (r Role) Unbounded() string {
	switch {
	case r.Superuser:
		return "is a superuser"
	case r.Owner:
		return "owns the tables"
	}
	return ""
}

// Role says as which role this process is connected, and what that may.
func (s *Store) Role(ctx context.Context) (Role, error) {
	var name string
	if err := s.Pool.QueryRow(ctx, `select current_user`).Scan(&name); err != nil {
		return Role{}, fmt.Errorf("asking for the role: %w", err)
	}
	found, err := roleNamed(ctx, s.Pool, name)
	if err != nil || found == nil {
		return Role{Name: name}, err
	}
	if found.Lacks, err = lacksRights(ctx, s.Pool, name); err != nil || found.Unbounded() != "" {
		return *found, err
	}
	found.Beyond, err = beyondRights(ctx, s.Pool, name, true)
	return *found, err
}

// OwnsRiver reports whether this process may do with River's tables what only their owner may. In
// doubt it may not.
func (s *Store) OwnsRiver(ctx context.Context) (owns bool) {
	err := s.Pool.QueryRow(ctx, `select pg_has_role(relowner, 'usage') from pg_class where oid = to_regclass('river_job')`).Scan(&owns)
	return err == nil && owns
}

// MayServe says why a daemon cannot work with the schema, as this process is connected: what
// Usable says, or which rights it lacks.
func (s *Store) MayServe(ctx context.Context) error {
	if err := s.Usable(ctx); err != nil {
		return err
	}
	r, err := s.Role(ctx)
	if err != nil || len(r.Lacks) == 0 {
		return err
	}
	return fmt.Errorf("the role %s has not the rights of a daemon (%s): run chasephone migrate --daemon-role %s, as the role that owns the tables", r.Name, few(r.Lacks), r.Name)
}

// roleNamed looks a role up; nil where there is none.
func roleNamed(ctx context.Context, q querier, name string) (*Role, error) {
	r := Role{Name: name, Lacks: []string{}, Beyond: []string{}}
	err := q.QueryRow(ctx, `
		select r.rolsuper, exists (
		  select from pg_class c where c.relnamespace = current_schema()::regnamespace and c.relname = any($2::text[])
		    and pg_has_role(r.oid, c.relowner, 'member'))
		from pg_roles r where r.rolname = $1`, name, ourTables()).Scan(&r.Superuser, &r.Owner)
	switch {
	case isNoRows(err):
		return nil, nil //nolint:nilnil // there is no such role, and that is no error
	case err != nil:
		return nil, fmt.Errorf("asking for the role %s: %w", name, err)
	}
	return &r, nil
}

func ourTables() []string {
	var names []string
	for _, r := range Rights() {
		names = append(names, r.Table)
	}
	return names
}

// needed are the rights of a daemon, one by one: a table, a verb, and a column or "".
func needed() (tables, verbs, columns []string) {
	add := func(table, verb, column string) {
		tables, verbs, columns = append(tables, table), append(verbs, verb), append(columns, column)
	}
	for _, r := range Rights() {
		add(r.Table, "select", "")
		if r.Insert {
			add(r.Table, "insert", "")
		}
		if r.Delete {
			add(r.Table, "delete", "")
		}
		for _, column := range r.Update {
			add(r.Table, "update", strings.Trim(column, "*"))
		}
	}
	return tables, verbs, columns
}

// lacksRights lists what Rights gives a daemon and the role has not.
func lacksRights(ctx context.Context, q querier, role string) ([]string, error) {
	tables, verbs, columns := needed()
	return says(ctx, q, `
		select x.verb || case when x.col <> '' then ' of ' || x.col else '' end || ' on ' || x.name
		from unnest($2::text[], $3::text[], $4::text[]) as x (name, verb, col)
		join pg_class c on c.relnamespace = current_schema()::regnamespace and c.relname = x.name
		where not case when x.col = '' then has_table_privilege($1, c.oid, x.verb) else has_column_privilege($1, c.oid, x.col, x.verb) end`,
		role, tables, verbs, columns)
}

// beyondRights lists, as what follows the role's name, what it may do beyond its rights: by what
// it is, by what everybody may, or by what somebody else granted.
func beyondRights(ctx context.Context, q querier, role string, daemon bool) ([]string, error) {
	tables, verbs, columns := needed()
	if !daemon {
		tables, verbs, columns = nil, nil, nil
	}
	return says(ctx, q, `
		with us as (select oid, relname from pg_class where relnamespace = current_schema()::regnamespace and relname = any($2::text[])),
		right_to as (select * from unnest($3::text[], $4::text[], $5::text[]) as x (name, verb, col)),
		-- A right to a table that was not given, or one to a column where only others were.
		more as (
		  select u.relname, v.verb from us u cross join unnest(array['insert', 'update', 'delete', 'truncate', 'references', 'trigger']) as v (verb)
		  where has_table_privilege($1, u.oid, v.verb)
		    and not exists (select from right_to x where x.name = u.relname and x.verb = v.verb and x.col = '')
		  union
		  select u.relname, 'update ' || a.attname from us u join pg_attribute a on a.attrelid = u.oid and a.attnum > 0 and not a.attisdropped
		  where has_column_privilege($1, u.oid, a.attnum, 'update') and not has_table_privilege($1, u.oid, 'update')
		    and not exists (select from right_to x where x.name = u.relname and x.verb = 'update' and x.col in ('', a.attname))
		  union
		  select u.relname, 'insert into ' || a.attname from us u join pg_attribute a on a.attrelid = u.oid and a.attnum > 0 and not a.attisdropped
		  where has_column_privilege($1, u.oid, a.attnum, 'insert') and not has_table_privilege($1, u.oid, 'insert')
		    and not exists (select from right_to x where x.name = u.relname and x.verb = 'insert')
		  union
		  select u.relname, 'select, and grant it' from us u where has_table_privilege($1, u.oid, 'select with grant option'))
		select what from (
		  select 1, 'may ' || string_agg(w, ', ') || ' (it was made so: alter role … ' || string_agg(upper(n), ' ') || ')' from (
		    select * from pg_roles r cross join lateral (values
		      (r.rolcreaterole, 'make roles', 'nocreaterole'), (r.rolcreatedb, 'make databases', 'nocreatedb'),
		      (r.rolreplication, 'replicate', 'noreplication'), (r.rolbypassrls, 'bypass row security', 'nobypassrls')) as v (so, w, n)
		    where r.rolname = $1 and v.so) x having count(*) > 0
		  union all
		  select 2, 'may make objects in schema ' || current_schema() || ': revoke create on schema ' || quote_ident(current_schema()) || ' from public'
		  where has_schema_privilege($1, current_schema(), 'create')
		  union all
		  select 3, 'may make temporary tables: revoke temporary on database ' || quote_ident(current_database()) || ' from public'
		  where has_database_privilege($1, current_database(), 'temporary')
		  union all
		  select 4, 'may make schemas: revoke create on database ' || quote_ident(current_database()) || ' from it'
		  where has_database_privilege($1, current_database(), 'create')
		  union all
		  select 5, 'may do to ' || relname || ': ' || string_agg(verb, ', ' order by verb) from more group by relname
		) as x (rank, what) order by rank, what`, role, ourTables(), tables, verbs, columns)
}

func says(ctx context.Context, q querier, sql string, args ...any) ([]string, error) {
	rows, err := q.Query(ctx, sql, args...)
	if err != nil {
		return nil, fmt.Errorf("asking what a role may: %w", err)
	}
	all, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("asking what a role may: %w", err)
	}
	return append([]string{}, all...), nil
}

// few are the first of many.
func few(all []string) string {
	const most = 3
	if len(all) > most {
		return strings.Join(all[:most], ", ") + fmt.Sprintf(" and %d more", len(all)-most)
	}
	return strings.Join(all, ", ")
}

// notReadable says so where that the role may not read the schema is what err is.
func (s *Store) notReadable(ctx context.Context, err error) error {
	refused, is := errors.AsType[*pgconn.PgError](err)
	if !is || refused.Code != "42501" { // insufficient_privilege
		return err
	}
	var role string
	if asked := s.Pool.QueryRow(ctx, `select current_user`).Scan(&role); asked != nil {
		return err
	}
	return fmt.Errorf("the role %s may not read the schema: run chasephone migrate --daemon-role %s, as the role that owns the tables (%w)", role, role, err)
}
