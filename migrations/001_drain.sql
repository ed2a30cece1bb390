-- What holds here holds whatever a process does: see ARCHITECTURE.md, Invariants.
-- Everything is created in the first schema of the search path.

-- Guards speak through their own name, so that code tells them apart without reading text.
create function forbid() returns trigger language plpgsql as $$
begin
  raise exception using errcode = 'integrity_constraint_violation', constraint = tg_name, table = tg_table_name,
    message = format('%s refused by %s: %s', lower(tg_op), tg_name, tg_argv[0]);
end $$;

-- Ids in order of their making keep the indexes warm, and make "then id" mean first come, first served.
create function uuid_v7() returns uuid language sql volatile parallel safe as $$
  select encode(set_bit(set_bit(overlay(uuid_send(gen_random_uuid())
    placing substring(int8send((extract(epoch from clock_timestamp()) * 1000)::bigint) from 3) from 1 for 6),
    52, 1), 53, 1), 'hex')::uuid
$$;

-- Limits in force (R17): a row per change, with who and when; fleet says which one is in force.
create table limits (
  id           bigint generated always as identity primary key,
  tick         interval not null check (tick between '1 second' and '1 hour'),
  per_tick     smallint not null check (per_tick between 1 and 100),
  retry_after  interval not null check (retry_after > '0'),
  max_late     interval not null check (max_late between '1 hour' and '72 hours'),
  dial_timeout interval not null check (dial_timeout > '0'),
  dial_slots   integer  not null check (dial_slots > 0),
  drainers     smallint not null check (drainers > 0),
  quarantine   interval not null check (quarantine > '0'),
  set_at       timestamptz not null default clock_timestamp(),
  set_by       text not null check (set_by <> ''),
  unique (id, per_tick)
);
insert into limits (tick, per_tick, retry_after, max_late, dial_timeout, dial_slots, drainers, quarantine, set_by)
values ('1 minute', 2, '1 hour', '24 hours', '10 seconds', 64, 1, '15 minutes', 'the first migration');

-- One row. Claims share-lock it; stop, resume and a change of limits update it (R14).
create table fleet (
  one        boolean primary key default true check (one),
  limits_id  bigint not null references limits,
  stopped_at timestamptz,
  stopped_by text,
  demo       boolean not null default false, -- made by --demo: never rung for real
  check ((stopped_at is null) = (stopped_by is null))
);
insert into fleet (limits_id) select id from limits;

-- The fence: the newest slot that was ticked. Nothing follows from the job that carries a slot.
create table tick_fence (
  one     boolean primary key default true check (one),
  slot_at timestamptz not null default '-infinity'
);
insert into tick_fence default values;

create table daemons (
  id         uuid primary key,
  host       text not null,
  pid        integer not null,
  carriers   text[] not null,
  limits     jsonb not null, -- what its own environment says
  started_at timestamptz not null default clock_timestamp(),
  seen_at    timestamptz not null default clock_timestamp()
);

create table tenants (
  id           text collate "C" primary key check (length(id) between 1 and 100),
  region       text check (region ~ '^[A-Z]{2}$'), -- null: PHONE_DEFAULT_REGION
  default_line text collate "C" not null default 'default' check (default_line <> ''),
  approval     text not null default 'row' check (approval in ('row', 'always')),
  stopped_at   timestamptz,
  stopped_by   text,
  created_at   timestamptz not null default clock_timestamp(),
  check ((stopped_at is null) = (stopped_by is null))
);
insert into tenants (id) values ('default');

