package main

import (
	"context"
	"fmt"

	"chasephone/config"
	"chasephone/internal/store"
)

type migrateCmd struct{}

func (migrateCmd) Run(ctx context.Context, p process) error {
	c, err := config.Load(p.environ, config.Options{})
	if err != nil {
		return err
	}
	db, err := store.Connect(ctx, c.Database.URL.Reveal(), commandConns)
	if err != nil {
		return err
	}
	defer db.Close()
	applied, err := db.Migrate(ctx)
	if err != nil {
		return err
	}
	for _, name := range applied {
		_, _ = fmt.Fprintln(p.stdout, "applied", name)
	}
	if len(applied) == 0 {
		_, _ = fmt.Fprintln(p.stdout, "the schema is up to date")
	}
	return nil
}
