package arrivals

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"chasephone/internal/carrier"
)

// Kept is an arrival as it is read back.
type Kept struct {
	ID         int64 // in its carrier's table
	Tenant     string
	Account    string
	Kind       string
	Token      string
	Body       []byte
	ReceivedAt time.Time
}

// Foreign is the problem with an arrival that concerns no attempt and no line of any tenant.
const Foreign = "it concerns no attempt and no line of any tenant"

// Reader gives what reads the deliveries of a carrier; nil where none does.
type Reader func(carrier string) func(carrier.Delivery) (carrier.Report, error)

// Folded is what a set of arrivals comes to.
type Folded struct {
	Messages []Message        // by key, each once
	Problems map[int64]string // arrivals of which nothing comes, and why
}

// Fold reads arrivals and joins them.
func Fold(read func(carrier.Delivery) (carrier.Report, error), set []Kept) Folded {
	joined := map[Key]Message{}
	f := Folded{Problems: map[int64]string{}}
	for _, k := range set {
		if k.Tenant == "" {
			f.Problems[k.ID] = Foreign
			continue
		}
		report, err := readOne(read, carrier.Delivery{Kind: k.Kind, Token: k.Token, Body: k.Body})
		switch {
		case err != nil:
			f.Problems[k.ID] = "it cannot be read: " + carrier.CleanText(err.Error())
			continue
		case report.Kind == "" || report.ID == "":
			f.Problems[k.ID] = "it is about no call and no text"
			continue
		case report.Direction == "":
			f.Problems[k.ID] = "it does not say who called whom"
			continue
		}
		m := message(k, report)
		if before, ok := joined[m.Key]; ok {
			m = Join(before, m)
		}
		joined[m.Key] = m
	}
	for _, m := range joined {
		f.Messages = append(f.Messages, m)
	}
	slices.SortFunc(f.Messages, func(a, b Message) int {
		return cmp.Or(cmp.Compare(a.Tenant, b.Tenant), cmp.Compare(a.Account, b.Account), cmp.Compare(a.ID, b.ID))
	})
	return f
}

// readOne keeps one arrival that a reader fails on from holding up all behind it.
func readOne(read func(carrier.Delivery) (carrier.Report, error), d carrier.Delivery) (r carrier.Report, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("reading it failed: %v", p)
		}
	}()
	if read == nil {
		return r, errors.New("this version has no reader for it")
	}
	return read(d)
}