create table lines (
  tenant_id        text collate "C" not null references tenants,
  name             text collate "C" not null check (length(name) between 1 and 100),
  carrier          text collate "C" not null check (carrier <> ''),
  caller_number    text not null check (caller_number ~ '^[+][1-9][0-9]{3,14}$'),
  url              text, -- speaks instead of the script
  calls_per_second double precision check (calls_per_second >= 0), -- null: the carrier's; 0: no pacing
  next_call_at     timestamptz not null default '-infinity', -- pacing: the next call begins no earlier
  unknowns_in_row  integer not null default 0 check (unknowns_in_row >= 0),
  held_until       timestamptz,
  held_for         text,
  held_by          text, -- a person, or null where the carrier's answers held it
  stopped_at       timestamptz,
  stopped_by       text,
  created_at       timestamptz not null default clock_timestamp(),
  primary key (tenant_id, name),
  check ((held_until is null) = (held_for is null)),
  check ((stopped_at is null) = (stopped_by is null))
);

-- A daemon that cannot reach a line's carrier leaves that line to the others until then.
create table unfit_lines (
  daemon_id uuid not null,
  tenant_id text collate "C" not null,
  line      text collate "C" not null,
  until     timestamptz not null,
  primary key (daemon_id, tenant_id, line)
);

create table do_not_call (
  id        bigint generated always as identity primary key,
  e164      text collate "C" not null check (e164 ~ '^[+][1-9][0-9]{3,14}$'),
  tenant_id text collate "C" references tenants, -- null: for every tenant
  source    text not null default '',
  added_at  timestamptz not null default clock_timestamp(),
  added_by  text not null check (added_by <> '')
);
create unique index do_not_call_number on do_not_call (e164, coalesce(tenant_id, ''));

create table phone_followups (
  id             uuid primary key default uuid_v7(),
  tenant_id      text collate "C" not null default 'default',
  ref            text collate "C" not null check (length(ref) between 1 and 500),
  due_at         timestamptz not null,
  phone_number   text not null, -- as given
  contact_name   text,
  time_zone      text, -- confirmed by the person called
  purpose        text not null default 'requested',
  script         text not null,
  needs_approval boolean not null default false,
  line           text collate "C", -- null: the tenant's default
  state          text collate "C" not null default 'due' check (state in
    ('due', 'awaiting_approval', 'dialing', 'uncertain', 'call_placed', 'refused', 'missed', 'cancelled')),
  next_try_at    timestamptz not null default '-infinity', -- -infinity: nobody has looked at it yet
  reason         text collate "C",
  detail         text,
  call_id        text collate "C",
  call_status    text,
  approval_id    uuid,
  created_at     timestamptz not null default clock_timestamp(),
  updated_at     timestamptz not null default clock_timestamp(),
  -- Below: kept by chasephone, not for integrators.
  decided_by     text, -- the person whose word made it final
  e164           text collate "C" check (e164 ~ '^[+][1-9][0-9]{3,14}$'),
  extension      text,
  region         text,
  number_problem text, -- why phone_number has no identity
  ready          boolean not null default false, -- admitted, and not waiting for next_try_at
  line_key       text collate "C" not null generated always as (coalesce(line, '')) stored,
  attempt_no     smallint, -- the newest attempt
  version        integer, -- of the newest ledger row; null: nothing has happened yet
  successor_of   uuid references phone_followups, -- rescheduled from
  constraint phone_followups_natural_key unique (tenant_id, ref, due_at),
  constraint placed_needs_evidence check (state <> 'call_placed' or call_id is not null or decided_by is not null),
  constraint final_needs_reason check (state not in ('refused', 'missed', 'cancelled', 'uncertain') or reason is not null),
  constraint awaiting_needs_approval check (state <> 'awaiting_approval' or approval_id is not null),
  constraint dialing_needs_attempt check (state not in ('dialing', 'uncertain') or attempt_no is not null),
  constraint ready_needs_identity check (not ready or e164 is not null or number_problem is not null)
) with (fillfactor = 70);

-- The drain's way in: the oldest ready row of a tenant's line (R3). Waiting rows are not in it.
create index phone_followups_ready on phone_followups (tenant_id, line_key, due_at, id) where state = 'due' and ready;
-- Rows to be looked at: new ones, and those whose wait is over.
create index phone_followups_waiting on phone_followups (next_try_at) where state = 'due' and not ready;
-- What can become late, and the gauges.
create index phone_followups_open on phone_followups (due_at) include (state) where state in ('due', 'awaiting_approval');
create index phone_followups_uncertain on phone_followups (updated_at) include (state) where state in ('uncertain', 'dialing');

