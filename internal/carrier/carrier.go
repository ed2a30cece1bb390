// Package carrier says what a telephone company can answer when it is asked to place one
// call, as a closed sum, and holds the one transport such a request may go out on.
//
// The default is Unknown. Whatever is not proven to be "not placed" by the carrier's own
// documented refusal, or by proof that no byte of the request left this process, may have
// rung, and is never sent again.
package carrier

import (
	"time"

	"chasephone/internal/phone"
)

// Call is one committed attempt, as a carrier needs it. It goes out once.
type Call struct {
	Token     string       // the attempt's unguessable name; travels in the status callback URL
	To        phone.Number // whom to ring
	Extension string       // digits to send after the answer; may be empty
	From      phone.Number // the line's caller number
	Script    string       // the frozen words, spoken unless URL is set
	URL       string       // the line's own URL that speaks instead; may be empty

	// SendBy is the instant on this process's monotonic clock after which no byte of the
	// request may be written. How long the answer is awaited is the context's deadline.
	SendBy time.Time
}

// Answer is what is known after a request: Placed, Refused, NotPlaced or Unknown.
type Answer interface{ answer() }

// Placed says that the carrier took the call and gave it an id of its own.
type Placed struct {
	CallID string
	Status string // as the carrier gave it, "queued" for instance; decides nothing
}

// Refused says, by a documented code, that the carrier did not and will not place this call.
type Refused struct {
	Code string // the carrier's own, "21211" for instance
	Text string
}

// NotPlaced says, by proof, that this request placed no call, and who must wait for what.
type NotPlaced struct {
	Blame Blame
	Code  string // the carrier's own, or one of ours: "connect_failed", "send_by_passed", "no_dial_slot", "shut_down"
	Text  string
}

// Unknown says that the call may have been placed. Nobody sends it again.
type Unknown struct {
	Stage Stage
	Code  string // HTTP status or the carrier's code, where there was one
	Text  string
}

func (Placed) answer()    {}
func (Refused) answer()   {}
func (NotPlaced) answer() {}
func (Unknown) answer()   {}

// Blame is who a NotPlaced answer speaks of.
type Blame string

const (
	// BlameLine is the carrier's own documented "not now" (429 and its like). The line is held for the hour.
	BlameLine Blame = "line"
	// BlameAccount says the carrier rejected our credentials or caller number. Held like BlameLine, with an alert.
	BlameAccount Blame = "account"
	// BlameDaemon says no connection could be made from here. This daemon leaves the line alone; others may use it.
	BlameDaemon Blame = "daemon"
	// BlameNobody says the request was not begun (send_by passed, or the daemon is stopping). Due again at once.
	BlameNobody Blame = "nobody"
)

// Stage is how far a request got before its fate became unknown.
type Stage string

// The stages, in their order.
const (
	StageWriting  Stage = "writing"  // some bytes left; the whole request may not have
	StageAwaiting Stage = "awaiting" // the request was written, no answer came
	StageAnswered Stage = "answered" // an answer came and proves nothing
)
