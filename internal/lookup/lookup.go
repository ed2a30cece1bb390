// Package lookup asks carriers, in their own records, what became of calls of which they told
// nothing: uncertain attempts, and calls that were taken and have no end. Asking rings nobody and
// may be repeated. What is found is kept for a person to weigh; only a record that carries the
// attempt's own token, or is that of a call whose id is known, is the carrier's word on it, and
// becomes an arrival like any other.
package lookup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"chasephone/internal/arrivals"
	"chasephone/internal/carrier"
	"chasephone/internal/phone"
)

// Carrier is an account whose records can be asked.
type Carrier interface {
	// Find lists calls that may be the one that is sought. An answer that is no list is an error,
	// and never an empty list.
	Find(ctx context.Context, sought carrier.Sought) (carrier.Found, error)
	// Fetch is the record of one call, as the carrier writes it.
	Fetch(ctx context.Context, callID string) ([]byte, error)
	// Cancel ends a call that is still queued; it does nothing to one that is over.
	Cancel(ctx context.Context, callID string) error
	// QueuesFor is how long it may keep a call that it took before it is dialed.
	QueuesFor() time.Duration
}

// Ref names an attempt.
type Ref struct {
	FollowUp string
	No       int
}

// Attempt is one that is to be looked up, as it is.
type Attempt struct {
	Ref
	Now      time.Time
	Account  string
	Token    string
	To, From phone.Number
	BeginAt  time.Time
	AnswerBy time.Time
	LateAt   time.Time // due_at and the greatest lateness: later it is not to ring
	Placed   bool      // the carrier took it; otherwise it is uncertain
	CallID   string    // where it was placed
	Status   carrier.Status
	Looks    int // how often it was asked about before
}

// Question is what a carrier was asked.
type Question string

// The questions.
const (
	Search Question = "search" // which calls may this have been
	Fetch  Question = "fetch"  // what became of this call
	Cancel Question = "cancel" // end it: it is queued still, and too late to ring
)

// Lookup is one question, and what came of it.
type Lookup struct {
	Question Question
	AskedAt  time.Time
	Answered bool
	Says     string           // in words
	Found    []carrier.Record // calls that may be it
}

// Store is the database as look-ups need it.
type Store interface {
	// LookupOf reads an attempt whose time to be looked up has come; false where it has not, or
	// there is nothing to ask any more.
	LookupOf(ctx context.Context, ref Ref) (Attempt, bool, error)
	// Owned says which of an account's calls are other attempts' than this one.
	Owned(ctx context.Context, a Attempt, callIDs []string) (map[string]bool, error)
	// KeepLookup writes down what came of one, and when to ask again; the zero time is never.
	KeepLookup(ctx context.Context, a Attempt, all []Lookup, again time.Time) error
	// Keep has a record weighed as the carrier's word.
	Keep(ctx context.Context, set []arrivals.Arrival) ([]bool, error)
}

// Lookups asks.
type Lookups struct {
	Store Store
	// Carrier is the account of that name, where this process can ask it. Its second result is
	// false where it cannot; an account that keeps no records is nil.
	Carrier func(account string) (Carrier, bool)
	Read    arrivals.Reader
	Log     *slog.Logger
}

// Do looks one attempt up, if its time has come. An error is the database's; what a carrier
// fails to answer is kept, and asked again later.
func (l *Lookups) Do(ctx context.Context, ref Ref) error {
	a, due, err := l.Store.LookupOf(ctx, ref)
	if err != nil || !due {
		return err
	}
	from, known := l.Carrier(a.Account)
	if !known {
		return nil // somebody else's to ask
	}
	all, again, err := l.ask(ctx, from, &a)
	if err != nil {
		return err
	}
	// However long the carrier took: what was asked and came to nothing must not be asked at once again.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), keepTimeout)
	defer cancel()
	return l.Store.KeepLookup(ctx, a, all, again)
}

const (
	askTimeout  = 20 * time.Second // all questions about one attempt together
	keepTimeout = 5 * time.Second
)

