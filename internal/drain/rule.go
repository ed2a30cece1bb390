package drain

import (
	"slices"
	"time"

	"chasephone/internal/followup"
	"chasephone/internal/gates"
)

// paceAhead is how far ahead of its call's turn on a paced line an attempt is committed.
// Short, because an attempt whose process dies before its turn is uncertain.
const paceAhead = 2 * time.Second

// Ruler puts candidates through the gates.
type Ruler struct {
	Gates    []gates.Gate
	NewToken func() string // unguessable, one per attempt
}

// Rule decides each candidate in its order until its tenant's places, the free dial slots
// or its line's room are used up. What is not decided stays as it is for a later claim.
func (r Ruler) Rule(b Batch) Decisions {
	d := Decisions{Paced: map[followup.LineID]time.Time{}}
	taken := map[string]int{}
	begun := newBegun()
	told := map[scope]bool{}
	passes := 0
	rooms := make(map[followup.LineID]LineRoom, len(b.Lines))
	for id, room := range b.Lines {
		rooms[id] = room
	}
	for i := range b.Candidates {
		c := &b.Candidates[i]
		if b.Taken[c.Tenant]+taken[c.Tenant] >= b.Limits.PerTick {
			continue
		}
		if passes >= b.Most {
			d.Full = true
			break
		}
		begun.tell(c, b.Now)
		ruling, findings := gates.Judge(r.Gates, c.Case)
		one := Decision{Candidate: c, Ruling: ruling, Findings: findings}
		switch ruling.Kind() {
		case gates.KindWait:
			shared := sharedBy(c, ruling.Code)
			switch {
			case shared == scope{}:
				d.Waited++
			case told[shared], ruling.Code == gates.CodeLineBusy && c.Reason == ruling.Code: // told before
				told[shared] = true
				d.Left++
				continue
			default:
				told[shared], one.Shared = true, true
				d.Shared++
			}
			if ruling.Code == gates.CodeFleetBudget {
				d.PacedTo = sooner(d.PacedTo, ruling.Until)
			}
			d.Decided = append(d.Decided, one)
			continue
		case gates.KindHold:
			one.Asks = asks(c.Case.Approval, ruling.Holds)
		case gates.KindPass:
			begin, ok := turn(rooms, c.Line, b.Now)
			if !ok {
				d.PacedTo = earliest(d.PacedTo, rooms[c.Line])
				continue
			}
			attempt, ok := r.attempt(b, c, begin)
			if !ok {
				continue // too late by the time it could begin: closing it is not a ruling
			}
			take(rooms, c.Line, begin)
			if room := rooms[c.Line]; room.Every > 0 {
				d.Paced[c.Line] = room.NextAt
			}
			passes++
			begun.add(c, begin)
			one.Attempt = &attempt
		}
		taken[c.Tenant]++
		one.Place = b.Taken[c.Tenant] + taken[c.Tenant]
		d.Decided = append(d.Decided, one)
	}
	return d
}

// scope is who shares a limit: a line, a tenant, or everybody.
type scope struct {
	code string
	line followup.LineID
}

// sharedBy is who waits for the same as a candidate that waits for this reason; the zero scope
// is nobody. The first row that comes to a limit others share is told so, and keeps its turn: it
// is looked at again as soon as the limit allows a call, before younger ones. Those that would
// hear the same are left as they are: told one by one, and again whenever one call more is
// allowed, a backlog would fill the ledger and say nothing. What is behind them and need not
// wait for it has its turn.
func sharedBy(c *Candidate, code string) scope {
	switch code {
	case gates.CodeFleetBudget:
		return scope{code: code}
	case gates.CodeTenantBudget:
		return scope{code: code, line: followup.LineID{Tenant: c.Tenant}}
	case gates.CodeLineBusy:
		return scope{code: code, line: c.Line}
	}
	return scope{}
}

func (r Ruler) attempt(b Batch, c *Candidate, begin time.Time) (Attempt, bool) {
	sendBy, answerBy, ok := followup.Deadlines(begin, c.DueAt, b.Limits)
	if !ok {
		return Attempt{}, false
	}
	a := Attempt{
		FollowUp: c.ID, No: c.LastNo + 1, Token: r.NewToken(),
		Tenant: c.Tenant, Line: c.Line.Name, Carrier: c.Case.Line.Carrier,
		To: c.Case.Number.Number, Extension: c.Extension, From: c.Case.Line.Caller,
		Script: c.Case.Script, URL: c.Case.Line.URL,
		BeginAt: begin, SendBy: sendBy, AnswerBy: answerBy, LateAt: c.DueAt.Add(b.Limits.MaxLate),
	}
	if c.Case.Approval != nil {
		a.ApprovalID = c.Case.Approval.ID
	}
	return a, true
}

// asks is what a person is asked about: the holds that stand, and those an earlier approval
// answered, since the new one replaces it.
func asks(earlier *gates.Approval, holds []string) []string {
	all := slices.Clone(holds)
	if earlier != nil {
		all = append(all, earlier.Reasons...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// turn is when a call on the line may begin; ok is false where the line has no room yet.
func turn(rooms map[followup.LineID]LineRoom, id followup.LineID, now time.Time) (begin time.Time, ok bool) {
	room := rooms[id]
	if room.Bounded && room.Calls <= 0 {
		return time.Time{}, false
	}
	if room.Every <= 0 || room.NextAt.Before(now) {
		return now, true
	}
	return room.NextAt, room.NextAt.Sub(now) <= paceAhead
}

func take(rooms map[followup.LineID]LineRoom, id followup.LineID, begin time.Time) {
	room := rooms[id]
	room.Calls--
	room.NextAt = begin.Add(room.Every)
	rooms[id] = room
}

// earliest is when a paced line takes another attempt, where that is sooner than t.
func earliest(t time.Time, room LineRoom) time.Time {
	if room.Every <= 0 || room.Bounded && room.Calls <= 0 { // only an answer makes room there
		return t
	}
	return sooner(t, room.NextAt.Add(-paceAhead))
}

// sooner is the earlier of two instants; the zero one is none.
func sooner(t, at time.Time) time.Time {
	if t.IsZero() || at.Before(t) {
		return at
	}
	return t
}
