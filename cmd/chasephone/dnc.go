package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"chasephone/internal/desk"
	"chasephone/internal/phone"
	"chasephone/internal/store"
)

type dncCmd struct {
	Add    dncAddCmd    `cmd:"" help:"Put a number on the list: nobody calls it any more."`
	Remove dncRemoveCmd `cmd:"" help:"Take a number off the list."`
	List   dncListCmd   `cmd:"" help:"List the entries, the oldest first."`
	Import dncImportCmd `cmd:"" help:"Put many numbers on the list, one a line."`
}

// whose is the list that is meant. Empty is a mistake and not everybody.
type whose struct {
	Tenant *string `placeholder:"TENANT" help:"For this tenant only (default: for every tenant)."`
}

// Validate is asked by kong.
func (w whose) Validate() error {
	if w.Tenant != nil && *w.Tenant == "" {
		return &desk.Misuse{Says: "--tenant must not be empty: leave it out for every tenant"}
	}
	return nil
}

func (w whose) tenant() string {
	if w.Tenant == nil {
		return ""
	}
	return *w.Tenant
}

// list names a list in a sentence.
func list(tenant string) string {
	if tenant == "" {
		return "the do-not-call list for every tenant"
	}
	return "tenant " + plain(tenant) + "'s do-not-call list"
}

// spelled is how numbers without a country code are read.
type spelled struct {
	Region string `placeholder:"CC" help:"The region of numbers without a country code, US for instance (default: the tenant's)."`
}

func (s spelled) region(ctx context.Context, db *store.Store, tenant string) (string, error) {
	region, err := db.Region(ctx, tenant) // and says where there is no such tenant
	if err == nil && s.Region != "" {
		region = strings.ToUpper(s.Region)
	}
	return region, err
}

func (s spelled) read(ctx context.Context, db *store.Store, raw, tenant string) (phone.Number, error) {
	region, err := s.region(ctx, db, tenant)
	if err != nil {
		return phone.Number{}, err
	}
	id, problem := identify(raw, region)
	if problem != "" {
		return phone.Number{}, &desk.Misuse{Says: fmt.Sprintf("%s (it was read as in region %s)", problem.Sentence(), region)}
	}
	return id.Number, nil
}

type dncAddCmd struct {
	Number string `arg:"" help:"The number, in any spelling."`
	whose
	spelled
	Source string `placeholder:"TEXT" help:"Where the wish was made known, for the record."`
	by
	JSON bool `name:"json" help:"Print JSON."`
}

// dncChange is what add and remove print as JSON.
type dncChange struct {
	Number  string   `json:"number"`
	Tenant  string   `json:"tenant_id"` // "" for every tenant
	Changed bool     `json:"changed"`
	Kept    []string `json:"still_listed_for,omitempty"` // other lists that have it: tenants, "" for all
}

func (c dncAddCmd) Run(ctx context.Context, p process) error {
	db, _, who, err := p.openAs(ctx, c.by)
	if err != nil {
		return err
	}
	defer db.Close()
	n, err := c.read(ctx, db, c.Number, c.tenant())
	if err != nil {
		return err
	}
	changed, err := db.AddOptOut(ctx, store.OptOut{Number: n, Tenant: c.tenant(), Source: reason(c.Source), By: who})
	if err != nil {
		return err
	}
	if c.JSON {
		return printJSON(p.stdout, dncChange{Number: n.E164(), Tenant: c.tenant(), Changed: changed})
	}
	out := &printer{w: p.stdout}
	if changed {
		out.printf("%v is on %s", n, list(c.tenant()))
	} else {
		out.printf("%v was on %s already; the earlier entry stands", n, list(c.tenant()))
	}
	return out.err
}

type dncRemoveCmd struct {
	Number string `arg:"" help:"The number, in any spelling."`
	whose
	spelled
	by
	JSON bool `name:"json" help:"Print JSON."`
}

func (c dncRemoveCmd) Run(ctx context.Context, p process) error {
	db, _, who, err := p.openAs(ctx, c.by)
	if err != nil {
		return err
	}
	defer db.Close()
	n, err := c.read(ctx, db, c.Number, c.tenant())
	if err != nil {
		return err
	}
	changed, kept, err := db.RemoveOptOut(ctx, n, c.tenant(), who)
	if err != nil {
		return err
	}
	if c.JSON {
		return printJSON(p.stdout, dncChange{n.E164(), c.tenant(), changed, kept})
	}
	out := &printer{w: p.stdout}
	if changed {
		out.printf("%v is taken off %s", n, list(c.tenant()))
	} else {
		out.printf("%v was not on %s", n, list(c.tenant()))
	}
	for _, tenant := range kept {
		out.printf("it is still on %s", list(tenant))
	}
	return out.err
}

type dncListCmd struct {
	Tenant string `placeholder:"TENANT" help:"Only what holds for this tenant: its own entries, and those for every tenant."`
	Most   most   `default:"100" placeholder:"N" help:"How many at most (default: ${default})."`
	JSON   bool   `name:"json" help:"Print JSON, with the numbers in full."`
}

type dncListed struct {
	Entries []dncEntry `json:"entries"`
	More    bool       `json:"more"` // there are more than were asked for
}

type dncEntry struct {
	Number string    `json:"number"`
	Tenant string    `json:"tenant_id"` // "" for every tenant
	Source string    `json:"source,omitempty"`
	Added  time.Time `json:"added_at"`
	By     string    `json:"added_by"`
}

func (c dncListCmd) Run(ctx context.Context, p process) error {
	db, _, err := p.open(ctx)
	if err != nil {
		return err
	}
	defer db.Close()
	all, err := db.OptOuts(ctx, c.Tenant, c.Most.andOne())
	if err != nil {
		return err
	}
	all, more := cut(all, c.Most)
	if c.JSON {
		answer := dncListed{make([]dncEntry, len(all)), more}
		for i, o := range all {
			answer.Entries[i] = dncEntry{o.Number.E164(), o.Tenant, o.Source, o.Added, o.By}
		}
		return printJSON(p.stdout, answer)
	}
	rows := make([][]string, len(all))
	for i, o := range all {
		v := veilOf(o.Number.E164())
		rows[i] = []string{o.Number.Masked(), either(o.Tenant, "(every)"), strings.TrimSuffix(when(o.Added), " UTC"), v.text(o.By), short(v.text(o.Source))}
	}
	return p.listed("NUMBER|TENANT|ADDED (UTC)|BY|SOURCE", rows, "no entries", more)
}
