package main

import (
	"context"
	"strings"

	"chasephone/internal/store"
)

type tenantListCmd struct {
	JSON bool `name:"json" help:"Print JSON."`
}

type tenantsListed struct {
	Tenants []store.Tenant `json:"tenants"`
}

func (c tenantListCmd) Run(ctx context.Context, p process) error {
	db, conf, err := p.open(ctx)
	if err != nil {
		return err
	}
	defer db.Close()
	all, err := db.Tenants(ctx)
	if err != nil {
		return err
	}
	if c.JSON {
		return printJSON(p.stdout, tenantsListed{all})
	}
	rows := make([][]string, len(all)) // default is always there
	for i, t := range all {
		stopped := ""
		if t.StoppedAt != nil {
			stopped = "by " + t.StoppedBy + " since " + when(*t.StoppedAt)
		}
		rows[i] = []string{
			t.ID, regionOf(t.TenantSettings, conf), t.DefaultLine, string(t.Approval), strings.TrimSuffix(when(t.Created), " UTC"), stopped,
		}
	}
	return table(p.stdout, "TENANT|REGION|DEFAULT LINE|APPROVAL|ADDED (UTC)|STOPPED", rows)
}
