package main

import (
	"context"
	"strconv"

	"chasephone/internal/desk"
	"chasephone/internal/store"
)

// scope is what is stopped or resumed. What is given empty is a mistake and not everything.
type scope struct {
	Tenant *string `placeholder:"TENANT" help:"This tenant only."`
	Line   *string `placeholder:"LINE" help:"This line only, of the tenant default unless another is given."`
}

// Validate is asked by kong.
func (s scope) Validate() error {
	for _, given := range []*string{s.Tenant, s.Line} {
		if given != nil && *given == "" {
			return &desk.Misuse{Says: "--tenant and --line must not be empty: leave them out for everything"}
		}
	}
	return nil
}

func (s scope) desk() desk.Scope {
	var d desk.Scope
	if s.Line != nil {
		d = desk.Scope{Tenant: "default", Line: *s.Line}
	}
	if s.Tenant != nil {
		d.Tenant = *s.Tenant
	}
	return d
}

type stopCmd struct {
	scope
	by
	JSON bool `name:"json" help:"Print JSON."`
}

type stopped struct {
	Scope string `json:"scope"`
	desk.Stopped
}

func (c stopCmd) Run(ctx context.Context, p process) error {
	db, _, err := p.open(ctx)
	if err != nil {
		return err
	}
	defer db.Close()
	found, err := desk.Desk{Store: db}.Stop(ctx, c.desk(), c.name())
	if err != nil {
		return err
	}
	found.Out, _ = cut(found.Out, most(len(found.Out)))
	if c.JSON {
		return printJSON(p.stdout, stopped{c.desk().String(), found})
	}
	out := &printer{w: p.stdout}
	if found.Already {
		out.printf("%s is stopped already, by %s at %s", plain(c.desk().String()), plain(found.By), when(found.At))
	} else {
		out.printf("stopped: %s, by %s at %s; no call begins until it is resumed", plain(c.desk().String()), plain(found.By), when(found.At))
	}
	if len(found.Out) == 0 {
		out.printf("no call is out")
		return out.err
	}
	out.printf("%d call(s) were out already and may ring:", len(found.Out))
	rows := make([][]string, len(found.Out))
	for i, o := range found.Out {
		rows[i] = []string{o.FollowUp, strconv.Itoa(o.Attempt), o.Tenant, o.Line, when(o.AnswerBy)}
	}
	if err := table(p.stdout, "FOLLOW-UP|ATTEMPT|TENANT|LINE|ANSWER BY", rows); err != nil {
		return err
	}
	return out.err
}

type resumeCmd struct {
	scope
	by
	JSON bool `name:"json" help:"Print JSON."`
}

type resumed struct {
	Scope   string  `json:"scope"`
	Lifted  bool    `json:"lifted"` // false: nothing was stopped
	Due     int     `json:"due_again"`
	Stopped []still `json:"still_stopped"`
}

// still is a line in the scope that another stop keeps.
type still struct {
	Tenant string `json:"tenant_id"`
	Line   string `json:"line"`
	By     string `json:"by"`
}

func (c resumeCmd) Run(ctx context.Context, p process) error {
	db, _, err := p.open(ctx)
	if err != nil {
		return err
	}
	defer db.Close()
	r := resumed{Scope: c.desk().String(), Stopped: []still{}}
	if r.Lifted, r.Due, err = (desk.Desk{Store: db}).Resume(ctx, c.desk(), c.name()); err != nil {
		return err
	}
	all, err := db.Lines(ctx, c.desk().Tenant)
	if err != nil {
		return err
	}
	r.still(all, c.desk().Line)
	if c.JSON {
		return printJSON(p.stdout, r)
	}
	out := &printer{w: p.stdout}
	if r.Lifted {
		out.printf("resumed: %s; %d follow-up(s) that waited for a line are due at once", plain(r.Scope), r.Due)
	} else {
		out.printf("nothing to resume: %s was not stopped", plain(r.Scope))
	}
	for _, s := range r.Stopped {
		out.printf("still stopped, by %s: line %s of tenant %s", plain(s.By), plain(s.Line), plain(s.Tenant))
	}
	return out.err
}

// still finds the lines that a wider or a narrower stop keeps.
func (r *resumed) still(all []store.Line, line string) {
	for _, l := range all {
		if l.StoppedBy != "" && (line == "" || l.Name == line) {
			r.Stopped = append(r.Stopped, still{l.Tenant, l.Name, l.StoppedBy})
		}
	}
}
