package store

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"chasephone/internal/drain"
	"chasephone/internal/followup"
	"chasephone/internal/gates"
	"chasephone/internal/phone"
)

// Invariant: at most PerTick follow-ups of a tenant take a place in one slot. The tenant's
// row is locked while its places are counted and taken, the slot is the one that the
// database's clock is in once the lock is held, and the ledger's key on (tenant, slot,
// place) refuses whatever went around the lock.

// rowsAtOnce bounds the rows that one claim locks and judges: their locks have room in the
// server, and their attempts are committed well before they may be sent no more.
const rowsAtOnce = 1000

// fleetLockSQL holds off stop and a change of limits until this claim is over. What the row
// says is read in the next statement: after a wait for the lock, this one would still join
// the new row with the old limits.
const fleetLockSQL = `select from fleet for share`

const fleetSQL = `
select f.stopped_at is not null or ringing_held(), l.id, ` + limitsColumns + `
from fleet f join limits l on l.id = f.limits_id`

// fleetBudgetLock is the last lock that a claim waits for, where calls of the fleet are counted.
const fleetBudgetLock = 0x62756467 // "budg"

// tenantsSQL locks the tenants whose places are about to be counted; one that another
// daemon is claiming is left to it.
const tenantsSQL = `
select id, coalesce(region, ''), approval
from tenants
where id = any(@tenants) and stopped_at is null
order by id
for no key update skip locked`

// linesSQL locks the lines. One that somebody else holds is left out rather than waited for.
const linesSQL = `
select l.tenant_id, l.name, l.carrier, l.caller_number, coalesce(l.url, ''), l.calls_per_second,
  case when l.next_call_at = '-infinity' then null else l.next_call_at end, l.unknowns_in_row,
  o.open, o.silent
from lines l cross join lateral (
  select count(*) as open, count(*) filter (where a.begin_at < clock_timestamp() - interval '3 seconds') as silent
  from attempts a where a.tenant_id = l.tenant_id and a.line = l.name and a.outcome is null) o
where l.tenant_id = any(@tenants)
order by l.tenant_id, l.name
for no key update of l skip locked`

type tenant struct {
	region string
	policy gates.Policy
}

// Claim is T1, see drain.Store.
func (s *Store) Claim(ctx context.Context, q drain.Query, rule drain.Rule) (drain.Claim, error) {
	var (
		claim drain.Claim
		seen  Seen
		now   time.Time
	)
	err := s.tx(ctx, func(tx pgx.Tx) error {
		claim = drain.Claim{}
		c := claiming{Store: s, tx: tx, q: q}
		pairs, err := c.begin(ctx, &claim)
		if err != nil || claim.Stopped || len(pairs.tenants) == 0 {
			return err
		}
		seen = c.seen
		switch {
		case !c.knows:
			return errForgotten
		case !s.mayClaimIn(seen.Server):
			claim.Stopped = true
			return nil
		}
		tenants, err := c.lockTenants(ctx, pairs.tenants)
		if err != nil || len(tenants) == 0 {
			return err
		}
		lines, err := c.lockLines(ctx, tenants, &claim)
		if err != nil {
			return err
		}
		claim.Clock.Local = time.Now() // before the database's clock is read, never after
		batch, approvals, err := c.candidates(ctx, pairs, tenants, lines)
		if err != nil || len(batch.Candidates) == 0 {
			return err
		}
		if err := c.facts(ctx, &batch, approvals); err != nil {
			return err
		}
		claim.Clock.Database, now = batch.Now, batch.Now
		for _, one := range batch.Candidates {
			claim.Looked = append(claim.Looked, one.ID)
		}
		decisions := rule(batch)
		claim.Waited, claim.Left, claim.PacedTo = decisions.Waited, decisions.Left, decisions.PacedTo
		for _, d := range decisions.Decided {
			claim.Findings = append(claim.Findings, d.Findings...)
			if d.Place > 0 {
				claim.Reached = d.Candidate.Tenant
			}
			if d.Attempt != nil {
				claim.Attempts = append(claim.Attempts, *d.Attempt)
			}
		}
		// There may be more where it was cut short, as long as something came of it.
		claim.Full = decisions.Full || len(decisions.Decided) > decisions.Shared && (q.Rows > 0 || c.cut)
		return rowError(c.write(ctx, batch, decisions))
	})
	switch {
	case errors.Is(err, errForgotten):
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), holdTimeout)
		defer cancel()
		return drain.Claim{Stopped: true}, s.holdForgotten(ctx)
	case err == nil && len(claim.Attempts) > 0:
		s.saw(seen, claim.Attempts[0].Token, now) // all of them or none are forgotten
	}
	return claim, err
}

