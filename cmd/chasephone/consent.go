package main

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"chasephone/internal/desk"
	"chasephone/internal/store"
)

type consentCmd struct {
	Add    consentAddCmd    `cmd:"" help:"Put on file that somebody agreed to be called for a purpose."`
	Remove consentRemoveCmd `cmd:"" help:"Take a consent off file, because it was withdrawn for instance."`
	List   consentListCmd   `cmd:"" help:"List what is on file, the oldest first."`
}

// consentOf is which consent is meant.
type consentOf struct {
	Number  string  `arg:"" help:"The number, in any spelling."`
	Purpose purpose `required:"" placeholder:"PURPOSE" help:"What it is for: requested, sales, debt, or a purpose of your own rules."`
	Tenant  string  `default:"default" placeholder:"TENANT" help:"Whose calls it is for (default: ${default})."`
	spelled
	by
	JSON bool `name:"json" help:"Print JSON, with the number in full."`
}

// purpose is a word as rules write it: one in another spelling would never be asked for.
type purpose string

// UnmarshalText refuses what no rule can name.
func (p *purpose) UnmarshalText(text []byte) error {
	if !regexp.MustCompile(`^[a-z][a-z0-9_]{0,30}$`).Match(text) {
		return fmt.Errorf("%q is no purpose: write a word in small letters, such as sales", text)
	}
	*p = purpose(text)
	return nil
}

type consentAddCmd struct {
	consentOf
	Given  *moment `placeholder:"T" help:"When it was given: RFC 3339, or now (default)."`
	Source string  `placeholder:"TEXT" help:"How it was given and where that can be looked up, for the record."`
}

// consentAdded is what add prints as JSON. Where it was on file already, the rest is the earlier entry's.
type consentAdded struct {
	consentEntry
	Changed bool   `json:"changed"`
	Notes   []note `json:"notes,omitempty"`
}

type consentEntry struct {
	Number  string    `json:"number"`
	Tenant  string    `json:"tenant_id"`
	Purpose string    `json:"purpose"`
	Given   time.Time `json:"given_at"`
	Source  string    `json:"source,omitempty"`
	By      string    `json:"added_by"`
}

func entryOf(c store.Consent) consentEntry {
	return consentEntry{c.Number.E164(), c.Tenant, c.Purpose, c.Given.UTC(), c.Source, c.By}
}

func (c consentAddCmd) Run(ctx context.Context, p process) error {
	db, conf, who, err := p.openAs(ctx, c.by)
	if err != nil {
		return err
	}
	defer db.Close()
	n, err := c.read(ctx, db, c.Number, c.Tenant)
	if err != nil {
		return err
	}
	given := store.Consent{Number: n, Tenant: c.Tenant, Purpose: string(c.Purpose), Source: reason(c.Source), By: who}
	if c.Given != nil {
		now, err := databaseNow(ctx, db)
		if err != nil {
			return err
		}
		if given.Given = c.Given.from(now); given.Given.After(now.Add(ahead)) {
			return &desk.Misuse{Says: "--given is in the future: it is " + when(now)}
		}
	}
	stands, changed, err := db.AddConsent(ctx, given)
	if err != nil {
		return err
	}
	answer := consentAdded{consentEntry: entryOf(stands), Changed: changed}
	// It may be the word of an integrator's follow-ups, but it may be mistyped too.
	if known := conf.Gates.Rules.Purposes(); len(known) > 0 && !slices.Contains(known, stands.Purpose) {
		answer.Notes = []note{note("no rule in force names the purpose " + stands.Purpose + ": they tell apart " + strings.Join(known, ", "))}
	}
	if c.JSON {
		return printJSON(p.stdout, answer)
	}
	out := &printer{w: p.stdout}
	says := "is on file"
	if !changed {
		says = "was on file already; the earlier entry stands"
	}
	out.printf("consent of %v to calls of tenant %s for %s %s: given %s, added by %s",
		n, plain(c.Tenant), stands.Purpose, says, when(stands.Given), plain(stands.By))
	for _, n := range answer.Notes {
		out.printf("note: %s", plain(string(n)))
	}
	return out.err
}

type consentRemoveCmd struct{ consentOf }

// consentRemoved is what remove prints as JSON.
type consentRemoved struct {
	Number  string   `json:"number"`
	Tenant  string   `json:"tenant_id"`
	Purpose string   `json:"purpose"`
	Changed bool     `json:"changed"`
	Kept    []string `json:"still_on_file_for,omitempty"` // other purposes of this tenant's calls
}

func (c consentRemoveCmd) Run(ctx context.Context, p process) error {
	db, _, who, err := p.openAs(ctx, c.by)
	if err != nil {
		return err
	}
	defer db.Close()
	n, err := c.read(ctx, db, c.Number, c.Tenant)
	if err != nil {
		return err
	}
	removed, kept, err := db.RemoveConsent(ctx, store.Consent{Number: n, Tenant: c.Tenant, Purpose: string(c.Purpose), By: who})
	if err != nil {
		return err
	}
	if c.JSON {
		return printJSON(p.stdout, consentRemoved{n.E164(), c.Tenant, string(c.Purpose), removed, kept})
	}
	out := &printer{w: p.stdout}
	says := "is taken off file"
	if !removed {
		says = "was not on file"
	}
	out.printf("consent of %v to calls of tenant %s for %s %s", n, plain(c.Tenant), c.Purpose, says)
	if len(kept) > 0 {
		out.printf("still on file, for the same tenant: %s", plain(strings.Join(kept, ", ")))
	}
	return out.err
}

type consentListCmd struct {
	Tenant string `placeholder:"TENANT" help:"Only for this tenant's calls."`
	Most   most   `default:"100" placeholder:"N" help:"How many at most (default: ${default})."`
	JSON   bool   `name:"json" help:"Print JSON, with the numbers in full."`
}

type consentsListed struct {
	Entries []consentEntry `json:"entries"`
	More    bool           `json:"more"` // there are more than were asked for
}

func (c consentListCmd) Run(ctx context.Context, p process) error {
	db, _, err := p.open(ctx)
	if err != nil {
		return err
	}
	defer db.Close()
	all, err := db.Consents(ctx, c.Tenant, c.Most.andOne())
	if err != nil {
		return err
	}
	all, more := cut(all, c.Most)
	if c.JSON {
		answer := consentsListed{make([]consentEntry, len(all)), more}
		for i, one := range all {
			answer.Entries[i] = entryOf(one)
		}
		return printJSON(p.stdout, answer)
	}
	rows := make([][]string, len(all))
	for i, one := range all {
		v := veilOf(one.Number.E164())
		rows[i] = []string{
			one.Number.Masked(), one.Tenant, v.text(one.Purpose), strings.TrimSuffix(when(one.Given), " UTC"), v.text(one.By), short(v.text(one.Source)),
		}
	}
	return p.listed("NUMBER|TENANT|PURPOSE|GIVEN (UTC)|BY|SOURCE", rows, "no entries", more)
}
