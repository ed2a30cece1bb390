package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"chasephone/internal/phone"
)

// Consent is on file for one tenant, number and purpose: that of nobody else, and for nothing else.
type Consent struct {
	Number  phone.Number
	Tenant  string
	Purpose string
	Source  string
	Given   time.Time // zero: now, by the database's clock
	By      string
}

func (c Consent) args() pgx.StrictNamedArgs {
	return pgx.StrictNamedArgs{"e164": c.Number.E164(), "tenant": c.Tenant, "purpose": c.Purpose}
}

// AddConsent puts a consent on file and returns the one that is: added is false where it is an
// earlier one, which keeps its date and source.
func (s *Store) AddConsent(ctx context.Context, c Consent) (stands Consent, added bool, err error) {
	err = s.tx(ctx, func(tx pgx.Tx) error {
		if err := lockNumber(ctx, tx, c.Number); err != nil {
			return err
		}
		args := c.args()
		args["source"], args["by"], args["given"] = c.Source, c.By, (*time.Time)(nil)
		if !c.Given.IsZero() {
			args["given"] = &c.Given
		}
		tag, err := tx.Exec(ctx, `
			insert into consents (tenant_id, e164, purpose, source, given_at, added_by)
			values (@tenant, @e164, @purpose, @source, coalesce(@given, clock_timestamp()), @by)
			on conflict do nothing`, args)
		if err != nil {
			return err
		}
		if added = tag.RowsAffected() > 0; added {
			if err := note(ctx, tx, act{verb: "consent add", by: c.By, tenant: c.Tenant, detail: c.Purpose + " " + c.Number.Masked()}); err != nil {
				return err
			}
		}
		stands = c
		return tx.QueryRow(ctx, `
			select source, given_at, added_by from consents
			where e164 = @e164 and tenant_id = @tenant and purpose = @purpose`, c.args()).Scan(&stands.Source, &stands.Given, &stands.By)
	})
	if err != nil {
		return Consent{}, false, fmt.Errorf("putting the consent of %v on file: %w", c.Number, tenantError(err, c.Tenant))
	}
	return stands, added, nil
}

// RemoveConsent takes a consent off file. When it returns no claim is under way that still
// counts on it. kept are the purposes for which the tenant has one of this number still.
func (s *Store) RemoveConsent(ctx context.Context, c Consent) (removed bool, kept []string, err error) {
	err = s.tx(ctx, func(tx pgx.Tx) error {
		if err := lockNumber(ctx, tx, c.Number); err != nil {
			return err
		}
		var was Consent
		err := tx.QueryRow(ctx, `
			delete from consents where e164 = @e164 and tenant_id = @tenant and purpose = @purpose
			returning given_at, added_by`, c.args()).Scan(&was.Given, &was.By)
		switch {
		case isNoRows(err):
		case err != nil:
			return err
		default:
			removed = true
			// Whoever is asked later on what grounds somebody was called finds it here.
			detail := fmt.Sprintf("%s %s, given %s, added by %s", c.Purpose, c.Number.Masked(), was.Given.UTC().Format(time.RFC3339), was.By)
			if err := note(ctx, tx, act{verb: "consent remove", by: c.By, tenant: c.Tenant, detail: detail}); err != nil {
				return err
			}
		}
		rows, err := tx.Query(ctx, `
			select purpose from consents where e164 = $1 and tenant_id = $2 order by 1`, c.Number.E164(), c.Tenant)
		if err != nil {
			return err
		}
		kept, err = pgx.CollectRows(rows, pgx.RowTo[string])
		return err
	})
	if err != nil {
		return false, nil, fmt.Errorf("taking the consent of %v off file: %w", c.Number, err)
	}
	return removed, kept, nil
}

// Consents lists the consents of a tenant, or of all with "", the oldest first and up to most.
func (s *Store) Consents(ctx context.Context, tenant string, most int) ([]Consent, error) {
	rows, err := s.Pool.Query(ctx, `
		select e164, tenant_id, purpose, source, given_at, added_by from consents
		where @tenant = '' or tenant_id = @tenant
		order by given_at, tenant_id, e164, purpose limit @most`, pgx.StrictNamedArgs{"tenant": tenant, "most": most})
	if err != nil {
		return nil, fmt.Errorf("listing consents: %w", err)
	}
	var (
		all  []Consent
		c    Consent
		e164 string
	)
	_, err = pgx.ForEachRow(rows, []any{&e164, &c.Tenant, &c.Purpose, &c.Source, &c.Given, &c.By}, func() error {
		c.Number = phone.FromE164(e164)
		all = append(all, c)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("listing consents: %w", err)
	}
	return all, nil
}
