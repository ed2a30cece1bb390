package arrivals

import (
	"slices"
	"strings"
	"time"

	"chasephone/internal/carrier"
	"chasephone/internal/phone"
)

// Message is one call or one text in the thread of the person it was with, as far as arrivals
// have told. It is a join of what each of them says: Join is commutative, associative and
// idempotent, so that any order and any repetition of the same arrivals comes to the same.
type Message struct {
	Key
	Kind      string // carrier.KindCall or KindText
	Direction string
	Us        phone.Number // the smaller, should two be told; zero: none was
	Them      phone.Number
	Token     string           // the attempt's, where one of them carried it
	Status    carrier.Status   // the furthest
	Finals    []carrier.Status // every final one, in their order: more than one is a conflict
	Dialed    []string         // the numbers of which more is said than that nobody was rung, in order; "" where none is named
	Asked     bool             // all are records that were asked for: the carrier sent none by itself
	BeganAt   time.Time        // the earliest instant that is told
	EndedAt   time.Time        // the earliest at which it was over; zero: it is not known to be
	Seconds   int              // the longest
	Text      string
}

// Key tells messages apart.
type Key struct {
	Tenant  string
	Account string
	ID      string // the carrier's own
}

// Dials reports whether some arrival says that the number was dialed, as far as it says which.
func (m Message) Dials(number string) bool {
	return slices.Contains(m.Dialed, "") || slices.Contains(m.Dialed, number)
}

// Conflict reports whether the carrier gave a call two different ends.
func (m Message) Conflict() bool { return len(m.Finals) > 1 }

// Join is what two accounts of one message come to.
func Join(a, b Message) Message {
	return Message{
		Key:       a.Key,
		Kind:      lesser(a.Kind, b.Kind),
		Direction: greater(a.Direction, b.Direction), // out before in: a call of ours is not one that came in
		Us:        phone.FromE164(lesser(a.Us.E164(), b.Us.E164())),
		Them:      phone.FromE164(lesser(a.Them.E164(), b.Them.E164())),
		Token:     lesser(a.Token, b.Token),
		Status:    carrier.Later(a.Status, b.Status),
		Finals:    union(a.Finals, b.Finals, func(x, y carrier.Status) int { return x.Rank() - y.Rank() }),
		Dialed:    union(a.Dialed, b.Dialed, strings.Compare),
		Asked:     a.Asked && b.Asked,
		BeganAt:   earlier(a.BeganAt, b.BeganAt),
		EndedAt:   earlier(a.EndedAt, b.EndedAt),
		Seconds:   max(a.Seconds, b.Seconds),
		Text:      greater(a.Text, b.Text),
	}
}

// message is what one arrival alone says.
func message(k Kept, r carrier.Report) Message {
	at := r.At
	if at.IsZero() {
		at = k.ReceivedAt
	}
	m := Message{
		Key:  Key{k.Tenant, k.Account, r.ID},
		Kind: r.Kind, Direction: r.Direction, Us: r.Us, Them: r.Them, Token: r.Token,
		Status: r.Status,
		Asked:  k.Kind == Record, BeganAt: at, Seconds: r.Seconds, Text: r.Text,
	}
	if r.Kind == carrier.KindCall && !r.Status.NotDialed() {
		m.Dialed = []string{r.Them.E164()}
	}
	if r.Status.Final() { // a call that is told of at its end began as long before as it lasted
		m.Finals, m.EndedAt, m.BeganAt = []carrier.Status{r.Status}, at, at.Add(-time.Duration(r.Seconds)*time.Second)
	}
	return m
}

// lesser is the first of two in their order; an empty one says nothing.
func lesser(a, b string) string {
	if a == "" || b != "" && b < a {
		return b
	}
	return a
}

func greater(a, b string) string { return max(a, b) }

// earlier is the first of two; the zero time says nothing.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

func union[T comparable](a, b []T, order func(x, y T) int) []T {
	if len(a)+len(b) == 0 {
		return nil
	}
	all := slices.Concat(a, b)
	slices.SortFunc(all, order)
	return slices.Compact(all)
}
