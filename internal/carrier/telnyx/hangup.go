package telnyx

import "chasephone/internal/carrier"

// ends says how a call ended, by the causes that Telnyx documents for call.hangup. Where a cause
// leaves it open whether the call was answered, the SIP response decides.
var ends = map[string]carrier.Status{
	"time_limit":        carrier.StatusCompleted, // which is counted from the answer
	"user_busy":         carrier.StatusBusy,
	"call_rejected":     carrier.StatusBusy, // declined, by the phone or by who held it
	"no_answer":         carrier.StatusNoAnswer,
	"timeout":           carrier.StatusNoAnswer,
	"originator_cancel": carrier.StatusCanceled,
	"not_found":         carrier.StatusFailed, // there is no such number
}

// endOf is a final status, always: a call that was hung up is over. Where nothing tells whether it
// was answered, one that ended normally was, and any other was not. No call is said to have failed,
// which would say that no phone rang, but for a number that there is not.
func endOf(cause, response string) carrier.Status {
	if end, ok := ends[cause]; ok {
		return end
	}
	switch {
	case len(response) == 3 && response[0] == '2':
		return carrier.StatusCompleted
	case response == "486", response == "600", response == "603":
		return carrier.StatusBusy
	case response == "404", response == "604":
		return carrier.StatusFailed
	case len(response) == 3 && response[0] >= '3' && response[0] <= '6':
		return carrier.StatusNoAnswer
	case cause == "normal_clearing":
		return carrier.StatusCompleted
	}
	return carrier.StatusNoAnswer
}
