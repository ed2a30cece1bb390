// Package desk is what a person decides: approve, decline, settle, cancel, reschedule, stop
// and resume. The command line, the API and the console are all thin over it.
//
// A decision is a pure function from what is so (a Snapshot read under the row's lock) to
// what is to be written (a Change) or to words that say why not. Nobody unnamed decides,
// the first decision stands, and nothing here ever rings anything (R8, R9, R10, R14).
package desk

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"

	"chasephone/internal/followup"
	"chasephone/internal/telemetry"
)

// Store is the database as the desk needs it.
type Store interface {
	// Decide locks the follow-up that name means (an id, a ref, or the id of one of its
	// approvals), lets rule decide, and writes the change with its ledger row in the same
	// transaction. What rule says is returned as it is; a Change may come with an error: it is
	// written all the same. A follow-up that would be due again, of which the carrier has said that
	// it rang, becomes call_placed at once (R8), and the Result says so.
	Decide(ctx context.Context, name Name, rule func(Snapshot) (Change, error)) (Result, error)

	// Stop stops the scope. When it returns no attempt in the scope is being committed any
	// more, and it lists those that were already out.
	Stop(ctx context.Context, scope Scope, by string) (Stopped, error)

	// Resume lifts a stop, makes the rows that wait for a line in the scope due at once, and
	// says how many those were. lifted is false where nothing was stopped.
	Resume(ctx context.Context, scope Scope, by string) (lifted bool, due int, err error)
}

// Name is how a person names a follow-up.
type Name struct {
	Text   string // an id, a ref, or an approval's id
	Tenant string // which tenant's ref is meant; "" where the ref alone says it
}

// Snapshot is one follow-up as it is, read under its lock.
type Snapshot struct {
	Now      time.Time
	Limits   followup.Limits
	ID       string
	Tenant   string
	Ref      string
	State    followup.State
	DueAt    time.Time
	OptedOut bool // the number is on a do-not-call list
	Conflict bool // the carrier's evidence says that it rang, or what it was rescheduled from, although a person said it did not
	Listed   int  // calls that may be the newest attempt, by the carrier's word or in its records when they last were to be had

	Approval   *Approval // the newest
	Named      string    // the approval's id that the person named; "" where it was the follow-up
	Attempt    *Attempt  // the newest
	DidNotRing int       // attempts that a person said did not ring
	Ended      *Said     // the ledger's newest row
	Successor  string    // rescheduled to; "" where it was not
	SuccDueAt  time.Time
}

// Approval is a question to a person, and the answer.
type Approval struct {
	ID       string
	Reasons  []string
	Decision string // "" while open
	By       string
	At       time.Time
}

// Attempt is the newest right to ring once.
type Attempt struct {
	No       int
	AnswerBy time.Time
	Outcome  string // "" while open
	By       string // the person whose word it is; "" for the carrier's
	At       time.Time
}

// Said is who made the newest change, and when.
type Said struct {
	By string // "" where it was no person
	At time.Time
}

// Change is what is to be written. The zero Change changes nothing.
type Change struct {
	To        followup.State
	Outcome   followup.Outcome
	By        string // "" for what time did, and nobody
	Reason    string
	Detail    string
	Decision  string // on the open approval
	TimeZone  string // given together with an approval
	Attempt   string // outcome of the newest attempt
	CallID    string // the carrier's own, of a call that a person says rang; "" where it is not known
	Successor *Successor
}

// Successor is the follow-up that replaces a rescheduled one.
type Successor struct{ DueAt time.Time }

// Result is what a decision came to.
type Result struct {
	ID        string         `json:"id"`
	Ref       string         `json:"ref"`
	Tenant    string         `json:"tenant_id"`
	State     followup.State `json:"state"`
	Changed   bool           `json:"changed"`
	Says      string         `json:"says"`
	Successor string         `json:"successor,omitempty"`
}

// Refusal says in words why a decision changes nothing, or not what was asked.
type Refusal struct{ Says string }

func (r *Refusal) Error() string { return r.Says }

func refuse(format string, args ...any) error { return &Refusal{Says: fmt.Sprintf(format, args...)} }

// Misuse says that the question itself is wrong.
type Misuse struct{ Says string }

func (m *Misuse) Error() string { return m.Says }

// Desk takes decisions.
type Desk struct{ Store Store }

// ErrNotFound says that no follow-up is meant by a name.
var ErrNotFound = errors.New("no such follow-up")

func (d Desk) decide(ctx context.Context, name Name, by string, rule func(Snapshot, string) (Change, string, error)) (Result, error) {
	by, err := Person(by)
	if err != nil {
		return Result{}, err
	}
	var says string
	result, err := d.Store.Decide(ctx, name, func(s Snapshot) (Change, error) {
		change, words, err := rule(s, by)
		says = words
		return change, err
	})
	if err != nil {
		return result, err
	}
	result.Says = says
	return result, nil
}

// Person is a name that can stand in the ledger; what cannot is a Misuse.
func Person(by string) (string, error) {
	by = strings.TrimSpace(by)
	switch {
	case !strings.ContainsFunc(by, visible): // a name of marks that nobody sees is none
		return "", &Misuse{Says: "nobody unnamed decides: give a name with --by"}
	case len(by) > 200 || strings.ContainsFunc(by, func(r rune) bool { return unicode.IsControl(r) || r == '\uFFFD' }):
		return "", &Misuse{Says: "the name given with --by must be printable and at most 200 bytes long"}
	}
	return telemetry.MaskText(by), nil
}

func visible(r rune) bool { return unicode.IsGraphic(r) && !unicode.IsSpace(r) }

// mostWhy is how much of a person's reason the ledger keeps, in characters.
const mostWhy = 500

// because is a person's reason as the ledger can hold it, behind what was done: one line,
// without a number.
func because(done, why string) string {
	why = strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(why, "\uFFFD"))), " ")
	if why == "" {
		return done
	}
	if cut := []rune(why); len(cut) > mostWhy {
		why = string(cut[:mostWhy]) + "…"
	}
	return done + ": " + telemetry.MaskText(why)
}

func at(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }
