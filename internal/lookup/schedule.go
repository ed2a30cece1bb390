package lookup

import "time"

// pauses are how long after one look the next one is: soon at first, because what is not listed
// this second may be in a moment, and then hourly for as long as something can change.
func pauses() []time.Duration {
	return []time.Duration{30 * time.Second, 2 * time.Minute, 5 * time.Minute, 15 * time.Minute, 30 * time.Minute, time.Hour}
}

const (
	// slack is what a carrier's clock and its list may be behind.
	slack = 10 * time.Minute
	// endless is how long a call that was taken is asked about although no end of it is told.
	endless = 48 * time.Hour
)

// again is when to look the attempt up next; the zero time is never.
func (a Attempt) again(queues time.Duration) time.Time {
	all := pauses()
	next := a.Now.Add(all[min(a.Looks, len(all)-1)])
	if !a.Placed {
		// What is not listed once its queue is empty was never taken.
		if end := a.AnswerBy.Add(queues + slack); next.After(end) && a.Now.After(end) {
			return time.Time{}
		}
		return next
	}
	switch {
	case a.Status.Final(), a.Now.After(a.LateAt.Add(endless)):
		return time.Time{}
	case a.Now.Before(a.LateAt) && next.After(a.LateAt):
		return a.LateAt.Add(time.Second) // if it is queued then, it is to be cancelled
	}
	return next
}
