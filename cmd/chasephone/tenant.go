package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"chasephone/config"
	"chasephone/internal/gates"
	"chasephone/internal/store"
)

type tenantCmd struct {
	Add  tenantAddCmd  `cmd:"" help:"Add a tenant."`
	Set  tenantSetCmd  `cmd:"" help:"Change a tenant: what is given, and nothing else."`
	List tenantListCmd `cmd:"" help:"List the tenants, and which are stopped."`
}

type tenantAddCmd struct {
	Name        shortName `arg:"" help:"The tenant's name, which follow-ups have as tenant_id."`
	Region      region    `placeholder:"CC" help:"The region of its numbers without a country code, GB for instance (default: PHONE_DEFAULT_REGION)."`
	DefaultLine shortName `default:"default" placeholder:"LINE" help:"The line of follow-ups that name none (default: ${default})."`
	Approval    policy    `default:"row" placeholder:"POLICY" help:"Which calls a person must see first: row (those that say so), never, first_call (the first to a number too) or always (default: ${default})."`
	by
	JSON bool `name:"json" help:"Print JSON."`
}

// shortName is the name of a tenant or of a line.
type shortName string

// UnmarshalText refuses what the table would.
func (s *shortName) UnmarshalText(text []byte) error {
	if n := utf8.RuneCount(text); n < 1 || n > 100 || strings.ContainsFunc(string(text), acts) {
		return errors.New("accepts 1 to 100 printable characters")
	}
	*s = shortName(text)
	return nil
}

// policy says which calls of a tenant a person must see first.
type policy gates.Policy

// UnmarshalText refuses what is none.
func (p *policy) UnmarshalText(text []byte) error {
	if !slices.Contains(gates.Policies(), gates.Policy(text)) {
		return fmt.Errorf("there is no policy %q: accepts %s", text, strings.Trim(fmt.Sprint(gates.Policies()), "[]"))
	}
	*p = policy(text)
	return nil
}

// follows says in words what a policy means from now on.
func follows(p gates.Policy) string {
	switch p {
	case gates.PolicyNever:
		return "no call is held for approval because its follow-up asks for it; what another gate holds is held"
	case gates.PolicyFirstCall:
		return "the first call to a number is held for approval, and every call whose follow-up asks for it"
	case gates.PolicyAlways:
		return "every call is held for approval"
	default:
		return "a call is held for approval where its follow-up asks for it"
	}
}

// regionOf says in which region a tenant's numbers are read.
func regionOf(t store.TenantSettings, conf config.Config) string {
	if t.Region == "" {
		return conf.Intake.Region + " (the environment's)"
	}
	return t.Region
}

// tenantChange is what add and set print as JSON.
type tenantChange struct {
	Tenant string `json:"tenant_id"`
	store.TenantSettings
	Changed bool   `json:"changed"` // false: it was just so already
	Notes   []note `json:"notes,omitempty"`
}

func (t tenantChange) print(p process, says string, conf config.Config) error {
	out := &printer{w: p.stdout}
	out.printf("tenant %s %s: region %s, default line %s, approval %s",
		plain(t.Tenant), says, regionOf(t.TenantSettings, conf), plain(t.DefaultLine), t.Approval)
	for _, n := range t.Notes {
		out.printf("note: %s", plain(string(n)))
	}
	return out.err
}

func (c tenantAddCmd) Run(ctx context.Context, p process) error {
	db, conf, who, err := p.openAs(ctx, c.by)
	if err != nil {
		return err
	}
	defer db.Close()
	t := tenantChange{Tenant: string(c.Name), TenantSettings: store.TenantSettings{
		Region: string(c.Region), DefaultLine: string(c.DefaultLine), Approval: gates.Policy(c.Approval),
	}}
	if t.Changed, err = db.AddTenant(ctx, t.Tenant, t.TenantSettings, who); err != nil {
		return err
	}
	says := "was there already, just so"
	if t.Changed {
		says = "is added"
		t.Notes = append(t.Notes, note(follows(t.Approval)))
	}
	if t.Notes, err = lacksLine(ctx, db, t); err != nil {
		return err
	}
	if c.JSON {
		return printJSON(p.stdout, t)
	}
	return t.print(p, says, conf)
}

// lacksLine adds to the notes where there is no default line: everything waits for it, and nothing fails.
func lacksLine(ctx context.Context, db *store.Store, t tenantChange) ([]note, error) {
	lines, err := db.Lines(ctx, t.Tenant)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(lines, func(l store.Line) bool { return l.Name == t.DefaultLine }) {
		return t.Notes, nil
	}
	return append(t.Notes, note(fmt.Sprintf("it has no line %s yet, and its follow-ups wait for one: chasephone line add", t.DefaultLine))), nil
}