// claiming is one claim under way.
type claiming struct {
	*Store
	tx       pgx.Tx
	q        drain.Query
	limits   followup.Limits
	limitsID int64
	seen     Seen // what this process has seen, and the server that it was compared in
	knows    bool // the database does, too
	cut      bool // see candidates
}

// begin locks the fleet's row and looks for tenants with due work.
func (c *claiming) begin(ctx context.Context, claim *drain.Claim) (pairs, error) {
	batch := &pgx.Batch{}
	batch.Queue(fleetLockSQL)
	batch.Queue(fleetSQL).QueryRow(func(row pgx.Row) error {
		return row.Scan(append([]any{&claim.Stopped, &c.limitsID}, limitsInto(&c.limits)...)...)
	})
	c.askKnows(batch)
	if err := c.tx.SendBatch(ctx, batch).Close(); err != nil {
		return pairs{}, fmt.Errorf("locking the fleet: %w", err)
	}
	most := min(max(c.q.Most, fewestPairs), 500)
	found, err := c.pairs(ctx, most, claim)
	if err != nil {
		return pairs{}, err
	}
	claim.Limits = c.limits
	for most < scanPairs && !claim.End && found.oneTenant(claim.Next) {
		most = min(8*most, scanPairs) // a tenant with very many lines: all of them, for its oldest row
		if found, err = c.pairs(ctx, most, claim); err != nil {
			return pairs{}, err
		}
	}
	if !claim.End {
		found.keepTenantsWhole(&claim.Next)
	}
	return found, nil
}

func (c *claiming) lockTenants(ctx context.Context, ids []string) (map[string]tenant, error) {
	rows, err := c.tx.Query(ctx, tenantsSQL, pgx.StrictNamedArgs{"tenants": ids})
	if err != nil {
		return nil, fmt.Errorf("locking tenants: %w", err)
	}
	locked := map[string]tenant{}
	var (
		id string
		t  tenant
	)
	_, err = pgx.ForEachRow(rows, []any{&id, &t.region, &t.policy}, func() error {
		locked[id] = t
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("locking tenants: %w", err)
	}
	return locked, nil
}

// line is a line as the claim locked it.
type line struct {
	gate gates.Line
	room drain.LineRoom
}

// lockLines locks the lines of the tenants. claim.Busy says that one of them was held by
// somebody else.
func (c *claiming) lockLines(ctx context.Context, tenants map[string]tenant, claim *drain.Claim) (map[followup.LineID]line, error) {
	ids := slices.Collect(maps.Keys(tenants))
	lines := map[followup.LineID]line{}
	var all int
	batch := &pgx.Batch{}
	batch.Queue(linesSQL, pgx.StrictNamedArgs{"tenants": ids}).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			id, l, err := c.scanLine(rows)
			if err != nil {
				return err
			}
			lines[id] = l
		}
		return rows.Err()
	})
	batch.Queue(`select count(*) from lines where tenant_id = any(@tenants)`, pgx.StrictNamedArgs{"tenants": ids}).QueryRow(func(row pgx.Row) error {
		return row.Scan(&all)
	})
	if c.gates.MaxPerMinute > 0 {
		// Whoever counts the fleet's calls has counted and committed before the next one does.
		batch.Queue(`select pg_advisory_xact_lock($1)`, fleetBudgetLock)
	}
	if err := c.tx.SendBatch(ctx, batch).Close(); err != nil {
		return nil, fmt.Errorf("locking lines: %w", err)
	}
	claim.Busy = len(lines) < all
	return lines, nil
}

func (c *claiming) scanLine(rows pgx.Rows) (followup.LineID, line, error) {
	var (
		id     followup.LineID
		l      line
		caller string
		cps    *float64
		next   *time.Time

		unknowns, open, silent int
	)
	err := rows.Scan(&id.Tenant, &id.Name, &l.gate.Carrier, &caller, &l.gate.URL, &cps, &next, &unknowns, &open, &silent)
	if err != nil {
		return id, l, err
	}
	l.gate.Name, l.gate.Exists, l.gate.Caller = id.Name, true, phone.FromE164(caller)
	if carrier, ok := c.carriers.Get(l.gate.Carrier); ok {
		l.gate.Configured = true
		if cps == nil {
			own := carrier.CallsPerSecond()
			cps = &own
		}
	}
	if cps != nil && *cps > 0 {
		l.room.Every = time.Duration(float64(time.Second) / *cps)
	}
	if next != nil {
		l.room.NextAt = *next
	}
	if c.unknowns > 0 && unknowns+silent > 0 {
		// What is in flight may turn out unknown too, once one did or keeps silent: no more than
		// would fill the count, and one at a time to try a line that was held for it.
		l.room.Bounded, l.room.Calls = true, max(c.unknowns-unknowns, 1)-open
	}
	return id, l, nil
}
