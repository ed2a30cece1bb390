package store

// Right is what the daemon's role may do with a table beside reading it. The reader's role reads
// every table and does nothing else.
type Right struct {
	Table  string
	Insert bool
	Delete bool
	Update []string // columns; every one where it is everyColumn
}

var everyColumn = []string{"*"}

// Rights is every table of the schema, ours and River's. What is not here is nobody's but the
// owner's: a new table, and a new column that is written later than its row, is decided here.
//
// What is never here: to change or take away what was said or done (followup_events,
// desk_events, evidence, lookups), to delete a promise, an attempt or a tenant, and to change
// what was promised or to whom an attempt rings.
func Rights() []Right {
	return []Right{
		{Table: "chasephone_migrations"},
		{Table: "limits", Insert: true},
		// To lock a table a right to all of it is needed (see queueForFleet).
		{Table: "fleet", Update: everyColumn},
		{Table: "tick_fence", Update: []string{"slot_at"}},
		{Table: "daemons", Insert: true, Delete: true, Update: []string{"carriers", "seen_at"}},
		{Table: "ringing_holds", Insert: true, Update: []string{"released_at", "released_by"}},
		{Table: "tenants", Insert: true, Update: []string{"region", "default_line", "approval", "stopped_at", "stopped_by"}},
		{Table: "lines", Insert: true, Update: []string{
			"carrier", "caller_number", "url", "calls_per_second", "next_call_at", "unknowns_in_row",
			"held_until", "held_for", "held_by", "stopped_at", "stopped_by",
		}},
		{Table: "unfit_lines", Insert: true, Delete: true, Update: []string{"until"}},
		{Table: "do_not_call", Insert: true, Delete: true},
		{Table: "consents", Insert: true, Delete: true},
		{Table: "phone_followups", Insert: true, Update: []string{
			"state", "next_try_at", "reason", "detail", "call_id", "call_status", "approval_id", "updated_at", "decided_by",
			"e164", "extension", "region", "number_problem", "ready", "attempt_no", "version", "promised_at",
		}},
		{Table: "approvals", Insert: true, Update: []string{"decision", "decided_at", "decided_by", "time_zone"}},
		{Table: "attempts", Insert: true, Update: []string{
			"outcome", "outcome_at", "call_id", "code", "answer", "stage", "decided_by", "approval_id", "look_at", "looks",
		}},
		{Table: "followup_events", Insert: true},
		{Table: "desk_events", Insert: true},
		{Table: "evidence", Insert: true},
		{Table: "lookups", Insert: true},
		{Table: "outcome_totals", Update: []string{"total"}},
		{Table: "outcome_tally", Update: []string{"upto", "above"}},
		{Table: "other_calls", Insert: true, Delete: true, Update: []string{"e164", "direction", "began_at", "talked"}},
		{Table: "tenant_twilio_events", Insert: true, Update: []string{"bridged_at", "problem"}},
		{Table: "tenant_telnyx_events", Insert: true, Update: []string{"bridged_at", "problem"}},
		{Table: "tenant_sip_events", Insert: true, Update: []string{"bridged_at", "problem"}},
		{Table: "contacts", Insert: true},
		{Table: "threads", Insert: true, Update: []string{"first_at", "last_at"}},
		{Table: "messages", Insert: true, Update: []string{
			"thread_id", "kind", "direction", "our_number", "status", "finals", "began_at", "ended_at", "seconds", "body", "followup_id", "attempt_no",
		}},
		{Table: "river_migration"},
		{Table: "river_job", Insert: true, Delete: true, Update: everyColumn},
		{Table: "river_leader", Insert: true, Delete: true, Update: everyColumn},
		{Table: "river_queue", Insert: true, Delete: true, Update: everyColumn},
		{Table: "river_notification"}, // for databases that cannot notify
	}
}

// Functions is every function of the schema, and whether the daemon's role runs it: in a default,
// a check, an index or a statement. A trigger runs its own whoever made it fire.
func Functions() map[string]bool {
	return map[string]bool{
		"forbid": false, "uuid_v7": true, "call_status_rank": true, "ringing_held": true, "refuse_while_held": false,
		"river_job_state_in_bitmask": true,
	}
}

// Sequences is every sequence that is not an identity column's own, and whether the daemon's role
// draws from it.
func Sequences() map[string]bool {
	return map[string]bool{"river_job_id_seq": true, "river_notification_id_seq": false}
}
