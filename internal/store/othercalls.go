package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"chasephone/internal/phone"
)

// Directions of a call that chasephone did not place.
const (
	CallOut = "out" // to the person: it counts in caps, gaps and budgets like ours
	CallIn  = "in"  // from the person, who has reached the tenant with it
)

// OtherCall is a call that chasephone did not place, as somebody reports it.
type OtherCall struct {
	Tenant    string
	Number    phone.Number
	Direction string
	BeganAt   time.Time
	Talked    bool // it reached somebody
	Source    string
	By        string
	Once      bool // the instant was given: the same report again is no other call
}

// Reported is what became of a report.
type Reported string

// What can become of one.
const (
	ReportedNew     Reported = "new"
	ReportedAlready Reported = "already"
	ReportedTalk    Reported = "talked" // it was there already, and that it reached somebody is new
)

// ReportCall writes a report down. When it returns no claim is under way that judges a call to
// this number and has not counted this one; claims that only share a budget with it may be.
func (s *Store) ReportCall(ctx context.Context, c OtherCall) (Reported, error) {
	var came Reported
	err := s.tx(ctx, func(tx pgx.Tx) error {
		if err := lockNumber(ctx, tx, c.Number); err != nil {
			return err
		}
		args := pgx.StrictNamedArgs{
			"tenant": c.Tenant, "e164": c.Number.E164(), "direction": c.Direction, "began_at": c.BeganAt,
			"talked": c.Talked, "source": c.Source,
		}
		if c.Once {
			var is, had bool
			err := tx.QueryRow(ctx, `
				with found as (
				  select id, talked from other_calls
				  where e164 = @e164 and tenant_id = @tenant and direction = @direction and began_at = @began_at and source = @source),
				told as (
				  update other_calls o set talked = true from found f where o.id = f.id and @talked and not f.talked)
				select count(*) > 0, coalesce(bool_or(talked), false) from found`, args).Scan(&is, &had)
			switch {
			case err != nil:
				return err
			case is && c.Talked && !had:
				came = ReportedTalk
				return nil
			case is:
				came = ReportedAlready
				return nil
			}
		}
		args["by"] = c.By
		came = ReportedNew
		_, err := tx.Exec(ctx, `
			insert into other_calls (tenant_id, e164, direction, began_at, talked, source, reported_by)
			values (@tenant, @e164, @direction, @began_at, @talked, @source, @by)`, args)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("reporting a call: %w", tenantError(err, c.Tenant))
	}
	return came, nil
}
