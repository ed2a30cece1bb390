package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"chasephone/internal/desk"
	"chasephone/internal/drain"
)

// NewFollowUp is a promise as an integrator makes it.
type NewFollowUp struct {
	Tenant        string
	Ref           string
	DueAt         time.Time
	Number        string // as typed
	ContactName   string
	TimeZone      string
	Purpose       string
	Script        string
	NeedsApproval bool
	Line          string
}

// ErrConflict says that there is a follow-up of this tenant, ref and due_at with another
// number or script (R10).
var ErrConflict = errors.New("there is a follow-up of this tenant, ref and due_at with another number or other words")

// Add stores a promise and works out its number's identity. made is false where it was
// there already, just so.
func (s *Store) Add(ctx context.Context, n NewFollowUp, identify drain.Identify) (id string, made bool, err error) {
	err = s.tx(ctx, func(tx pgx.Tx) error {
		err := tx.QueryRow(ctx, `
			insert into phone_followups (tenant_id, ref, due_at, phone_number, contact_name, time_zone, purpose, script, needs_approval, line)
			values (@tenant, @ref, @due_at, @number, @name, @zone, @purpose, @script, @approval, @line)
			on conflict on constraint phone_followups_natural_key do nothing
			returning id`,
			pgx.StrictNamedArgs{
				"tenant": n.Tenant, "ref": n.Ref, "due_at": n.DueAt, "number": n.Number, "name": orNull(n.ContactName),
				"zone": orNull(n.TimeZone), "purpose": n.Purpose, "script": n.Script, "approval": n.NeedsApproval, "line": orNull(n.Line),
			}).Scan(&id)
		if errors.Is(err, pgx.ErrNoRows) {
			// A number is the same however it was typed.
			region, err := s.region(ctx, tx, n.Tenant)
			if err != nil {
				return err
			}
			known, _ := identify(n.Number, region)
			var same bool
			err = tx.QueryRow(ctx, `
				select id, (phone_number = @number or (e164, coalesce(extension, '')) = (@e164, @extension)) and script = @script
				from phone_followups
				where tenant_id = @tenant and ref = @ref and due_at = @due_at`,
				pgx.StrictNamedArgs{
					"tenant": n.Tenant, "ref": n.Ref, "due_at": n.DueAt, "number": n.Number, "script": n.Script,
					"e164": known.Number.E164(), "extension": known.Extension,
				}).Scan(&id, &same)
			if err == nil && !same {
				return ErrConflict
			}
			return err
		}
		if err != nil {
			return err
		}
		made = true
		_, err = s.admit(ctx, tx, &id, 1, identify)
		return err
	})
	if err != nil {
		return id, false, fmt.Errorf("adding follow-up %s: %w", n.Ref, badText(err))
	}
	return id, made, nil
}

// tenantError says which tenant does not exist, where that is what err says.
func tenantError(err error, tenant string) error {
	var refused *pgconn.PgError
	if errors.As(err, &refused) && refused.Code == "23503" {
		return &desk.Misuse{Says: fmt.Sprintf("there is no tenant %s", tenant)}
	}
	return badText(err)
}

// badText turns what PostgreSQL says of text it cannot hold into what to do about it.
func badText(err error) error {
	var refused *pgconn.PgError
	if errors.As(err, &refused) {
		switch refused.Code {
		case "22021":
			return &desk.Misuse{Says: "the text holds a NUL byte or is not UTF-8"}
		case "23514":
			return &desk.Misuse{Says: "refused by " + refused.ConstraintName + " of " + refused.TableName}
		case "22008":
			return &desk.Misuse{Says: "the instant is out of range"}
		}
	}
	return err
}
