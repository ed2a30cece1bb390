package store

import (
	"chasephone/internal/drain"
	"chasephone/internal/followup"
)

// Where a carrier's word comes from, in the words of evidence.source.
const (
	fromReply      = "reply" // to the request itself, too late to settle it
	fromWebhook    = "webhook"
	fromRecord     = "record"     // one that was looked up
	fromSignalling = "signalling" // a trunk's own
)

// What a carrier can say of an attempt beside the outcomes, in the words of evidence.says.
const (
	saysNotDialed = "not_dialed" // it has the call, and rang nobody
	saysEnds      = "ends"       // different ends of one call: messages.finals has them
)

// word is what a carrier said of an attempt in any way but by the answer that settled it.
type word struct {
	followUp string
	no       int
	token    string // the attempt's, where it says of which attempt of that number it is
	source   string
	says     string // a drain.AttemptOutcome, saysNotDialed or saysEnds
	callID   string
	strange  bool   // it names another number than the attempt's
	status   string // the call's, "" where it says none
	code     string
	answer   string
}

// stand is how an attempt and its follow-up stand, read under the follow-up's lock.
type stand struct {
	state   followup.State
	newest  int // the number of its newest attempt
	outcome string
	callID  string
	owned   bool // another attempt has the call that the word is about
}

// knew is a follow-up that words of this very set have settled.
type knew struct {
	no     int
	callID string
}

// verdict is what follows from a word.
type verdict struct {
	keep     bool // as evidence
	conflict bool // it contradicts what was recorded
	doubtful bool // it is about another number, or another attempt's call: nothing follows but a person's look
	own      bool // the call is this attempt's, though a person settled it
	settle   bool // the call was placed: the follow-up with it
}

// weigh says what follows from a word on an attempt (R7, R8). Only "placed" moves anything: the
// carrier's own id for the call is the evidence. All else is for a person.
func weigh(s stand, w word) verdict {
	if w.says != string(drain.AttemptPlaced) {
		same := s.outcome == w.says || s.outcome == "placed" && s.callID != "" && s.callID == w.callID
		return verdict{keep: !same}
	}
	newest := s.newest == w.no
	switch {
	case s.owned, w.strange:
		return verdict{keep: true, conflict: true, doubtful: true}
	case s.outcome == "placed" && s.callID == w.callID:
		return verdict{}
	case s.outcome == "placed" && s.callID == "":
		return verdict{keep: true, own: true}
	case s.outcome == "":
		return verdict{keep: true, settle: newest && s.state == followup.Dialing}
	case s.outcome == "uncertain":
		return verdict{keep: true, settle: newest && s.state == followup.Uncertain}
	case s.outcome == "did_not_ring", s.outcome == "not_placed":
		return verdict{keep: true, conflict: true, settle: s.state == followup.Due}
	}
	return verdict{keep: true, conflict: true} // refused, or placed as another call
}
