package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// Why all ringing can be held, in the words of ringing_holds.why.
const (
	forgotten = "attempt_forgotten" // a daemon misses an attempt that it saw committed
	unowned   = "calls_unowned"     // a carrier lists calls to people who are due, which no attempt owns
)

// holdTimeout is how long a claim that must not be waits for the others to end.
const holdTimeout = 30 * time.Second

// RingingHold is a hold of all ringing that nobody has released.
type RingingHold struct {
	At     time.Time `json:"held_at"`
	Daemon string    `json:"held_by"`
	Why    string    `json:"why"`
	Detail string    `json:"detail"`
	Since  time.Time `json:"since"` // calls that began since may be forgotten
}

// holdSQL holds, unless that is done. What the database knows last is where forgetting may have begun.
const holdSQL = `
insert into ringing_holds (held_by, why, detail, since)
select @daemon::text::uuid, @why, @detail, coalesce(
  (select created_at from (` + newestSQL + `) a), (select min(created_at) from phone_followups), clock_timestamp()) - interval '1 minute'
where not exists (select from ringing_holds where released_at is null) -- under the fleet's lock; a restore may not have brought the key yet
on conflict do nothing`

// hold holds all ringing, once no claim is under way, where that is called for still.
func (s *Store) hold(ctx context.Context, why, detail string, still func(context.Context, pgx.Tx) (bool, error)) error {
	var news bool
	err := s.tx(ctx, func(tx pgx.Tx) error {
		if err := queueForFleet(ctx, tx); err != nil {
			return err
		}
		if is, err := still(ctx, tx); err != nil || !is {
			return err
		}
		tag, err := tx.Exec(ctx, holdSQL, pgx.StrictNamedArgs{"daemon": s.daemon, "why": why, "detail": detail})
		if err != nil {
			return err
		}
		var held bool
		if err := tx.QueryRow(ctx, `select ringing_held()`).Scan(&held); err != nil || !held {
			return errors.Join(err, errors.New("the hold could not be written"))
		}
		news = tag.RowsAffected() > 0
		return nil
	})
	if err != nil {
		return fmt.Errorf("holding all ringing: %w", err)
	}
	if news {
		s.log.Error("all ringing is held until a person releases it: chasephone release", "why", why, "detail", detail)
	}
	return nil
}

func (s *Store) holdForgotten(ctx context.Context) error {
	seen, _, _ := s.memory.question()
	return s.hold(ctx, forgotten, fmt.Sprintf("the database has forgotten an attempt of %s that a daemon saw committed: it was restored from a backup, or a failover lost what was committed last",
		seen.At.UTC().Format(time.RFC3339)), s.hasForgotten)
}

// hasForgotten asks again: a person may have released meanwhile what was lost.
func (s *Store) hasForgotten(ctx context.Context, tx pgx.Tx) (has bool, err error) {
	seen, sql, on := s.memory.question()
	if !on {
		return false, nil
	}
	err = tx.QueryRow(ctx, `select not knows from (`+sql+`) x`, seen.args()).Scan(&has)
	return has, err
}

// HoldUnowned holds all ringing because carriers list calls to people who are due that no attempt owns.
func (s *Store) HoldUnowned(ctx context.Context, calls int) error {
	return s.hold(ctx, unowned, fmt.Sprintf("the carriers list %d call(s) to people who are due which no attempt here owns: the database may have forgotten attempts", calls),
		func(context.Context, pgx.Tx) (bool, error) { return true, nil })
}

// RingingHeld is the hold in force, nil for none.
func (s *Store) RingingHeld(ctx context.Context) (*RingingHold, error) {
	var h RingingHold
	err := s.Pool.QueryRow(ctx, `select held_at, held_by::text, why, detail, since from ringing_holds where released_at is null`).
		Scan(&h.At, &h.Daemon, &h.Why, &h.Detail, &h.Since)
	if isNoRows(err) {
		return nil, nil //nolint:nilnil // nothing is held, and that is no error
	}
	if err != nil {
		return nil, fmt.Errorf("asking whether ringing is held: %w", err)
	}
	return &h, nil
}

// Release lifts the hold, in a person's name; false where there is none. What was lost before it
// holds nothing any more.
func (s *Store) Release(ctx context.Context, by, detail string) (released bool, err error) {
	err = s.tx(ctx, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `update ringing_holds set released_at = clock_timestamp(), released_by = $1 where released_at is null`, by)
		if released = err == nil && tag.RowsAffected() > 0; !released {
			return err
		}
		return note(ctx, tx, act{verb: "release", by: by, detail: detail})
	})
	if err != nil {
		return false, fmt.Errorf("releasing the hold of all ringing: %w", err)
	}
	return released, nil
}
