package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"strconv"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"chasephone/migrations"
)

// migrationLock is held while migrating: River's migrations take no lock of their own, and
// of eight replicas that start at once seven would fail.
const migrationLock = 0x63686173 // "chas"

// Migration is one file of migrations/.
type Migration struct {
	Number   int
	Name     string
	SQL      string
	Checksum string
}

// Migrations lists what this program brings, in order.
func Migrations() ([]Migration, error) {
	names, err := fs.Glob(migrations.Files, "*.sql")
	if err != nil {
		return nil, err
	}
	all := make([]Migration, 0, len(names))
	for _, name := range names { // Glob sorts
		text, err := migrations.Files.ReadFile(name)
		if err != nil {
			return nil, err
		}
		number, err := strconv.Atoi(name[:3])
		if err != nil {
			return nil, fmt.Errorf("migration %s: its name begins with three digits", name)
		}
		sum := sha256.Sum256(text)
		all = append(all, Migration{Number: number, Name: name, SQL: string(text), Checksum: hex.EncodeToString(sum[:])})
	}
	return all, nil
}

// Migrate brings the schema up: ours and River's, under one lock, so that any number of
// replicas may try at once. It returns the names of what it applied.
func (s *Store) Migrate(ctx context.Context) ([]string, error) {
	all, err := Migrations()
	if err != nil {
		return nil, err
	}
	var applied []string
	err = s.tx(ctx, func(tx pgx.Tx) error {
		var schema *string
		if err := tx.QueryRow(ctx, `select current_schema()`).Scan(&schema); err != nil {
			return fmt.Errorf("asking for the schema: %w", err)
		}
		if schema == nil {
			return errors.New("no schema of the search path exists: create one, or name another in DATABASE_URL (search_path=...)")
		}
		// The files are written for the standard's strings, whatever the database's setting.
		if _, err := tx.Exec(ctx, `set local standard_conforming_strings = on`); err != nil {
			return fmt.Errorf("preparing to migrate: %w", err)
		}
		if _, err := tx.Exec(ctx, `select pg_advisory_xact_lock($1, hashtext($2))`, migrationLock, *schema); err != nil {
			return fmt.Errorf("waiting for other migrations: %w", err)
		}
		if _, err := tx.Exec(ctx, `create table if not exists chasephone_migrations (
			number integer primary key, name text not null, checksum text not null,
			applied_at timestamptz not null default clock_timestamp())`); err != nil {
			return fmt.Errorf("preparing the table of migrations: %w", err)
		}
		for _, m := range all {
			tag, err := tx.Exec(ctx, `insert into chasephone_migrations (number, name, checksum) values ($1, $2, $3)
				on conflict (number) do nothing`, m.Number, m.Name, m.Checksum)
			if err != nil {
				return fmt.Errorf("noting migration %s: %w", m.Name, err)
			}
			if tag.RowsAffected() == 0 {
				var was string
				if err := tx.QueryRow(ctx, `select checksum from chasephone_migrations where number = $1`, m.Number).Scan(&was); err != nil {
					return fmt.Errorf("asking for migration %s: %w", m.Name, err)
				}
				if was != m.Checksum {
					return fmt.Errorf("migration %s is not the one that this database was made with: it was made by a build that was never released; give another DATABASE_URL, or with --embedded another DATA_DIR", m.Name)
				}
				continue
			}
			// The simple protocol takes a file of several statements.
			if _, err := tx.Conn().PgConn().Exec(ctx, m.SQL).ReadAll(); err != nil {
				return fmt.Errorf("applying migration %s: %w", m.Name, err)
			}
			applied = append(applied, m.Name)
		}
		river, err := s.riverMigrator()
		if err != nil {
			return err
		}
		// River wants a transaction per migration of its own; the lock above is held meanwhile.
		result, err := river.Migrate(ctx, rivermigrate.DirectionUp, nil)
		if err != nil {
			return fmt.Errorf("applying River's migrations: %w", err)
		}
		for _, v := range result.Versions {
			applied = append(applied, fmt.Sprintf("river %03d %s", v.Version, v.Name))
		}
		return nil
	})
	return applied, err
}

// Usable says why the schema cannot be used by this program, or nil. A newer schema can.
func (s *Store) Usable(ctx context.Context) error { return s.notReadable(ctx, s.usable(ctx)) }

func (s *Store) usable(ctx context.Context) error {
	all, err := Migrations()
	if err != nil {
		return err
	}
	var exists bool
	if err := s.Pool.QueryRow(ctx, `select to_regclass('chasephone_migrations') is not null`).Scan(&exists); err != nil {
		return fmt.Errorf("asking for the schema: %w", err)
	}
	if !exists {
		return errors.New("the schema is not there, or not in the search path, or this role may not use it: run chasephone migrate")
	}
	var newest int
	if err := s.Pool.QueryRow(ctx, `select coalesce(max(number), 0) from chasephone_migrations`).Scan(&newest); err != nil {
		return fmt.Errorf("asking for the schema's version: %w", err)
	}
	if want := all[len(all)-1]; newest < want.Number {
		return fmt.Errorf("the schema is at migration %03d and this program needs %s: run chasephone migrate", newest, want.Name)
	}
	river, err := s.riverMigrator()
	if err != nil {
		return err
	}
	valid, err := river.Validate(ctx, nil)
	if err != nil {
		return fmt.Errorf("asking for River's schema: %w", err)
	}
	if !valid.OK {
		return fmt.Errorf("the schema of River is not usable (%v): run chasephone migrate", valid.Messages)
	}
	return nil
}

func (s *Store) riverMigrator() (*rivermigrate.Migrator[pgx.Tx], error) {
	m, err := rivermigrate.New(riverpgxv5.New(s.Pool), &rivermigrate.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, fmt.Errorf("reading River's migrations: %w", err)
	}
	return m, nil
}
