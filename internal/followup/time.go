package followup

import "time"

// SlotAt is the start of the slot that now falls in: slots are cut from the Unix epoch.
func SlotAt(now time.Time, tick time.Duration) time.Time {
	n := now.UnixNano()
	t := tick.Nanoseconds()
	return time.Unix(0, n-((n%t)+t)%t).UTC()
}

// Late reports whether a promise for dueAt is broken at now: later than maxLate. Exactly
// maxLate is still allowed (rule R4). dueAt is the promise and never a retry.
func Late(now, dueAt time.Time, maxLate time.Duration) bool {
	return now.Sub(dueAt) > maxLate
}

// SendWindow is how long after the instant it may begin an attempt may still be sent. It
// covers the way from the commit to the socket, not the carrier's answer.
const SendWindow = 5 * time.Second

// Deadlines are the two instants of an attempt that may begin at begin: no byte of the
// request is written after sendBy, which the greatest lateness bounds, and the answer is
// awaited until answerBy. ok is false where the promise is broken before it could begin.
func Deadlines(begin, dueAt time.Time, l Limits) (sendBy, answerBy time.Time, ok bool) {
	lateAt := dueAt.Add(l.MaxLate)
	if begin.After(lateAt) {
		return time.Time{}, time.Time{}, false
	}
	sendBy = begin.Add(SendWindow)
	if sendBy.After(lateAt) {
		sendBy = lateAt
	}
	return sendBy, sendBy.Add(l.DialTimeout), true
}
