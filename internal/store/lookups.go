package store

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"chasephone/internal/carrier"
	"chasephone/internal/lookup"
	"chasephone/internal/phone"
)

// firstLook is how long after a call was taken the carrier is first asked what became of it, if
// it has told no end: most calls are over by then, and one that is not is asked about again.
const firstLook = `interval '5 minutes'`

const lookupsDueSQL = `
select followup_id, no
from attempts
where look_at <= (select clock_timestamp()) and carrier = any(@carriers) and outcome in ('uncertain', 'placed')
order by look_at limit @most`

// LookupsDue lists attempts whose time to be looked up has come, at accounts that this daemon can
// ask: the longest due first.
func (s *Store) LookupsDue(ctx context.Context, most int) ([]lookup.Ref, error) {
	rows, err := s.Pool.Query(ctx, lookupsDueSQL, pgx.StrictNamedArgs{"carriers": s.carrierNames(), "most": most})
	if err != nil {
		return nil, fmt.Errorf("looking for attempts to look up: %w", err)
	}
	refs, err := pgx.CollectRows(rows, pgx.RowToStructByPos[lookup.Ref])
	if err != nil {
		return nil, fmt.Errorf("looking for attempts to look up: %w", err)
	}
	return refs, nil
}

// LookUpOlder has attempts of the last days looked up that a daemon of a release before has
// recorded: it knew of no look-ups.
func (s *Store) LookUpOlder(ctx context.Context) error {
	_, err := s.Pool.Exec(ctx, `
		update attempts a set look_at = clock_timestamp()
		from phone_followups f
		where f.id = a.followup_id and a.begin_at > (select clock_timestamp()) - interval '2 days' and a.look_at is null and a.looks = 0
		  and (a.outcome = 'uncertain' or a.outcome = 'placed' and a.call_id is not null and f.call_id = a.call_id and call_status_rank(f.call_status) < 5)`)
	if err != nil {
		return fmt.Errorf("looking up what an older release recorded: %w", err)
	}
	return nil
}

// LookupOf reads an attempt that is due to be looked up, see lookup.Store.
func (s *Store) LookupOf(ctx context.Context, ref lookup.Ref) (lookup.Attempt, bool, error) {
	a := lookup.Attempt{Ref: ref}
	var to, from string
	err := s.Pool.QueryRow(ctx, `
		select clock_timestamp(), a.carrier, a.token, a.e164, a.caller_number, a.begin_at, a.answer_by, a.late_at, a.outcome = 'placed', coalesce(a.call_id, ''),
		  coalesce(m.status, case when f.attempt_no = a.no then f.call_status end, ''), a.looks
		from attempts a join phone_followups f on f.id = a.followup_id
		left join messages m on m.tenant_id = a.tenant_id and m.account = a.carrier and m.external_id = a.call_id
		where a.followup_id = @id and a.no = @no and a.look_at <= clock_timestamp() and (a.outcome = 'uncertain' or a.outcome = 'placed' and a.call_id is not null)`,
		pgx.StrictNamedArgs{"id": ref.FollowUp, "no": ref.No}).Scan(
		&a.Now, &a.Account, &a.Token, &to, &from, &a.BeginAt, &a.AnswerBy, &a.LateAt, &a.Placed, &a.CallID, &a.Status, &a.Looks)
	switch {
	case isNoRows(err):
		return a, false, nil
	case err != nil:
		return a, false, fmt.Errorf("reading an attempt to look up: %w", err)
	}
	a.To, a.From = phone.FromE164(to), phone.FromE164(from)
	return a, true, nil
}

// Owned says which calls are other attempts', see lookup.Store. What only a person has said of one is
// no reason to keep it from another.
func (s *Store) Owned(ctx context.Context, a lookup.Attempt, callIDs []string) (map[string]bool, error) {
	rows, err := s.Pool.Query(ctx, `
		select call_id from attempts
		where carrier = @account and call_id = any(@ids::text[]) and decided_by is null and (followup_id, no) <> (@id::text::uuid, @no::smallint)`,
		pgx.StrictNamedArgs{"account": a.Account, "ids": callIDs, "id": a.FollowUp, "no": a.No})
	if err != nil {
		return nil, fmt.Errorf("asking whose calls are: %w", err)
	}
	owned := map[string]bool{}
	var id string
	if _, err := pgx.ForEachRow(rows, []any{&id}, func() error { owned[id] = true; return nil }); err != nil {
		return nil, fmt.Errorf("asking whose calls are: %w", err)
	}
	return owned, nil
}

