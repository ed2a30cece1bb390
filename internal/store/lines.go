package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"chasephone/internal/desk"
	"chasephone/internal/phone"
)

// Line is a line as it stands.
type Line struct {
	Tenant         string       `json:"tenant_id"`
	Name           string       `json:"name"`
	Carrier        string       `json:"carrier"`
	Caller         phone.Number `json:"caller_number"`
	URL            string       `json:"url,omitempty"`
	CallsPerSecond *float64     `json:"calls_per_second,omitempty"` // nil: the carrier's
	Ready          bool         `json:"ready"`
	HeldUntil      *time.Time   `json:"held_until,omitempty"` // nil where it is held without an end
	HeldFor        string       `json:"held_for,omitempty"`
	HeldBy         string       `json:"held_by,omitempty"`
	StoppedBy      string       `json:"stopped_by,omitempty"`
	UnfitDaemons   int          `json:"unfit_daemons"` // daemons that leave it alone
	By             string       `json:"-"`             // who adds or changes it
	OnlyCaller     bool         `json:"-"`             // leave the URL and the pace of a line that is there as they are
}

// AddLine adds a line or changes its carrier, caller number, URL and pace. changed is false
// where it was just so already.
func (s *Store) AddLine(ctx context.Context, l Line) (changed bool, err error) {
	err = s.tx(ctx, func(tx pgx.Tx) error {
		changed, err = addLine(ctx, tx, l)
		return err
	})
	if err != nil {
		return false, fmt.Errorf("adding line %s of tenant %s: %w", l.Name, l.Tenant, badText(err))
	}
	return changed, nil
}

func addLine(ctx context.Context, tx pgx.Tx, l Line) (changed bool, err error) {
	tag, err := tx.Exec(ctx, `
		insert into lines as l (tenant_id, name, carrier, caller_number, url, calls_per_second)
		select @tenant, @name, @carrier, @caller, @url, @cps where exists (select from tenants where id = @tenant)
		on conflict (tenant_id, name) do update
		set carrier = excluded.carrier, caller_number = excluded.caller_number,
		  url = case when @only_caller then l.url else excluded.url end,
		  calls_per_second = case when @only_caller then l.calls_per_second else excluded.calls_per_second end
		where (l.carrier, l.caller_number) is distinct from (excluded.carrier, excluded.caller_number)
		  or not @only_caller and (l.url, l.calls_per_second) is distinct from (excluded.url, excluded.calls_per_second)`,
		pgx.StrictNamedArgs{
			"tenant": l.Tenant, "name": l.Name, "carrier": l.Carrier, "caller": l.Caller.E164(),
			"url": orNull(l.URL), "cps": l.CallsPerSecond, "only_caller": l.OnlyCaller,
		})
	if err != nil {
		return false, err
	}
	if tag.RowsAffected() > 0 {
		return true, note(ctx, tx, act{verb: "line add", by: l.By, tenant: l.Tenant, line: l.Name, detail: l.Carrier + " " + l.Caller.Masked()})
	}
	var exists bool
	if err := tx.QueryRow(ctx, `select exists (select from tenants where id = $1)`, l.Tenant).Scan(&exists); err != nil {
		return false, err
	}
	if !exists {
		return false, &desk.Misuse{Says: fmt.Sprintf("there is no tenant %s", l.Tenant)}
	}
	return false, nil
}

// HoldLine keeps a line from being rung on until then; nil is until it is released.
func (s *Store) HoldLine(ctx context.Context, tenant, name, by string, until *time.Time) error {
	err := s.tx(ctx, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `
			update lines set held_until = coalesce(@until, 'infinity'::timestamptz), held_for = 'by_hand', held_by = @by
			where tenant_id = @tenant and name = @name`,
			pgx.StrictNamedArgs{"tenant": tenant, "name": name, "by": by, "until": until})
		if err != nil {
			return err
		}
		if tag.RowsAffected() == 0 {
			return noLine(tenant, name)
		}
		detail := "until it is released"
		if until != nil {
			detail = "until " + until.UTC().Format(time.RFC3339)
		}
		return note(ctx, tx, act{verb: "line hold", by: by, tenant: tenant, line: name, detail: detail})
	})
	if err != nil {
		return fmt.Errorf("holding line %s of tenant %s: %w", name, tenant, err)
	}
	return nil
}

