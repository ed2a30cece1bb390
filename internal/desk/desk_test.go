package desk

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"chasephone/internal/followup"
)

// fixed is a Store that holds one follow-up and remembers what was to be written.
type fixed struct {
	Store
	snapshot Snapshot
	wrote    Change
}

func (f *fixed) Decide(_ context.Context, _ Name, rule func(Snapshot) (Change, error)) (Result, error) {
	change, err := rule(f.snapshot)
	f.wrote = change
	return Result{ID: f.snapshot.ID, State: f.snapshot.State, Changed: change.To != ""}, err
}

func noon() time.Time { return time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC) }

func awaiting(s *Snapshot) {
	s.State, s.Approval = followup.AwaitingApproval, &Approval{ID: "p", Reasons: []string{"approval_required"}}
}

func uncertain(s *Snapshot) {
	s.State, s.Attempt = followup.Uncertain, &Attempt{No: 1, Outcome: "uncertain", AnswerBy: noon().Add(-time.Hour)}
}

func state(state followup.State) func(*Snapshot) {
	return func(s *Snapshot) { s.State = state }
}

func said(by, decision string, now followup.State) func(*Snapshot) {
	return func(s *Snapshot) {
		awaiting(s)
		s.State = now
		s.Approval.Decision, s.Approval.By, s.Approval.At = decision, by, noon().Add(-time.Minute)
		s.Ended = &Said{By: by, At: noon().Add(-time.Minute)}
	}
}

func settledAs(by, outcome string, now followup.State) func(*Snapshot) {
	return func(s *Snapshot) {
		s.State = now
		s.Attempt = &Attempt{No: 1, Outcome: outcome, By: by, At: noon().Add(-time.Minute), AnswerBy: noon().Add(-time.Hour)}
		s.Ended = &Said{By: by, At: noon().Add(-time.Minute)}
	}
}

func all(changes ...func(*Snapshot)) func(*Snapshot) {
	return func(s *Snapshot) {
		for _, change := range changes {
			change(s)
		}
	}
}

func late(s *Snapshot)     { s.DueAt = noon().Add(-24*time.Hour - time.Second) }
func optedOut(s *Snapshot) { s.OptedOut = true }

