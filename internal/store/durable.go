package store

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"chasephone/internal/desk"
)

// forgettingSQL finds the settings with which a crash of the server's machine forgets, or
// damages, what it said was committed.
const forgettingSQL = `
select name, source from pg_settings
where name in ('fsync', 'full_page_writes', 'synchronous_commit') and setting = 'off' order by name`

// Forgetting is a setting of the database that is off and must be on.
type Forgetting struct {
	Name string `json:"name"`
	From string `json:"from"` // what set it, in PostgreSQL's words: "configuration file", "user", "client"
}

// String says which, and who set it.
func (f Forgetting) String() string { return f.Name + " is off (set by: " + f.From + ")" }

// remedy is what turns it on: where a role, a database or a connection's own words set it
// the server's file has no say.
func (f Forgetting) remedy() string {
	switch f.From {
	case "user", "database", "database user":
		return "alter role or alter database … set " + f.Name + " = on"
	case "client", "environment variable":
		return "take " + f.Name + " out of DATABASE_URL and PGOPTIONS"
	case "command line":
		return f.Name + " = on where the server is started"
	}
	return f.Name + " = on in postgresql.conf"
}

// Forgets lists the settings with which this database may forget what it has committed.
func (s *Store) Forgets(ctx context.Context) ([]Forgetting, error) {
	rows, err := s.Pool.Query(ctx, forgettingSQL)
	if err != nil {
		return nil, fmt.Errorf("asking whether commits are durable: %w", err)
	}
	all, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Forgetting])
	if err != nil {
		return nil, fmt.Errorf("asking whether commits are durable: %w", err)
	}
	return all, nil
}

// Durable refuses a database that may forget what it has committed: an attempt that is
// forgotten is a phone that rings twice.
func (s *Store) Durable(ctx context.Context) error {
	all, err := s.Forgets(ctx)
	if err != nil || len(all) == 0 {
		return err
	}
	var which, remedies []string
	for _, f := range all {
		which, remedies = append(which, f.String()), append(remedies, f.remedy())
	}
	return &desk.Misuse{Says: "the database may forget what it has committed, and a forgotten call is rung twice: " +
		strings.Join(which, ", ") + "; set " + strings.Join(remedies, ", ") + ", and start again"}
}
