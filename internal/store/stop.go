package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"chasephone/internal/desk"
)

// Invariant: a claim holds its locks on fleet, tenant and lines until its attempts are
// committed, so an update of one of those rows that returns has no claim under way behind it.

// stopRow is the row that stops a scope, and the scope as a condition on tenant_id and line.
func stopRow(scope desk.Scope) (table, where string) {
	switch {
	case scope.Line != "":
		return "lines", "tenant_id = @tenant and name = @line"
	case scope.Tenant != "":
		return "tenants", "id = @tenant and @line = ''"
	}
	return "fleet", "@tenant = '' and @line = ''"
}

func scopeArgs(scope desk.Scope) pgx.StrictNamedArgs {
	return pgx.StrictNamedArgs{"tenant": scope.Tenant, "line": scope.Line}
}

// Stop stops the scope, see desk.Store.
func (s *Store) Stop(ctx context.Context, scope desk.Scope, by string) (desk.Stopped, error) {
	var stopped desk.Stopped
	err := s.tx(ctx, func(tx pgx.Tx) error {
		if scope == (desk.Scope{}) {
			if err := queueForFleet(ctx, tx); err != nil {
				return err
			}
		}
		earlier, err := lockStop(ctx, tx, scope)
		if err != nil {
			return err
		}
		if earlier != nil {
			stopped.Already, stopped.By, stopped.At = true, earlier.by, earlier.at
			return nil
		}
		table, where := stopRow(scope)
		args := scopeArgs(scope)
		args["by"] = by
		stopped.By = by
		err = tx.QueryRow(ctx, `update `+table+` set stopped_at = clock_timestamp(), stopped_by = @by where `+where+` returning stopped_at`, args).
			Scan(&stopped.At)
		if err != nil {
			return err
		}
		return note(ctx, tx, act{verb: "stop", by: by, tenant: scope.Tenant, line: scope.Line})
	})
	if err != nil {
		return stopped, fmt.Errorf("stopping %s: %w", scope, err)
	}
	// After the commit: no claim can be under way any more, so this is all there is.
	rows, err := s.Pool.Query(ctx, `
		select followup_id, no, tenant_id, line, answer_by from attempts
		where outcome is null and (@tenant = '' or tenant_id = @tenant) and (@line = '' or line = @line)
		order by answer_by, followup_id`, scopeArgs(scope))
	if err != nil {
		return stopped, fmt.Errorf("listing the attempts that are out: %w", err)
	}
	var out desk.Out
	_, err = pgx.ForEachRow(rows, []any{&out.FollowUp, &out.Attempt, &out.Tenant, &out.Line, &out.AnswerBy}, func() error {
		stopped.Out = append(stopped.Out, out)
		return nil
	})
	if err != nil {
		return stopped, fmt.Errorf("listing the attempts that are out: %w", err)
	}
	return stopped, nil
}

// Resume lifts a stop, see desk.Store.
func (s *Store) Resume(ctx context.Context, scope desk.Scope, by string) (lifted bool, due int, err error) {
	err = s.tx(ctx, func(tx pgx.Tx) error {
		earlier, err := lockStop(ctx, tx, scope)
		if err != nil {
			return err
		}
		lifted = earlier != nil
		if !lifted {
			return nil
		}
		table, where := stopRow(scope)
		if _, err := tx.Exec(ctx, `update `+table+` set stopped_at = null, stopped_by = null where `+where, scopeArgs(scope)); err != nil {
			return err
		}
		if due, err = wakeLine(ctx, tx, scope); err != nil {
			return err
		}
		return note(ctx, tx, act{verb: "resume", by: by, tenant: scope.Tenant, line: scope.Line, detail: "stopped by " + earlier.by})
	})
	if err != nil {
		return false, 0, fmt.Errorf("resuming %s: %w", scope, err)
	}
	return lifted, due, nil
}

// queueForFleet waits for the claims under way, and lets no other begin before the caller's
// transaction ends: claims share the fleet's row, and would otherwise overtake for ever.
func queueForFleet(ctx context.Context, tx pgx.Tx) error {
	if _, err := tx.Exec(ctx, `lock table fleet in exclusive mode`); err != nil {
		return fmt.Errorf("waiting for claims under way: %w", err)
	}
	return nil
}

type earlierStop struct {
	at time.Time
	by string
}

// lockStop locks the scope's row and says who had stopped it, nil for nobody.
func lockStop(ctx context.Context, tx pgx.Tx, scope desk.Scope) (*earlierStop, error) {
	table, where := stopRow(scope)
	var (
		at *time.Time
		by *string
	)
	err := tx.QueryRow(ctx, `select stopped_at, stopped_by from `+table+` where `+where+` for no key update`, scopeArgs(scope)).Scan(&at, &by)
	switch {
	case isNoRows(err):
		return nil, &desk.Misuse{Says: fmt.Sprintf("there is no %s", scope)}
	case err != nil:
		return nil, err
	case at == nil:
		return nil, nil //nolint:nilnil // nobody had stopped it, and that is no error
	}
	return &earlierStop{*at, *by}, nil
}

// wakeLine makes the rows that wait for a line in the scope due at once, unless that line is
// held still.
func wakeLine(ctx context.Context, tx pgx.Tx, scope desk.Scope) (int, error) {
	if _, err := tx.Exec(ctx, `
		delete from unfit_lines where (@tenant = '' or tenant_id = @tenant) and (@line = '' or line = @line)`, scopeArgs(scope)); err != nil {
		return 0, err
	}
	tag, err := tx.Exec(ctx, `
		update phone_followups f set ready = true, next_try_at = clock_timestamp(), updated_at = clock_timestamp()
		from tenants t
		where f.state = 'due' and not f.ready and f.reason = 'line_not_ready' and t.id = f.tenant_id
		  and f.next_try_at > clock_timestamp()
		  and (@tenant = '' or f.tenant_id = @tenant) and (@line = '' or coalesce(f.line, t.default_line) = @line)
		  and not exists (select from lines l where l.tenant_id = f.tenant_id and l.name = coalesce(f.line, t.default_line)
		    and l.held_until > clock_timestamp())`, scopeArgs(scope))
	return int(tag.RowsAffected()), err
}

func isNoRows(err error) bool { return errors.Is(err, pgx.ErrNoRows) }
