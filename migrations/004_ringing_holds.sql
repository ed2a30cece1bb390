-- A restored backup, or a failover that lost commits, forgets attempts: whom they rang would be
-- rung again. A daemon that notices holds all ringing until a person releases it.

-- Which fleet this is, in every copy of its database.
alter table fleet add column id uuid not null default gen_random_uuid();
create trigger fleet_stays_itself before update on fleet for each row when (new.id <> old.id)
  execute function forbid('daemons know their database by it');

create table ringing_holds (
  id          uuid primary key default gen_random_uuid(), -- no other copy of this database has it
  held_at     timestamptz not null default clock_timestamp(),
  held_by     uuid not null, -- the daemon that noticed
  why         text not null check (why in ('attempt_forgotten', 'calls_unowned')),
  detail      text not null,
  since       timestamptz not null, -- calls that began since may be forgotten
  released_at timestamptz,
  released_by text,
  check ((released_at is null) = (released_by is null)),
  check (released_by <> '')
);
create unique index ringing_holds_one_open on ringing_holds ((true)) where released_at is null;
create trigger ringing_holds_are_kept before delete or truncate on ringing_holds for each statement
  execute function forbid('why ringing was held is kept');
create trigger release_stands before update on ringing_holds for each row
  when (old.released_at is not null or (new.id, new.held_at, new.held_by, new.why, new.detail, new.since)
    is distinct from (old.id, old.held_at, old.held_by, old.why, old.detail, old.since))
  execute function forbid('a hold is released once, and otherwise stays as it is');

create function ringing_held() returns boolean language sql stable as $$
  select exists (select from ringing_holds where released_at is null)
$$;

-- Also a daemon that knows nothing of holds commits no attempt under one.
create function refuse_while_held() returns trigger language plpgsql as $$
begin
  if ringing_held() then
    raise exception using errcode = 'object_not_in_prerequisite_state', constraint = tg_name, table = tg_table_name,
      message = 'all ringing is held: chasephone release';
  end if;
  return null;
end $$;
create trigger no_attempt_while_held before insert on attempts for each statement execute function refuse_while_held();
