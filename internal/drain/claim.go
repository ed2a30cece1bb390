package drain

import (
	"time"

	"chasephone/internal/followup"
	"chasephone/internal/gates"
	"chasephone/internal/phone"
)

// Query says what a claim looks for.
type Query struct {
	Most    int              // attempts at most: the free dial slots
	Look    int              // rows to look at per tenant, beyond the places it has left
	Rows    int              // rows at most, 0 for as many as can be judged at once: among several there was one that the database refuses
	Skip    []string         // rows to leave alone
	After   Cursor           // tenants and lines after this one
	Careful bool             // load facts one by one: among several there was one that fails
	Broken  map[string]error // facts that failed to load in an earlier try, by name, and why
}

// Cursor is a place in the order of tenants and their lines; the zero Cursor is its start.
type Cursor struct{ Tenant, LineKey string }

// Identify gives a number as it was typed its identity, once, when its row comes in.
type Identify func(raw, region string) (phone.Identity, phone.Problem)

// Rule decides, without any I/O, what becomes of the candidates of one claim.
type Rule func(Batch) Decisions

// Batch is what a claim found, judged at one instant.
type Batch struct {
	Now        time.Time
	Slot       time.Time // start of the slot that Now falls in
	Limits     followup.Limits
	Most       int
	Taken      map[string]int // places of this slot that each tenant has used up
	Candidates []Candidate    // by tenant, then due_at, then id
	Lines      map[followup.LineID]LineRoom
}

// LineRoom is how much a line can take now.
type LineRoom struct {
	Bounded bool // Calls is meant
	Calls   int  // calls it may take before an answer comes (the breaker's bound)
	Every   time.Duration
	NextAt  time.Time // paced: no call begins earlier
}

// Candidate is a due row with the facts it is judged on.
type Candidate struct {
	ID        string
	Tenant    string
	DueAt     time.Time
	Line      followup.LineID
	LastNo    int    // number of its newest attempt; 0 where there was none
	Reason    string // why it waited when it was last looked at
	Extension string
	Case      gates.Case
}

// Decisions are what a claim writes.
type Decisions struct {
	Decided []Decision
	Paced   map[followup.LineID]time.Time // when each paced line takes its next call
	Waited  int                           // rows that were moved on: there may be callable ones behind them
	Shared  int                           // rows that were told of what others wait for, too
	Left    int                           // those others, which stay as they are
	Full    bool                          // Most was reached before the candidates were through
	PacedTo time.Time                     // the earliest instant at which a line without room has some; zero: none
}

// Decision is one follow-up's ruling and what follows from it.
type Decision struct {
	Candidate *Candidate
	Ruling    gates.Ruling
	Findings  []gates.Finding
	Place     int      // 0 for a row that has to wait
	Shared    bool     // it waits for what others wait for, too, and keeps its turn among them
	Attempt   *Attempt // for a pass
	Asks      []string // for a hold: the codes a person is asked about
}

// Attempt is the right to ring once: a committed row.
type Attempt struct {
	FollowUp   string
	No         int
	Token      string // unguessable
	Tenant     string
	Line       string
	Carrier    string
	To         phone.Number
	Extension  string
	From       phone.Number
	Script     string
	URL        string
	ApprovalID string
	BeginAt    time.Time
	SendBy     time.Time
	AnswerBy   time.Time
	LateAt     time.Time
}

// Claim is what came of T1.
type Claim struct {
	Looked   []string // the rows that were judged
	Attempts []Attempt
	Findings []gates.Finding // of every candidate that was judged
	Limits   followup.Limits
	Clock    Clock
	Waited   int
	Left     int
	Full     bool   // there may be more where this came from
	Busy     bool   // somebody else holds a line: worth another look soon
	Reached  string // the last tenant that took a place
	PacedTo  time.Time
	Stopped  bool   // everything is stopped, or all ringing is held: nothing was looked at
	Next     Cursor // go on here when all before it is through
	End      bool   // nothing comes after Next
}

// Clock ties the database's clock to this process's monotonic one. Local was read before
// Database, so that an instant translated by it is never later than the real one.
type Clock struct {
	Database time.Time
	Local    time.Time
}

// ToLocal is an instant of the database's clock on this process's monotonic clock.
func (c Clock) ToLocal(t time.Time) time.Time { return c.Local.Add(t.Sub(c.Database)) }