// Every decision in every situation ends as R8, R9 and R10 say, and says so in words.
func TestDecisions(t *testing.T) {
	t.Parallel()
	name := Name{Text: "a"}
	approve := func(d Desk) (Result, error) { return d.Approve(t.Context(), name, "ann", "") }
	approveIn := func(zone string) func(Desk) (Result, error) {
		return func(d Desk) (Result, error) { return d.Approve(t.Context(), name, "ann", zone) }
	}
	decline := func(d Desk) (Result, error) { return d.Decline(t.Context(), name, "ann", "wrong number") }
	rang := func(d Desk) (Result, error) { return d.Rang(t.Context(), name, "ann", 0, "") }
	silent := func(d Desk) (Result, error) { return d.DidNotRing(t.Context(), name, "ann", Silence{}) }
	silentCancel := func(d Desk) (Result, error) { return d.DidNotRing(t.Context(), name, "ann", Silence{Cancel: true}) }
	silentDespite := func(d Desk) (Result, error) { return d.DidNotRing(t.Context(), name, "ann", Silence{Despite: true}) }
	silentSecond := func(d Desk) (Result, error) { return d.DidNotRing(t.Context(), name, "ann", Silence{Attempt: 2}) }
	cancel := func(d Desk) (Result, error) { return d.Cancel(t.Context(), name, "ann", "") }
	later := func(d Desk) (Result, error) {
		return d.Reschedule(t.Context(), name, "ann", noon().Add(3*time.Hour))
	}
	zoneAsked := func(s *Snapshot) { awaiting(s); s.Approval.Reasons = []string{"time_zone_unknown"} }

	for _, test := range []struct {
		name   string
		is     func(*Snapshot)
		decide func(Desk) (Result, error)
		to     followup.State // what is written; "" for nothing
		reason string
		says   string // a part of what is said; with "!" before it, of why not
	}{
		{"approve", awaiting, approve, followup.Due, "approved", "approved: due at once"},
		{"approve before it is due", all(awaiting, func(s *Snapshot) { s.DueAt = noon().Add(time.Hour) }), approve, followup.Due, "approved", "due at 2026-03-04 13:00"},
		{"approve after an opt-out", all(awaiting, optedOut), approve, followup.Due, "approved", "do-not-call"},
		{"reschedule what rang already", all(awaiting, func(s *Snapshot) { s.Conflict = true }), later, "", "", "!rang already"},
		{"silent, and a call is listed", all(uncertain, func(s *Snapshot) { s.Listed = 1 }), silent, "", "", "!names 1 call(s)"},
		{"silent, although a call is listed", all(uncertain, func(s *Snapshot) { s.Listed = 1 }), silentDespite, followup.Due, "settled_did_not_ring", "due again"},
		{"approve what rang already", all(awaiting, func(s *Snapshot) { s.Conflict = true }), approve, "", "", "!rang already"},
		{"approve twice", said("ann", "approved", followup.Due), approve, "", "", "you had approved it already"},
		{"approve after another", said("bob", "approved", followup.Due), approve, "", "", "!approved by bob at 2026-03-04 11:59"},
		{"approve after a decline", said("bob", "declined", followup.Refused), approve, "", "", "!declined by bob"},
		{"approve after my own decline", said("ann", "declined", followup.Refused), approve, "", "", "!declined by ann"},
		{"approve late", all(awaiting, late), approve, followup.Missed, "too_late", "!too late: it was due at"},
		{"approve missed", said("", "missed", followup.Missed), approve, "", "", "!missed at"},
		{"approve cancelled", said("bob", "cancelled", followup.Cancelled), approve, "", "", "!cancelled by bob"},
		{"approve what nobody asked about", state(followup.Due), approve, "", "", "!nobody asked for an approval: it is due"},
		{"approve an older question", all(awaiting, func(s *Snapshot) { s.Named = "older" }), approve, "", "", "!the newest one is p"},
		{"approve without the zone", zoneAsked, approve, "", "", "!approve it together with that zone"},
		{"approve with the zone", zoneAsked, approveIn("America/Denver"), followup.Due, "approved", "approved"},
		{"approve with no such zone", zoneAsked, approveIn("America/New York"), "", "", "!not known"},
		{"decline", awaiting, decline, followup.Refused, "declined", "will not be rung"},
		{"decline twice", said("ann", "declined", followup.Refused), decline, "", "", "you had declined it already"},
		{"decline after an approval", said("bob", "approved", followup.CallPlaced), decline, "", "", "!approved by bob"},
		{"decline late", all(awaiting, late), decline, followup.Missed, "too_late", "!too late"},

		{"it rang", uncertain, rang, followup.CallPlaced, "settled_rang", "it rang"},
		{"it rang, as a number", uncertain, func(d Desk) (Result, error) { return d.Rang(t.Context(), name, "ann", 0, "+14155550000") }, "", "", "!no telephone number"},
		{"it rang, twice", settledAs("ann", "placed", followup.CallPlaced), rang, "", "", "you had settled it already"},
		{"it rang, after another", settledAs("bob", "placed", followup.CallPlaced), rang, "", "", "!bob said that it rang"},
		{"it rang, after the opposite", settledAs("bob", "did_not_ring", followup.Due), rang, "", "", "!bob said that it did not ring"},
		{"it rang, by the carrier", settledAs("", "placed", followup.CallPlaced), rang, "", "", "!nothing to settle: it is call_placed"},
		{"it rang, while dialing", all(uncertain, state(followup.Dialing), func(s *Snapshot) { s.Attempt.Outcome = "" }), rang, "", "", "!being asked this moment"},
		{"it rang, never tried", state(followup.Due), rang, "", "", "!nothing to settle: it is due"},
		{"it rang, late", all(uncertain, late), rang, followup.CallPlaced, "settled_rang", "it rang"},
		{"it did not ring", uncertain, silent, followup.Due, "settled_did_not_ring", "due again"},
		{"it did not ring, after an opt-out", all(uncertain, optedOut), silent, followup.Due, "settled_did_not_ring", "due again"},
		{"it did not ring, too early", all(uncertain, func(s *Snapshot) { s.Attempt.AnswerBy = noon().Add(-15*time.Minute + time.Second) }), silent, "", "", "!too early: until 2026-03-04 12:00:01"},
		{"it did not ring, just in time", all(uncertain, func(s *Snapshot) { s.Attempt.AnswerBy = noon().Add(-15 * time.Minute) }), silent, followup.Due, "settled_did_not_ring", "due again"},
		{"it did not ring, late", all(uncertain, late), silent, followup.Missed, "too_late", "too late to ring"},
		{"it did not ring, said again of the next attempt", all(uncertain, func(s *Snapshot) { s.Attempt.No, s.DidNotRing = 2, 1 }), silent, "", "", "!--attempt 2"},
		{"it rang, said again of the next attempt", all(uncertain, func(s *Snapshot) { s.Attempt.No, s.DidNotRing = 2, 1 }), rang, "", "", "!--attempt 2"},
		{"it did not ring, of an older attempt", all(uncertain, func(s *Snapshot) { s.Attempt.No = 3 }), silentSecond, "", "", "!attempt 2 is not the one"},
		{"it did not ring, of this attempt", all(uncertain, func(s *Snapshot) { s.Attempt.No, s.DidNotRing = 2, 1 }), silentSecond, followup.Due, "settled_did_not_ring", "due again"},
		{"it did not ring, the fifth time", all(uncertain, func(s *Snapshot) { s.Attempt.No, s.DidNotRing = 2, 4 }), silentSecond, followup.Refused, "attempts_exhausted", "5th time"},
		{"it did not ring, the fourth time", all(uncertain, func(s *Snapshot) { s.Attempt.No, s.DidNotRing = 2, 3 }), silentSecond, followup.Due, "settled_did_not_ring", "due again"},
		{"it did not ring, and cancel", uncertain, silentCancel, followup.Cancelled, "settled_did_not_ring", "cancelled"},
		{"it did not ring, and cancel, too early", all(uncertain, func(s *Snapshot) { s.Attempt.AnswerBy = noon() }), silentCancel, "", "", "!too early"},
		{"it did not ring, twice", settledAs("ann", "did_not_ring", followup.Due), silent, "", "", "you had settled it already"},
		{"it did not ring, and cancel, later", settledAs("ann", "did_not_ring", followup.Due), silentCancel, "", "", "!use cancel"},
		{"it did not ring, and cancel, twice", settledAs("ann", "did_not_ring", followup.Cancelled), silentCancel, "", "", "you had settled it already"},

		{"cancel", state(followup.Due), cancel, followup.Cancelled, "cancelled", "will not be rung"},
		{"cancel while awaiting", awaiting, cancel, followup.Cancelled, "cancelled", "will not be rung"},
		{"cancel twice", said("ann", "cancelled", followup.Cancelled), cancel, "", "", "you had cancelled it already"},
		{"cancel after another", said("bob", "cancelled", followup.Cancelled), cancel, "", "", "!it is cancelled, by bob"},
		{"cancel while dialing", state(followup.Dialing), cancel, "", "", "!going out this moment"},
		{"cancel uncertain", uncertain, cancel, "", "", "!settle it first"},
		{"cancel late", late, cancel, followup.Missed, "too_late", "!too late"},
		{"cancel placed", state(followup.CallPlaced), cancel, "", "", "!it is call_placed"},
		{"cancel refused", said("bob", "declined", followup.Refused), cancel, "", "", "!it is refused, by bob"},
		{"cancel missed", all(state(followup.Missed), func(s *Snapshot) { s.Ended = &Said{At: noon()} }), cancel, "", "", "!it is missed since"},

		{"reschedule", state(followup.Due), later, followup.Cancelled, "rescheduled", "successor is due at 2026-03-04 15:00"},
		{"reschedule to the same", func(s *Snapshot) { s.DueAt = noon().Add(3 * time.Hour) }, later, "", "", "!due at 2026-03-04 15:00:00 UTC already"},
		{"reschedule while dialing", state(followup.Dialing), later, "", "", "!going out this moment"},
		{"reschedule twice", all(said("ann", "cancelled", followup.Cancelled), func(s *Snapshot) { s.Successor, s.SuccDueAt = "next", noon().Add(3*time.Hour) }), later, "", "", "you had rescheduled it already"},
		{"reschedule what was cancelled", said("ann", "cancelled", followup.Cancelled), later, "", "", "!add a new follow-up"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			store := &fixed{snapshot: Snapshot{
				Now: noon(), Limits: followup.DefaultLimits(), ID: "a", State: followup.Due, DueAt: noon().Add(-time.Hour),
			}}
			if test.is != nil {
				test.is(&store.snapshot)
			}
			result, err := test.decide(Desk{Store: store})
			says := result.Says
			if err != nil {
				says = "!" + err.Error()
			}
			wantNot := strings.HasPrefix(test.says, "!")
			if (err != nil) != wantNot || !strings.Contains(says, strings.TrimPrefix(test.says, "!")) {
				t.Errorf("says %q, want %q", says, test.says)
			}
			if store.wrote.To != test.to || test.to != "" && store.wrote.Reason != test.reason {
				t.Errorf("wrote %+v, want %s %s", store.wrote, test.to, test.reason)
			}
			if to := store.wrote.To; to != "" && to != followup.Missed && store.wrote.By != "ann" {
				t.Errorf("%s is written by %q", to, store.wrote.By)
			}
		})
	}
}

// Invariant 8: nobody unnamed decides anything.
func TestNobodyUnnamedDecides(t *testing.T) {
	t.Parallel()
	for _, by := range []string{"", "  ", "a\x00b", "a\nb", strings.Repeat("x", 201)} {
		store := &fixed{snapshot: Snapshot{Now: noon(), State: followup.Due, Limits: followup.DefaultLimits(), DueAt: noon()}}
		_, err := Desk{Store: store}.Cancel(t.Context(), Name{Text: "a"}, by, "")
		var misuse *Misuse
		if !errors.As(err, &misuse) || store.wrote.To != "" {
			t.Errorf("%q cancelled: %v, wrote %+v", by, err, store.wrote)
		}
		if _, err := (Desk{Store: store}).Stop(t.Context(), Scope{}, by); !errors.As(err, &misuse) {
			t.Errorf("%q stopped everything: %v", by, err)
		}
	}
}
