package main

import (
	"context"
	"fmt"

	"chasephone/config"
	"chasephone/internal/store"
)

type migrateCmd struct {
	DaemonRole string `name:"daemon-role" placeholder:"NAME" help:"Grant this role, which must be there, what serve and the commands need, and nothing else."`
	ReaderRole string `name:"reader-role" placeholder:"NAME" help:"Grant this role, which must be there, to read everything, and nothing else."`
}

// Help is shown by migrate --help.
func (migrateCmd) Help() string {
	return "Run it as the role that is to own the tables. With roles, say the same ones after every upgrade: what a migration brings is nobody's but the owner's until then."
}

func (c migrateCmd) Run(ctx context.Context, p process) error {
	conf, err := config.Load(p.environ, config.Options{})
	if err != nil {
		return err
	}
	db, err := store.Connect(ctx, conf.Database.URL.Reveal(), commandConns)
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
	return c.grant(ctx, p, db)
}

// grant gives the roles their rights, once the schema is as this program has it.
func (c migrateCmd) grant(ctx context.Context, p process, db *store.Store) error {
	if c.DaemonRole == "" && c.ReaderRole == "" {
		return nil
	}
	beyond, err := db.Grant(ctx, store.Roles{Daemon: c.DaemonRole, Reader: c.ReaderRole})
	if err != nil {
		return err
	}
	for _, granted := range []struct{ role, as string }{{c.DaemonRole, "the daemon's"}, {c.ReaderRole, "a reader's"}} {
		if granted.role != "" {
			_, _ = fmt.Fprintln(p.stdout, "role", plain(granted.role), "has", granted.as, "rights")
		}
	}
	for _, one := range beyond {
		_, _ = fmt.Fprintln(p.stdout, "but", plain(one))
	}
	return nil
}
