// Package arrivals takes what carriers send, in two stages. First a delivery is verified and
// stored as it came, and answered; then, from there, it is bridged to contacts, threads and
// messages, and weighed as evidence. A repeated delivery is one more arrival and nothing else:
// arrivals are joined, and a join does not mind in which order, or how often, they come (R12).
package arrivals

import (
	"context"

	"chasephone/internal/carrier"
)

// Carrier is a telephone company as its deliveries are read.
type Carrier struct {
	Name  string
	Kinds []string // of its webhooks: POST /webhooks/{name}/{kind}, or .../{kind}/{token}

	// Read says what a delivery says. It knows no secret, and errs only where the body cannot
	// be taken apart at all: what it does not know of is a Report about nothing.
	Read func(carrier.Delivery) (carrier.Report, error)

	// Reply is what a webhook of that kind is answered with, once it is stored.
	Reply func(kind string) (contentType, body string)
}

// Account is a carrier's account, whose deliveries can be told from forged ones.
type Account struct {
	Name   string                       // "twilio", "twilio/ACME"
	Verify func(carrier.Delivery) error // nil for one that was signed by it, and not long ago where the signature says when
}

// Record is the kind of a delivery that was not sent but asked for: a call's record.
const Record = "record"

// Arrival is one delivery that was verified and read.
type Arrival struct {
	// Accounts are all whose signature it has, in their order: two applications of one customer of
	// a carrier can sign alike. Whose it is, the attempt or the line that it concerns says; where
	// neither does it is the first one's.
	Accounts []string
	Delivery carrier.Delivery
	Report   carrier.Report
}

// Store is the database as deliveries need it.
type Store interface {
	// Keep writes arrivals down as they came, and has them bridged, in one transaction. foreign
	// says which of them concern no attempt and no line of any tenant; they are kept all the same. A
	// *RowError says that the set cannot be written because of what is in it.
	Keep(ctx context.Context, set []Arrival) (foreign []bool, err error)
}

// RowError says that the database refused a set because of what is in it: trying the same set
// again will not help, trying its members alone may.
type RowError struct{ Err error }

func (e *RowError) Error() string { return e.Err.Error() }
func (e *RowError) Unwrap() error { return e.Err }
