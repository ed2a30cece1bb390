package desk

import (
	"context"
	"time"

	"chasephone/internal/followup"
)

// Cancel withdraws a promise that is not being rung yet.
func (d Desk) Cancel(ctx context.Context, name Name, by, why string) (Result, error) {
	return d.decide(ctx, name, by, func(s Snapshot, by string) (Change, string, error) {
		change, says, err := cancel(s, by, why)
		return change, says, err
	})
}

// Reschedule cancels a follow-up and makes its successor, due at dueAt, in one transaction.
func (d Desk) Reschedule(ctx context.Context, name Name, by string, dueAt time.Time) (Result, error) {
	return d.decide(ctx, name, by, func(s Snapshot, by string) (Change, string, error) {
		return reschedule(s, by, dueAt)
	})
}

func cancel(s Snapshot, by, why string) (Change, string, error) {
	switch s.State {
	case followup.Due, followup.AwaitingApproval:
		if followup.Late(s.Now, s.DueAt, s.Limits.MaxLate) {
			return missed(s), "", refuse("too late: it was due at %s and is missed, nothing was rung", at(s.DueAt))
		}
		c := Change{
			To: followup.Cancelled, Outcome: followup.OutcomeCancelled, By: by,
			Reason: "cancelled", Detail: because("cancelled by "+by, why),
		}
		if s.State == followup.AwaitingApproval {
			c.Decision = "cancelled"
		}
		return c, "cancelled: it will not be rung", nil
	case followup.Dialing:
		return Change{}, "", refuse("too late: the call is going out this moment, and its result stands")
	case followup.Uncertain:
		return Change{}, "", refuse("it may have rung: settle it first (settle --rang, or --did-not-ring --cancel)")
	case followup.Cancelled:
		if s.Ended != nil && s.Ended.By == by {
			return Change{}, "you had cancelled it already, at " + at(s.Ended.At), nil
		}
	case followup.CallPlaced, followup.Refused, followup.Missed:
	}
	if s.Ended != nil && s.Ended.By != "" {
		return Change{}, "", refuse("too late: it is %s, by %s at %s", s.State, s.Ended.By, at(s.Ended.At))
	}
	if s.Ended != nil {
		return Change{}, "", refuse("too late: it is %s since %s", s.State, at(s.Ended.At))
	}
	return Change{}, "", refuse("too late: it is %s", s.State)
}

func reschedule(s Snapshot, by string, dueAt time.Time) (Change, string, error) {
	if s.Successor != "" && s.SuccDueAt.Equal(dueAt) && s.Ended != nil && s.Ended.By == by {
		return Change{}, "you had rescheduled it already, at " + at(s.Ended.At), nil
	}
	if dueAt.Equal(s.DueAt) {
		return Change{}, "", refuse("it is due at %s already", at(dueAt))
	}
	if followup.Late(s.Now, dueAt, s.Limits.MaxLate) {
		return Change{}, "", refuse("%s is more than %s ago: it would be missed at once", at(dueAt), s.Limits.MaxLate)
	}
	c, _, err := cancel(s, by, "")
	if err != nil {
		return c, "", err
	}
	if s.Conflict {
		return Change{}, "", refuse("the carrier says that it rang already: it must not ring twice; cancel it, or add a new follow-up")
	}
	if c.To == "" {
		return c, "", refuse("it is cancelled: add a new follow-up")
	}
	c.Reason, c.Detail = "rescheduled", "rescheduled by "+by+" to "+at(dueAt)
	c.Successor = &Successor{DueAt: dueAt}
	return c, "rescheduled: this one is cancelled, its successor is due at " + at(dueAt), nil
}
