package store_test

import (
	"strings"
	"testing"
	"time"

	"chasephone/internal/arrivals"
	"chasephone/internal/carrier"
	"chasephone/internal/desk"
	"chasephone/internal/drain"
	"chasephone/internal/followup"
	"chasephone/internal/lookup"
)

// elsewhere is what came to the attempt's own address about a call to another number.
func (o office) elsewhere(t *testing.T) arrivals.Arrival {
	t.Helper()
	a := o.arrival(t, said{sid: sid("CA", 1), kind: "ours", status: "completed"})
	a.Delivery.Body = []byte(strings.Replace(string(a.Delivery.Body), "To=%2B1415", "To=%2B1416", 1))
	return a
}

// What is about another number is shown, and settles nothing: not then, not when the follow-up is due
// again, and not what it was rescheduled to.
func TestDoubtfulEvidenceSettlesNothing(t *testing.T) {
	t.Parallel()
	db := open(t)
	o, moved := newOffice(t, db, 1, "did_not_ring", ""), newOffice(t, db, 2, "did_not_ring", "")
	o.further(t, "dialing", "", "")
	successor, err := desk.Desk{Store: db}.Reschedule(t.Context(), desk.Name{Text: moved.followUp}, "ana", time.Now().Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	keep(t, db, o.elsewhere(t))
	bridge(t, db, 500)
	second := moved.elsewhere(t)
	second.Delivery.Body = []byte(strings.Replace(string(second.Delivery.Body), sid("CA", 1), sid("CA", 2), 1))
	keep(t, db, second)
	bridge(t, db, 500)
	reply := drain.Settlement{FollowUp: o.followUp, AttemptNo: 2, Token: tokenOf(t, db, o.followUp, 2), Tenant: o.tenant, Line: "default", Outcome: drain.AttemptNotPlaced, To: followup.Due, Ledger: followup.OutcomeNotReady, Reason: "line_not_ready", Wait: true}
	if err := db.Record(t.Context(), []drain.Settlement{reply}); err != nil {
		t.Fatal(err)
	}
	if got := o.standing(t); got != "due - - attempt did_not_ring - evidence placed! events 2" {
		t.Error(got)
	}
	var state string
	if err := db.Pool.QueryRow(t.Context(), `select state from phone_followups where id = $1`, successor.Successor).Scan(&state); err != nil || state != "due" {
		t.Errorf("the successor is %s, %v", state, err)
	}
}

// A call that a person named for one promise, and the carrier reports for another, is not lost on the other.
func TestACallNamedByMistake(t *testing.T) {
	t.Parallel()
	db := open(t)
	wrong, right := newOffice(t, db, 1, "uncertain", ""), newOffice(t, db, 2, "uncertain", "")
	d := desk.Desk{Store: db}
	if _, err := d.Rang(t.Context(), desk.Name{Text: wrong.followUp}, "ana", 0, sid("CA", 1)); err != nil {
		t.Fatal(err)
	}
	keep(t, db, right.arrival(t, said{sid: sid("CA", 1), kind: "ours", status: "completed"}))
	bridge(t, db, 500)
	right.due(t, "")
	lookUp(t, db, right, &archive{found: carrier.Found{Records: []carrier.Record{{CallID: sid("CA", 1), Status: carrier.StatusCompleted}}}})
	if got := right.known(t); !strings.Contains(got, "of which 1 may be this one ONE") {
		t.Error(got)
	}
	if _, err := db.Pool.Exec(t.Context(), `update limits set quarantine = '1 microsecond'; alter table attempts disable trigger attempt_is_frozen; update attempts set answer_by = send_by + interval '1 microsecond'`); err != nil {
		t.Fatal(err)
	}
	if _, err := d.DidNotRing(t.Context(), desk.Name{Text: right.followUp}, "ben", desk.Silence{}); err == nil || !strings.Contains(err.Error(), "names 2 call(s)") {
		t.Errorf("%v", err)
	}
}

// A call that a person named, and that the carrier's record shows to be to somebody else, is not
// cancelled at the carrier, and the contradiction is shown.
func TestACallOfSomebodyElse(t *testing.T) {
	t.Parallel()
	db := open(t)
	o := newOffice(t, db, 1, "uncertain", "")
	if _, err := (desk.Desk{Store: db}).Rang(t.Context(), desk.Name{Text: o.followUp}, "ana", 0, sid("CA", 1)); err != nil {
		t.Fatal(err)
	}
	o.due(t, `, late_at = greatest(send_by, now() - interval '1 minute')`)
	theirs := o
	theirs.them = "+14160000001"
	records := &archive{record: recordOf(theirs, sid("CA", 1), "queued")}
	var l lookup.Carrier = records
	lookUp(t, db, o, l)
	if len(records.cancelled) > 0 {
		t.Error("somebody else's call was cancelled")
	}
	if got := o.standing(t); got != "call_placed ONE queued attempt placed ONE evidence placed! events 2" {
		t.Error(got)
	}
}
