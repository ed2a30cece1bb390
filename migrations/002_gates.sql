-- What the gates judge on beside the follow-up itself.

-- Calls that chasephone did not place, as they were reported: outbound ones count in caps, gaps
-- and budgets like its own; an inbound one says that the person has reached the tenant.
create table other_calls (
  id          bigint generated always as identity primary key,
  tenant_id   text collate "C" not null default 'default' references tenants,
  e164        text collate "C" not null check (e164 ~ '^[+][1-9][0-9]{3,14}$'),
  direction   text collate "C" not null check (direction in ('out', 'in')),
  began_at    timestamptz not null default clock_timestamp() check (isfinite(began_at)),
  talked      boolean not null default false, -- it reached somebody
  source      text not null default '',
  reported_at timestamptz not null default clock_timestamp(),
  reported_by text not null check (reported_by <> '')
);
create index other_calls_of_number on other_calls (e164, tenant_id, direction, began_at);
create index other_calls_of_tenant on other_calls (tenant_id, began_at) where direction = 'out';
create index other_calls_begun on other_calls (began_at) where direction = 'out';

-- Consent on file, for one purpose.
create table consents (
  tenant_id text collate "C" not null references tenants,
  e164      text collate "C" not null check (e164 ~ '^[+][1-9][0-9]{3,14}$'),
  purpose   text collate "C" not null check (purpose <> ''),
  source    text not null default '',
  given_at  timestamptz not null default clock_timestamp() check (isfinite(given_at)),
  added_by  text not null check (added_by <> ''),
  primary key (e164, tenant_id, purpose)
);

-- Budgets: calls of a tenant in a day, of the fleet in a minute; and calls at once on a line.
create index attempts_of_tenant on attempts (tenant_id, begin_at);
create index attempts_begun on attempts (begin_at);

-- Rows that wait for a count: where an attempt turns out not to have rung they need not.
create index phone_followups_counted on phone_followups (tenant_id, e164)
  where state = 'due' and reason in ('too_many_calls', 'too_soon', 'tenant_budget');

-- What follows locks tables that every claim needs, so it comes last and is soon over.

-- A rescheduled promise was made when its first was; null: when the row was.
alter table phone_followups add column promised_at timestamptz;

-- Which calls of a tenant a person must see first.
alter table tenants drop constraint tenants_approval_check;
alter table tenants add constraint tenants_approval_check check (approval in ('row', 'never', 'first_call', 'always'));

-- What each daemon's environment says of its gates, so that commands can tell whether theirs says the same.
alter table daemons add column gates jsonb not null default '{}';

analyze tenants;
