package twilio

import (
	"encoding/json"
	"regexp"
	"strconv"

	"chasephone/internal/carrier"
)

// What an answer of Twilio's proves. The list is closed: whatever is not on it is Unknown,
// because a call that may have rung is never placed again.

// any4xx stands for every 4xx but 408, which is written by whatever gave up waiting and says
// nothing of what it waited for. It is for codes whose status Twilio does not document.
const any4xx = -1

// proofs are the refusals that Twilio documents, by the HTTP status they come with and the
// code in Twilio's own envelope.
var proofs = []struct {
	status int
	code   int
	proves meaning
}{
	{400, 21211, refused}, // not a valid number
	{400, 21217, refused}, // not a valid number
	{400, 21214, refused}, // cannot be reached
	{400, 21215, refused}, // the account has no permission for that country
	{400, 21216, refused}, // blocked

	{any4xx, 20429, lineNotReady}, // too many requests: documented as not processed
	{any4xx, 10004, lineNotReady}, // too many calls at once

	{401, 20003, accountNotReady}, // our credentials
	{403, 20003, accountNotReady},
	{any4xx, 10001, accountNotReady}, // account not active
	{any4xx, 20005, accountNotReady}, // account not active
	{400, 21210, accountNotReady},    // our caller number is not verified
}

// meaning is what a proof proves.
type meaning int

const (
	nothing meaning = iota
	refused
	lineNotReady
	accountNotReady
)

// Every answer that has a body: Twilio's call, or Twilio's envelope for an error. Pointers
// tell a field that is missing from one that is empty.
type body struct {
	SID        *string         `json:"sid"`
	CallStatus json.RawMessage `json:"status"` // a word in a call, a number in an error
	Code       *int            `json:"code"`
	Message    *string         `json:"message"`
}

var callSID = regexp.MustCompile(`^CA[0-9a-fA-F]{32}$`)

// classify says what a reply proves. It is the only place that turns one into an answer.
func classify(r carrier.Reply) carrier.Answer {
	var b body
	whole := !r.Truncated && json.Unmarshal(r.Body, &b) == nil
	if !whole {
		b = body{} // half a body is no evidence, not even for a call
	}
	status := strconv.Itoa(r.Status)
	sid, hasSID := b.callID()

	switch {
	case whole && hasSID && (r.Status == 200 || r.Status == 201 || r.Status == 202):
		return carrier.Placed{CallID: sid, Status: carrier.CleanText(b.callStatus())}
	case hasSID: // a refusal that names a call contradicts itself
		return unknown(status, "an answer with status "+status+" that carries a call's id")
	case r.Status == 429:
		// By the status alone: Twilio's edge may answer before anything that writes envelopes.
		// "Requests that receive 429 responses aren't processed" (Twilio's page on 20429).
		return carrier.NotPlaced{Blame: carrier.BlameLine, Code: b.code(r.Status, "429"), Text: b.text("too many requests")}
	case !b.isEnvelope(r.Status):
		return unknown(status, "an answer with status "+status+" that is not Twilio's own word on this call")
	}
	code := strconv.Itoa(*b.Code)
	switch lookUp(r.Status, *b.Code) {
	case refused:
		return carrier.Refused{Code: code, Text: b.text("refused")}
	case lineNotReady:
		return carrier.NotPlaced{Blame: carrier.BlameLine, Code: code, Text: b.text("not ready")}
	case accountNotReady:
		return carrier.NotPlaced{Blame: carrier.BlameAccount, Code: code, Text: b.text("account not ready")}
	default: // nothing
		return unknown(code, b.text(""))
	}
}

func lookUp(status, code int) meaning {
	for _, p := range proofs {
		if p.code == code && (p.status == status || p.status == any4xx && status/100 == 4 && status != 408) {
			return p.proves
		}
	}
	return nothing
}

func unknown(code, text string) carrier.Answer {
	return carrier.Unknown{Stage: carrier.StageAnswered, Code: code, Text: text}
}

// isEnvelope reports whether b is Twilio's envelope for an error that came with this HTTP
// status: code, message and status are there, and the status is the same.
func (b body) isEnvelope(status int) bool {
	var inside int
	return b.Code != nil && b.Message != nil && *b.Message != "" &&
		json.Unmarshal(b.CallStatus, &inside) == nil && inside == status
}

func (b body) callID() (string, bool) {
	if b.SID == nil || !callSID.MatchString(*b.SID) {
		return "", false
	}
	return *b.SID, true
}

func (b body) callStatus() string {
	var word string
	_ = json.Unmarshal(b.CallStatus, &word) // decides nothing, and may be missing
	return word
}

func (b body) code(status int, otherwise string) string {
	if !b.isEnvelope(status) {
		return otherwise
	}
	return strconv.Itoa(*b.Code)
}

func (b body) text(otherwise string) string {
	if b.Message == nil || *b.Message == "" {
		return otherwise
	}
	return carrier.CleanText(*b.Message)
}