func (l *Lookups) ask(ctx context.Context, from Carrier, a *Attempt) (all []Lookup, again time.Time, err error) {
	if from == nil {
		return []Lookup{{Question: a.question(), AskedAt: a.Now, Says: "this carrier keeps no records that could be asked"}}, time.Time{}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	if a.Placed {
		all, err = l.fetch(ctx, from, a)
	} else {
		all, err = l.search(ctx, from, a)
	}
	return all, a.again(from.QueuesFor()), err
}

func (a Attempt) question() Question {
	if a.Placed {
		return Fetch
	}
	return Search
}

// fetch asks what became of a call that was placed, and ends it where it is queued and too late.
func (l *Lookups) fetch(ctx context.Context, from Carrier, a *Attempt) ([]Lookup, error) {
	asked := Lookup{Question: Fetch, AskedAt: a.Now}
	report, err := l.record(ctx, from, a, a.CallID)
	var failed *askError
	switch {
	case errors.As(err, &failed):
		asked.Says = failed.Error()
		return []Lookup{asked}, nil
	case err != nil:
		return nil, err
	}
	a.Status = carrier.Later(a.Status, report.Status)
	asked.Answered, asked.Says = true, "the call is "+cmp.Or(string(report.Status), "in a state that is not known here")
	all := []Lookup{asked}
	if report.Status != carrier.StatusQueued || !a.Now.After(a.LateAt) || report.Them != a.To {
		return all, nil // one that is not to this number is somebody else's, whoever named it
	}
	end := Lookup{Question: Cancel, AskedAt: a.Now, Says: "it was queued still, and too late to ring: the carrier was told to let it be"}
	if err := from.Cancel(ctx, a.CallID); err != nil {
		end.Says = "it is queued still, and too late to ring, and could not be cancelled: " + carrier.CleanText(err.Error())
		l.Log.Error("a call that is too late to ring is queued at the carrier and cannot be cancelled", "followup", a.FollowUp, "attempt", a.No, "err", err)
	} else {
		end.Answered = true
		l.Log.Warn("a call that was too late to ring was cancelled in the carrier's queue", "followup", a.FollowUp, "attempt", a.No)
	}
	return append(all, end), nil
}

// search asks which calls an uncertain attempt may have been.
func (l *Lookups) search(ctx context.Context, from Carrier, a *Attempt) ([]Lookup, error) {
	asked := Lookup{Question: Search, AskedAt: a.Now}
	found, err := from.Find(ctx, carrier.Sought{Token: a.Token, To: a.To, From: a.From, Since: a.BeginAt})
	if err != nil {
		asked.Says = "no answer to go by: " + carrier.CleanText(err.Error())
		return []Lookup{asked}, nil
	}
	ids := make([]string, len(found.Records))
	for i, r := range found.Records {
		ids[i] = r.CallID
	}
	others, err := l.Store.Owned(context.WithoutCancel(ctx), *a, ids)
	if err != nil {
		return nil, err
	}
	asked.Answered = true
	for _, r := range found.Records {
		if others[r.CallID] {
			continue
		}
		asked.Found = append(asked.Found, r)
		if r.Token != "" && r.Token == a.Token {
			if _, err := l.record(ctx, from, a, r.CallID); err != nil {
				var failed *askError
				if !errors.As(err, &failed) {
					return nil, err
				}
				l.Log.Warn("a record with an attempt's own token cannot be fetched", "followup", a.FollowUp, "attempt", a.No, "err", failed)
			}
		}
	}
	asked.Says = says(len(found.Records), len(asked.Found), found.Cut)
	return []Lookup{asked}, nil
}

func says(listed, left int, cut bool) string {
	text := fmt.Sprintf("%d call(s) listed, of which %d may be this one", listed, left)
	if listed == 0 {
		text = "no such call is listed"
	}
	if cut {
		text += "; there are more than were looked at"
	}
	return text
}

// askError says that the carrier gave no answer to go by.
type askError struct{ error }

// record fetches a call's record and has it weighed as an arrival.
func (l *Lookups) record(ctx context.Context, from Carrier, a *Attempt, callID string) (carrier.Report, error) {
	body, err := from.Fetch(ctx, callID)
	if err != nil {
		return carrier.Report{}, &askError{errors.New("no answer to go by: " + carrier.CleanText(err.Error()))}
	}
	name, _ := carrier.SplitAccount(a.Account)
	d := carrier.Delivery{Kind: arrivals.Record, Token: a.Token, Body: body}
	report, err := l.Read(name)(d)
	switch {
	case err != nil:
		return report, &askError{errors.New("its record cannot be read: " + carrier.CleanText(err.Error()))}
	case report.ID != callID:
		return report, &askError{errors.New("its record is of another call")}
	}
	_, err = l.Store.Keep(context.WithoutCancel(ctx), []arrivals.Arrival{{Accounts: []string{a.Account}, Delivery: d, Report: report}})
	return report, err
}
