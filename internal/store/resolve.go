package store

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"chasephone/internal/desk"
)

// querier is a pool or a transaction.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// execer is a pool or a transaction, too.
type execer interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
}

type resolved struct {
	id       string
	approval string // the approval that was named; "" where it was the follow-up
}

// resolve finds the one follow-up that a person means: by its id, by the id of an approval,
// or by its ref: of several with one ref, the only one that is not over. Where that is not
// plain either, it is answered with their ids.
func resolve(ctx context.Context, q querier, name desk.Name) (resolved, error) {
	text := strings.TrimSpace(name.Text)
	if text == "" {
		return resolved{}, &desk.Misuse{Says: "which follow-up? give its id or its ref"}
	}
	if strings.ContainsRune(text, 0) {
		return resolved{}, &desk.Misuse{Says: "an id or a ref holds no NUL byte"}
	}
	if id, err := uuid.Parse(text); err == nil {
		var r resolved
		err := q.QueryRow(ctx, `
			select id, '' from phone_followups where id = @id
			union all select followup_id, id::text from approvals where id = @id`,
			pgx.StrictNamedArgs{"id": id.String()}).Scan(&r.id, &r.approval)
		if err == nil {
			return r, nil
		}
		if !isNoRows(err) {
			return r, fmt.Errorf("looking for follow-up %s: %w", id, err)
		}
	}
	rows, err := q.Query(ctx, `
		select id, tenant_id || ', ' || state || ', for ' || due_at, state in ('due', 'awaiting_approval', 'dialing', 'uncertain') from phone_followups
		where ref = @ref and (@tenant = '' or tenant_id = @tenant)
		order by due_at desc limit 6`, pgx.StrictNamedArgs{"ref": text, "tenant": name.Tenant})
	if err != nil {
		return resolved{}, fmt.Errorf("looking for ref %s: %w", text, err)
	}
	var (
		id, about       string
		isOpen          bool
		ids, open, says []string
	)
	if _, err := pgx.ForEachRow(rows, []any{&id, &about, &isOpen}, func() error {
		ids, says = append(ids, id), append(says, id+" ("+about+")")
		if isOpen {
			open = append(open, id)
		}
		return nil
	}); err != nil {
		return resolved{}, fmt.Errorf("looking for ref %s: %w", text, err)
	}
	if len(ids) > 1 && len(open) == 1 {
		return resolved{id: open[0]}, nil // the others are over: rescheduled, for instance
	}
	switch len(ids) {
	case 0:
		return resolved{}, fmt.Errorf("%w: %q is neither an id nor a ref here", desk.ErrNotFound, text)
	case 1:
		return resolved{id: ids[0]}, nil
	}
	return resolved{}, &desk.Misuse{Says: fmt.Sprintf("several follow-ups have the ref %q, name one by its id: %s", text, strings.Join(says, ", "))}
}
