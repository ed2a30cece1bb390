package sip

import (
	"strconv"

	sipgo "github.com/emiago/sipgo/sip"

	"chasephone/internal/carrier"
)

// rings reports whether a provisional answer says that the call was passed on to the phone.
// 100 says that the trunk has read the request; 199 ends one branch of several.
func rings(code int) bool { return code >= 180 && code <= 183 }

// classify says what a final answer proves that came before the phone rang. It is the only
// place that turns one into an answer, and its list is closed: whatever is not on it is
// Unknown, because a call that may have rung is never placed again.
func classify(r *sipgo.Response, callID string) carrier.Answer {
	const tooManyRequests = 429
	code, text := strconv.Itoa(r.StatusCode), carrier.CleanText(r.Reason)
	switch r.StatusCode {
	case sipgo.StatusBusyHere, sipgo.StatusGlobalBusyEverywhere, sipgo.StatusGlobalDecline, sipgo.StatusTemporarilyUnavailable:
		// The far end's own word: the call reached the phone, or the network that knows of it.
		return carrier.Placed{CallID: callID, Status: string(statusOf(step{Method: methodInvite, StatusCode: r.StatusCode}))}
	case sipgo.StatusNotFound, sipgo.StatusAddressIncomplete, sipgo.StatusGlobalDoesNotExistAnywhere:
		return carrier.Refused{Code: code, Text: text} // there is no such number
	case sipgo.StatusUnauthorized, sipgo.StatusForbidden, sipgo.StatusProxyAuthRequired:
		return carrier.NotPlaced{Blame: carrier.BlameAccount, Code: code, Text: text}
	case tooManyRequests, sipgo.StatusServiceUnavailable:
		// 503 speaks of the next hop: a proxy that gets one may not hand it on as it is (RFC 3261, 16.7).
		return carrier.NotPlaced{Blame: carrier.BlameLine, Code: code, Text: text}
	}
	if r.StatusCode/100 == 2 {
		return carrier.Placed{CallID: callID, Status: string(carrier.StatusInProgress)}
	}
	return carrier.Unknown{Stage: carrier.StageAnswered, Code: code, Text: text} // 3xx too: it is not followed
}
