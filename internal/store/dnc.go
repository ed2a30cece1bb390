package store

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"chasephone/internal/desk"
	"chasephone/internal/phone"
)

// OptOut is a do-not-call entry.
type OptOut struct {
	Number phone.Number `json:"number"`
	Tenant string       `json:"tenant_id,omitempty"` // "" for every tenant
	Source string       `json:"source,omitempty"`
	Added  time.Time    `json:"added_at"`
	By     string       `json:"added_by"`
}

// AddOptOut puts a number on the list. added is false where it was on it already; an
// earlier entry keeps its date and source. When it returns no claim is under way that has not
// seen the entry.
func (s *Store) AddOptOut(ctx context.Context, o OptOut) (added bool, err error) {
	err = s.tx(ctx, func(tx pgx.Tx) error {
		if err := lockNumber(ctx, tx, o.Number); err != nil {
			return fmt.Errorf("adding to the do-not-call list: %w", err)
		}
		n, err := addOptOuts(ctx, tx, []phone.Number{o.Number}, o)
		added = n > 0
		return err
	})
	return added, err
}

// AddOptOuts puts many numbers on the list in one statement, each like o, and says how many
// were not on it yet. A number that is given twice counts once. Claims under way are not waited
// for.
func (s *Store) AddOptOuts(ctx context.Context, numbers []phone.Number, o OptOut) (added int, err error) {
	return addOptOuts(ctx, s.Pool, numbers, o)
}

func addOptOuts(ctx context.Context, on execer, numbers []phone.Number, o OptOut) (added int, err error) {
	e164s := make([]string, len(numbers))
	for i, n := range numbers {
		e164s[i] = n.E164()
	}
	// Sorted, so that two imports of one list take their index entries in one order and wait
	// for each other instead of deadlocking.
	slices.Sort(e164s)
	tag, err := on.Exec(ctx, `
		insert into do_not_call (e164, tenant_id, source, added_by)
		select e164, @tenant, @source, @by from unnest(@e164s::text[]) as x (e164)
		on conflict do nothing`,
		pgx.StrictNamedArgs{"e164s": e164s, "tenant": orNull(o.Tenant), "source": o.Source, "by": o.By})
	if err != nil {
		return 0, fmt.Errorf("adding %d numbers to the do-not-call list: %w", len(numbers), tenantError(err, o.Tenant))
	}
	return int(tag.RowsAffected()), nil
}

// RemoveOptOut takes a number off the list of one tenant, or off the list for all with "".
// kept are the scopes it stays on the list of: tenants, "" for all.
func (s *Store) RemoveOptOut(ctx context.Context, n phone.Number, tenant, by string) (removed bool, kept []string, err error) {
	err = s.tx(ctx, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `
			delete from do_not_call where e164 = @e164 and tenant_id is not distinct from @tenant`,
			pgx.StrictNamedArgs{"e164": n.E164(), "tenant": orNull(tenant)})
		if err != nil {
			return err
		}
		if removed = tag.RowsAffected() > 0; removed {
			if err := note(ctx, tx, act{verb: "dnc remove", by: by, tenant: tenant, detail: n.Masked()}); err != nil {
				return err
			}
		}
		rows, err := tx.Query(ctx, `select coalesce(tenant_id, '') from do_not_call where e164 = $1 order by 1`, n.E164())
		if err != nil {
			return err
		}
		kept, err = pgx.CollectRows(rows, pgx.RowTo[string])
		return err
	})
	if err != nil {
		return false, nil, fmt.Errorf("removing %v from the do-not-call list: %w", n, err)
	}
	return removed, kept, nil
}

// Region is the region of numbers that a tenant's people write without a country code, or
// the environment's with "".
func (s *Store) Region(ctx context.Context, tenant string) (string, error) {
	return s.region(ctx, s.Pool, tenant)
}

func (s *Store) region(ctx context.Context, q querier, tenant string) (string, error) {
	if tenant == "" {
		return s.defaults.Region, nil
	}
	var region string
	err := q.QueryRow(ctx, `select coalesce(region, '') from tenants where id = $1`, tenant).Scan(&region)
	switch {
	case isNoRows(err):
		return "", &desk.Misuse{Says: fmt.Sprintf("there is no tenant %s", tenant)}
	case err != nil:
		return "", fmt.Errorf("asking for the region of tenant %s: %w", tenant, err)
	case region == "":
		return s.defaults.Region, nil
	}
	return region, nil
}

// OptOuts lists the entries of a tenant and those for all, up to most.
func (s *Store) OptOuts(ctx context.Context, tenant string, most int) ([]OptOut, error) {
	rows, err := s.Pool.Query(ctx, `
		select e164, coalesce(tenant_id, ''), source, added_at, added_by from do_not_call
		where @tenant = '' or tenant_id is null or tenant_id = @tenant
		order by id limit @most`, pgx.StrictNamedArgs{"tenant": tenant, "most": most})
	if err != nil {
		return nil, fmt.Errorf("listing do-not-call entries: %w", err)
	}
	var (
		all  []OptOut
		o    OptOut
		e164 string
	)
	_, err = pgx.ForEachRow(rows, []any{&e164, &o.Tenant, &o.Source, &o.Added, &o.By}, func() error {
		o.Number = phone.FromE164(e164)
		all = append(all, o)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("listing do-not-call entries: %w", err)
	}
	return all, nil
}
