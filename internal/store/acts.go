package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// act is what a person did that decides who may be called or whether anybody is, and is no
// change of one follow-up's state: those are in the ledger. It holds no number.
type act struct {
	verb   string
	by     string
	tenant string
	line   string
	detail string
}

// note writes an act in the transaction of what it did.
func note(ctx context.Context, tx pgx.Tx, a act) error {
	_, err := tx.Exec(ctx, `
		insert into desk_events (verb, by_name, tenant_id, line, detail) values (@verb, @by, @tenant, @line, @detail)`,
		pgx.StrictNamedArgs{
			"verb": a.verb, "by": a.by, "tenant": orNull(a.tenant), "line": orNull(a.line), "detail": orNull(a.detail),
		})
	if err != nil {
		return fmt.Errorf("noting who did it: %w", err)
	}
	return nil
}
