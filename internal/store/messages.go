package store

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"chasephone/internal/arrivals"
	"chasephone/internal/carrier"
	"chasephone/internal/phone"
)

// The canonical side of arrivals: contacts, threads and messages. Everything is written for a
// whole set, in a number of statements that does not grow with it.

// joinedSQL reads what is known of messages already, and whose attempt each is: by the token
// that the carrier was given, else by the call's own id. One that rang another number than any that
// the arrivals name is strange: for a person to look at.
const joinedSQL = `
with x as (
  select * from unnest(@nths::int[], @tenants::text[], @accounts::text[], @ids::text[], @tokens::text[]::uuid[])
    as x (nth, tenant_id, account, id, token)
)
select x.nth, m.id is not null, coalesce(m.kind, ''), coalesce(m.direction, ''), coalesce(m.our_number, ''), coalesce(c.e164, ''),
  coalesce(m.status, ''), coalesce(m.finals, '{}'), coalesce(m.began_at, 'epoch'), m.ended_at, coalesce(m.seconds, 0), coalesce(m.body, ''),
  coalesce(m.followup_id::text, a.followup_id::text, ''), coalesce(m.attempt_no, a.no, 0),
  coalesce((select o.e164 from attempts o where o.followup_id = m.followup_id and o.no = m.attempt_no), a.e164, '')
from x
left join messages m on m.tenant_id = x.tenant_id and m.account = x.account and m.external_id = x.id
left join threads t on t.id = m.thread_id left join contacts c on c.id = t.contact_id
left join lateral (
  select followup_id, no, e164 from (
    select 1 as by, a.followup_id, a.no, a.e164 from attempts a where a.token = x.token and a.carrier = x.account and a.tenant_id = x.tenant_id
    union all
    select 2, a.followup_id, a.no, a.e164 from attempts a where a.carrier = x.account and a.call_id = x.id and a.tenant_id = x.tenant_id) a
  order by by limit 1) a on true`

const contactsSQL = `
insert into contacts (tenant_id, e164)
select distinct tenant_id, e164 from unnest(@tenants::text[], @numbers::text[]) as x (tenant_id, e164)
where e164 is not null
on conflict (tenant_id, e164) do nothing`

const threadsSQL = `
insert into threads (tenant_id, contact_id, first_at, last_at)
select c.tenant_id, c.id, min(x.began_at), min(x.began_at)
from unnest(@tenants::text[], @numbers::text[], @begans::timestamptz[]) as x (tenant_id, e164, began_at)
join contacts c on c.tenant_id = x.tenant_id and c.e164 = x.e164
group by c.tenant_id, c.id
on conflict (contact_id) do nothing`

const messagesSQL = `
insert into messages as m (tenant_id, thread_id, account, external_id, kind, direction, our_number, status, finals, began_at, ended_at, seconds, body, followup_id, attempt_no)
select x.tenant_id, t.id, x.account, x.id, x.kind, x.direction, x.us, x.status, string_to_array(x.finals, ','), x.began_at, x.ended_at, x.seconds, x.body, x.followup, x.no
from unnest(@tenants::text[], @accounts::text[], @ids::text[], @numbers::text[], @kinds::text[], @directions::text[], @uses::text[], @statuses::text[],
    @finals::text[], @begans::timestamptz[], @endeds::timestamptz[], @seconds::int[], @bodies::text[], @followups::text[]::uuid[], @nos::smallint[])
  as x (tenant_id, account, id, e164, kind, direction, us, status, finals, began_at, ended_at, seconds, body, followup, no)
left join contacts c on c.tenant_id = x.tenant_id and c.e164 = x.e164
left join threads t on t.contact_id = c.id
on conflict (tenant_id, account, external_id) do update
set thread_id = excluded.thread_id, kind = excluded.kind, direction = excluded.direction, our_number = excluded.our_number, status = excluded.status,
  finals = excluded.finals, began_at = excluded.began_at, ended_at = excluded.ended_at, seconds = excluded.seconds, body = excluded.body,
  followup_id = excluded.followup_id, attempt_no = excluded.attempt_no
where (m.thread_id, m.kind, m.direction, m.our_number, m.status, m.finals, m.began_at, m.ended_at, m.seconds, m.body, m.followup_id, m.attempt_no)
  is distinct from (excluded.thread_id, excluded.kind, excluded.direction, excluded.our_number, excluded.status, excluded.finals, excluded.began_at,
  excluded.ended_at, excluded.seconds, excluded.body, excluded.followup_id, excluded.attempt_no)`

