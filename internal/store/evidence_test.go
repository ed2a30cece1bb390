package store_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

	"chasephone/internal/arrivals"
	"chasephone/internal/carrier"
	"chasephone/internal/drain"
	"chasephone/internal/followup"
	"chasephone/internal/phone"
)

// standing is what became of an office's follow-up.
func (o office) standing(t testing.TB) string {
	t.Helper()
	var text string
	if err := o.db.Pool.QueryRow(t.Context(), `
		select concat_ws(' ', f.state, coalesce(f.call_id, '-'), coalesce(f.call_status, '-'), 'attempt', coalesce(a.outcome, 'open'), coalesce(a.call_id, '-'),
		  'evidence', (select coalesce(string_agg(v.says || case when v.conflict then '!' else '' end, ',' order by v.says, v.id), '-') from evidence v where v.followup_id = f.id),
		  'events', (select count(*) from followup_events e where e.followup_id = f.id))
		from phone_followups f join attempts a on a.followup_id = f.id and a.no = 1 where f.id = $1`, o.followUp).Scan(&text); err != nil {
		t.Fatal(err)
	}
	return strings.NewReplacer(sid("CA", 1), "ONE", sid("CA", 2), "TWO", sid("CA", 3), "ANOTHER'S").Replace(text)
}

// R7, R8, R12, rows 4, 23, 24, 25, 26: what a verified arrival does to an attempt, by how it stands.
func TestArrivalsAsEvidence(t *testing.T) {
	t.Parallel()
	one := func(kind, status string) said { return said{sid: sid("CA", 1), kind: kind, status: status} }
	two := func(status string) said { return said{sid: sid("CA", 2), kind: "ours", status: status} }
	for _, row := range []struct {
		name, outcome, callID string
		said                  []said
		change                func(*arrivals.Arrival)
		want                  string
	}{
		{"before the reply", "", "", []said{one("ours", "ringing")}, nil, "call_placed ONE ringing attempt placed ONE evidence placed events 2"},
		{"before the reply, in the queue", "", "", []said{one("ours", "queued")}, nil, "call_placed ONE queued attempt placed ONE evidence placed events 2"},
		{"before the reply, not dialed", "", "", []said{one("ours", "failed")}, nil, "dialing - - attempt open - evidence not_dialed events 1"},
		{"after the reply was lost", "uncertain", "", []said{one("ours", "initiated")}, nil, "call_placed ONE initiated attempt placed ONE evidence placed events 2"},
		{"the whole call, backwards", "uncertain", "", []said{one("ours", "completed"), one("ours", "in-progress"), one("ours", "ringing"), one("ours", "initiated")}, nil, "call_placed ONE completed attempt placed ONE evidence placed events 2"},
		{"doubled", "uncertain", "", []said{one("ours", "ringing"), one("ours", "ringing"), one("ours", "ringing")}, nil, "call_placed ONE ringing attempt placed ONE evidence placed events 2"},
		{"not dialed is for a person", "uncertain", "", []said{one("ours", "failed")}, nil, "uncertain - - attempt uncertain - evidence not_dialed events 1"},
		{"cancelled in the queue is for a person", "uncertain", "", []said{one("ours", "canceled")}, nil, "uncertain - - attempt uncertain - evidence not_dialed events 1"},
		{"not dialed, and then it was", "uncertain", "", []said{one("ours", "canceled"), one("ours", "initiated")}, nil, "call_placed ONE canceled attempt placed ONE evidence not_dialed,placed events 2"},
		{"against a person's word", "did_not_ring", "", []said{one("ours", "ringing")}, nil, "call_placed ONE ringing attempt placed ONE evidence placed! events 2"},
		{"with a person's word", "did_not_ring", "", []said{one("ours", "failed")}, nil, "due - - attempt did_not_ring - evidence not_dialed events 1"},
		{"against the carrier's own word", "not_placed", "", []said{one("ours", "ringing")}, nil, "call_placed ONE ringing attempt placed ONE evidence placed! events 2"},
		{"of a placed call", "placed", sid("CA", 1), []said{one("ours", "ringing"), one("ours", "busy")}, nil, "call_placed ONE busy attempt placed ONE evidence - events 1"},
		{"never backwards", "placed", sid("CA", 1), []said{one("ours", "busy"), one("ours", "ringing"), one("ours", "queued")}, nil, "call_placed ONE busy attempt placed ONE evidence - events 1"},
		{"two ends", "placed", sid("CA", 1), []said{one("ours", "no-answer"), one("ours", "completed"), one("ours", "no-answer"), one("ours", "busy")}, nil, "call_placed ONE completed attempt placed ONE evidence ends! events 1"},
		{"a second call of one attempt", "placed", sid("CA", 1), []said{two("ringing")}, nil, "call_placed ONE - attempt placed ONE evidence placed! events 1"},
		{"of a call that a person says rang", "placed", "", []said{one("ours", "ringing")}, nil, "call_placed - ringing attempt placed ONE evidence placed events 1"},
		{"without a token, of a call that is known", "placed", sid("CA", 1), []said{one("other", "completed")}, nil, "call_placed ONE completed attempt placed ONE evidence - events 1"},
		{"without a token, of a call that is not", "uncertain", "", []said{one("other", "completed")}, nil, "uncertain - - attempt uncertain - evidence - events 1"},
		{"another account's signature", "uncertain", "", []said{one("ours", "ringing")}, func(a *arrivals.Arrival) { a.Accounts = []string{"twilio/OTHER"} }, "uncertain - - attempt uncertain - evidence - events 1"},
		{"a token that is nobody's", "uncertain", "", []said{one("ours", "ringing")}, func(a *arrivals.Arrival) { a.Report.Token = uuid.NewString() }, "uncertain - - attempt uncertain - evidence - events 1"},
		{"a token that is none", "uncertain", "", []said{one("ours", "ringing")}, func(a *arrivals.Arrival) { a.Report.Token = "x'; --" }, "uncertain - - attempt uncertain - evidence - events 1"},
		{"another number's call", "uncertain", "", []said{one("ours", "ringing")}, func(a *arrivals.Arrival) {
			a.Delivery.Body = []byte(strings.Replace(string(a.Delivery.Body), "To=%2B1415", "To=%2B1416", 1))
		}, "uncertain - - attempt uncertain - evidence placed! events 1"},
		{"a call that is another attempt's", "uncertain", "", []said{{sid: sid("CA", 3), kind: "ours", status: "ringing"}}, nil, "uncertain - - attempt uncertain - evidence placed! events 1"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			db := open(t)
			newOffice(t, db, 1, "placed", sid("CA", 3))
			o := newOffice(t, db, 2, row.outcome, row.callID)
			for _, s := range row.said {
				a := o.arrival(t, s)
				if row.change != nil {
					row.change(&a)
				}
				keep(t, db, a)
				bridge(t, db, 500)
			}
			if got := o.standing(t); got != row.want {
				t.Errorf("\n%s, want\n%s", got, row.want)
			}
		})
	}
}