-- A person's yes or no. It binds the number, the line, its caller number and the words (R9).
create table approvals (
  id            uuid primary key default uuid_v7(),
  followup_id   uuid not null references phone_followups,
  reasons       text[] not null check (cardinality(reasons) > 0), -- the hold codes it answers
  e164          text not null,
  line          text collate "C" not null,
  caller_number text not null,
  words         text not null, -- digest of the script or the URL
  asked_at      timestamptz not null,
  decision      text check (decision in ('approved', 'declined', 'missed', 'cancelled')),
  decided_at    timestamptz,
  decided_by    text,
  time_zone     text,
  constraint decision_is_whole check ((decision is null) = (decided_at is null)),
  constraint decision_has_a_name check (decision is null or decision = 'missed' or coalesce(decided_by, '') <> '')
);
create unique index approvals_one_open on approvals (followup_id) where decision is null;
create index approvals_of on approvals (followup_id);

-- An attempt is the right to ring once. It is committed before the request.
create table attempts (
  followup_id   uuid not null references phone_followups,
  no            smallint not null check (no >= 1),
  token         uuid not null,
  tenant_id     text collate "C" not null,
  line          text collate "C" not null,
  carrier       text collate "C" not null,
  e164          text collate "C" not null,
  caller_number text not null,
  daemon_id     uuid not null, -- only this process may send
  approval_id   uuid references approvals,
  created_at    timestamptz not null,
  begin_at      timestamptz not null, -- paced: no request earlier
  send_by       timestamptz not null, -- no request later
  answer_by     timestamptz not null, -- no answer is awaited later
  late_at       timestamptz not null, -- due_at and the greatest lateness
  outcome       text check (outcome in ('placed', 'refused', 'not_placed', 'uncertain', 'did_not_ring')),
  outcome_at    timestamptz,
  call_id       text collate "C",
  code          text,
  answer        text, -- the carrier's words, cleaned
  stage         text check (stage in ('writing', 'awaiting', 'answered', 'no_record')),
  decided_by    text,
  primary key (followup_id, no),
  constraint attempts_token unique (token),
  constraint attempts_deadlines check (created_at <= begin_at and begin_at <= send_by and send_by <= late_at and send_by < answer_by),
  constraint attempts_outcome_is_whole check ((outcome is null) = (outcome_at is null)),
  constraint attempts_placed_needs_evidence check (outcome <> 'placed' or call_id is not null or decided_by is not null),
  constraint attempts_did_not_ring_needs_a_name check (outcome <> 'did_not_ring' or coalesce(decided_by, '') <> '')
) with (fillfactor = 80);
-- Attempt n+1 exists only when n is proven, or said by a person, not to have rung.
create unique index attempts_one_live on attempts (followup_id)
  where outcome is null or outcome not in ('not_placed', 'did_not_ring');
create unique index attempts_one_open_per_number on attempts (e164) where outcome is null;
create unique index attempts_call_id on attempts (carrier, call_id) where call_id is not null;
-- An approval is spent once, by an attempt that may have rung.
create unique index attempts_approval on attempts (approval_id)
  where approval_id is not null and (outcome is null or outcome <> 'not_placed');
create index attempts_of_number on attempts (e164, created_at);
create index attempts_open on attempts (tenant_id, line) where outcome is null;

