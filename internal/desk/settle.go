package desk

import (
	"context"
	"fmt"
	"regexp"

	"chasephone/internal/followup"
)

// mostDidNotRing is how often a person may say of one follow-up that it did not ring: then
// it is refused (R8). Attempts that are proven not placed do not count.
const mostDidNotRing = 5

// Rang says of an uncertain follow-up that the phone rang. attempt is the number of the
// attempt that is meant; 0 is the only one that there was. callID is the carrier's own for the
// call that it was, so that what becomes of it is known; "" where that is not.
func (d Desk) Rang(ctx context.Context, name Name, by string, attempt int, callID string) (Result, error) {
	return d.decide(ctx, name, by, func(s Snapshot, by string) (Change, string, error) {
		if err := meant(s, attempt); err != nil {
			return Change{}, "", err
		}
		if callID != "" && !callIDForm.MatchString(callID) {
			return Change{}, "", &Misuse{Says: "a call's id is the carrier's own: letters and digits, and no telephone number"}
		}
		return rang(s, by, callID)
	})
}

// callIDForm is what any carrier's id of a call has, and what no telephone number has.
var callIDForm = regexp.MustCompile(`^[0-9]*[A-Za-z][!-~]{7,199}$`) //nolint:gochecknoglobals // a constant

// Silence is what a person says of a call that did not ring.
type Silence struct {
	Attempt int  // which attempt is meant; 0: the only one that there was
	Cancel  bool // it need not be rung again
	Despite bool // although the carrier's records list a call that may be it
}

// DidNotRing says of an uncertain follow-up that the phone did not ring, which gives it a
// new attempt unless it is too late, or is to be cancelled, or it was the fifth time. It can be
// said once the quarantine is over: until then a paused process might still send. Where the
// carrier's records list a call that may be it, whoever says it has to say so too.
func (d Desk) DidNotRing(ctx context.Context, name Name, by string, says Silence) (Result, error) {
	result, err := d.decide(ctx, name, by, func(s Snapshot, by string) (Change, string, error) {
		if err := meant(s, says.Attempt); err != nil {
			return Change{}, "", err
		}
		return didNotRing(s, by, says)
	})
	if err == nil && result.Changed && result.State == followup.CallPlaced {
		result.Says = "settled: it did not ring; but the carrier has said that an attempt of it did, so the promise is kept"
	}
	return result, err
}

// meant holds a decision to the attempt that the person saw: the same words said again, by a
// script or a second click, must not settle the attempt after it, and ring once more.
func meant(s Snapshot, attempt int) error {
	switch {
	case s.State != followup.Uncertain || s.Attempt == nil || attempt == s.Attempt.No:
		return nil
	case attempt != 0:
		return refuse("attempt %d is not the one that is uncertain: that is attempt %d", attempt, s.Attempt.No)
	case s.DidNotRing > 0:
		return refuse("an earlier attempt was settled already, and attempt %d is uncertain now: say which one is meant (--attempt %d)", s.Attempt.No, s.Attempt.No)
	}
	return nil
}

func rang(s Snapshot, by, callID string) (Change, string, error) {
	if s.State != followup.Uncertain {
		says, err := settled(s, by, "placed")
		return Change{}, says, err
	}
	return Change{
		To: followup.CallPlaced, Outcome: followup.OutcomeCallPlaced, By: by,
		Reason: "settled_rang", Detail: by + " says that it rang", Attempt: "placed", CallID: callID,
	}, "settled: it rang, and the promise is kept", nil
}

func didNotRing(s Snapshot, by string, word Silence) (Change, string, error) {
	cancel := word.Cancel
	if s.State != followup.Uncertain {
		says, err := settled(s, by, "did_not_ring")
		if err == nil && cancel && s.State != followup.Cancelled {
			err = refuse("you had settled it without cancelling; it is %s now: use cancel", s.State)
		}
		return Change{}, says, err
	}
	if open := s.Attempt.AnswerBy.Add(s.Limits.Quarantine); s.Now.Before(open) {
		return Change{}, "", refuse("too early: until %s (in %s) a process that was paused could still ring; say it then, with what the carrier's own list shows",
			at(open), open.Sub(s.Now).Round(1e9))
	}
	c := Change{By: by, Attempt: "did_not_ring", Reason: "settled_did_not_ring", Detail: by + " says that it did not ring"}
	if s.Listed > 0 {
		if !word.Despite {
			return Change{}, "", refuse("the carrier names %d call(s) that may be this one (see show): look at them, and if it did not ring all the same, say so (--despite-records)", s.Listed)
		}
		c.Detail += fmt.Sprintf(", although the carrier names %d call(s) that may be it", s.Listed)
	}
	var says string
	switch {
	case cancel:
		c.To, c.Outcome = followup.Cancelled, followup.OutcomeCancelled
		says = "settled: it did not ring, and is cancelled"
	case followup.Late(s.Now, s.DueAt, s.Limits.MaxLate):
		c.To, c.Outcome = followup.Missed, followup.OutcomeMissed
		c.Reason = "too_late"
		says = "settled: it did not ring, and it is too late to ring now: missed"
	case s.DidNotRing+1 >= mostDidNotRing:
		c.To, c.Outcome = followup.Refused, followup.OutcomeRefused
		c.Reason = "attempts_exhausted"
		says = fmt.Sprintf("settled: it did not ring, for the %dth time: refused", mostDidNotRing)
	default:
		c.To = followup.Due
		says = "settled: it did not ring, and is due again"
	}
	return c, says, nil
}

// settled speaks of a follow-up that is not uncertain (any more).
func settled(s Snapshot, by, outcome string) (says string, err error) {
	a := s.Attempt
	switch {
	case a == nil || a.Outcome == "" && s.State != followup.Dialing:
		return "", refuse("there is nothing to settle: it is %s", s.State)
	case s.State == followup.Dialing:
		return "", refuse("the carrier is being asked this moment: wait for its answer")
	case a.By == "":
		return "", refuse("there is nothing to settle: it is %s", s.State)
	case a.Outcome == outcome && a.By == by:
		return "you had settled it already, at " + at(a.At) + "; it is " + string(s.State) + " now", nil
	}
	said := "that it rang"
	if a.Outcome == "did_not_ring" {
		said = "that it did not ring"
	}
	return "", refuse("too late: %s said %s at %s; it is %s now", a.By, said, at(a.At), s.State)
}
