package main

import (
	"context"
	"time"

	"chasephone/internal/desk"
	"chasephone/internal/store"
)

type reportCmd struct {
	Number   string  `arg:"" help:"The number, in any spelling."`
	Placed   bool    `xor:"direction" required:"" help:"Somebody called this number: it counts in caps, gaps and budgets like a call of ours."`
	CalledIn bool    `xor:"direction" required:"" help:"The person reached us: promised calls to them are held for a person to look at."`
	At       *moment `placeholder:"T" help:"When it began: RFC 3339, or now (default). Given, the same report again changes nothing."`
	Talked   bool    `help:"With --placed: it reached somebody."`
	Tenant   string  `default:"default" placeholder:"TENANT" help:"Whose call it was (default: ${default})."`
	Source   string  `placeholder:"TEXT" help:"Where this is known from, for the record."`
	dialled
	by
	JSON bool `name:"json" help:"Print JSON, with the number in full."`
}

// reported is what report prints as JSON.
type reported struct {
	Number    string    `json:"number"`
	Tenant    string    `json:"tenant_id"`
	Direction string    `json:"direction"` // out or in
	BeganAt   time.Time `json:"began_at"`
	Talked    bool      `json:"talked"`
	Changed   bool      `json:"changed"` // false: it was reported already, just so
}

// ahead is how much earlier than its reporter's the database's clock may be.
const ahead = time.Minute

func (c reportCmd) Run(ctx context.Context, p process) error {
	if c.CalledIn && c.Talked {
		return &desk.Misuse{Says: "--talked goes with --placed: whoever called in has reached us"}
	}
	db, _, who, err := p.openAs(ctx, c.by)
	if err != nil {
		return err
	}
	defer db.Close()
	n, err := spelled{Region: string(c.Region)}.read(ctx, db, c.Number, c.Tenant)
	if err != nil {
		return err
	}
	began, err := databaseNow(ctx, db)
	if err != nil {
		return err
	}
	if c.At != nil {
		at := c.At.from(began)
		if at.After(began.Add(ahead)) {
			return &desk.Misuse{Says: "--at is in the future: only a call that has begun can be reported"}
		}
		began = at
	}
	call := store.OtherCall{
		Tenant: c.Tenant, Number: n, Direction: store.CallOut, BeganAt: began, Talked: c.Talked,
		Source: reason(c.Source), By: who, Once: c.At != nil,
	}
	if c.CalledIn {
		call.Direction = store.CallIn
	}
	came, err := db.ReportCall(ctx, call)
	if err != nil {
		return err
	}
	if c.JSON {
		return printJSON(p.stdout, reported{n.E164(), c.Tenant, call.Direction, began.UTC(), c.Talked, came != store.ReportedAlready})
	}
	out := &printer{w: p.stdout}
	out.printf("a call %s %v at %s (tenant %s): %s", either(only(c.CalledIn, "from"), "to"), n, when(began), plain(c.Tenant), map[store.Reported]string{
		store.ReportedNew:     "reported",
		store.ReportedAlready: "it was reported already, and nothing was changed",
		store.ReportedTalk:    "it was reported already; that it reached somebody is noted now",
	}[came])
	return out.err
}