// R8: with a newer attempt under way the evidence of the older one changes nothing, and is shown.
func TestEvidenceBesideANewerAttempt(t *testing.T) {
	t.Parallel()
	db := open(t)
	o := newOffice(t, db, 1, "did_not_ring", "")
	o.further(t, "dialing", "", "")
	keep(t, db, o.arrival(t, said{sid: sid("CA", 1), kind: "ours", status: "ringing"}))
	bridge(t, db, 500)
	if got := o.standing(t); got != "dialing - - attempt did_not_ring - evidence placed! events 1" {
		t.Error(got)
	}
}

// Row 23: the webhook was first, and then the reply comes, whatever it says.
func TestReplyAfterItsWebhook(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		reply drain.Settlement
		want  string
	}{
		"the same": {drain.Settlement{Outcome: drain.AttemptPlaced, To: followup.CallPlaced, Ledger: followup.OutcomeCallPlaced, CallID: sid("CA", 1), CallStatus: "queued"}, "call_placed ONE ringing attempt placed ONE evidence placed events 2"},
		"another":  {drain.Settlement{Outcome: drain.AttemptPlaced, To: followup.CallPlaced, Ledger: followup.OutcomeCallPlaced, CallID: sid("CA", 2), CallStatus: "queued"}, "call_placed ONE ringing attempt placed ONE evidence placed,placed! events 2"},
		"refused":  {drain.Settlement{Outcome: drain.AttemptRefused, To: followup.Refused, Ledger: followup.OutcomeRefused, Reason: "carrier_refused"}, "call_placed ONE ringing attempt placed ONE evidence placed,refused events 2"},
		"unknown":  {drain.Settlement{Outcome: drain.AttemptUncertain, To: followup.Uncertain, Ledger: followup.OutcomeUncertain, Reason: "answer_unknown"}, "call_placed ONE ringing attempt placed ONE evidence placed,uncertain events 2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := open(t)
			o := newOffice(t, db, 1, "", "")
			keep(t, db, o.arrival(t, said{sid: sid("CA", 1), kind: "ours", status: "ringing"}))
			bridge(t, db, 500)
			row.reply.FollowUp, row.reply.AttemptNo, row.reply.Tenant, row.reply.Line = o.followUp, 1, o.tenant, "default"
			row.reply.Token = o.token
			if err := db.Record(t.Context(), []drain.Settlement{row.reply}); err != nil {
				t.Fatal(err)
			}
			if got := o.standing(t); got != row.want {
				t.Errorf("\n%s, want\n%s", got, row.want)
			}
		})
	}
}

