package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// DaemonGates is what the environment of one daemon says of its gates.
type DaemonGates struct {
	Host     string
	PID      int
	Settings map[string]string // empty for a daemon of a release that did not tell
}

// GateSettings lists those of the live daemons.
func (s *Store) GateSettings(ctx context.Context) ([]DaemonGates, error) {
	rows, err := s.Pool.Query(ctx, `
		select host, pid, gates from daemons where seen_at > clock_timestamp() - interval '20 seconds'
		order by host, pid`)
	if err != nil {
		return nil, fmt.Errorf("reading the daemons' gate settings: %w", err)
	}
	all, err := pgx.CollectRows(rows, pgx.RowToStructByPos[DaemonGates])
	if err != nil {
		return nil, fmt.Errorf("reading the daemons' gate settings: %w", err)
	}
	return all, nil
}
