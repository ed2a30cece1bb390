package desk

import (
	"context"
	"slices"
	"time"

	"chasephone/internal/followup"
	"chasephone/internal/gates"
)

// Approve answers yes, for the number, line and words that were asked about. zone is the
// callee's IANA time zone, needed where it is what was asked. The follow-up becomes due;
// every gate is asked again before anything rings.
func (d Desk) Approve(ctx context.Context, name Name, by, zone string) (Result, error) {
	if err := knownZone(zone); err != nil {
		return Result{}, err
	}
	return d.decide(ctx, name, by, func(s Snapshot, by string) (Change, string, error) {
		return approve(s, by, zone)
	})
}

// Decline answers no: the follow-up is refused.
func (d Desk) Decline(ctx context.Context, name Name, by, why string) (Result, error) {
	return d.decide(ctx, name, by, func(s Snapshot, by string) (Change, string, error) {
		return decline(s, by, why)
	})
}

func approve(s Snapshot, by, zone string) (Change, string, error) {
	if change, says, err, done := answered(s, by, "approved"); done {
		return change, says, err
	}
	if slices.ContainsFunc(s.Approval.Reasons, gates.NeedsZone) && zone == "" {
		return Change{}, "", refuse("it has to be known in which time zone the person called is: approve it together with that zone (--time-zone Area/City), or decline it")
	}
	if s.Conflict {
		return Change{}, "", refuse("the carrier's evidence says that this call rang already, although a person said it did not: decline or cancel it, it must not ring twice")
	}
	says := "approved: due at once, and every gate is asked again before it rings"
	if s.DueAt.After(s.Now) {
		says = "approved: due at " + at(s.DueAt) + ", and every gate is asked again before it rings"
	}
	if s.OptedOut {
		says = "approved, but the number is on a do-not-call list by now: it will be refused and not be rung"
	}
	return Change{
		To: followup.Due, By: by, Reason: "approved", Detail: "approved by " + by,
		Decision: "approved", TimeZone: zone,
	}, says, nil
}

func decline(s Snapshot, by, why string) (Change, string, error) {
	if change, says, err, done := answered(s, by, "declined"); done {
		return change, says, err
	}
	return Change{
		To: followup.Refused, Outcome: followup.OutcomeRefused, By: by, Reason: "declined", Detail: because("declined by "+by, why),
		Decision: "declined",
	}, "declined: it will not be rung", nil
}

// answered deals with every approval that is not open for an answer; done is false for one that is.
func answered(s Snapshot, by, decision string) (_ Change, says string, err error, done bool) {
	a := s.Approval
	switch {
	case a != nil && s.Named != "" && s.Named != a.ID:
		return Change{}, "", refuse("that approval was asked for earlier and has been answered: the newest one is %s", a.ID), true
	case s.State == followup.AwaitingApproval && followup.Late(s.Now, s.DueAt, s.Limits.MaxLate):
		return missed(s), "", refuse("too late: it was due at %s and is missed, nothing was rung", at(s.DueAt)), true
	case s.State == followup.AwaitingApproval:
		return Change{}, "", nil, false
	case a == nil:
		return Change{}, "", refuse("nobody asked for an approval: it is %s", s.State), true
	case a.Decision == "missed":
		return Change{}, "", refuse("too late: it was due at %s and missed at %s", at(s.DueAt), at(a.At)), true
	case a.Decision == decision && a.By == by:
		return Change{}, "you had " + decision + " it already, at " + at(a.At) + "; it is " + string(s.State) + " now", nil, true
	}
	return Change{}, "", refuse("too late: %s by %s at %s; it is %s now", a.Decision, a.By, at(a.At), s.State), true
}

func missed(s Snapshot) Change {
	c := Change{
		To: followup.Missed, Outcome: followup.OutcomeMissed, Reason: "too_late",
		Detail: s.Now.Sub(s.DueAt).Truncate(time.Second).String() + " late",
	}
	if s.Approval != nil && s.Approval.Decision == "" {
		c.Decision = "missed"
	}
	return c
}

func knownZone(zone string) error {
	if zone == "" || gates.KnownZone(zone) {
		return nil
	}
	return &Misuse{Says: "time zone " + zone + " is not known: give it as Area/City, America/Denver for instance"}
}