-- The ledger (R15). It holds no number, and outlives the job runner's rows.
create table followup_events (
  followup_id uuid not null references phone_followups,
  version     integer not null check (version >= 1),
  id          bigint generated always as identity,
  xid         xid8 not null default pg_current_xact_id(),
  tenant_id   text collate "C" not null,
  at          timestamptz not null,
  from_state  text collate "C" not null,
  to_state    text collate "C" not null,
  outcome     text collate "C" check (outcome in
    ('call_placed', 'awaiting_approval', 'refused', 'not_ready', 'uncertain', 'missed', 'cancelled')),
  actor       text collate "C" not null check (actor in ('intake', 'tick', 'gates', 'daemon', 'carrier', 'sweep', 'person')),
  by_name     text,
  reason      text collate "C",
  detail      text,
  findings    jsonb,
  attempt_no  smallint,
  slot_at     timestamptz,
  place       smallint,
  limits_id   bigint,
  per_tick    smallint,
  primary key (followup_id, version),
  constraint nobody_unnamed_decides check ((actor = 'person') = (by_name is not null and by_name <> '')),
  -- Two per tenant and slot (R2): what the gates ruled takes a numbered place, and no number is taken twice.
  constraint a_ruling_takes_a_place check
    ((actor = 'gates' and to_state in ('dialing', 'awaiting_approval', 'refused')) = (place is not null)),
  constraint a_place_is_whole check
    (num_nulls(slot_at, place, limits_id, per_tick) in (0, 4) and place between 1 and per_tick),
  constraint a_place_is_under_the_limit foreign key (limits_id, per_tick) references limits (id, per_tick)
);
create unique index followup_events_place on followup_events (tenant_id, slot_at, place) where place is not null;
create index followup_events_in_order on followup_events (xid, id);

-- Every change of state has a ledger row in the same transaction.
alter table phone_followups
  add constraint state_has_a_ledger_row foreign key (id, version) references followup_events (followup_id, version),
  add constraint attempt_exists foreign key (id, attempt_no) references attempts (followup_id, no),
  add constraint approval_exists foreign key (approval_id) references approvals (id);

-- What a person did that is no change of one follow-up's state. It holds no number.
create table desk_events (
  id        bigint generated always as identity primary key,
  at        timestamptz not null default clock_timestamp(),
  by_name   text not null check (by_name <> ''),
  verb      text not null check (verb <> ''),
  tenant_id text collate "C",
  line      text collate "C",
  detail    text
);

-- What the carrier said of an attempt after its outcome was settled: for a person to weigh.
create table evidence (
  id          bigint generated always as identity primary key,
  followup_id uuid not null,
  attempt_no  smallint not null,
  at          timestamptz not null default clock_timestamp(),
  source      text not null check (source in ('reply')),
  says        text not null check (says in ('placed', 'refused', 'not_placed', 'uncertain')),
  call_id     text,
  code        text,
  answer      text,
  conflict    boolean not null default false, -- it rang, although a person said it did not
  foreign key (followup_id, attempt_no) references attempts (followup_id, no)
);
create index evidence_of on evidence (followup_id);
create index evidence_conflicts on evidence (id) where conflict;

-- Outcomes counted from the ledger, once, whoever caused them.
create table outcome_totals (
  outcome text primary key,
  total   bigint not null default 0
);
insert into outcome_totals (outcome) values
  ('call_placed'), ('awaiting_approval'), ('refused'), ('not_ready'), ('uncertain'), ('missed'), ('cancelled');
create table outcome_tally (
  one   boolean primary key default true check (one),
  upto  xid8 not null default '0', -- counted up to this transaction
  above bigint not null default 0  -- events up to this id came from another cluster, by dump and restore
);
insert into outcome_tally default values;

-- Guards. Integrators insert; what becomes of a row is chasephone's to say.
create trigger integrator_sets_no_state before insert on phone_followups for each row
  when (new.state <> 'due' or new.ready or new.next_try_at <> '-infinity' or num_nonnulls(new.reason, new.detail, new.call_id, new.call_status,
    new.approval_id, new.decided_by, new.e164, new.extension, new.region, new.number_problem, new.attempt_no, new.version) > 0)
  execute function forbid('a new follow-up is due, and everything but the promise itself is left to its default');
