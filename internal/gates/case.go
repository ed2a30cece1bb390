package gates

import (
	"errors"
	"time"

	"chasephone/internal/phone"
)

// Case is everything the gates judge one outbound call on. It is loaded before judging and
// gates do no I/O. A fact that could not be loaded carries its error, and the gate that
// needs it waits with that cause.
type Case struct {
	Now        time.Time     // the database's clock, read after the locks were held
	RetryAfter time.Duration // how long a line that is not ready is left alone

	Number    phone.Identity // whom to ring; zero where Problem is set
	Problem   phone.Problem  // why the typed number has no identity
	Countries []string       // allowed regions (ISO 3166 alpha-2); empty allows none

	TimeZone      string // confirmed by the person called; "" where none was given
	TimeZoneGiven bool   // the row has one, so that an empty text is a mistake and not an absence
	Purpose       string
	Script        string

	NeedsApproval bool // by the row or by the tenant's policy
	Line          Line
	Approval      *Approval // the newest decided "approved" and not spent; nil where none
	ApprovalErr   error     // why Approval could not be loaded; then holds wait, for a person may have answered them

	OptOut Fact[*OptOut] // nil: none
	InCall Fact[*InCall] // nil: no other call with this number is under way
}

// judgeable reports whether there is a number to judge. Where there is none only the number
// gate speaks of it; the others would speak of a number that nobody has.
func (c *Case) judgeable() bool { return c.Problem == "" && !c.Number.Number.IsZero() }

// Fact is something loaded from elsewhere, or the reason why it could not be. The zero Fact was
// never loaded, which is not the same as "there is none": make one with Known or Unknown.
type Fact[T any] struct {
	Value T
	Err   error

	known bool
}

// Known wraps a fact that was loaded.
func Known[T any](v T) Fact[T] { return Fact[T]{Value: v, known: true} }

// Unknown is a fact that could not be loaded.
func Unknown[T any](err error) Fact[T] { return Fact[T]{Err: err} }

// get is the fact, or why there is none.
func (f Fact[T]) get() (T, error) {
	if f.Err == nil && !f.known {
		return f.Value, errors.New("it was not loaded")
	}
	return f.Value, f.Err
}

// OptOut is a do-not-call entry for the number.
type OptOut struct {
	Global bool // for every tenant
	Source string
	Since  time.Time
}

// InCall is another follow-up's call with the same number.
type InCall struct {
	FollowUp string // its id
	Dialing  bool   // being asked of the carrier now; otherwise placed, without a final status
	Since    time.Time
}

// Line is what the call would go out on, as the claim found it.
type Line struct {
	Name       string
	Named      bool // the row names it; otherwise it is the tenant's default
	Exists     bool
	Carrier    string
	Configured bool // this daemon has the carrier's credentials
	Caller     phone.Number
	URL        string // speaks instead of the script; "" where the script is spoken
	TooLong    bool   // the carrier cannot be given the script: only it knows how long it gets
	HeldUntil  time.Time
	HeldFor    string // code of the hold
	Stopped    bool
}

// Approval is a person's yes. It binds the number, the line, its caller number and the words.
type Approval struct {
	ID       string
	By       string
	At       time.Time
	Reasons  []string // the hold codes it answers
	TimeZone string   // the zone it was given together with; "" where none was asked
	Number   phone.Number
	Line     string
	Caller   phone.Number
	Words    string // digest of the words or the URL, see Words
}
