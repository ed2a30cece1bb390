package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"chasephone/config"
	"chasephone/internal/desk"
	"chasephone/internal/gates"
	"chasephone/internal/phone"
	"chasephone/internal/store"
)

type checkCmd struct {
	Number   string   `arg:"" help:"The number, in any spelling."`
	Tenant   string   `default:"default" placeholder:"TENANT" help:"Whose call it would be (default: ${default})."`
	Line     *string  `placeholder:"LINE" help:"The line it would go out on (default: the tenant's)."`
	Purpose  string   `default:"requested" placeholder:"PURPOSE" help:"Why the person is called: requested, sales, debt, or a word of your rules (default: ${default})."`
	TimeZone timeZone `placeholder:"AREA/CITY" help:"The time zone that the person called has confirmed."`
	dialled
	JSON bool `name:"json" help:"Print JSON, with the number in full."`
}

// Help is shown by check --help.
func (checkCmd) Help() string {
	return "May this number be called now, by anybody? Asks the gates that every follow-up passes, but for the one about " +
		"words, since chasephone speaks none of them, and for the line's where the tenant has no line. It changes nothing and rings nobody. The exit code is 0 only where every " +
		"gate passes, so that check NUMBER && dial NUMBER calls nobody who may not be called; any other answer is printed " +
		"all the same, and is 1. Report the call afterwards (report --placed), so that it is counted."
}

// Validate is asked by kong.
func (c checkCmd) Validate() error {
	switch {
	case c.Line != nil && *c.Line == "":
		return &desk.Misuse{Says: "--line must not be empty: leave it out for the tenant's default"}
	case strings.TrimSpace(c.Purpose) == "" || len(c.Purpose) > 100 || strings.ContainsFunc(c.Purpose, acts):
		return &desk.Misuse{Says: "--purpose is a word: requested, sales, debt, or one of your rules"}
	}
	return nil
}

// dialled is how a number without a country code is read.
type dialled struct {
	Region region `placeholder:"CC" help:"The region of a number without a country code, US for instance (default: the tenant's)."`
}

// region is one that has telephones.
type region string

// UnmarshalText refuses what is none.
func (r *region) UnmarshalText(text []byte) error {
	code := strings.ToUpper(string(text))
	if _, problem := phone.Parse("2125550100", code); problem == phone.UnknownRegion || len(code) != 2 {
		return fmt.Errorf("there is no region %q: accepts two letters of ISO 3166, US or GB for instance", text)
	}
	*r = region(code)
	return nil
}

// answeredNo ends a command that has printed its answer, where the answer is no.
type answeredNo struct{}

func (answeredNo) Error() string { return "the answer is no" }

// checked is what check prints as JSON.
type checked struct {
	Number  string `json:"number"` // as typed where it is none
	Tenant  string `json:"tenant_id"`
	Line    string `json:"line,omitempty"`
	Purpose string `json:"purpose"`
	Allowed bool   `json:"allowed"`
	judged
}

// soon is how far ahead it is looked for an instant at which a call may be placed.
const soon = 7 * 24 * time.Hour

func (c checkCmd) Run(ctx context.Context, p process) error {
	db, conf, err := p.open(ctx)
	if err != nil {
		return err
	}
	defer db.Close()
	answer, err := c.ask(ctx, db, conf)
	if err != nil {
		return err
	}
	if c.JSON {
		err = printJSON(p.stdout, answer)
	} else {
		err = answer.print(p)
	}
	if err == nil && !answer.Allowed {
		err = answeredNo{}
	}
	return err
}

func (c checkCmd) ask(ctx context.Context, db *store.Store, conf config.Config) (checked, error) {
	in, err := spelled{Region: string(c.Region)}.region(ctx, db, c.Tenant)
	if err != nil {
		return checked{}, err
	}
	call := store.Call{Tenant: c.Tenant, Purpose: c.Purpose, TimeZone: string(c.TimeZone)}
	if c.Line != nil {
		call.Line = *c.Line
	}
	call.Number, call.Problem = identify(c.Number, in)
	dry, err := db.DryCall(ctx, call)
	if err != nil {
		return checked{}, err
	}
	chain := without(gates.Chain(gateOptions(conf)), gates.GateWords)
	if c.Line == nil && !dry.Case.Line.Exists && !dry.Stopped { // a tenant without lines of ours calls by other ways
		chain = without(chain, gates.GateLine)
	}
	answer := checked{
		Number: either(call.Number.Number.E164(), c.Number), Tenant: c.Tenant, Line: dry.Case.Line.Name, Purpose: c.Purpose,
		judged: judge(chain, dry.Case),
	}
	answer.Allowed = answer.Ruling.Finding == gates.KindPass
	o := outlook{chain: chain, end: dry.Case.Now.Add(soon), now: "now", yes: "with a person's leave", never: "not within 7 days", beyond: true}
	answer.Next = o.stopped(dry.Case, o.next)
	answer.Notes, err = otherSettings(ctx, db, conf)
	return answer, err
}

func (a checked) print(p process) error {
	out := &printer{w: p.stdout}
	v := veilOf(a.Number)
	verdict := "may be called now"
	if !a.Allowed {
		verdict = "may not be called now"
	}
	out.printf("%s %s, tenant %s, line %s, purpose %s", plain(masked(a.Number)), verdict, v.text(a.Tenant), either(v.text(a.Line), "none"), v.text(a.Purpose))
	a.tell(out, v)
	for _, n := range a.Notes {
		out.printf("  note:   %s", plain(string(n)))
	}
	return out.err
}
