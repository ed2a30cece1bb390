package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"chasephone/internal/desk"
	"chasephone/internal/followup"
	"chasephone/internal/store"
)

type listCmd struct {
	Tenant string `placeholder:"TENANT" help:"Only this tenant's."`
	State  state  `placeholder:"STATE" help:"Only those in this state."`
	Ref    string `placeholder:"REF" help:"Only those with this ref."`
	Most   most   `default:"100" placeholder:"N" help:"How many at most (default: ${default})."`
	JSON   bool   `name:"json" help:"Print JSON, with the numbers in full."`
}

// listed is what list prints as JSON.
type listed struct {
	FollowUps []store.FollowUp `json:"followups"`
	More      bool             `json:"more"` // there are more than were asked for
}

func (c listCmd) Run(ctx context.Context, p process) error {
	db, _, err := p.open(ctx)
	if err != nil {
		return err
	}
	defer db.Close()
	all, err := db.List(ctx, store.Filter{Tenant: c.Tenant, State: followup.State(c.State), Ref: c.Ref, Most: c.Most.andOne()})
	if err != nil {
		return err
	}
	all, more := cut(all, c.Most)
	if c.JSON {
		return printJSON(p.stdout, listed{all, more})
	}
	rows := make([][]string, len(all))
	for i, f := range all {
		v := veilOf(f.PhoneNumber)
		next := ""
		if f.State == followup.Due {
			next = column(f.NextTryAt)
		}
		rows[i] = []string{
			short(v.text(f.Ref)), f.ID, column(f.DueAt), string(f.State), next, masked(f.PhoneNumber), v.text(f.Reason), v.text(f.CallID),
		}
	}
	return p.listed("REF|ID|DUE (UTC)|STATE|NEXT TRY (UTC)|NUMBER|REASON|CALL", rows, "no follow-ups", more)
}

// column is an instant in a column that says UTC above it.
func column(instantText string) string { return strings.TrimSuffix(instant(instantText), " UTC") }

// most bounds how many rows are read.
type most int

// Validate is asked by kong.
func (m most) Validate() error {
	if m < 1 || m > 100_000 {
		return &desk.Misuse{Says: "accepts 1 to 100000"}
	}
	return nil
}

// listed prints a list: none is what there is instead of rows, and more that it was cut short.
func (p process) listed(heading string, rows [][]string, none string, more bool) error {
	out := &printer{w: p.stdout}
	if len(rows) == 0 {
		out.printf("%s", none)
		return out.err
	}
	if err := table(p.stdout, heading, rows); err != nil {
		return err
	}
	if more {
		out.printf("there are more: --most says how many are listed")
	}
	return out.err
}

// andOne asks for one more, to know whether there are more.
func (m most) andOne() int { return int(m) + 1 }

// cut takes that one away again.
func cut[T any](all []T, m most) (_ []T, more bool) {
	if len(all) > int(m) {
		return all[:m], true
	}
	if all == nil {
		all = []T{} // null is no list
	}
	return all, false
}

// state is the name of a state.
type state followup.State

// UnmarshalText refuses what is none.
func (s *state) UnmarshalText(text []byte) error {
	names := followup.States()
	if !slices.Contains(names, followup.State(text)) {
		return fmt.Errorf("%q is no state: there are %s", text, strings.Trim(fmt.Sprint(names), "[]"))
	}
	*s = state(text)
	return nil
}
