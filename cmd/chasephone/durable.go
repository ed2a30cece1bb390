package main

import (
	"context"

	"chasephone/internal/store"
)

// durable refuses a database that may forget what it has committed. No variable and no flag
// turns this off.
func (p process) durable(ctx context.Context, db *store.Store) error {
	if p.forgetful {
		return nil
	}
	return db.Durable(ctx)
}