// A reply that is recorded after webhooks that did not settle it does not move the status back.
func TestReplyDoesNotMoveTheStatusBack(t *testing.T) {
	t.Parallel()
	db := open(t)
	o := newOffice(t, db, 1, "", "")
	keep(t, db, o.arrival(t, said{sid: sid("CA", 1), kind: "ours", status: "failed"}))
	bridge(t, db, 500)
	reply := drain.Settlement{FollowUp: o.followUp, AttemptNo: 1, Token: o.token, Tenant: o.tenant, Line: "default", Outcome: drain.AttemptPlaced, To: followup.CallPlaced, Ledger: followup.OutcomeCallPlaced, CallID: sid("CA", 1), CallStatus: "queued"}
	if err := db.Record(t.Context(), []drain.Settlement{reply}); err != nil {
		t.Fatal(err)
	}
	if got := o.standing(t); got != "call_placed ONE failed attempt placed ONE evidence not_dialed events 2" {
		t.Error(got)
	}
}

// Foreign arrivals are kept, and told so; those of a line without an attempt are its tenant's.
func TestWhoseAnArrivalIs(t *testing.T) {
	t.Parallel()
	db := open(t)
	o, other := newOffice(t, db, 1, "placed", sid("CA", 1)), newOffice(t, db, 2, "placed", sid("CA", 2))
	stray := o.arrival(t, said{sid: sid("CA", 9), kind: "in", status: "completed"})
	stray.Report.Us = phone.FromE164(other.them)
	for name, row := range map[string]struct {
		arrival arrivals.Arrival
		foreign bool
	}{
		"our attempt":      {o.arrival(t, said{sid: sid("CA", 1), kind: "ours", status: "ringing"}), false},
		"our line":         {o.arrival(t, said{sid: sid("CA", 8), kind: "in", status: "completed"}), false},
		"a stray number":   {stray, true},
		"a stray account":  {arrivals.Arrival{Accounts: []string{"twilio/OTHER"}, Delivery: carrier.Delivery{Kind: "status"}, Report: carrier.Report{Token: o.token}}, true},
		"about nothing":    {arrivals.Arrival{Accounts: []string{"twilio"}, Delivery: carrier.Delivery{Kind: "status"}, Report: carrier.Report{}}, true},
		"another's number": {other.arrival(t, said{sid: sid("SM", 7), kind: "text"}), false},
	} {
		if got := keep(t, db, row.arrival); got[0] != row.foreign {
			t.Errorf("%s: foreign %v", name, got[0])
		}
	}
	var n int
	if err := db.Pool.QueryRow(t.Context(), `select count(*) from tenant_twilio_events`).Scan(&n); err != nil || n != 6 {
		t.Errorf("%d arrivals kept, %v", n, err)
	}
}

// Invariant 10: an arrival that the database refuses to have bridged is set aside, with the reason.
func TestPoisonedArrival(t *testing.T) {
	t.Parallel()
	db := open(t)
	o := newOffice(t, db, 1, "uncertain", "")
	if _, err := db.Pool.Exec(t.Context(), `create function poison() returns trigger language plpgsql as 'begin if new.external_id like ''CA%7'' then raise exception ''poison''; end if; return new; end';
		create trigger poison before insert on messages for each row execute function poison()`); err != nil {
		t.Fatal(err)
	}
	var all []arrivals.Arrival
	for i := range 20 {
		all = append(all, o.arrival(t, said{sid: sid("CA", 0x100+i), kind: "in", status: "completed"}))
	}
	keep(t, db, append(all, o.arrival(t, said{sid: sid("CA", 1), kind: "ours", status: "ringing"}))...)
	for bridge(t, db, 500) > 0 {
	}
	var messages, aside, left int
	if err := db.Pool.QueryRow(t.Context(), `select (select count(*) from messages), (select count(*) from tenant_twilio_events where problem like '%poison%'),
		(select count(*) from tenant_twilio_events where bridged_at is null)`).Scan(&messages, &aside, &left); err != nil || messages != 20 || aside != 1 || left != 0 {
		t.Errorf("%d messages, %d set aside, %d left, %v", messages, aside, left, err)
	}
	if got := o.standing(t); !strings.HasPrefix(got, "call_placed ONE") {
		t.Error(got)
	}
}