// ReleaseLine makes a line ready whatever held it, and the rows that waited for it due at
// once; it says how many those were.
func (s *Store) ReleaseLine(ctx context.Context, tenant, name, by string) (due int, err error) {
	err = s.tx(ctx, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `
			update lines set held_until = null, held_for = null, held_by = null, unknowns_in_row = 0
			where tenant_id = @tenant and name = @name`, pgx.StrictNamedArgs{"tenant": tenant, "name": name})
		if err != nil {
			return err
		}
		if tag.RowsAffected() == 0 {
			return noLine(tenant, name)
		}
		if due, err = wakeLine(ctx, tx, desk.Scope{Tenant: tenant, Line: name}); err != nil {
			return err
		}
		return note(ctx, tx, act{verb: "line release", by: by, tenant: tenant, line: name, detail: fmt.Sprintf("%d due again", due)})
	})
	if err != nil {
		return 0, fmt.Errorf("releasing line %s of tenant %s: %w", name, tenant, err)
	}
	return due, nil
}

// WakeAccount makes due at once what waits for lines of an account that can now be called with.
func (s *Store) WakeAccount(ctx context.Context, account string) (due int, err error) {
	err = s.tx(ctx, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `select tenant_id, name from lines where carrier = $1 order by tenant_id, name`, account)
		if err != nil {
			return err
		}
		lines, err := pgx.CollectRows(rows, pgx.RowToStructByPos[desk.Scope])
		for _, line := range lines {
			n, err := wakeLine(ctx, tx, line)
			if err != nil {
				return err
			}
			due += n
		}
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("waking what waits for account %s: %w", account, err)
	}
	return due, nil
}

// Lines lists the lines of a tenant, or of all with "". A line is ready when a live daemon
// may ring on it now.
func (s *Store) Lines(ctx context.Context, tenant string) ([]Line, error) {
	rows, err := s.Pool.Query(ctx, `
		with live as (select * from daemons where seen_at > clock_timestamp() - `+liveFor+`)
		select l.tenant_id, l.name, l.carrier, l.caller_number, coalesce(l.url, ''), l.calls_per_second,
		  l.stopped_at is null and t.stopped_at is null and f.stopped_at is null and not ringing_held()
		    and (l.held_until is null or l.held_until <= clock_timestamp())
		    and exists (select from live d where l.carrier = any(d.carriers)
		      and not exists (select from unfit_lines u where u.daemon_id = d.id and u.tenant_id = l.tenant_id and u.line = l.name and u.until > clock_timestamp())),
		  case when isfinite(l.held_until) and l.held_until > clock_timestamp() then l.held_until end,
		  case when l.held_until > clock_timestamp() then l.held_for else '' end,
		  case when l.held_until > clock_timestamp() then coalesce(l.held_by, '') else '' end,
		  coalesce(l.stopped_by, t.stopped_by, f.stopped_by, ''),
		  (select count(*) from unfit_lines u join live d on d.id = u.daemon_id
		   where u.tenant_id = l.tenant_id and u.line = l.name and u.until > clock_timestamp())
		from lines l join tenants t on t.id = l.tenant_id cross join fleet f
		where @tenant = '' or l.tenant_id = @tenant
		order by l.tenant_id, l.name`, pgx.StrictNamedArgs{"tenant": tenant})
	if err != nil {
		return nil, fmt.Errorf("listing lines: %w", err)
	}
	var (
		all     []Line
		l       Line
		caller  string
		heldFor *string
		heldBy  *string
	)
	into := []any{&l.Tenant, &l.Name, &l.Carrier, &caller, &l.URL, &l.CallsPerSecond, &l.Ready, &l.HeldUntil, &heldFor, &heldBy, &l.StoppedBy, &l.UnfitDaemons}
	_, err = pgx.ForEachRow(rows, into, func() error {
		one := l
		one.Caller = phone.FromE164(caller)
		one.HeldFor, one.HeldBy = text(heldFor), text(heldBy)
		all = append(all, one)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("listing lines: %w", err)
	}
	return all, nil
}

func noLine(tenant, name string) error {
	return &desk.Misuse{Says: fmt.Sprintf("tenant %s has no line %s", tenant, name)}
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