// spansSQL has a thread span its messages, whatever order they came in.
const spansSQL = `
update threads t set first_at = s.first_at, last_at = s.last_at
from (
  select t.id, (select min(m.began_at) from messages m where m.thread_id = t.id) as first_at, (select max(m.began_at) from messages m where m.thread_id = t.id) as last_at
  from threads t join contacts c on c.id = t.contact_id
  where (c.tenant_id, c.e164) in (select * from unnest(@tenants::text[], @numbers::text[]))) s
where t.id = s.id and (t.first_at, t.last_at) is distinct from (s.first_at, s.last_at)`

// othersSQL has what somebody else placed, and what came in, count for the gates as a report of it would.
const othersSQL = `
insert into other_calls as o (tenant_id, e164, direction, began_at, talked, source, reported_by, message_id)
select m.tenant_id, c.e164, m.direction, m.began_at, m.status in ('in-progress', 'completed') and m.direction = 'out', m.account || ' ' || m.kind, 'the carrier', m.id
from messages m join threads t on t.id = m.thread_id join contacts c on c.id = t.contact_id
where (m.tenant_id, m.account, m.external_id) in (select * from unnest(@tenants::text[], @accounts::text[], @ids::text[]))
  and m.followup_id is null and (m.direction = 'in' or m.kind = 'call')
on conflict (message_id) where message_id is not null do update set e164 = excluded.e164, direction = excluded.direction, began_at = excluded.began_at, talked = excluded.talked
where (o.e164, o.direction, o.began_at, o.talked) is distinct from (excluded.e164, excluded.direction, excluded.began_at, excluded.talked)`

const oursSQL = `
delete from other_calls o using messages m
where o.message_id = m.id and m.followup_id is not null
  and (m.tenant_id, m.account, m.external_id) in (select * from unnest(@tenants::text[], @accounts::text[], @ids::text[]))`

// told is a message as it is joined, and the attempt that it is of.
type told struct {
	arrivals.Message
	followUp string // "" where it is no call of ours
	no       int
	strange  bool
	fresh    arrivals.Message // what these arrivals alone say
}

// writeMessages joins messages to what is known of them, writes them, and weighs what they say of
// our own attempts.
func (s *Store) writeMessages(ctx context.Context, tx pgx.Tx, fresh []arrivals.Message) error {
	if len(fresh) == 0 {
		return nil
	}
	all, err := joined(ctx, tx, fresh)
	if err != nil {
		return err
	}
	args := messageArgs(all)
	batch := &pgx.Batch{}
	for _, one := range []struct {
		sql   string
		names []string
	}{
		{contactsSQL, []string{"tenants", "numbers"}},
		{threadsSQL, []string{"tenants", "numbers", "begans"}},
		{messagesSQL, []string{
			"tenants", "accounts", "ids", "numbers", "kinds", "directions", "uses", "statuses", "finals", "begans", "endeds", "seconds", "bodies", "followups", "nos",
		}},
		{spansSQL, []string{"tenants", "numbers"}},
		{othersSQL, []string{"tenants", "accounts", "ids"}},
		{oursSQL, []string{"tenants", "accounts", "ids"}},
	} {
		some := pgx.StrictNamedArgs{}
		for _, name := range one.names {
			some[name] = args[name]
		}
		batch.Queue(one.sql, some)
	}
	if err := tx.SendBatch(ctx, batch).Close(); err != nil {
		return fmt.Errorf("writing messages: %w", err)
	}
	return s.weighAll(ctx, tx, all)
}