// Many bridge, keep and record at once: nothing deadlocks, and nothing is left over.
func TestBridgingAtOnce(t *testing.T) {
	t.Parallel()
	db := open(t)
	var all []office
	for i := range 12 {
		all = append(all, newOffice(t, db, i+1, []string{"", "uncertain", "did_not_ring"}[i%3], ""))
	}
	var working sync.WaitGroup
	failed := make(chan error, 1000)
	for range 4 {
		working.Go(func() {
			for i, o := range all {
				for _, status := range []string{"ringing", "completed", "queued"} {
					if _, err := db.Keep(t.Context(), []arrivals.Arrival{o.arrival(t, said{sid: sid("CA", 0x1000+i), kind: "ours", status: status})}); err != nil {
						failed <- err
					}
				}
				if _, err := db.Bridge(t.Context(), readers, 7); err != nil {
					failed <- err
				}
				if i%3 == 0 {
					failed <- db.Record(t.Context(), []drain.Settlement{{FollowUp: o.followUp, AttemptNo: 1, Token: o.token, Tenant: o.tenant, Line: "default", Outcome: drain.AttemptUncertain, To: followup.Uncertain, Ledger: followup.OutcomeUncertain, Reason: "answer_unknown"}})
				}
			}
		})
	}
	working.Wait()
	close(failed)
	for err := range failed {
		if err != nil {
			t.Error(err)
		}
	}
	for bridge(t, db, 500) > 0 {
	}
	for i, o := range all {
		var state, status string
		if err := db.Pool.QueryRow(t.Context(), `select state, call_status from phone_followups where id = $1 and call_id = $2`, o.followUp, fmt.Sprintf("CA%032x", 0x1000+i)).Scan(&state, &status); err != nil || state != "call_placed" || status != "completed" {
			t.Errorf("office %d: %s %s %v", i, state, status, err)
		}
	}
}

// A late refusal after a person said that it rang is shown, though neither names a call.
func TestLateRefusalAfterAPersonsWord(t *testing.T) {
	t.Parallel()
	db := open(t)
	o := newOffice(t, db, 1, "placed", "")
	reply := drain.Settlement{FollowUp: o.followUp, AttemptNo: 1, Token: o.token, Tenant: o.tenant, Line: "default", Outcome: drain.AttemptRefused, To: followup.Refused, Ledger: followup.OutcomeRefused, Reason: "carrier_refused"}
	if err := db.Record(t.Context(), []drain.Settlement{reply}); err != nil {
		t.Fatal(err)
	}
	if got := o.standing(t); got != "call_placed - - attempt placed - evidence refused events 1" {
		t.Error(got)
	}
}

// That the carrier answers ends a row of unknown answers, also where the webhook was first to say so.
func TestReplyAfterItsWebhookSpeaksOfItsLine(t *testing.T) {
	t.Parallel()
	db := open(t)
	o := newOffice(t, db, 1, "", "")
	if _, err := db.Pool.Exec(t.Context(), `update lines set unknowns_in_row = 2`); err != nil {
		t.Fatal(err)
	}
	keep(t, db, o.arrival(t, said{sid: sid("CA", 1), kind: "ours", status: "ringing"}))
	bridge(t, db, 500)
	reply := drain.Settlement{FollowUp: o.followUp, AttemptNo: 1, Token: o.token, Tenant: o.tenant, Line: "default", Outcome: drain.AttemptPlaced, To: followup.CallPlaced, Ledger: followup.OutcomeCallPlaced, CallID: sid("CA", 1), OnLine: drain.LineAnswered}
	if err := db.Record(t.Context(), []drain.Settlement{reply}); err != nil {
		t.Fatal(err)
	}
	var n int
	if err := db.Pool.QueryRow(t.Context(), `select unknowns_in_row from lines`).Scan(&n); err != nil || n != 0 {
		t.Errorf("%d unknown answers in a row, %v", n, err)
	}
}

