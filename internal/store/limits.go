package store

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/jackc/pgx/v5"

	"chasephone/internal/followup"
)

// limitsColumns are the columns of limits in the order of limitsInto.
const limitsColumns = `l.tick, l.per_tick, l.retry_after, l.max_late, l.dial_timeout, l.dial_slots, l.drainers, l.quarantine`

func limitsInto(l *followup.Limits) []any {
	return []any{&l.Tick, &l.PerTick, &l.RetryAfter, &l.MaxLate, &l.DialTimeout, &l.DialSlots, &l.Drainers, &l.Quarantine}
}

// Limits are the limits in force (R17).
func (s *Store) Limits(ctx context.Context) (followup.Limits, error) {
	var l followup.Limits
	err := s.Pool.QueryRow(ctx, `select `+limitsColumns+` from fleet f join limits l on l.id = f.limits_id`).Scan(limitsInto(&l)...)
	if err != nil {
		return l, fmt.Errorf("reading the limits in force: %w", err)
	}
	return l, nil
}

// SetLimits puts a starting daemon's limits in force and returns those that were before.
// Every change is a row of its own, with who and when.
func (s *Store) SetLimits(ctx context.Context, l followup.Limits, by string) (before followup.Limits, err error) {
	err = s.tx(ctx, func(tx pgx.Tx) error {
		// In a statement of its own: the limits are read after the lock is held.
		if err := queueForFleet(ctx, tx); err != nil {
			return err
		}
		err := tx.QueryRow(ctx, `select `+limitsColumns+` from fleet f join limits l on l.id = f.limits_id`).Scan(limitsInto(&before)...)
		if err != nil || before == l {
			return err
		}
		_, err = tx.Exec(ctx, `
			with l as (
			  insert into limits (tick, per_tick, retry_after, max_late, dial_timeout, dial_slots, drainers, quarantine, set_by)
			  values (@tick, @per_tick, @retry_after, @max_late, @dial_timeout, @dial_slots, @drainers, @quarantine, @by)
			  returning id)
			update fleet set limits_id = l.id from l`,
			pgx.StrictNamedArgs{
				"tick": l.Tick, "per_tick": l.PerTick, "retry_after": l.RetryAfter, "max_late": l.MaxLate,
				"dial_timeout": l.DialTimeout, "dial_slots": l.DialSlots, "drainers": l.Drainers, "quarantine": l.Quarantine,
				"by": by,
			})
		return err
	})
	if err != nil {
		return before, fmt.Errorf("setting the limits in force: %w", err)
	}
	return before, nil
}

// liveFor is how long a daemon is taken to live after its last heartbeat.
const liveFor = `interval '20 seconds'`

// Heartbeat notes that this daemon lives, what it can reach and what its own environment
// says. It returns how many live daemons' environments differ from its own.
func (s *Store) Heartbeat(ctx context.Context, own followup.Limits) (disagree int, err error) {
	host, _ := os.Hostname()
	limits, err := json.Marshal(own)
	if err != nil {
		return 0, err
	}
	settings, err := json.Marshal(s.settings)
	if err != nil {
		return 0, err
	}
	batch := &pgx.Batch{}
	batch.Queue(`
		insert into daemons (id, host, pid, carriers, limits, gates)
		values (@id, @host, @pid, @carriers, @limits::text::jsonb, coalesce(nullif(@gates::text, 'null'), '{}')::jsonb)
		on conflict (id) do update set seen_at = clock_timestamp(), carriers = excluded.carriers`,
		pgx.StrictNamedArgs{"id": s.daemon, "host": host, "pid": os.Getpid(), "carriers": s.carrierNames(), "limits": string(limits), "gates": string(settings)})
	batch.Queue(`delete from daemons where seen_at < clock_timestamp() - interval '1 day'`)
	batch.Queue(`delete from unfit_lines where until < clock_timestamp()`)
	batch.Queue(`select limits from daemons where seen_at > clock_timestamp() - ` + liveFor).Query(func(rows pgx.Rows) error {
		var all []followup.Limits
		var one string
		_, err := pgx.ForEachRow(rows, []any{&one}, func() error {
			var l followup.Limits
			if err := json.Unmarshal([]byte(one), &l); err != nil {
				return err
			}
			all = append(all, l)
			return nil
		})
		for _, l := range all {
			if l != own {
				disagree++
			}
		}
		return err
	})
	if err := s.Pool.SendBatch(ctx, batch).Close(); err != nil {
		return 0, fmt.Errorf("noting that this daemon lives: %w", err)
	}
	return disagree, nil
}

// Leave takes this daemon off the list of those that live.
func (s *Store) Leave(ctx context.Context) error {
	_, err := s.Pool.Exec(ctx, `delete from daemons where id = $1`, s.daemon)
	return err
}
