package carrier

import (
	"strings"
	"time"

	"chasephone/internal/phone"
)

// An account of a carrier is named by the carrier ("twilio") where its credentials are the
// environment's own, and else by the carrier and the prefix of the variables that hold them
// ("twilio/ACME" for ACME_ACCOUNT_SID and so on). Lines, attempts and arrivals name it so.

// Account is the name of a carrier's account; an empty prefix is the environment's own.
func Account(carrier, prefix string) string {
	if prefix == "" {
		return carrier
	}
	return carrier + "/" + prefix
}

// SplitAccount takes an account's name apart.
func SplitAccount(account string) (carrier, prefix string) {
	carrier, prefix, _ = strings.Cut(account, "/")
	return carrier, prefix
}

// Delivery is what a carrier sent, as it came.
type Delivery struct {
	Kind  string // what it was sent as: the webhook path's own part ("status", "message"), or "record" for a call record that was asked for
	Token string // the attempt's token in that path; "" where it has none
	Body  []byte // at most 64 KiB, or what Transport.Ask takes

	URL    string                   // where the carrier was told to send it; "" for what is read back
	Header func(name string) string // of the request; nil for what is read back
}

// What a report can be about.
const (
	KindCall = "call"
	KindText = "text" // a written message
)

// Directions of a call or a text, as seen by the tenant.
const (
	DirectionOut = "out"
	DirectionIn  = "in"
)

// Report is what a delivery says, in chasephone's words.
type Report struct {
	Kind      string // KindCall, KindText; "" where it is about neither, and nothing follows from it
	ID        string // the carrier's own for the call or text
	Direction string
	Token     string       // the attempt's token, where the delivery carries it
	Status    Status       // of a call; "" where it says none
	Us        phone.Number // the tenant's number; zero where it is no telephone number
	Them      phone.Number // the person's; zero where it is withheld, or no telephone number
	At        time.Time    // by the carrier's clock; zero where it does not say
	Seconds   int          // how long a call that is over was talked for
	Text      string       // the words of a text, storable

	// Fields are the delivery in the carrier's own words, for the table of its shape: storable
	// text by the carrier's own names.
	Fields map[string]string
}

// Sought is a call whose fate is looked for in a carrier's own records.
type Sought struct {
	Token    string       // the attempt's
	To, From phone.Number // From may be zero: whoever's it is
	Since    time.Time    // by the database's clock: when the request could begin at the earliest
}

// Record is one call as a carrier's own list shows it.
type Record struct {
	CallID  string    `json:"call_id"`
	Status  Status    `json:"status,omitempty"`
	Created time.Time `json:"created_at,omitzero"` // when the carrier took it
	Started time.Time `json:"started_at,omitzero"` // when it was dialed or answered; zero: not (yet)
	Token   string    `json:"-"`                   // ours, where the carrier keeps it

	From phone.Number `json:"-"` // zero where the list does not say
}

// Found is what a look-up came to.
type Found struct {
	Records []Record
	Cut     bool // there are more than were looked at
}