// endedInQueueSQL tells, on the follow-up itself, of a call that was taken and will not ring. It
// stays call_placed, which is final: the carrier had it. But nobody was reached, and that is to be seen.
const endedInQueueSQL = `
with moved as (
  update phone_followups f set version = version + 1, reason = 'cancelled_in_queue', detail = @detail
  where f.id = @id::text::uuid and f.call_id = @call_id and f.state = 'call_placed' and f.reason is distinct from 'cancelled_in_queue'
  returning f.id, f.version, f.tenant_id)
insert into followup_events (followup_id, version, tenant_id, at, from_state, to_state, actor, reason, detail, attempt_no)
select id, version, tenant_id, clock_timestamp(), 'call_placed', 'call_placed', 'daemon', 'cancelled_in_queue', @detail, @no from moved`

// KeepLookup writes down what came of a look-up, see lookup.Store. An attempt that was settled
// meanwhile has been given another time already.
func (s *Store) KeepLookup(ctx context.Context, a lookup.Attempt, all []lookup.Lookup, again time.Time) error {
	err := s.tx(ctx, func(tx pgx.Tx) error {
		for _, l := range all {
			found, err := json.Marshal(append([]carrier.Record{}, l.Found...))
			if err != nil {
				return err
			}
			if _, err := tx.Exec(ctx, `
				insert into lookups (followup_id, attempt_no, asked_at, question, answered, says, found)
				values (@id::text::uuid, @no, @asked_at, @question, @answered, @says, @found::text::jsonb)`,
				pgx.StrictNamedArgs{
					"id": a.FollowUp, "no": a.No, "asked_at": l.AskedAt, "question": string(l.Question),
					"answered": l.Answered, "says": l.Says, "found": string(found),
				}); err != nil {
				return err
			}
		}
		if slices.ContainsFunc(all, func(l lookup.Lookup) bool { return l.Question == lookup.Cancel && l.Answered }) {
			if _, err := tx.Exec(ctx, endedInQueueSQL, pgx.StrictNamedArgs{
				"id": a.FollowUp, "no": a.No, "call_id": a.CallID, "detail": "the carrier took the call and never dialed it: it was cancelled in the carrier's queue, too late to ring",
			}); err != nil {
				return err
			}
		}
		_, err := tx.Exec(ctx, `
			update attempts set look_at = @again, looks = least(looks + 1, 1000)
			where followup_id = @id::text::uuid and no = @no and look_at <= clock_timestamp()`,
			pgx.StrictNamedArgs{"id": a.FollowUp, "no": a.No, "again": instant(again)})
		return err
	})
	if err != nil {
		return fmt.Errorf("writing down a look-up: %w", err)
	}
	return nil
}

// Words are what is to be said in a call of ours that was answered.
type Words struct {
	Account string
	CallID  string
	Token   string
	Script  string
}

// WordsOf reads what is to be said in an attempt's call; false where its line has a URL that
// speaks, or it is no call any more.
func (s *Store) WordsOf(ctx context.Context, ref lookup.Ref) (Words, bool, error) {
	var w Words
	err := s.Pool.QueryRow(ctx, `
		select a.carrier, a.call_id, a.token, f.script
		from attempts a join phone_followups f on f.id = a.followup_id
		where a.followup_id = @id::text::uuid and a.no = @no and a.outcome = 'placed' and a.call_id is not null and f.call_status = 'in-progress'
		  and not exists (select from lines l where l.tenant_id = a.tenant_id and l.name = a.line and l.url is not null)`,
		pgx.StrictNamedArgs{"id": ref.FollowUp, "no": ref.No}).Scan(&w.Account, &w.CallID, &w.Token, &w.Script)
	if isNoRows(err) {
		return w, false, nil
	}
	if err != nil {
		return w, false, fmt.Errorf("reading what is to be said: %w", err)
	}
	return w, true, nil
}

// PrefixedAccounts lists the accounts that lines name by a prefix.
func (s *Store) PrefixedAccounts(ctx context.Context) ([]string, error) {
	rows, err := s.Pool.Query(ctx, `select distinct carrier from lines where carrier like '%/%' order by carrier`)
	if err != nil {
		return nil, fmt.Errorf("listing accounts: %w", err)
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}
