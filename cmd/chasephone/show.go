package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"chasephone/internal/desk"
	"chasephone/internal/followup"
	"chasephone/internal/store"
)

type showCmd struct {
	ID     string `arg:"" name:"id" help:"A follow-up's id or ref, or the id of one of its approvals."`
	Tenant string `placeholder:"TENANT" help:"Whose ref is meant, where several tenants have it."`
	Now    bool   `help:"Also what every gate says this minute, and when it could next be rung. It changes nothing and rings nobody."`
	JSON   bool   `name:"json" help:"Print JSON, with the number in full."`
}

// shown is what show prints as JSON.
type shown struct {
	store.Story
	LateAt *time.Time `json:"late_at,omitempty"` // after this instant it is missed; absent once it is over
	Now    *judged    `json:"now,omitempty"`
}

func (c showCmd) Run(ctx context.Context, p process) error {
	db, conf, err := p.open(ctx)
	if err != nil {
		return err
	}
	defer db.Close()
	s, err := db.Story(ctx, desk.Name{Text: c.ID, Tenant: c.Tenant})
	if err != nil {
		return named(err, c.ID)
	}
	limits, err := db.Limits(ctx)
	if err != nil {
		return err
	}
	now, err := databaseNow(ctx, db)
	if err != nil {
		return err
	}
	answer := shown{Story: s, LateAt: lateAt(s.FollowUp, limits)}
	if c.Now {
		j, warnings, err := dryRun(ctx, db, conf, s.FollowUp)
		if err != nil {
			return err
		}
		p.warn(warnings)
		answer.Now = &j
	}
	if c.JSON {
		return printJSON(p.stdout, answer)
	}
	out := &printer{w: p.stdout}
	told := story{printer: out, veil: veilOf(s.FollowUp.PhoneNumber), shown: answer, now: now}
	told.tell()
	told.gatesNow()
	return out.err
}

// lateAt is the last instant at which a follow-up may still be rung (R4), nil where it has
// none: it is over, or never due.
func lateAt(f store.FollowUp, l followup.Limits) *time.Time {
	due, finite := parsed(f.DueAt)
	if !finite || f.State.Final() {
		return nil
	}
	at := due.Add(l.MaxLate)
	if at.Year() > 9999 { // as good as never, and more than JSON's form of an instant can hold
		return nil
	}
	return &at
}

// named tells a follow-up that is not there from a name that cannot be one: neither an id
// nor the ref of anything is a mistake in the command.
func named(err error, text string) error {
	if !errors.Is(err, desk.ErrNotFound) {
		return err
	}
	if _, bad := uuid.Parse(strings.TrimSpace(text)); bad == nil {
		return err
	}
	return &desk.Misuse{Says: fmt.Sprintf("no such follow-up: %q is not an id, and no follow-up has it as its ref", text)}
}
