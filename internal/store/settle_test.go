package store_test

import (
	"errors"
	"strings"
	"testing"

	"chasephone/internal/carrier"
	"chasephone/internal/desk"
)

// A person who knows which call it was names it, and its end is known from then on.
func TestAPersonNamesTheCall(t *testing.T) {
	t.Parallel()
	db := open(t)
	o, other := newOffice(t, db, 1, "uncertain", ""), newOffice(t, db, 2, "placed", sid("CA", 3))
	d := desk.Desk{Store: db}
	var misuse *desk.Misuse
	if _, err := d.Rang(t.Context(), desk.Name{Text: o.followUp}, "ana", 0, sid("CA", 3)); !errors.As(err, &misuse) || !strings.Contains(misuse.Says, "another attempt's") {
		t.Errorf("a call of %s: %v", other.tenant, err)
	}
	if _, err := d.Rang(t.Context(), desk.Name{Text: o.followUp}, "ana", 0, sid("CA", 1)); err != nil {
		t.Fatal(err)
	}
	lookUp(t, db, o, &archive{record: recordOf(o, sid("CA", 1), "no-answer")})
	if got := o.standing(t); got != "call_placed ONE no-answer attempt placed ONE evidence - events 2" {
		t.Error(got)
	}
}

// What the carrier lists against a person's word has to be answered for.
func TestDidNotRingAgainstTheRecords(t *testing.T) {
	t.Parallel()
	db := open(t)
	o := newOffice(t, db, 1, "uncertain", "")
	if _, err := db.Pool.Exec(t.Context(), `update limits set quarantine = '1 microsecond'`); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Pool.Exec(t.Context(), `alter table attempts disable trigger attempt_is_frozen; update attempts set answer_by = send_by + interval '1 microsecond'; alter table attempts enable trigger attempt_is_frozen`); err != nil {
		t.Fatal(err)
	}
	o.due(t, "")
	lookUp(t, db, o, &archive{found: carrier.Found{Records: []carrier.Record{{CallID: sid("CA", 1), Status: carrier.StatusCompleted}}}})
	d, name := desk.Desk{Store: db}, desk.Name{Text: o.followUp}
	var refused *desk.Refusal
	if _, err := d.DidNotRing(t.Context(), name, "ana", desk.Silence{}); !errors.As(err, &refused) || !strings.Contains(refused.Says, "names 1 call(s)") {
		t.Errorf("%v", err)
	}
	if _, err := d.DidNotRing(t.Context(), name, "ana", desk.Silence{Despite: true}); err != nil {
		t.Error(err)
	}
	if got := o.standing(t); got != "due - - attempt did_not_ring - evidence - events 2" {
		t.Error(got)
	}
}
