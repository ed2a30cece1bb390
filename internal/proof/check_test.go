package proof_test

import (
	"time"

	"github.com/jackc/pgx/v5"
)

// tried is an attempt as the tables have it.
type tried struct {
	FollowUp, Token, Outcome, CallID, By, Approval string
	No                                             int
	OutcomeAt, Open                                *time.Time // when it was settled; when a person may first say that it did not ring
}

// ended is a follow-up as the tables have it.
type ended struct {
	ID, Ref, Number, State, Reason, CallID, By string
	Version                                    int
}

// told is a row of the ledger.
type told struct {
	FollowUp, From, To string
	Version            int
	Slot               *time.Time
	Place              *int
	PerTick            *int
}

// check compares the tables and the ring book with the invariants.
func (r *run) check() {
	var (
		attempts []tried
		all      []ended
		ledger   []told
	)
	batch := &pgx.Batch{}
	batch.Queue(`select followup_id::text, token::text, coalesce(outcome, ''), coalesce(call_id, ''), coalesce(decided_by, ''), coalesce(approval_id::text, ''), no,
		outcome_at, answer_by + (select quarantine from fleet f join limits l on l.id = f.limits_id) from attempts where tenant_id = $1 order by followup_id, no`, r.tenant).
		Query(into(&attempts))
	batch.Queue(`select id::text, ref, phone_number, state, coalesce(reason, ''), coalesce(call_id, ''), coalesce(decided_by, ''), coalesce(version, 0)
		from phone_followups where tenant_id = $1`, r.tenant).Query(into(&all))
	batch.Queue(`select followup_id::text, from_state, to_state, version, slot_at, place::int, per_tick::int from followup_events where tenant_id = $1 order by followup_id, version`, r.tenant).
		Query(into(&ledger))
	if err := r.w.sees.SendBatch(r.w.ctx, batch).Close(); err != nil {
		r.w.t.Fatalf("reading the tables: %v", err)
	}
	r.checkBook(attempts)
	for _, f := range all {
		r.checkEnd(f, attempts)
	}
	r.checkLedger(all, ledger)
	r.checkApprovals(attempts)
}

func into[T any](all *[]T) func(pgx.Rows) error {
	return func(rows pgx.Rows) (err error) {
		*all, err = pgx.CollectRows(rows, pgx.RowToStructByPos[T])
		return err
	}
}

// checkBook compares what rang with the attempts.
func (r *run) checkBook(attempts []tried) {
	book := r.company.Rings()
	known := map[string]tried{}
	for _, a := range attempts {
		known[a.Token] = a
		rang := book.ByToken[a.Token].Rings
		switch {
		case a.Outcome == "":
			r.violation("5: an attempt is open for ever")
		case rang > 0 && (a.Outcome == "refused" || a.Outcome == "not_placed" || a.Outcome == "did_not_ring"):
			r.violation("1: an attempt is %s and rang", a.Outcome)
		case rang == 0 && a.Outcome == "placed":
			r.violation("7: an attempt is placed and did not ring")
		}
		if a.Outcome == "did_not_ring" && a.OutcomeAt != nil && a.OutcomeAt.Before(*a.Open) {
			r.violation("R8: a person's \"it did not ring\" was taken before the quarantine was over")
		}
	}
	for token, n := range book.ByToken {
		if _, ok := known[token]; !ok {
			r.violation("1: a request went out and no attempt of it is in the table")
		}
		if n.Rings > 1 || n.Requests > 1 {
			r.violation("1: one attempt went out %d times and rang %d times", n.Requests, n.Rings)
		}
	}
	for _, e := range book.Entries {
		if e.Token == "" {
			r.violation("1: a request went out without an attempt's token")
		}
	}
}

