package main

import (
	"context"
	"errors"
	"strings"

	"chasephone/internal/desk"
	"chasephone/internal/followup"
	"chasephone/internal/store"
	"chasephone/internal/telemetry"
)

// decision is what every decision on one follow-up takes.
type decision struct {
	ID     string `arg:"" name:"id" help:"A follow-up's id or ref, or an approval's id."`
	Tenant string `placeholder:"TENANT" help:"Whose ref is meant, where several tenants have it."`
	by
	JSON bool `name:"json" help:"Print JSON."`
}

type approveCmd struct {
	decision
	TimeZone string `placeholder:"AREA/CITY" help:"The time zone of the person called, where that is what was asked."`
}

type declineCmd struct {
	decision
	Why string `placeholder:"TEXT" help:"The reason, for the record."`
}

type settleCmd struct {
	decision
	Rang       bool `xor:"said" required:"" help:"It rang: the promise is kept."`
	DidNotRing bool `xor:"said" required:"" help:"It did not ring: it is rung again, unless it is too late."`
	Cancel     bool `help:"With --did-not-ring: it need not be rung again."`
	Attempt    int  `placeholder:"N" help:"Which attempt is meant; needed once an earlier one was settled."`

	Call           string `placeholder:"ID" help:"With --rang: the carrier's own id of the call that it was, so that its end is known."`
	DespiteRecords bool   `help:"With --did-not-ring: say so although the carrier's records list a call that may be it."`
}

type cancelCmd struct {
	decision
	Why string `placeholder:"TEXT" help:"The reason, for the record."`
}

type rescheduleCmd struct {
	decision
	DueAt moment `required:"" placeholder:"T" help:"When to ring instead: RFC 3339, now, or a time from now such as +2h."`
}

func (c approveCmd) Run(ctx context.Context, p process) error {
	return c.run(ctx, p, func(d desk.Desk, name desk.Name, by string) (desk.Result, error) {
		return d.Approve(ctx, name, by, c.TimeZone)
	})
}

func (c declineCmd) Run(ctx context.Context, p process) error {
	return c.run(ctx, p, func(d desk.Desk, name desk.Name, by string) (desk.Result, error) {
		return d.Decline(ctx, name, by, reason(c.Why))
	})
}

func (c settleCmd) Run(ctx context.Context, p process) error {
	if c.Rang && c.Cancel {
		return &desk.Misuse{Says: "--cancel goes with --did-not-ring: what rang cannot be cancelled"}
	}
	if c.Call != "" && !c.Rang || c.DespiteRecords && !c.DidNotRing {
		return &desk.Misuse{Says: "--call goes with --rang, and --despite-records with --did-not-ring"}
	}
	db, _, err := p.open(ctx)
	if err != nil {
		return err
	}
	defer db.Close()
	// What has arrived and is not joined yet may settle it, or say what this person is about to.
	if _, err := bridgeNow(ctx, db); err != nil && c.DidNotRing {
		return err // that it rang may be said whatever else there is
	}
	if err := c.layOut(ctx, p, db); err != nil {
		return err
	}
	c.Call = strings.TrimSpace(c.Call)
	return c.take(p, db, func(d desk.Desk, name desk.Name, by string) (desk.Result, error) {
		if c.Rang {
			return d.Rang(ctx, name, by, c.Attempt, c.Call)
		}
		return d.DidNotRing(ctx, name, by, desk.Silence{Attempt: c.Attempt, Cancel: c.Cancel, Despite: c.DespiteRecords})
	})
}

// layOut prints what the carrier has shown of an uncertain attempt, so that nobody decides, or is
// told to wait, without having had it in front of them; and it checks --call by its carrier's form.
func (c settleCmd) layOut(ctx context.Context, p process, db *store.Store) error {
	s, err := db.Story(ctx, desk.Name{Text: c.ID, Tenant: c.Tenant})
	if err != nil {
		return named(err, c.ID)
	}
	now, err := databaseNow(ctx, db)
	if err != nil {
		return err
	}
	out := &printer{w: p.stdout}
	told := story{printer: out, veil: veilOf(s.FollowUp.PhoneNumber), shown: shown{Story: s}, now: now}
	a, ok := told.newest()
	if !ok || s.FollowUp.State != followup.Uncertain {
		return nil
	}
	if c.Call != "" && !isCallID(a.Carrier, strings.TrimSpace(c.Call)) {
		return &desk.Misuse{Says: "--call accepts the id that " + plain(a.Carrier) + " has for the call"}
	}
	if !c.JSON {
		told.records(a)
	}
	return out.err
}

func (c cancelCmd) Run(ctx context.Context, p process) error {
	return c.run(ctx, p, func(d desk.Desk, name desk.Name, by string) (desk.Result, error) {
		return d.Cancel(ctx, name, by, reason(c.Why))
	})
}

func (c rescheduleCmd) Run(ctx context.Context, p process) error {
	db, _, err := p.open(ctx)
	if err != nil {
		return err
	}
	defer db.Close()
	now, err := databaseNow(ctx, db)
	if err != nil {
		return err
	}
	return c.take(p, db, func(d desk.Desk, name desk.Name, by string) (desk.Result, error) {
		return d.Reschedule(ctx, name, by, c.DueAt.from(now))
	})
}

// verb is one of the desk's.
type verb func(d desk.Desk, name desk.Name, by string) (desk.Result, error)

func (c decision) run(ctx context.Context, p process, decide verb) error {
	db, _, err := p.open(ctx)
	if err != nil {
		return err
	}
	defer db.Close()
	return c.take(p, db, decide)
}

func (c decision) take(p process, db desk.Store, decide verb) error {
	result, err := decide(desk.Desk{Store: db}, desk.Name{Text: c.ID, Tenant: c.Tenant}, c.name())
	var refused *desk.Refusal
	switch {
	case errors.As(err, &refused):
		// What it is instead is part of the answer, and may have changed with it.
		if result.Says = refused.Says; c.JSON && result.ID != "" {
			err = errors.Join(err, printJSON(p.stdout, result))
		}
		return err
	case err != nil:
		return named(err, c.ID)
	case c.JSON:
		return printJSON(p.stdout, result)
	}
	out := &printer{w: p.stdout}
	out.printf("%s (%s): %s", plain(result.Ref), result.ID, plain(result.Says))
	if result.Successor != "" {
		out.printf("its successor is %s", result.Successor)
	}
	return out.err
}

// reason is a person's text as the ledger can hold it: without a number (R15).
func reason(why string) string { return telemetry.MaskText(plain(why)) }
