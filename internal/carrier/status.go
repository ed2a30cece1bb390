package carrier

import "slices"

// Status is how far a call has come, in the words that call_status has (Twilio's own). The
// zero Status says nothing.
type Status string

// The statuses, each further on than the one before. A final one is never followed by another;
// where a carrier gives two, the later in this order stands: what may have reached the person
// counts for more than what did not.
const (
	StatusQueued     Status = "queued"      // taken, not dialed yet
	StatusInitiated  Status = "initiated"   // being dialed
	StatusRinging    Status = "ringing"     // the phone rings
	StatusInProgress Status = "in-progress" // answered
	StatusCanceled   Status = "canceled"    // final: ended before it was answered
	StatusFailed     Status = "failed"      // final: the carrier could not put it through
	StatusNoAnswer   Status = "no-answer"   // final
	StatusBusy       Status = "busy"        // final
	StatusCompleted  Status = "completed"   // final: it was answered, and is over
)

// Statuses lists them in their order.
func Statuses() []Status {
	return []Status{
		StatusQueued, StatusInitiated, StatusRinging, StatusInProgress,
		StatusCanceled, StatusFailed, StatusNoAnswer, StatusBusy, StatusCompleted,
	}
}

// Rank is a status's place in their order, from 1; 0 for what is none of them.
func (s Status) Rank() int { return slices.Index(Statuses(), s) + 1 }

// Final reports whether nothing follows.
func (s Status) Final() bool { return s.Rank() >= StatusCanceled.Rank() }

// NotDialed reports whether a status, alone, says that no phone was rung: for a person to weigh.
func (s Status) NotDialed() bool { return s == StatusCanceled || s == StatusFailed }

// Later is the one further on.
func Later(a, b Status) Status {
	if b.Rank() > a.Rank() {
		return b
	}
	return a
}
