package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"chasephone/internal/followup"
)

// What doctor asks: how the fleet stands, and what is open. Nothing here changes anything.

// Fleet is what holds for every daemon.
type Fleet struct {
	Limits   followup.Limits // in force (R17)
	LimitsAt time.Time
	LimitsBy string
	Demo     bool // a demonstration's database
}

// Fleet reads it.
func (s *Store) Fleet(ctx context.Context) (Fleet, error) {
	var f Fleet
	into := append(limitsInto(&f.Limits), &f.LimitsAt, &f.LimitsBy, &f.Demo)
	err := s.Pool.QueryRow(ctx, `
		select `+limitsColumns+`, l.set_at, l.set_by, f.demo from fleet f join limits l on l.id = f.limits_id`).Scan(into...)
	if err != nil {
		return f, fmt.Errorf("reading the limits in force: %w", err)
	}
	return f, nil
}

// Daemon is one that lives.
type Daemon struct {
	Host     string    `json:"host"`
	PID      int       `json:"pid"`
	Carriers []string  `json:"carriers"` // that it can call with
	Since    time.Time `json:"started_at"`
	// What its environment says:
	Limits followup.Limits   `json:"-"`
	Gates  map[string]string `json:"-"` // settings by variable; empty for a release that did not tell
}

// Daemons lists those that live, the longest first.
func (s *Store) Daemons(ctx context.Context) ([]Daemon, error) {
	rows, err := s.Pool.Query(ctx, `
		select host, pid, carriers, started_at, limits::text, gates::text from daemons
		where seen_at > clock_timestamp() - `+liveFor+` order by started_at, id`)
	if err != nil {
		return nil, fmt.Errorf("listing daemons: %w", err)
	}
	var (
		all              []Daemon
		d                Daemon
		limits, settings string
	)
	_, err = pgx.ForEachRow(rows, []any{&d.Host, &d.PID, &d.Carriers, &d.Since, &limits, &settings}, func() error {
		one := d
		one.Carriers = append([]string{}, d.Carriers...) // the next row is read into the same
		all = append(all, one)
		last := &all[len(all)-1]
		return errors.Join(json.Unmarshal([]byte(limits), &last.Limits), json.Unmarshal([]byte(settings), &last.Gates))
	})
	if err != nil {
		return nil, fmt.Errorf("listing daemons: %w", err)
	}
	return all, nil
}

// ringingHeld is what a hold of all ringing is called among the others.
const ringingHeld = "all ringing held"

// All reports whether it is the hold of all ringing, which is lifted otherwise than a stop.
func (h Hold) All() bool { return h.What == ringingHeld }

// Hold is a stop or a held line, in force now; what it is about is empty for everything.
type Hold struct {
	Tenant string `json:"tenant_id,omitempty"`
	Line   string `json:"line,omitempty"`
	Held
}

// Holds lists them all, the widest first.
func (s *Store) Holds(ctx context.Context) ([]Hold, error) {
	rows, err := s.Pool.Query(ctx, `
		select tenant, line, what, coalesce(by, ''), since, case when isfinite(until) then until end, coalesce(why, '') from (
		  select 0, '', '', '`+ringingHeld+`', null, held_at, null::timestamptz, why from ringing_holds where released_at is null
		  union all
		  select 1, '', '', 'everything stopped', stopped_by, stopped_at, null::timestamptz, null from fleet where stopped_at is not null
		  union all
		  select 2, id, '', 'tenant stopped', stopped_by, stopped_at, null, null from tenants where stopped_at is not null
		  union all
		  select 3, tenant_id, name, 'line stopped', stopped_by, stopped_at, null, null from lines where stopped_at is not null
		  union all
		  select 4, tenant_id, name, 'line held', held_by, null, held_until, held_for from lines where held_until > clock_timestamp()
		) as h (wide, tenant, line, what, by, since, until, why)
		order by wide, tenant, line`)
	if err != nil {
		return nil, fmt.Errorf("listing stops and holds: %w", err)
	}
	var (
		all []Hold
		h   Hold
	)
	_, err = pgx.ForEachRow(rows, []any{&h.Tenant, &h.Line, &h.What, &h.By, &h.Since, &h.Until, &h.For}, func() error {
		all = append(all, h)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("listing stops and holds: %w", err)
	}
	return all, nil
}

// Open counts the follow-ups that may still be rung, by where and why, and by the region of
// their tenant ("" for the environment's).
type Open struct {
	Region, Purpose, TenantRegion string
	Count                         int
}

// OpenByRegion counts them. Rows that nobody has looked at yet have no region, and are left out.
func (s *Store) OpenByRegion(ctx context.Context) ([]Open, error) {
	rows, err := s.Pool.Query(ctx, `
		select f.region, f.purpose, coalesce(t.region, ''), count(*)::int
		from phone_followups f join tenants t on t.id = f.tenant_id
		where f.state in ('due', 'awaiting_approval') and f.region is not null
		group by 1, 2, 3 order by 1, 2, 3`)
	if err != nil {
		return nil, fmt.Errorf("counting open follow-ups by region: %w", err)
	}
	all, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Open])
	if err != nil {
		return nil, fmt.Errorf("counting open follow-ups by region: %w", err)
	}
	return all, nil
}
