-- A follow-up is ready an hour before it is due, and not from the day on which it is promised: a tick
-- then passes over what is due now and soon, however much is promised for later.

-- Looked at, and not yet ready only because it is due later.
create index phone_followups_ahead on phone_followups (due_at) where state = 'due' and not ready and next_try_at = due_at;

-- What was made ready long ahead waits until then.
update phone_followups set ready = false
where state = 'due' and ready and due_at > clock_timestamp() + interval '1 hour' and next_try_at = due_at;
