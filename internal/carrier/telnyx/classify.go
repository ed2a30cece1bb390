package telnyx

import (
	"encoding/json"
	"regexp"
	"strconv"

	"chasephone/internal/carrier"
)

// What an answer of Telnyx's proves. The list is closed: whatever is not on it is Unknown,
// because a call that may have rung is never placed again.

// proofs are the refusals that Telnyx documents, by the HTTP status they come with and the code
// in Telnyx's own envelope.
var proofs = []struct {
	status int
	code   string
	proves meaning
}{
	{422, "10002", refused}, // not a valid number
	{422, "10016", refused}, // not a number in E.164 form

	{429, "10011", lineNotReady}, // too many requests

	{401, "10009", accountNotReady}, // our key
	{403, "10010", accountNotReady}, // not permitted to us
	{403, "10039", accountNotReady}, // a limit of the account
}

// meaning is what a proof proves.
type meaning int

const (
	nothing meaning = iota
	refused
	lineNotReady
	accountNotReady
)

// Every answer that has a body: Telnyx's call, or Telnyx's envelope for errors.
type body struct {
	Data struct {
		CallControlID string `json:"call_control_id"`
	} `json:"data"`
	Errors []problem `json:"errors"`
}

type problem struct {
	Code   string `json:"code"`
	Title  string `json:"title"`
	Detail string `json:"detail"`
	Source struct {
		Pointer string `json:"pointer"`
	} `json:"source"`
}

// callID is a call control id, such as "v3:MdI91X4lWFEs7IgbBEOT9M4AigoY08M0WWZFISt1Yw2axZ_IiE4pqg".
// Telnyx does not document its form: it must be long enough to name one call, and hold nothing
// that would lead elsewhere in a path.
var callID = regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z:_=-]{15,199}$`)

// classify says what a reply proves. It is the only place that turns one into an answer.
func classify(r carrier.Reply) carrier.Answer {
	var b body
	whole := !r.Truncated && json.Unmarshal(r.Body, &b) == nil
	if !whole {
		b = body{} // half a body is no evidence, not even for a call
	}
	status := strconv.Itoa(r.Status)
	named := callID.MatchString(b.Data.CallControlID)

	switch {
	case named && len(b.Errors) == 0 && (r.Status == 200 || r.Status == 201):
		return carrier.Placed{CallID: b.Data.CallControlID}
	case b.Data.CallControlID != "": // a refusal that names a call contradicts itself
		return unknown(status, "an answer with status "+status+" that carries a call's id")
	case r.Status == 429:
		// By the status alone: Telnyx's edge may answer before anything that writes envelopes.
		return carrier.NotPlaced{Blame: carrier.BlameLine, Code: b.code("429"), Text: b.text("too many requests")}
	case !b.isEnvelope():
		return unknown(status, "an answer with status "+status+" that is not Telnyx's own word on this call")
	}
	switch b.proves(r.Status) {
	case refused:
		return carrier.Refused{Code: b.code(""), Text: b.text("")}
	case lineNotReady:
		return carrier.NotPlaced{Blame: carrier.BlameLine, Code: b.code(""), Text: b.text("")}
	case accountNotReady:
		return carrier.NotPlaced{Blame: carrier.BlameAccount, Code: b.code(""), Text: b.text("")}
	default: // nothing
		return unknown(b.code(""), b.text(""))
	}
}

// proves is what all the errors prove together: nothing, if one of them is not listed.
func (b body) proves(status int) meaning {
	all := nothing
	for _, e := range b.Errors {
		switch m := e.proves(status); {
		case m == nothing:
			return nothing
		case m > all: // what holds the line counts for more than what ends this call
			all = m
		}
	}
	return all
}

func (e problem) proves(status int) meaning {
	for _, p := range proofs {
		if p.code != e.Code || p.status != status {
			continue
		}
		if p.proves == refused && e.Source.Pointer == "/from" {
			return accountNotReady // it is our caller number that is none
		}
		return p.proves
	}
	return nothing
}

// isEnvelope reports whether b is Telnyx's envelope for errors, each with a code and a title.
func (b body) isEnvelope() bool {
	for _, e := range b.Errors {
		if e.Code == "" || e.Title == "" {
			return false
		}
	}
	return len(b.Errors) > 0
}

func (b body) code(otherwise string) string {
	if !b.isEnvelope() {
		return otherwise
	}
	return carrier.CleanText(b.Errors[0].Code)
}

func (b body) text(otherwise string) string {
	if !b.isEnvelope() {
		return otherwise
	}
	text := b.Errors[0].Title
	if b.Errors[0].Detail != "" {
		text += ": " + b.Errors[0].Detail
	}
	return carrier.CleanText(text)
}

func unknown(code, text string) carrier.Answer {
	return carrier.Unknown{Stage: carrier.StageAnswered, Code: code, Text: text}
}