create trigger promise_is_frozen before update on phone_followups for each row
  when (new.id <> old.id or new.due_at <> old.due_at or new.phone_number <> old.phone_number or new.script <> old.script
    or new.tenant_id <> old.tenant_id or new.ref <> old.ref or new.purpose <> old.purpose or new.created_at <> old.created_at
    or new.line is distinct from old.line or new.time_zone is distinct from old.time_zone
    or new.successor_of is distinct from old.successor_of
    or (old.needs_approval and not new.needs_approval)
    or (num_nonnulls(old.e164, old.number_problem) > 0
        and (new.e164, new.extension, new.region, new.number_problem) is distinct from (old.e164, old.extension, old.region, old.number_problem)))
  execute function forbid('due_at, number, words, line and zone of a promise never change: cancel or reschedule it');
create trigger identity_is_worked_out before update on phone_followups for each row
  when (((new.e164, new.extension, new.region, new.number_problem) is distinct from (old.e164, old.extension, old.region, old.number_problem)
      or new.ready and not old.ready)
    and coalesce(current_setting('chasephone.writes', true), '') <> 'on')
  execute function forbid('chasephone works out whom phone_number means, and when it is ready: nobody else says so');
create trigger outcome_needs_ledger before update on phone_followups for each row
  when (new.version is distinct from old.version and new.version is distinct from coalesce(old.version, 0) + 1
    or new.version is not distinct from old.version and (new.state, new.reason, new.detail, new.call_id, new.decided_by, new.attempt_no, new.approval_id)
    is distinct from (old.state, old.reason, old.detail, old.call_id, old.decided_by, old.attempt_no, old.approval_id))
  execute function forbid('what became of a promise changes together with its ledger row: use the chasephone commands');
create trigger state_moves before update on phone_followups for each row
  when (new.state <> old.state and old.state || '>' || new.state not in (
    'due>dialing', 'due>awaiting_approval', 'due>refused', 'due>missed', 'due>cancelled', 'due>call_placed',
    'awaiting_approval>due', 'awaiting_approval>refused', 'awaiting_approval>missed', 'awaiting_approval>cancelled',
    'dialing>call_placed', 'dialing>refused', 'dialing>due', 'dialing>uncertain',
    'uncertain>call_placed', 'uncertain>due', 'uncertain>missed', 'uncertain>refused', 'uncertain>cancelled'))
  execute function forbid('no such transition');
create trigger tenants_are_kept before delete on tenants for each row
  execute function forbid('tenants are kept: stop it');
create trigger followups_are_kept before delete on phone_followups for each row
  execute function forbid('follow-ups are kept: cancel it');
create trigger attempt_is_frozen before update on attempts for each row
  when (new.followup_id <> old.followup_id or new.no <> old.no or new.token <> old.token or new.e164 <> old.e164
    or new.daemon_id <> old.daemon_id or new.send_by <> old.send_by or new.answer_by <> old.answer_by
    or (old.outcome is not null and new.outcome is distinct from old.outcome
        and not (old.outcome = 'uncertain' and coalesce(new.outcome, '') in ('placed', 'did_not_ring'))
        and not (old.outcome = 'did_not_ring' and coalesce(new.outcome, '') = 'placed')))
  execute function forbid('an attempt is written once, and its outcome is settled once');
create trigger attempts_are_kept before delete on attempts for each row execute function forbid('attempts are kept');
create trigger decision_stands before update on approvals for each row
  when (old.decision is not null or new.followup_id <> old.followup_id or new.e164 <> old.e164 or new.line <> old.line
    or new.caller_number <> old.caller_number or new.words <> old.words or new.reasons <> old.reasons)
  execute function forbid('the first decision stands');
create trigger ledger_is_append_only before update or delete or truncate on followup_events for each statement
  execute function forbid('the ledger is append-only');
create trigger desk_events_are_append_only before update or delete or truncate on desk_events for each statement
  execute function forbid('what was done is kept');
create trigger evidence_is_append_only before update or delete or truncate on evidence for each statement
  execute function forbid('evidence is append-only');

-- Small tables are never analyzed by themselves, and a plan that takes them for large ones is
-- compiled for longer than it runs.
analyze limits, fleet, tick_fence, tenants, lines, outcome_totals, outcome_tally;
