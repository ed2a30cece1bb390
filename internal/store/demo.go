package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"chasephone/internal/desk"
)

// ClaimDemo marks a database without follow-ups as one that only ever rings a simulator. It
// refuses one that holds real promises: a simulator would "keep" them.
func (s *Store) ClaimDemo(ctx context.Context) error {
	return s.tx(ctx, func(tx pgx.Tx) error {
		var demo, used bool
		if err := tx.QueryRow(ctx, `select demo, exists (select from phone_followups) from fleet for no key update`).Scan(&demo, &used); err != nil {
			return fmt.Errorf("asking whether this is a demonstration's database: %w", err)
		}
		if used && !demo {
			return &desk.Misuse{Says: "this database holds real follow-ups: --demo would let a simulator keep their promises; give it a database of its own"}
		}
		_, err := tx.Exec(ctx, `update fleet set demo = true`)
		return err
	})
}

// RefuseDemo refuses a demonstration's database to a daemon that can ring real phones.
func (s *Store) RefuseDemo(ctx context.Context) error {
	var demo bool
	if err := s.Pool.QueryRow(ctx, `select demo from fleet`).Scan(&demo); err != nil {
		return fmt.Errorf("asking whether this is a demonstration's database: %w", err)
	}
	if demo {
		return &desk.Misuse{Says: "this database was made by --demo and its follow-ups are not meant to be rung: start with --demo, or give another DATABASE_URL or DATA_DIR"}
	}
	return nil
}
