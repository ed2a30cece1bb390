package pgtest

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
)

// prefix begins the name of every database that this package makes. A template's name is
// the prefix and a hash, a test's database is the template's name, "_of_" and a random part.
const prefix = "pgtest_"

// template makes sure that there is a migrated template and gives its name.
func (s *server) template(ctx context.Context, m Migration) (string, error) {
	hash, err := m.Hash()
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(hash + "\n" + s.run + "\n" + s.role))
	name := prefix + hex.EncodeToString(sum[:10])

	conn, err := s.admin.Acquire(ctx)
	if err != nil {
		return "", err
	}
	defer conn.Release()
	if done, err := isTemplate(ctx, conn.Conn(), name); done || err != nil {
		return name, err
	}
	// Parallel tests, and other binaries on a server that is not ours, wait here for one.
	if _, err := conn.Exec(ctx, "SELECT pg_advisory_lock(hashtext($1))", name); err != nil {
		return "", err
	}
	err = s.makeTemplate(ctx, conn.Conn(), name, m)
	_, unlockErr := conn.Exec(context.WithoutCancel(ctx), "SELECT pg_advisory_unlock(hashtext($1))", name)
	return name, errors.Join(err, unlockErr)
}

func (s *server) makeTemplate(ctx context.Context, conn *pgx.Conn, name string, m Migration) error {
	if done, err := isTemplate(ctx, conn, name); done || err != nil {
		return err
	}
	// One that is there and is no template was not migrated to the end.
	if _, err := conn.Exec(ctx, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)"); err != nil {
		return err
	}
	if _, err := conn.Exec(ctx, "CREATE DATABASE "+name+" OWNER "+pgx.Identifier{s.role}.Sanitize()); err != nil {
		return err
	}
	if err := m.Up(ctx, s.url(name)); err != nil {
		return fmt.Errorf("migrate it: %w", err)
	}
	_, err := conn.Exec(ctx, "ALTER DATABASE "+name+" IS_TEMPLATE true")
	return err
}

func isTemplate(ctx context.Context, conn *pgx.Conn, name string) (done bool, err error) {
	err = conn.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1 AND datistemplate)", name).Scan(&done)
	return done, err
}

// copyOf makes a database from the template.
func (s *server) copyOf(ctx context.Context, template string) (string, error) {
	name := template + "_of_" + strings.ToLower(rand.Text()[:10])
	_, err := s.admin.Exec(ctx, "CREATE DATABASE "+name+
		" TEMPLATE "+template+" OWNER "+pgx.Identifier{s.role}.Sanitize()+s.strategy)
	return name, err
}

func (s *server) drop(ctx context.Context, name string) error {
	_, err := s.admin.Exec(ctx, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)")
	return err
}

// clear drops what killed test binaries left, and the templates of earlier runs but the
// newest. Only for a server that nobody else uses.
func (s *server) clear(ctx context.Context) error {
	rows, err := s.admin.Query(ctx, `
		(SELECT datname FROM pg_database WHERE datname ~ '^pgtest_.*_of_')
		UNION ALL
		(SELECT datname FROM pg_database WHERE datname ~ '^pgtest_[^_]*$' ORDER BY oid DESC OFFSET 1)`)
	if err != nil {
		return err
	}
	left, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return err
	}
	for _, name := range left {
		if _, err := s.admin.Exec(ctx, "ALTER DATABASE "+name+" IS_TEMPLATE false"); err != nil {
			return err
		}
		if err := s.drop(ctx, name); err != nil {
			return err
		}
	}
	rows, err = s.admin.Query(ctx, `SELECT rolname FROM pg_roles WHERE rolname ~ '^pgtest_.*_of_'`)
	if err != nil {
		return err
	}
	roles, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return err
	}
	return s.dropRoles(ctx, roles...)
}
