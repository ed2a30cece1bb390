-- What carriers report: as it came, bridged, and weighed as evidence; and what was found where
-- nothing was reported.

-- A call status's place in the order in which a call goes on; 0 for what is none.
create function call_status_rank(status text) returns integer language sql immutable parallel safe as $$
  select coalesce(array_position(array['queued', 'initiated', 'ringing', 'in-progress',
    'canceled', 'failed', 'no-answer', 'busy', 'completed'], status), 0)
$$;

-- Arrivals, one table in each carrier's own words. What all have in common: whose it is
-- (tenant_id, null where it concerns no attempt and no line of any tenant; one that concerns
-- several is there once for each), which account's signature it had, and the body as it came.
create table tenant_twilio_events (
  id              bigint generated always as identity primary key,
  tenant_id       text collate "C" references tenants,
  account         text collate "C" not null check (account <> ''),
  kind            text collate "C" not null check (kind in ('status', 'message', 'record')),
  token           text collate "C", -- of the attempt, where it came to that attempt's address
  account_sid     text,
  call_sid        text,
  message_sid     text,
  call_status     text,
  direction       text,
  from_number     text,
  to_number       text,
  sequence_number text,
  body            bytea not null,
  received_at     timestamptz not null default clock_timestamp(),
  bridged_at      timestamptz, -- null: not yet
  problem         text -- why nothing came of it
);
create table tenant_telnyx_events (
  id              bigint generated always as identity primary key,
  tenant_id       text collate "C" references tenants,
  account         text collate "C" not null check (account <> ''),
  kind            text collate "C" not null check (kind in ('call', 'message', 'record')),
  token           text collate "C",
  event_id        text,
  event_type      text,
  occurred_at     text,
  call_control_id text,
  call_leg_id     text,
  call_session_id text,
  direction       text,
  from_number     text,
  to_number       text,
  hangup_cause    text,
  body            bytea not null,
  received_at     timestamptz not null default clock_timestamp(),
  bridged_at      timestamptz,
  problem         text
);
create table tenant_sip_events (
  id          bigint generated always as identity primary key,
  tenant_id   text collate "C" references tenants,
  account     text collate "C" not null check (account <> ''),
  kind        text collate "C" not null check (kind in ('progress')),
  token       text collate "C",
  call_id     text,
  method      text,
  status_code text,
  reason      text,
  from_number text,
  to_number   text,
  body        bytea not null,
  received_at timestamptz not null default clock_timestamp(),
  bridged_at  timestamptz,
  problem     text
);
create index tenant_twilio_events_to_bridge on tenant_twilio_events (id) where bridged_at is null;
create index tenant_telnyx_events_to_bridge on tenant_telnyx_events (id) where bridged_at is null;
create index tenant_sip_events_to_bridge on tenant_sip_events (id) where bridged_at is null;

-- What they are bridged to. Everything in a row is joined from its arrivals, in any order.
create table contacts (
  id        uuid primary key default uuid_v7(),
  tenant_id text collate "C" not null references tenants,
  e164      text collate "C" not null check (e164 ~ '^[+][1-9][0-9]{3,14}$'),
  unique (tenant_id, e164)
);
create table threads (
  id         uuid primary key default uuid_v7(),
  tenant_id  text collate "C" not null references tenants,
  contact_id uuid not null unique references contacts,
  first_at   timestamptz not null,
  last_at    timestamptz not null
);
create table messages (
  id          uuid primary key default uuid_v7(),
  tenant_id   text collate "C" not null references tenants,
  thread_id   uuid references threads, -- null: whose number it is was not told
  account     text collate "C" not null,
  external_id text collate "C" not null, -- the carrier's own id of the call or text
  kind        text collate "C" not null check (kind in ('call', 'text')),
  direction   text collate "C" not null check (direction in ('out', 'in')),
  our_number  text collate "C",
  status      text check (status is null or call_status_rank(status) > 0),
  finals      text[] not null default '{}', -- every final status that was reported: more than one is a conflict
  began_at    timestamptz not null,
  ended_at    timestamptz,
  seconds     integer not null default 0 check (seconds >= 0),
  body        text not null default '', -- the words of a text
  followup_id uuid,
  attempt_no  smallint,
  unique (tenant_id, account, external_id),
  check ((followup_id is null) = (attempt_no is null)),
  foreign key (followup_id, attempt_no) references attempts (followup_id, no)
);
create index messages_of_thread on messages (thread_id, began_at);

-- A call or text that a carrier reported and we did not place counts as one that somebody reported.
alter table other_calls add column message_id uuid references messages;
create unique index other_calls_message on other_calls (message_id) where message_id is not null;

-- Looking up what became of a call, in the carrier's own records.
create table lookups (
  id          bigint generated always as identity primary key,
  followup_id uuid not null,
  attempt_no  smallint not null,
  asked_at    timestamptz not null,
  question    text not null check (question in ('search', 'fetch', 'cancel')),
  answered    boolean not null,
  says        text not null, -- in words
  found       jsonb not null default '[]', -- calls that may be it; those of other attempts are left out
  foreign key (followup_id, attempt_no) references attempts (followup_id, no)
);
create index lookups_of on lookups (followup_id);
create trigger lookups_are_append_only before update or delete or truncate on lookups for each statement
  execute function forbid('what was found is kept');

-- What a promise was moved to: evidence of the call before is the successor's too.
create index phone_followups_successor on phone_followups (successor_of) where successor_of is not null;

-- What follows locks tables that every claim needs, so it comes last.

-- Whose a number is that somebody rang or wrote to.
create index lines_of_number on lines (caller_number);

-- Evidence can also be a webhook, a record that was looked up, or a trunk's own signalling. It
-- can say that no phone was rung, and that a call ended in two ways.
alter table evidence drop constraint evidence_source_check, drop constraint evidence_says_check;
alter table evidence add column doubtful boolean not null default false; -- about another number, or another attempt's call
alter table evidence add constraint evidence_source_check check (source in ('reply', 'webhook', 'record', 'signalling')),
  add constraint evidence_says_check check (says in ('placed', 'refused', 'not_placed', 'uncertain', 'not_dialed', 'ends'));

-- When the carrier is to be asked about an attempt next; null: there is nothing to ask.
alter table attempts add column look_at timestamptz, add column looks smallint not null default 0;
create index attempts_look on attempts (look_at) where look_at is not null;
-- A follow-up's calls that the carrier took and told no end of.
create index phone_followups_without_end on phone_followups (updated_at)
  where state = 'call_placed' and call_id is not null and call_status_rank(call_status) < 5;
-- What a carrier proved not to be placed, and then reports all the same, has rung.
create or replace trigger attempt_is_frozen before update on attempts for each row
  when (new.followup_id <> old.followup_id or new.no <> old.no or new.token <> old.token or new.e164 <> old.e164
    or new.daemon_id <> old.daemon_id or new.send_by <> old.send_by or new.answer_by <> old.answer_by
    or (old.call_id is not null and new.call_id is distinct from old.call_id)
    or (old.outcome is not null and new.outcome is distinct from old.outcome
        and not (old.outcome = 'uncertain' and coalesce(new.outcome, '') in ('placed', 'did_not_ring'))
        and not (old.outcome in ('did_not_ring', 'not_placed') and coalesce(new.outcome, '') = 'placed')))
  execute function forbid('an attempt is written once, and its outcome is settled once');

-- Calls that were taken, or uncertain, before there was anything to ask with.
update attempts set look_at = clock_timestamp()
where outcome = 'uncertain' or outcome = 'placed' and call_id is not null and created_at > clock_timestamp() - interval '2 days';
