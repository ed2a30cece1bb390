package main

import (
	"context"
	"strings"

	"chasephone/internal/store"
)

type lineListCmd struct {
	Tenant string `placeholder:"TENANT" help:"Only this tenant's."`
	JSON   bool   `name:"json" help:"Print JSON, with the caller numbers in full."`
}

type linesListed struct {
	Lines []lineListed `json:"lines"`
}

// lineListed is a line with its caller number, which the store's own form masks.
type lineListed struct {
	store.Line
	Caller string `json:"caller_number"`
}

func (c lineListCmd) Run(ctx context.Context, p process) error {
	db, _, err := p.open(ctx)
	if err != nil {
		return err
	}
	defer db.Close()
	all, err := db.Lines(ctx, c.Tenant)
	if err != nil {
		return err
	}
	if c.JSON {
		answer := linesListed{make([]lineListed, len(all))}
		for i, l := range all {
			answer.Lines[i] = lineListed{l, l.Caller.E164()}
		}
		return printJSON(p.stdout, answer)
	}
	if len(all) == 0 {
		out := &printer{w: p.stdout}
		out.printf("no lines: every follow-up waits for one")
		return out.err
	}
	rows := make([][]string, len(all))
	for i, l := range all {
		rows[i] = []string{l.Tenant, l.Name, l.Carrier, l.Caller.Masked(), stands(l), l.URL}
	}
	return table(p.stdout, "TENANT|LINE|CARRIER|CALLER|STANDS|URL", rows)
}

// stands says whether a line is ready, and if not, all that keeps it from being.
func stands(l store.Line) string {
	var why []string
	if l.StoppedBy != "" {
		why = append(why, "stopped by "+l.StoppedBy)
	}
	if l.HeldFor != "" {
		held := "held (" + strings.ReplaceAll(l.HeldFor, "_", " ") + after(", ", l.HeldBy) + ")"
		if l.HeldUntil != nil {
			held += " until " + when(*l.HeldUntil)
		}
		why = append(why, held)
	}
	switch {
	case l.Ready:
		return "ready"
	case len(why) == 0:
		return "not ready: no daemon that runs can ring on it now"
	}
	return strings.Join(why, "; ")
}
