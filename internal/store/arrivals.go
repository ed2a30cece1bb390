package store

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"chasephone/internal/arrivals"
	"chasephone/internal/carrier"
	"chasephone/internal/drain"
)

// shape is a carrier's table of arrivals: its columns in the carrier's own words, by the names
// that the carrier has for them.
type shape struct {
	carrier string
	table   string
	columns []column
}

type column struct{ name, field string }

// shapes lists them in the order in which they are bridged.
func shapes() []shape {
	return []shape{
		{"twilio", "tenant_twilio_events", []column{
			{"account_sid", "AccountSid"},
			{"call_sid", "CallSid"},
			{"message_sid", "MessageSid"},
			{"call_status", "CallStatus"},
			{"direction", "Direction"},
			{"from_number", "From"},
			{"to_number", "To"},
			{"sequence_number", "SequenceNumber"},
		}},
		{"telnyx", "tenant_telnyx_events", []column{
			{"event_id", "id"},
			{"event_type", "event_type"},
			{"occurred_at", "occurred_at"},
			{"call_control_id", "call_control_id"},
			{"call_leg_id", "call_leg_id"},
			{"call_session_id", "call_session_id"},
			{"direction", "direction"},
			{"from_number", "from"},
			{"to_number", "to"},
			{"hangup_cause", "hangup_cause"},
		}},
		{"sip", "tenant_sip_events", []column{
			{"call_id", "call_id"},
			{"method", "method"},
			{"status_code", "status_code"},
			{"reason", "reason"},
			{"from_number", "from"},
			{"to_number", "to"},
		}},
	}
}

// keepSQL stores arrivals of one carrier. A token says whose an arrival is, and nothing else does
// where there is one; without it the line does that has the tenant's number.
func (s shape) keepSQL() string {
	var names, arrays strings.Builder
	for _, c := range s.columns {
		names.WriteString(", " + c.name)
		arrays.WriteString(", @" + c.name + "::text[]")
	}
	return `
with x as (
  select *, string_to_array(signed, ',') as accounts from unnest(@nths::int[], @signed::text[], @kinds::text[], @tokens::text[], @attempts::text[]::uuid[], @numbers::text[], @bodies::bytea[]` + arrays.String() + `)
    as x (nth, signed, kind, token, attempt, number, body` + names.String() + `)
), owned as materialized (
  select x.nth, o.tenant_id, coalesce(o.carrier, x.accounts[1]) as account
  from x left join lateral (
    select a.tenant_id, a.carrier from attempts a where a.token = x.attempt and a.carrier = any(x.accounts)
    union
    select l.tenant_id, min(l.carrier) from lines l where x.token is null and l.caller_number = x.number and l.carrier = any(x.accounts)
    group by l.tenant_id) o on true
), kept as (
  insert into ` + s.table + ` (tenant_id, account, kind, token, body, bridged_at, problem` + names.String() + `)
  select o.tenant_id, o.account, x.kind, x.token, x.body,
    case when o.tenant_id is null then clock_timestamp() end, case when o.tenant_id is null then @foreign end` + prefixed(names.String()) + `
  from x join owned o on o.nth = x.nth
  order by x.nth
)
select nth from owned where tenant_id is null`
}

// prefixed has the columns come from x.
func prefixed(names string) string { return strings.ReplaceAll(names, ", ", ", x.") }

// Keep stores arrivals as they came, see arrivals.Store.
func (s *Store) Keep(ctx context.Context, set []arrivals.Arrival) ([]bool, error) {
	foreign := make([]bool, len(set))
	err := s.tx(ctx, func(tx pgx.Tx) error {
		batch := &pgx.Batch{}
		for _, shape := range shapes() {
			args, some := shape.args(set)
			if !some {
				continue
			}
			batch.Queue(shape.keepSQL(), args).Query(func(rows pgx.Rows) error {
				var nth int
				_, err := pgx.ForEachRow(rows, []any{&nth}, func() error { foreign[nth] = true; return nil })
				return err
			})
		}
		if err := tx.SendBatch(ctx, batch).Close(); err != nil {
			return fmt.Errorf("storing arrivals: %w", err)
		}
		if s.jobs.Bridge == nil {
			return nil // whoever looks next bridges
		}
		return s.jobs.Bridge(ctx, tx)
	})
	var bad *drain.RowError
	if errors.As(rowError(err), &bad) {
		return nil, &arrivals.RowError{Err: err}
	}
	return foreign, err
}

// args are what keepSQL takes for the arrivals among set that are of this shape, if any are.
func (s shape) args(set []arrivals.Arrival) (pgx.StrictNamedArgs, bool) {
	var (
		nths                    []int32
		signed, kinds           []string
		tokens, attempt, number []*string
		bodies                  [][]byte
	)
	fields := make([][]*string, len(s.columns))
	for i, a := range set {
		if name, _ := carrier.SplitAccount(a.Accounts[0]); name != s.carrier {
			continue
		}
		nths, signed, kinds = append(nths, int32(i)), append(signed, strings.Join(a.Accounts, ",")), append(kinds, a.Delivery.Kind)
		tokens, bodies = append(tokens, orNull(a.Report.Token)), append(bodies, append([]byte{}, a.Delivery.Body...))
		attempt, number = append(attempt, isToken(a.Report.Token)), append(number, orNull(a.Report.Us.E164()))
		for c, column := range s.columns {
			fields[c] = append(fields[c], orNull(a.Report.Fields[column.field]))
		}
	}
	args := pgx.StrictNamedArgs{
		"nths": nths, "signed": signed, "kinds": kinds, "tokens": tokens, "attempts": attempt, "numbers": number, "bodies": bodies,
		"foreign": arrivals.Foreign,
	}
	for c, column := range s.columns {
		args[column.name] = fields[c]
	}
	return args, len(nths) > 0
}

// isToken is a token of ours; anything else names no attempt.
func isToken(text string) *string {
	if id, err := uuid.Parse(text); err != nil || id.String() != text {
		return nil
	}
	return &text
}
