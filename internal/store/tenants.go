package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"chasephone/internal/desk"
	"chasephone/internal/gates"
)

// TenantSettings are what a person sets of a tenant.
type TenantSettings struct {
	Region      string       `json:"region,omitempty"` // "": PHONE_DEFAULT_REGION
	DefaultLine string       `json:"default_line"`
	Approval    gates.Policy `json:"approval"`
}

func (t TenantSettings) String() string {
	region := t.Region
	if region == "" {
		region = "of the environment"
	}
	return fmt.Sprintf("region %s, default line %s, approval %s", region, t.DefaultLine, t.Approval)
}

// Tenant is a tenant as it stands.
type Tenant struct {
	ID string `json:"tenant_id"`
	TenantSettings
	StoppedAt *time.Time `json:"stopped_at,omitempty"`
	StoppedBy string     `json:"stopped_by,omitempty"`
	Created   time.Time  `json:"created_at"`
}

const tenantSQL = `
select id, coalesce(region, ''), default_line, approval, stopped_at, coalesce(stopped_by, ''), created_at from tenants`

func (t *Tenant) into() []any {
	return []any{&t.ID, &t.Region, &t.DefaultLine, &t.Approval, &t.StoppedAt, &t.StoppedBy, &t.Created}
}

func (t TenantSettings) args(id string) pgx.StrictNamedArgs {
	return pgx.StrictNamedArgs{"id": id, "region": orNull(t.Region), "line": t.DefaultLine, "approval": string(t.Approval)}
}

// AddTenant adds a tenant. added is false where there is one of this name already, just so; one
// with other settings is a Misuse.
func (s *Store) AddTenant(ctx context.Context, id string, t TenantSettings, by string) (added bool, err error) {
	err = s.tx(ctx, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `
			insert into tenants (id, region, default_line, approval) values (@id, @region, @line, @approval)
			on conflict (id) do nothing`, t.args(id))
		if err != nil {
			return err
		}
		if added = tag.RowsAffected() > 0; added {
			return note(ctx, tx, act{verb: "tenant add", by: by, tenant: id, detail: t.String()})
		}
		var there Tenant // tenants are kept, so it is there
		if err := tx.QueryRow(ctx, tenantSQL+` where id = $1`, id).Scan(there.into()...); err != nil {
			return err
		}
		if there.TenantSettings != t {
			return &desk.Misuse{Says: fmt.Sprintf("tenant %s is there already, with %s: tenant set changes it", id, there.TenantSettings)}
		}
		return nil
	})
	if err != nil {
		return false, fmt.Errorf("adding tenant %s: %w", id, badText(err))
	}
	return added, nil
}

// SetTenant lets change alter a tenant's settings, and returns it as it was and as it is. When it
// returns no claim is under way that goes by what was.
func (s *Store) SetTenant(ctx context.Context, id, by string, change func(*TenantSettings)) (was, is Tenant, err error) {
	err = s.tx(ctx, func(tx pgx.Tx) error {
		err := tx.QueryRow(ctx, tenantSQL+` where id = $1 for no key update`, id).Scan(was.into()...)
		switch {
		case isNoRows(err):
			return &desk.Misuse{Says: fmt.Sprintf("there is no tenant %s", id)}
		case err != nil:
			return err
		}
		is = was
		if change(&is.TenantSettings); is == was {
			return nil
		}
		if _, err := tx.Exec(ctx, `
			update tenants set region = @region, default_line = @line, approval = @approval where id = @id`, is.args(id)); err != nil {
			return err
		}
		return note(ctx, tx, act{verb: "tenant set", by: by, tenant: id, detail: is.String() + "; before: " + was.String()})
	})
	if err != nil {
		return was, is, fmt.Errorf("setting tenant %s: %w", id, badText(err))
	}
	return was, is, nil
}

// Tenants lists every tenant by name.
func (s *Store) Tenants(ctx context.Context) ([]Tenant, error) {
	rows, err := s.Pool.Query(ctx, tenantSQL+` order by id`)
	if err != nil {
		return nil, fmt.Errorf("listing tenants: %w", err)
	}
	var (
		all []Tenant
		t   Tenant
	)
	_, err = pgx.ForEachRow(rows, t.into(), func() error {
		all = append(all, t)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("listing tenants: %w", err)
	}
	return all, nil
}
