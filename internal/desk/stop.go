package desk

import (
	"context"
	"fmt"
	"time"
)

// Scope is what is stopped or resumed: everything, a tenant, or one line of a tenant.
type Scope struct {
	Tenant string // "" for everything
	Line   string // "" for the whole tenant
}

func (s Scope) String() string {
	switch {
	case s.Line != "":
		return fmt.Sprintf("line %s of tenant %s", s.Line, s.Tenant)
	case s.Tenant != "":
		return "tenant " + s.Tenant
	}
	return "everything"
}

// Stopped is what a stop found.
type Stopped struct {
	Already bool      `json:"already"` // it was stopped before
	By      string    `json:"by"`
	At      time.Time `json:"at"`
	Out     []Out     `json:"out"` // attempts that were already out
}

// Out is an attempt that was committed before a stop: its call may ring.
type Out struct {
	FollowUp string    `json:"followup"`
	Attempt  int       `json:"attempt"`
	Tenant   string    `json:"tenant_id"`
	Line     string    `json:"line"`
	AnswerBy time.Time `json:"answer_by"`
}

// Stop stops the scope on every replica and across restarts (R14).
func (d Desk) Stop(ctx context.Context, scope Scope, by string) (Stopped, error) {
	by, err := Person(by)
	if err != nil {
		return Stopped{}, err
	}
	return d.Store.Stop(ctx, scope, by)
}

// Resume lifts a stop.
func (d Desk) Resume(ctx context.Context, scope Scope, by string) (lifted bool, due int, err error) {
	if by, err = Person(by); err != nil {
		return false, 0, err
	}
	return d.Store.Resume(ctx, scope, by)
}
