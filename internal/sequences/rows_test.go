package sequences_test

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"chasephone/internal/followup"
	"chasephone/internal/phone"
)

// followUp is a follow-up with all that hangs on it. The store in memory keeps it; the one in
// PostgreSQL is read into it.
type followUp struct {
	ID            string
	Tenant, Ref   string
	DueAt         time.Time
	Number        string // as given
	Script        string
	NeedsApproval bool
	Line          string // "": the tenant's default
	SuccessorOf   string // its id

	State      followup.State
	NextTryAt  time.Time // zero: nobody has looked at it
	Ready      bool
	Reason     string
	CallID     string
	CallStatus string
	DecidedBy  string

	Attempts  []*attempt  // by number
	Approvals []*approval // in the order in which they were asked for
	Evidence  []evidence
	Ledger    []entry

	identity phone.Identity
	problem  phone.Problem
	known    bool // its number was looked at
}

// key names a follow-up in whatever store: the ids of successors differ.
func (f *followUp) key() string { return f.Ref + " " + instant(f.DueAt) }

func (f *followUp) newest() *attempt {
	if len(f.Attempts) == 0 {
		return nil
	}
	return f.Attempts[len(f.Attempts)-1]
}

// approval is its newest.
func (f *followUp) approval() *approval {
	if len(f.Approvals) == 0 {
		return nil
	}
	return f.Approvals[len(f.Approvals)-1]
}

type attempt struct {
	No       int
	Token    string
	Line     string
	Spends   int // which of the follow-up's approvals, from 1; 0: none
	Created  time.Time
	SendBy   time.Time
	AnswerBy time.Time
	Outcome  string // "" while it is open
	At       time.Time
	CallID   string
	By       string
}

// mayHaveRung is not proven, by the carrier or by what was never sent.
func (a *attempt) mayHaveRung() bool { return a.Outcome != "not_placed" }

type approval struct {
	Reasons  []string
	Number   string
	Line     string
	Caller   string
	Words    string
	Asked    time.Time
	Decision string
	At       time.Time
	By       string
}

type evidence struct {
	No           int
	Source, Says string
	CallID       string
	Conflict     bool
}

// entry is a row of the ledger.
type entry struct {
	Version  int
	At       time.Time
	From, To followup.State
	Outcome  followup.Outcome
	Actor    string
	By       string
	Reason   string
	No       int // the attempt's
	Slot     time.Time
	Place    int
}

// lineRow is a line as it stands.
type lineRow struct {
	Tenant, Name string
	Stopped      bool
	Held         time.Time
	HeldFor      string
	HeldBy       string
	Unknowns     int
}

// picture is what a store shows, as a text that both stores must agree on.
func picture(all []*followUp, lines []lineRow) string {
	var b strings.Builder
	byID := map[string]string{}
	for _, f := range all {
		byID[f.ID] = f.key()
	}
	sorted := slices.SortedFunc(slices.Values(all), func(a, b *followUp) int {
		return strings.Compare(a.Tenant+" "+a.key(), b.Tenant+" "+b.key())
	})
	for _, f := range sorted {
		fmt.Fprintf(&b, "%s %s: %s %q ready %t next %s call %q %q by %q from %q\n", f.Tenant, f.key(), f.State, f.Reason, f.Ready, instant(f.NextTryAt),
			f.CallID, f.CallStatus, f.DecidedBy, byID[f.SuccessorOf])
		for _, a := range f.Attempts {
			fmt.Fprintf(&b, "  attempt %d %s on %s spends %d, created %s, send by %s, answer by %s: %q at %s call %q by %q\n", a.No, a.Token, a.Line, a.Spends,
				instant(a.Created), instant(a.SendBy), instant(a.AnswerBy), a.Outcome, instant(a.At), a.CallID, a.By)
		}
		for _, p := range f.Approvals {
			fmt.Fprintf(&b, "  approval %v asked %s on %s from %s to %s: %q at %s by %q\n", p.Reasons, instant(p.Asked), p.Line, p.Caller, p.Number, p.Decision, instant(p.At), p.By)
		}
		for _, e := range slices.SortedFunc(slices.Values(f.Evidence), func(a, b evidence) int {
			return strings.Compare(fmt.Sprint(a), fmt.Sprint(b))
		}) {
			fmt.Fprintf(&b, "  evidence on %d: %s says %s %s, conflict %t\n", e.No, e.Source, e.Says, e.CallID, e.Conflict)
		}
		for _, e := range f.Ledger {
			fmt.Fprintf(&b, "  ledger %d at %s: %s to %s, %q by %s %q, %q attempt %d slot %s place %d\n", e.Version, instant(e.At), e.From, e.To, e.Outcome,
				e.Actor, e.By, e.Reason, e.No, instant(e.Slot), e.Place)
		}
	}
	for _, l := range lines {
		fmt.Fprintf(&b, "line %s %s: stopped %t held to %s for %q by %q, %d unknowns\n", l.Tenant, l.Name, l.Stopped, instant(l.Held), l.HeldFor, l.HeldBy, l.Unknowns)
	}
	return b.String()
}

func instant(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format("02T15:04:05.999999")
}

// difference is where two pictures part, with some lines around.
func difference(want, got string) string {
	a, b := strings.Split(want, "\n"), strings.Split(got, "\n")
	at := 0
	for at < len(a) && at < len(b) && a[at] == b[at] {
		at++
	}
	from := max(at-6, 0)
	return "memory:\n" + strings.Join(a[from:min(at+5, len(a))], "\n") + "\nPostgreSQL:\n" + strings.Join(b[from:min(at+5, len(b))], "\n")
}
