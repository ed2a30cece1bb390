package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"chasephone/internal/arrivals"
	"chasephone/internal/carrier"
)

// Invariant: one transaction bridges at a time, so that nobody else joins to what it read and
// writes back. Whoever waits for it finds what was committed meanwhile.
const bridgeLock = 0x62726467 // "brdg"

// Bridge bridges up to most arrivals of each carrier that are not yet bridged, and says how many
// there were. Those of one carrier are one transaction. One that the database refuses is set
// aside with the reason, and costs its neighbours nothing (invariant 10).
func (s *Store) Bridge(ctx context.Context, read arrivals.Reader, most int) (int, error) {
	done := 0
	var failed []error
	for _, shape := range shapes() {
		n, err := s.bridgeShape(ctx, read, shape, most)
		done += n
		if err != nil {
			failed = append(failed, fmt.Errorf("bridging arrivals of %s: %w", shape.carrier, err))
		}
	}
	return done, errors.Join(failed...)
}

func (s *Store) bridgeShape(ctx context.Context, read arrivals.Reader, shape shape, most int) (int, error) {
	done := 0
	passed := []int64{} // what somebody else's lock keeps from being bridged now
	for size, patience := most, lockPatience; ; size /= 2 {
		set, err := s.bridgeSet(ctx, read, shape, patience, shape.toBridgeSQL(), pgx.StrictNamedArgs{"most": size, "passed": passed})
		held := isLockTimeout(err) && len(set) > 0
		switch {
		case err == nil && size < most: // the culprit is not among these
			done, size = done+len(set), 2*most
		case err == nil:
			return done + len(set), nil
		case held && len(set) == 1:
			passed, size = append(passed, set[0].ID), 2*most
		case held:
			patience = lockPatience / 20 // it was waited for long enough: now it is only to be found
		case !isRowError(err):
			return done, err
		case len(set) == 1:
			if err := s.setArrivalAside(ctx, shape, set[0].ID, err); err != nil {
				return done, err
			}
			done, size = done+1, 2*most
		}
	}
}

// lockPatience is how long bridging waits for a lock: somebody's transaction that hangs on one
// follow-up must not keep the evidence on all others waiting.
const lockPatience = 5 * time.Second

func isLockTimeout(err error) bool {
	var refused *pgconn.PgError
	return errors.As(err, &refused) && refused.Code == "55P03"
}

// BridgeAgain bridges once more up to most arrivals of a carrier that come after one of them, in
// their order, and returns the last of them and how many there were; none: that was all. It
// changes nothing where everything was bridged as it should be. One that the database refuses is
// passed by.
func (s *Store) BridgeAgain(ctx context.Context, read arrivals.Reader, carrierName string, after int64, most int) (last int64, n int, err error) {
	i := slices.IndexFunc(shapes(), func(s shape) bool { return s.carrier == carrierName })
	if i < 0 {
		return after, 0, nil
	}
	shape := shapes()[i]
	for ; ; most /= 2 {
		set, err := s.bridgeSet(ctx, read, shape, lockPatience, shape.againSQL(), pgx.StrictNamedArgs{"after": after, "most": most})
		switch {
		case err == nil && len(set) == 0:
			return after, 0, nil
		case isRowError(err) && len(set) > 1:
			continue
		case isRowError(err):
			s.log.Error("an arrival cannot be bridged and is passed by", "carrier", shape.carrier, "arrival", set[0].ID, "err", err)
		case err != nil:
			return after, 0, fmt.Errorf("bridging arrivals of %s again: %w", carrierName, err)
		}
		return set[len(set)-1].ID, len(set), nil
	}
}

const keptColumns = `id, coalesce(tenant_id, ''), account, kind, coalesce(token, ''), body, received_at`

func (s shape) toBridgeSQL() string {
	return `select ` + keptColumns + ` from ` + s.table + ` where bridged_at is null and id <> all(@passed::bigint[]) order by id limit @most`
}

func (s shape) againSQL() string {
	return `select ` + keptColumns + ` from ` + s.table + ` where id > @after order by id limit @most`
}

// bridgeSet is one transaction. It returns what it read, with an error too.
func (s *Store) bridgeSet(ctx context.Context, read arrivals.Reader, shape shape, patience time.Duration, sql string, args pgx.StrictNamedArgs) ([]arrivals.Kept, error) {
	var set []arrivals.Kept
	err := s.tx(ctx, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `select set_config('lock_timeout', $1, true)`, strconv.FormatInt(patience.Milliseconds(), 10)); err != nil {
			return fmt.Errorf("bounding the wait for locks: %w", err)
		}
		if _, err := tx.Exec(ctx, `select pg_advisory_xact_lock($1)`, bridgeLock); err != nil {
			return fmt.Errorf("waiting for others that bridge: %w", err)
		}
		rows, err := tx.Query(ctx, sql, args)
		if err != nil {
			return fmt.Errorf("reading arrivals: %w", err)
		}
		if set, err = pgx.CollectRows(rows, pgx.RowToStructByPos[arrivals.Kept]); err != nil {
			return fmt.Errorf("reading arrivals: %w", err)
		}
		if len(set) == 0 {
			return nil
		}
		folded := arrivals.Fold(read(shape.carrier), set)
		if err := s.writeMessages(ctx, tx, folded.Messages); err != nil {
			return err
		}
		return markBridged(ctx, tx, shape, set, folded.Problems)
	})
	return set, err
}

// markBridged leaves alone what was bridged before, so that doing it again changes nothing.
func markBridged(ctx context.Context, tx pgx.Tx, shape shape, set []arrivals.Kept, problems map[int64]string) error {
	ids, why := make([]int64, len(set)), make([]*string, len(set))
	for i, k := range set {
		ids[i], why[i] = k.ID, orNull(problems[k.ID])
	}
	_, err := tx.Exec(ctx, `
		update `+shape.table+` e set bridged_at = clock_timestamp(), problem = x.problem
		from unnest(@ids::bigint[], @problems::text[]) as x (id, problem)
		where e.id = x.id and (e.bridged_at is null or e.problem is distinct from x.problem)`,
		pgx.StrictNamedArgs{"ids": ids, "problems": why})
	if err != nil {
		return fmt.Errorf("marking arrivals as bridged: %w", err)
	}
	return nil
}

func (s *Store) setArrivalAside(ctx context.Context, shape shape, id int64, why error) error {
	s.log.Error("an arrival cannot be bridged and is set aside", "carrier", shape.carrier, "arrival", id, "err", why)
	_, err := s.Pool.Exec(ctx, `
		update `+shape.table+` set bridged_at = clock_timestamp(), problem = @problem
		where id = @id and bridged_at is null`,
		pgx.StrictNamedArgs{"id": id, "problem": "it cannot be bridged: " + carrier.CleanText(why.Error())})
	if err != nil {
		return fmt.Errorf("setting an arrival aside: %w", err)
	}
	return nil
}