// checkEnd compares what became of a follow-up with what rang.
func (r *run) checkEnd(f ended, attempts []tried) {
	book := r.company.Rings()
	rang, own, ids := 0, map[string]bool{}, map[string]bool{}
	for _, a := range attempts {
		own[a.Token] = a.FollowUp == f.ID
	}
	for _, e := range book.Entries {
		if own[e.Token] && e.Rang {
			rang++
			ids[e.SID] = true
		}
	}
	if rang > 1 {
		r.violation("1: %s rang %d times", f.Ref, rang)
	}
	switch f.State {
	case "call_placed":
		if rang == 0 {
			r.violation("7: %s is call_placed and did not ring", f.Ref)
		}
		if f.CallID != "" && !ids[f.CallID] {
			r.violation("7: %s has the id of another call", f.Ref)
		}
		if f.CallID == "" && f.By == "" {
			r.violation("7: %s is call_placed by nobody's word", f.Ref)
		}
	case "refused", "missed", "cancelled":
		if rang > 0 {
			r.violation("1: %s is %s and rang", f.Ref, f.State)
		}
	default:
		r.violation("5: %s is %s for ever (%s)", f.Ref, f.State, f.Reason)
	}
	for _, p := range r.all {
		if p.ref != f.Ref {
			continue
		}
		is := map[want]bool{
			wantAny:    true,
			wantRung:   f.State == "call_placed" || f.State == "refused" && f.Reason == "carrier_refused" && refusedBy(f.ID, attempts),
			wantMissed: f.State == "missed", wantDeclined: f.State == "refused" && f.Reason == "declined", wantCancelled: f.State == "cancelled",
		}
		if !is[p.want] {
			r.violation("5: %s is %s (%s), and should be %s", f.Ref, f.State, f.Reason, p.want)
		}
	}
}

func refusedBy(id string, attempts []tried) bool {
	for _, a := range attempts {
		if a.FollowUp == id && a.Outcome == "refused" {
			return true
		}
	}
	return false
}

// checkLedger wants one row per change, each beginning where the last one ended, and no more
// places than there are.
func (r *run) checkLedger(all []ended, ledger []told) {
	state, version := map[string]string{}, map[string]int{}
	places := map[time.Time]int{}
	for _, e := range ledger {
		before, ok := state[e.FollowUp]
		if !ok {
			before = "due"
		}
		if e.From != before || e.Version != version[e.FollowUp]+1 {
			r.violation("6: the ledger's row %d goes from %s to %s, and the row before ended in %s", e.Version, e.From, e.To, before)
		}
		state[e.FollowUp], version[e.FollowUp] = e.To, e.Version
		if e.Place != nil {
			if places[*e.Slot]++; places[*e.Slot] > *e.PerTick {
				r.violation("4: %d places were taken in one slot", places[*e.Slot])
			}
		}
	}
	for _, f := range all {
		if f.Version != version[f.ID] || f.Version > 0 && f.State != state[f.ID] {
			r.violation("6: %s is %s by its row and %s by the ledger", f.Ref, f.State, state[f.ID])
		}
	}
}

// checkApprovals wants every approval spent once, by what may have rung, and nothing that asks for
// one rung without.
func (r *run) checkApprovals(attempts []tried) {
	spent := map[string]int{}
	asks := map[string]bool{}
	rows, err := r.w.sees.Query(r.w.ctx, `select id::text from phone_followups where tenant_id = $1 and needs_approval`, r.tenant)
	if err != nil {
		r.w.t.Fatalf("reading what asks for an approval: %v", err)
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		r.w.t.Fatalf("reading what asks for an approval: %v", err)
	}
	for _, id := range ids {
		asks[id] = true
	}
	for _, a := range attempts {
		if a.Outcome == "not_placed" {
			continue
		}
		if asks[a.FollowUp] && a.Approval == "" {
			r.violation("R9: an attempt went out without the approval that is asked for")
		}
		if spent[a.Approval]++; a.Approval != "" && spent[a.Approval] > 1 {
			r.violation("R9: an approval was spent %d times", spent[a.Approval])
		}
	}
}
