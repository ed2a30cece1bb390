package drain

import (
	"context"
	"errors"
	"time"

	"chasephone/internal/carrier"
	"chasephone/internal/followup"
)

// Carrier places calls. Place makes one request, whatever happens, and returns no later
// than shortly after the deadline of ctx. It never retries.
type Carrier interface {
	Name() string
	// Fits reports whether it can be given the script.
	Fits(script string) bool
	// CallsPerSecond is how fast it takes calls on one line; 0: no pacing.
	CallsPerSecond() float64
	Place(ctx context.Context, call carrier.Call) carrier.Answer
}

// Store is the database as the drain needs it. Instants are the database's.
type Store interface {
	// CloseLate closes as missed up to most of the rows that are too late, and says how many.
	CloseLate(ctx context.Context, most int) (int, error)

	// Admit looks at up to most rows that nobody has looked at yet, gives each its number's
	// identity, and makes ready those whose wait is over. It says how many it handled.
	Admit(ctx context.Context, most int, identify Identify) (int, error)

	// Claim is T1. It locks what it claims, loads every fact, lets rule decide, writes the
	// decisions and commits. Attempts are returned only when the commit was seen to succeed.
	// Where the commit's fate is unknown the error is ErrCommitUnknown and the attempts that
	// may or may not exist are returned so that they can be given back; they must not be sent.
	Claim(ctx context.Context, q Query, rule Rule) (Claim, error)

	// SetAside makes a due row wait, as not ready, because the database refuses what a claim
	// would write for it.
	SetAside(ctx context.Context, id string, why error) error

	// Record is T2: it writes what became of attempts, first writer wins, in one transaction.
	// It can be repeated. A *RowError says that the set cannot be written because of its rows.
	Record(ctx context.Context, set []Settlement) error

	// Sweep marks uncertain up to most attempts that nobody answered for grace after their
	// answer_by, and says how many.
	Sweep(ctx context.Context, grace time.Duration, most int) (int, error)
}

// ErrCommitUnknown says that a commit was sent and its reply was lost.
var ErrCommitUnknown = errors.New("the commit's reply was lost")

// RowError says that the database refused a set because of what is in it: it is not the
// connection, and trying the same set again will not help.
type RowError struct{ Err error }

func (e *RowError) Error() string { return e.Err.Error() }
func (e *RowError) Unwrap() error { return e.Err }

// Settlement is what became of one attempt, ready to be written.
type Settlement struct {
	FollowUp   string
	AttemptNo  int
	Token      string // the attempt's: another process's attempt can have the same number, where this one's commit was lost
	Tenant     string
	Line       string
	Outcome    AttemptOutcome
	To         followup.State
	Ledger     followup.Outcome // "" where nothing is to be counted
	Reason     string
	Detail     string
	CallID     string
	CallStatus string
	Code       string
	Answer     string // the carrier's words, cleaned
	Stage      carrier.Stage
	Wait       bool // due again after the limits' RetryAfter; otherwise at once
	OnLine     LineEffect
}

// AttemptOutcome is what an attempt came to.
type AttemptOutcome string

// What an attempt can come to by a carrier's answer. A person can add "did_not_ring".
const (
	AttemptPlaced    AttemptOutcome = "placed"
	AttemptRefused   AttemptOutcome = "refused"
	AttemptNotPlaced AttemptOutcome = "not_placed"
	AttemptUncertain AttemptOutcome = "uncertain"
)

// LineEffect is what an answer says about the line it came on.
type LineEffect string

// What an answer can say about its line.
const (
	LineUntouched LineEffect = ""
	LineAnswered  LineEffect = "answered" // the carrier knows what it does: unknown answers start from none again
	LineUnknown   LineEffect = "unknown"  // one more unknown answer in a row: the breaker counts them
	LineNotReady  LineEffect = "not_ready"
	LineAccount   LineEffect = "account" // like LineNotReady, by our own fault: also an alert
	LineUnfit     LineEffect = "unfit"   // this daemon cannot reach it; others may
)
