package gates

import (
	"errors"
	"slices"
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

	Promised time.Time // when the follow-up was made; zero for a call that nobody promised

	NeedsApproval bool   // says the row
	Policy        Policy // of its tenant
	Line          Line
	Approval      *Approval // the newest decided "approved" and not spent; nil where none
	ApprovalErr   error     // why Approval could not be loaded; then holds wait, for a person may have answered them

	OptOut   Fact[*OptOut]   // nil: none
	InCall   Fact[*InCall]   // nil: no other call with this number is under way
	Calls    Fact[Calls]     // with this number, of this tenant
	CalledIn Fact[*CalledIn] // nil: the person has not reached the tenant
	Consent  Fact[*Consent]  // to calls for this purpose; nil: none on file

	TenantDay   Fact[Spent] // calls of the tenant in 24 hours
	FleetMinute Fact[Spent] // calls of everybody in a minute
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
	Dialing  bool   // being asked of the carrier now; otherwise (perhaps) placed, without a final status
	Since    time.Time
	Ends     time.Time // from then on it counts no longer, unless it is being asked for
}

// Calls are those with one number that may have rung it: ours, and others that were reported.
type Calls struct {
	At     []time.Time // the newest first; at least as many as the largest cap, where there are
	Talked time.Time   // when the newest one that reached somebody began; zero: none did
}

// newestFirst are the calls in that order, whoever loaded them.
func (c Calls) newestFirst() []time.Time {
	newest := func(a, b time.Time) int { return b.Compare(a) }
	if slices.IsSortedFunc(c.At, newest) {
		return c.At
	}
	return slices.SortedFunc(slices.Values(c.At), newest)
}

// CalledIn is the newest call or message of the person to the tenant.
type CalledIn struct {
	At     time.Time
	Known  time.Time // when we were last told of one
	Source string    // who says so
}

// Consent is on file for one tenant, number and purpose.
type Consent struct {
	Source string
	Since  time.Time
}

// How long a call counts against a limit.
const (
	InTenantDay   = 24 * time.Hour
	InFleetMinute = time.Minute
	OnLine        = 2 * time.Hour // without a final status it is taken to go on for so long
)

// Spent is how much of a limit is used up.
type Spent struct {
	Calls   int       // counted up to the limit
	FreesAt time.Time // when the first of them no longer counts; zero: there are none
}

// Policy says which calls of a tenant a person must see first.
type Policy string

// The policies. The zero Policy is PolicyRow.
const (
	PolicyRow       Policy = "row"        // those that say so
	PolicyNever     Policy = "never"      // none, whatever they say
	PolicyFirstCall Policy = "first_call" // those that say so, and the first to a number
	PolicyAlways    Policy = "always"     // all
)

// Policies lists them.
func Policies() []Policy { return []Policy{PolicyRow, PolicyNever, PolicyFirstCall, PolicyAlways} }

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
	Calls      Fact[Spent] // calls on it at once: without an end yet, for two hours at most
}

// Approval is a person's yes. It binds the number, the line, its caller number and the words.
type Approval struct {
	ID       string
	By       string
	Asked    time.Time // when the question was put: what came later it does not answer
	At       time.Time
	Reasons  []string // the hold codes it answers
	TimeZone string   // the zone it was given together with; "" where none was asked
	Number   phone.Number
	Line     string
	Caller   phone.Number
	Words    string // digest of the words or the URL, see Words
}
