package pgtest

import (
	"context"
	"net/url"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"chasephone/internal/store"
)

// Roles makes two roles for the database at the address that New or URL gave, grants them a
// daemon's and a reader's rights, and returns its address as each. They are dropped with the
// database. ok is false, and both addresses are the one given, where the server is one of
// DATABASE_URL whose role may not make roles.
func Roles(t testing.TB, of string) (daemon, reader string, ok bool) {
	t.Helper()
	s, err := shared()
	if err != nil {
		t.Fatalf("pgtest: no PostgreSQL for this test: %v", err)
	}
	address, err := url.Parse(of)
	if err != nil {
		t.Fatalf("pgtest: read the address of the test's database: %v", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	may, err := s.makesRoles(ctx)
	if err != nil {
		t.Fatalf("pgtest: ask whether roles can be made: %v", err)
	}
	if !may {
		return of, of, false
	}
	database := strings.TrimPrefix(address.Path, "/")
	// Roles are the cluster's, and tests run in parallel.
	names := store.Roles{Daemon: database + "_d", Reader: database + "_r"}
	as := func(role string) string {
		u := *address
		u.User = url.UserPassword(role, rolePassword)
		return u.String()
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		// A role that is granted something cannot be dropped: the database goes first.
		if err := s.drop(ctx, database); err != nil {
			t.Errorf("pgtest: drop the database of this test: %v", err)
		}
		if err := s.dropRoles(ctx, names.Daemon, names.Reader); err != nil {
			t.Errorf("pgtest: drop the roles of this test: %v", err)
		}
	})
	for _, role := range []string{names.Daemon, names.Reader} {
		if _, err := s.admin.Exec(ctx, "CREATE ROLE "+role+" LOGIN PASSWORD '"+rolePassword+"'"); err != nil {
			t.Fatalf("pgtest: make a role: %v", err)
		}
	}
	if err := grant(ctx, of, names); err != nil {
		t.Fatalf("pgtest: grant a role its rights: %v", err)
	}
	return as(names.Daemon), as(names.Reader), true
}

const rolePassword = "of-a-test"

// grant gives the roles what an operator would: their rights, and to everybody no more than that.
func grant(ctx context.Context, owner string, roles store.Roles) error {
	db, err := store.Connect(ctx, owner, 2)
	if err != nil {
		return err
	}
	defer db.Close()
	if _, err := db.Pool.Exec(ctx, "REVOKE TEMPORARY ON DATABASE "+db.Pool.Config().ConnConfig.Database+" FROM PUBLIC"); err != nil {
		return err
	}
	_, err = db.Grant(ctx, roles)
	return err
}

func (s *server) makesRoles(ctx context.Context) (may bool, err error) {
	err = s.admin.QueryRow(ctx, "SELECT rolsuper OR rolcreaterole FROM pg_roles WHERE rolname = current_user").Scan(&may)
	return may, err
}

func (s *server) dropRoles(ctx context.Context, names ...string) error {
	for _, name := range names {
		if _, err := s.admin.Exec(ctx, "DROP ROLE IF EXISTS "+pgx.Identifier{name}.Sanitize()); err != nil {
			return err
		}
	}
	return nil
}