func joined(ctx context.Context, tx pgx.Tx, fresh []arrivals.Message) ([]told, error) {
	n := len(fresh)
	all, nths := make([]told, n), make([]int32, n)
	tenants, accounts, ids, tokens := make([]string, n), make([]string, n), make([]string, n), make([]*string, n)
	for i, m := range fresh {
		all[i] = told{Message: m, fresh: m}
		nths[i], tenants[i], accounts[i], ids[i] = int32(i), m.Tenant, m.Account, m.ID
		tokens[i] = isToken(m.Token)
	}
	rows, err := tx.Query(ctx, joinedSQL, pgx.StrictNamedArgs{
		"nths": nths, "tenants": tenants, "accounts": accounts, "ids": ids, "tokens": tokens,
	})
	if err != nil {
		return nil, fmt.Errorf("reading what is known of messages: %w", err)
	}
	var (
		nth, no                int
		is                     bool
		rang                   string // the number that the attempt is about
		known                  arrivals.Message
		us, them, of, followUp string
		finals                 []string
		ended                  *time.Time
	)
	_, err = pgx.ForEachRow(rows, []any{
		&nth, &is, &known.Kind, &known.Direction, &us, &them, &of, &finals, &known.BeganAt, &ended, &known.Seconds, &known.Text, &followUp, &no, &rang,
	}, func() error {
		one := &all[nth]
		one.followUp, one.no = followUp, no
		one.strange = followUp != "" && len(one.fresh.Dialed) > 0 && !one.fresh.Dials(rang)
		if followUp != "" { // a call of ours is with whom we rang
			one.Them, them = phone.FromE164(rang), rang
		}
		if !is {
			return nil
		}
		known.Key, known.Us, known.Them, known.Status = one.Key, phone.FromE164(us), phone.FromE164(them), carrier.Status(of)
		known.Finals, known.EndedAt = nil, time.Time{}
		for _, f := range finals {
			known.Finals = append(known.Finals, carrier.Status(f))
		}
		if ended != nil {
			known.EndedAt = *ended
		}
		one.Message = arrivals.Join(known, one.Message)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("reading what is known of messages: %w", err)
	}
	return all, nil
}

func messageArgs(all []told) pgx.StrictNamedArgs {
	n := len(all)
	tenants, accounts, ids, kinds, directions := make([]string, n), make([]string, n), make([]string, n), make([]string, n), make([]string, n)
	numbers, uses, statuses, followUps := make([]*string, n), make([]*string, n), make([]*string, n), make([]*string, n)
	finals, bodies, begans, endeds, secs, nos := make([]string, n), make([]string, n), make([]time.Time, n), make([]*time.Time, n), make([]int32, n), make([]*int16, n)
	for i, m := range all {
		tenants[i], accounts[i], ids[i], kinds[i], directions[i] = m.Tenant, m.Account, m.ID, m.Kind, m.Direction
		numbers[i], uses[i], statuses[i], followUps[i] = orNull(m.Them.E164()), orNull(m.Us.E164()), orNull(string(m.Status)), orNull(m.followUp)
		finals[i], bodies[i], begans[i], endeds[i], secs[i], nos[i] = finalsOf(m.Finals), m.Text, m.BeganAt, instant(m.EndedAt), int32(m.Seconds), number(m.no)
	}
	return pgx.StrictNamedArgs{
		"tenants": tenants, "accounts": accounts, "ids": ids, "kinds": kinds, "directions": directions, "numbers": numbers, "uses": uses,
		"statuses": statuses, "finals": finals, "begans": begans, "endeds": endeds, "seconds": secs, "bodies": bodies, "followups": followUps, "nos": nos,
	}
}

// finalsOf is how final statuses travel to an array of texts.
func finalsOf(finals []carrier.Status) string {
	words := make([]string, len(finals))
	for i, f := range finals {
		words[i] = string(f)
	}
	return strings.Join(words, ",")
}
