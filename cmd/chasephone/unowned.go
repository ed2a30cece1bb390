package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"chasephone/internal/carrier"
	"chasephone/internal/phone"
	"chasephone/internal/store"
)

const (
	unownedMost    = 2000        // promises that are looked for
	unownedAtOnce  = 8           // questions to carriers at once
	unownedTimeout = time.Minute // for all questions together
	admitSet       = 500
)

// unownedCall is a call that a carrier lists to somebody who is to be called, and that no attempt owns.
// One call is there once for every promise to that number.
type unownedCall struct {
	Promise store.Promise `json:"followup"`
	carrier.Record
	Account string `json:"account"`
	// Ours says that it went out as this promise's calls do, and that no other promise is to its number.
	Ours bool `json:"ours"`
}

// search is what carriers were asked for, and what they said.
type search struct {
	Calls   []unownedCall `json:"calls"`
	Asked   int           `json:"followups_asked_about"`
	Unasked []string      `json:"not_answered"` // accounts that were not asked, or gave no answer to go by, and why
	More    bool          `json:"more"`         // there are more promises than were asked about
}

// calls is how many calls there are.
func (s search) calls() int {
	ids := map[string]bool{}
	for _, call := range s.Calls {
		ids[call.CallID] = true
	}
	return len(ids)
}

// unclear are those of which nobody can say which promise they kept, if any.
func (s search) unclear() bool {
	return slices.ContainsFunc(s.Calls, func(c unownedCall) bool { return !c.Ours })
}

// whole reports whether the carriers answered for everything.
func (s search) whole() bool { return len(s.Unasked) == 0 && !s.More }

// searchUnowned asks the carriers for calls since then to people whose promises are to be kept
// still, and whose time had come: attempts that the database has forgotten. With everywhere it
// asks every account there is, for calls by any number: lines may have been others since.
func searchUnowned(ctx context.Context, db *store.Store, a *accounts, since time.Time, everywhere bool) (search, error) {
	until := time.Now().Add(unownedTimeout)
	for { // a promise that nobody has looked at has no number yet
		n, err := db.Admit(ctx, admitSet, identify)
		if err != nil {
			return search{}, err
		}
		if n < admitSet {
			break
		}
	}
	promises, more, err := db.MayHaveRung(ctx, unownedMost)
	if err != nil {
		return search{}, err
	}
	s := search{Calls: []unownedCall{}, Asked: len(promises), Unasked: []string{}, More: more}
	var (
		mu      sync.Mutex
		failed  error
		unasked = map[string]string{}
		asking  sync.WaitGroup
		turns   = make(chan struct{}, unownedAtOnce)
		alone   = map[phone.Number]int{} // promises to a number
	)
	ask := func(p store.Promise, account string, from phone.Number) {
		turns <- struct{}{}
		asking.Go(func() {
			defer func() { <-turns }()
			mu.Lock()
			_, gaveNone := unasked[account]
			mu.Unlock()
			if gaveNone {
				return
			}
			sought := carrier.Sought{To: p.To, From: from, Since: since}
			left, why, err := unownedOf(ctx, db, a, account, sought, until)
			mu.Lock()
			defer mu.Unlock()
			failed = cmp.Or(failed, err)
			if why != "" {
				unasked[account] = why
			}
			for _, r := range left {
				ours := account == p.Account && (r.From.IsZero() || r.From == p.From) && alone[p.To] == 1
				s.Calls = append(s.Calls, unownedCall{p, r, account, ours})
			}
		})
	}
	for _, p := range promises {
		alone[p.To]++
	}
	for _, p := range promises {
		if !everywhere {
			ask(p, p.Account, p.From)
			continue
		}
		for _, account := range a.named(p.Account) {
			ask(p, account, phone.Number{})
		}
	}
	asking.Wait()
	for name, why := range unasked {
		s.Unasked = append(s.Unasked, fmt.Sprintf("%s: %s", name, why))
	}
	slices.Sort(s.Unasked)
	slices.SortFunc(s.Calls, func(a, b unownedCall) int {
		return cmp.Or(cmp.Compare(a.Promise.ID, b.Promise.ID), cmp.Compare(a.CallID, b.CallID))
	})
	return s, failed
}

// unownedOf asks one account; why is set where there was no answer to go by.
func unownedOf(ctx context.Context, db *store.Store, a *accounts, account string, sought carrier.Sought, until time.Time) (left []carrier.Record, why string, err error) {
	records, have := a.records(account)
	switch {
	case !have:
		return nil, "this environment has no such account", nil
	case records == nil:
		return nil, "it keeps no records that could be asked", nil
	}
	asking, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	found, err := records.Find(asking, sought)
	if err != nil {
		return nil, carrier.CleanText(err.Error()), nil
	}
	if found.Cut {
		why = "it lists more calls than were looked at"
	}
	left, err = db.Unowned(ctx, account, sought.To, rung(found.Records))
	return left, why, err
}

// rung leaves out calls that reached nobody's phone.
func rung(listed []carrier.Record) []carrier.Record {
	return slices.DeleteFunc(slices.Clone(listed), func(r carrier.Record) bool { return r.Status.NotDialed() })
}
