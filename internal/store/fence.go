package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"chasephone/internal/tick"
)

// slotSQL cuts the database's clock into slots. Slots are told apart by their start, so
// that a change of the tick's length makes no slot seem older than one before it.
const slotSQL = `
select date_bin(l.tick, now, timestamptz 'epoch'), fence.slot_at >= date_bin(l.tick, now, timestamptz 'epoch') and fence.slot_at <= now,
  l.tick - (now - date_bin(l.tick, now, timestamptz 'epoch')), l.tick, l.drainers, l.dial_slots,
  exists (select from daemons d where d.id <> @daemon::text::uuid and d.seen_at > now - ` + liveFor + `
    and (not @carriers::text[] <@ d.carriers
         or exists (select from unfit_lines u where u.daemon_id = d.id and u.until > now)))
from (select clock_timestamp() as now offset 0) c
cross join tick_fence fence cross join fleet f join limits l on l.id = f.limits_id`

// Offer reads the slot that it is now, see tick.Fence.
func (s *Store) Offer(ctx context.Context) (tick.Slot, error) {
	var slot tick.Slot
	err := s.Pool.QueryRow(ctx, slotSQL, pgx.StrictNamedArgs{
		"daemon": orNull(s.daemon), "carriers": s.carrierNames(),
	}).Scan(&slot.At, &slot.Ticked, &slot.Left, &slot.Tick, &slot.Drainers, &slot.DialSlots, &slot.Help)
	if err != nil {
		return slot, fmt.Errorf("reading the slot: %w", err)
	}
	return slot, nil
}

// passSQL moves the fence. A fence ahead of the clock means that the clock was set back: it
// must not stop the fleet until the clock has caught up.
const passSQL = `
update tick_fence set slot_at = @at
from (select l.tick, clock_timestamp() as now from fleet f join limits l on l.id = f.limits_id offset 0) l
where (slot_at < @at or slot_at > l.now) and @at <= l.now and @at >= date_bin(l.tick, l.now, timestamptz 'epoch') - l.tick
returning true`

// Pass lets a slot through once, see tick.Fence.
func (s *Store) Pass(ctx context.Context, at time.Time) (tick.Slot, bool, error) {
	var pass bool
	err := s.Pool.QueryRow(ctx, passSQL, pgx.StrictNamedArgs{"at": at}).Scan(&pass)
	if errors.Is(err, pgx.ErrNoRows) {
		return tick.Slot{}, false, nil
	}
	if err != nil {
		return tick.Slot{}, false, fmt.Errorf("passing the fence of slot %s: %w", at, err)
	}
	slot, err := s.Offer(ctx)
	return slot, err == nil, err
}
