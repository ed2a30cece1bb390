package store

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/jackc/pgx/v5"

	"chasephone/internal/carrier"
	"chasephone/internal/drain"
)

// One row that makes a set statement fail must cost its neighbours nothing.

const asideSQL = `
with moved as (
  update phone_followups f
  set version = coalesce(version, 0) + 1, reason = @reason, detail = @detail, ready = false,
    next_try_at = clock_timestamp() + l.retry_after, updated_at = clock_timestamp()
  from fleet x join limits l on l.id = x.limits_id
  where f.id = @id and f.state = 'due'
  returning f.id, f.version, f.tenant_id)
insert into followup_events (followup_id, version, tenant_id, at, from_state, to_state, outcome, actor, reason, detail)
select id, version, tenant_id, clock_timestamp(), 'due', 'due', 'not_ready', 'daemon', @reason, @detail
from moved`

// SetAside makes a row wait that cannot be claimed, see drain.Store.
func (s *Store) SetAside(ctx context.Context, id string, why error) error {
	return s.setAside(ctx, id, "cannot_be_claimed", why)
}

func (s *Store) setAside(ctx context.Context, id, reason string, why error) error {
	_, err := s.Pool.Exec(ctx, asideSQL, pgx.StrictNamedArgs{"id": id, "reason": reason, "detail": carrier.CleanText(why.Error())})
	if err != nil {
		return fmt.Errorf("setting follow-up %s aside: %w", id, err)
	}
	return nil
}

// inOne is a statement that does something for up to @most rows, or for the one named @only.
type inOne struct {
	sql        string
	args       pgx.StrictNamedArgs
	candidates string // the ids that sql would take, with the same arguments less @only
}

// inOne runs a set statement. Where a row among them makes it fail, every row is tried
// alone: the others go on, and the error names those that were refused.
func (s *Store) inOne(ctx context.Context, o inOne) (int, error) {
	args := maps.Clone(o.args)
	args["only"] = nil
	tag, err := s.Pool.Exec(ctx, o.sql, args)
	if err == nil {
		return int(tag.RowsAffected()), nil
	}
	if !isRowError(err) {
		return 0, err
	}
	ids, err := s.ids(ctx, o)
	if err != nil {
		return 0, err
	}
	return oneByOne(ids, func(id string) (int, error) {
		args["only"] = id
		tag, err := s.Pool.Exec(ctx, o.sql, args)
		return int(tag.RowsAffected()), err
	})
}

// oneByOne does for every row alone what a set of them was refused for, and says for how many
// it was done. A row that is refused holds up no other; any other error does.
func oneByOne(ids []string, do func(id string) (int, error)) (done int, err error) {
	var refused []error
	for _, id := range ids {
		n, err := do(id)
		done += n
		switch {
		case isRowError(err):
			refused = append(refused, fmt.Errorf("follow-up %s: %w", id, err))
		case err != nil:
			return done, err
		}
	}
	return done, errors.Join(refused...)
}

func (s *Store) ids(ctx context.Context, o inOne) ([]string, error) {
	args := maps.Clone(o.args)
	delete(args, "detail")
	rows, err := s.Pool.Query(ctx, o.candidates, args)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

func isRowError(err error) bool {
	var bad *drain.RowError
	return errors.As(rowError(err), &bad)
}
