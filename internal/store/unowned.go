package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"chasephone/internal/carrier"
	"chasephone/internal/followup"
	"chasephone/internal/phone"
)

// Promise is one that is to be kept still, and whose time had come: a forgotten attempt may
// have kept it.
type Promise struct {
	ID      string         `json:"id"`
	Ref     string         `json:"ref"`
	Tenant  string         `json:"tenant_id"`
	State   followup.State `json:"state"`
	Account string         `json:"carrier"` // that its line is on now
	To      phone.Number   `json:"-"`
	From    phone.Number   `json:"-"`
}

// MayHaveRung lists up to most promises that forgotten attempts may have kept, those that are to
// be rung first before the others; more says that there are others.
func (s *Store) MayHaveRung(ctx context.Context, most int) (all []Promise, more bool, err error) {
	rows, err := s.Pool.Query(ctx, `
		select f.id::text, f.ref, f.tenant_id, f.state, n.carrier, f.e164, n.caller_number
		from fleet x join limits l on l.id = x.limits_id
		cross join phone_followups f
		join tenants t on t.id = f.tenant_id
		join lines n on n.tenant_id = f.tenant_id and n.name = coalesce(f.line, t.default_line)
		where f.state in ('due', 'awaiting_approval') and f.e164 is not null
		  and f.due_at <= clock_timestamp() and f.due_at >= clock_timestamp() - l.max_late
		order by f.due_at, f.id
		limit $1`, most+1)
	if err != nil {
		return nil, false, fmt.Errorf("listing what may have rung: %w", err)
	}
	var p Promise
	var to, from string
	_, err = pgx.ForEachRow(rows, []any{&p.ID, &p.Ref, &p.Tenant, &p.State, &p.Account, &to, &from}, func() error {
		one := p
		one.To, one.From = phone.FromE164(to), phone.FromE164(from)
		all = append(all, one)
		return nil
	})
	if err != nil {
		return nil, false, fmt.Errorf("listing what may have rung: %w", err)
	}
	if len(all) > most {
		return all[:most], true, nil
	}
	return all, false, nil
}

// Unowned leaves of calls that an account lists to a number those that no attempt can have made:
// their ids are no attempt's, and no attempt of that time is without one.
func (s *Store) Unowned(ctx context.Context, account string, to phone.Number, listed []carrier.Record) ([]carrier.Record, error) {
	var left []carrier.Record
	for _, r := range listed {
		var owned bool
		err := s.Pool.QueryRow(ctx, `
			select exists (select from attempts where carrier = @account and call_id = @call_id)
			  or exists (select from attempts where e164 = @to and carrier = @account and call_id is null
			    and coalesce(outcome, '') not in ('not_placed', 'refused')
			    and (@created::timestamptz is null or @created between begin_at - interval '2 minutes' and answer_by + interval '2 minutes'))`,
			pgx.StrictNamedArgs{"account": account, "call_id": r.CallID, "to": to.E164(), "created": instant(r.Created)}).Scan(&owned)
		if err != nil {
			return nil, fmt.Errorf("asking whose a call is: %w", err)
		}
		if !owned {
			left = append(left, r)
		}
	}
	return left, nil
}

// Newest is when the newest attempt was made, or the newest hold released, which answers for what
// was lost before; the zero time where there is neither.
func (s *Store) Newest(ctx context.Context) (time.Time, error) {
	var at *time.Time
	err := s.Pool.QueryRow(ctx, `select greatest((select created_at from (`+newestSQL+`) a), (select max(released_at) from ringing_holds))`).Scan(&at)
	if err != nil {
		return time.Time{}, fmt.Errorf("asking for the newest attempt: %w", err)
	}
	return orZero(at), nil
}