// Two accounts that sign alike are two applications of one customer: the attempt says whose it is.
func TestAccountsThatSignAlike(t *testing.T) {
	t.Parallel()
	db := open(t)
	o := newOffice(t, db, 1, "uncertain", "")
	a := o.arrival(t, said{sid: sid("CA", 1), kind: "ours", status: "ringing"})
	a.Accounts = []string{"twilio/ACME", "twilio", "twilio/ZETA"}
	keep(t, db, a)
	bridge(t, db, 500)
	if got := o.standing(t); !strings.HasPrefix(got, "call_placed ONE") {
		t.Error(got)
	}
}

// Whoever sets a poisoned arrival aside sets aside that one, however many are at it.
func TestPoisonedArrivalAlone(t *testing.T) {
	t.Parallel()
	db := open(t)
	o := newOffice(t, db, 1, "uncertain", "")
	poison := func(name string) func(carrier.Delivery) (carrier.Report, error) {
		return func(d carrier.Delivery) (carrier.Report, error) {
			r, err := readers(name)(d)
			if r.Direction == carrier.DirectionIn {
				r.ID = "x\x00" // no column holds that
			}
			return r, err
		}
	}
	keep(t, db, o.arrival(t, said{sid: sid("CA", 7), kind: "in", status: "completed"}))
	keep(t, db, o.arrival(t, said{sid: sid("CA", 1), kind: "ours", status: "ringing"}))
	var working sync.WaitGroup
	for range 4 {
		working.Go(func() {
			for range 3 {
				if _, err := db.Bridge(t.Context(), poison, 500); err != nil {
					t.Error(err)
				}
			}
		})
	}
	working.Wait()
	if got := o.standing(t); !strings.HasPrefix(got, "call_placed ONE") {
		t.Error(got)
	}
	for last, n := int64(0), 1; n > 0; { // again: it is passed by
		var err error
		if last, n, err = db.BridgeAgain(t.Context(), poison, "twilio", last, 500); err != nil {
			t.Fatal(err)
		}
	}
}

// Case accepted-never-dispatched: a call that was taken and has had no end for a day is seen in a
// gauge, until it has one; and nothing rings again for it.
func TestCallsWithoutEnd(t *testing.T) {
	t.Parallel()
	db := open(t)
	never, today, ended := newOffice(t, db, 1, "placed", sid("CA", 1)), newOffice(t, db, 2, "placed", sid("CA", 2)), newOffice(t, db, 3, "placed", sid("CA", 3))
	if _, err := db.Pool.Exec(t.Context(), `update phone_followups set updated_at = now() - interval '11 days' * case when id = $1 then 0.1 else 0 end, call_status = case when id = $2 then 'completed' else 'queued' end`, never.followUp, ended.followUp); err != nil {
		t.Fatal(err)
	}
	want := func(n int64) {
		t.Helper()
		if g, err := db.Gauges(t.Context()); err != nil || g.WithoutEnd != n {
			t.Errorf("%d without an end, want %d (%v)", g.WithoutEnd, n, err)
		}
	}
	want(1)
	keep(t, db, never.arrival(t, said{sid: sid("CA", 1), kind: "ours", status: "no-answer"}), today.arrival(t, said{sid: sid("CA", 2), kind: "ours", status: "ringing"}))
	bridge(t, db, 500)
	want(0)
}

// A follow-up that somebody's idle transaction holds keeps no other's evidence waiting for long.
func TestHeldFollowUpHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	db := open(t)
	held, free := newOffice(t, db, 1, "uncertain", ""), newOffice(t, db, 2, "uncertain", "")
	tx, err := db.Pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) }()
	if _, err := tx.Exec(t.Context(), `select from phone_followups where id = $1 for update`, held.followUp); err != nil {
		t.Fatal(err)
	}
	keep(t, db, held.arrival(t, said{sid: sid("CA", 1), kind: "ours", status: "ringing"}), free.arrival(t, said{sid: sid("CA", 2), kind: "ours", status: "ringing"}))
	bridge(t, db, 500)
	if got := free.standing(t); !strings.HasPrefix(got, "call_placed TWO") {
		t.Error(got)
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	bridge(t, db, 500)
	if got := held.standing(t); !strings.HasPrefix(got, "call_placed ONE") {
		t.Error(got)
	}
}
