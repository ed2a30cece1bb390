package main

import (
	"context"
	"strings"

	"chasephone/config"
	"chasephone/internal/desk"
	"chasephone/internal/gates"
	"chasephone/internal/store"
)

type tenantSetCmd struct {
	Name        string           `arg:"" help:"The tenant's name."`
	Region      *regionOrDefault `placeholder:"CC" help:"The region of its numbers without a country code; default is PHONE_DEFAULT_REGION again."`
	DefaultLine *shortName       `placeholder:"LINE" help:"The line of follow-ups that name none."`
	Approval    *policy          `placeholder:"POLICY" help:"Which calls a person must see first: row (those that say so), never, first_call (the first to a number too) or always."`
	by
	JSON bool `name:"json" help:"Print JSON."`
}

// regionOrDefault is a region, or "" for the environment's.
type regionOrDefault region

// UnmarshalText reads default as the environment's, and refuses what is no region.
func (r *regionOrDefault) UnmarshalText(text []byte) error {
	if strings.EqualFold(string(text), "default") {
		*r = ""
		return nil
	}
	return (*region)(r).UnmarshalText(text)
}

// Validate is asked by kong.
func (c tenantSetCmd) Validate() error {
	if c.Region == nil && c.DefaultLine == nil && c.Approval == nil {
		return &desk.Misuse{Says: "give at least one of --region, --default-line and --approval"}
	}
	return nil
}

func (c tenantSetCmd) Run(ctx context.Context, p process) error {
	db, conf, who, err := p.openAs(ctx, c.by)
	if err != nil {
		return err
	}
	defer db.Close()
	was, is, err := db.SetTenant(ctx, c.Name, who, c.change)
	if err != nil {
		return err
	}
	t := tenantChange{Tenant: c.Name, TenantSettings: is.TenantSettings, Changed: was != is, Notes: changes(was.TenantSettings, is.TenantSettings, conf)}
	if was.DefaultLine != is.DefaultLine {
		if t.Notes, err = lacksLine(ctx, db, t); err != nil {
			return err
		}
	}
	if c.JSON {
		return printJSON(p.stdout, t)
	}
	says := "is set"
	if !t.Changed {
		says = "was just so already"
	}
	return t.print(p, says, conf)
}

func (c tenantSetCmd) change(t *store.TenantSettings) {
	if c.Region != nil {
		t.Region = string(*c.Region)
	}
	if c.DefaultLine != nil {
		t.DefaultLine = string(*c.DefaultLine)
	}
	if c.Approval != nil {
		t.Approval = gates.Policy(*c.Approval)
	}
}

// changes say what follows from each change.
func changes(was, is store.TenantSettings, conf config.Config) []note {
	var all []note
	if was.Region != is.Region {
		says := "from now on new numbers without a country code are read as in " + regionOf(is, conf)
		if len(conf.Gates.Countries) == 0 {
			says += ", and only numbers of that region may be called"
		}
		all = append(all, note(says))
	}
	if was.DefaultLine != is.DefaultLine {
		all = append(all, note("follow-ups that name no line go out on "+is.DefaultLine+", and what was approved for another line is asked again"))
	}
	if was.Approval != is.Approval {
		all = append(all, note(follows(is.Approval)))
	}
	return all
}
