package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// print tells everything to a person, the conclusion last, where it is still on the screen.
func (d diagnosis) print(w io.Writer) error {
	out := &printer{w: w}
	d.Environment.print(out)
	d.Rules.print(out)
	d.Database.print(out)
	out.list("Remarks", d.Remarks)
	out.list("Problems: what keeps calls from being rung", d.Problems)
	if len(d.Problems) == 0 {
		out.printf("\nNothing keeps every call from being rung.")
	}
	return out.err
}

func (p *printer) field(name, format string, args ...any) {
	p.printf("  %-10s %s", name, plain(fmt.Sprintf(format, args...)))
}

func (p *printer) list(heading string, lines []string) {
	if len(lines) == 0 {
		return
	}
	p.printf("\n%s", heading)
	for _, l := range lines {
		p.printf("  %s", plain(l))
	}
}

// table prints rows under a section's fields.
func (p *printer) table(heading string, rows [][]string) {
	for _, cells := range rows {
		cells[0] = "  " + cells[0]
	}
	p.err = errors.Join(p.err, table(p.w, "  "+heading, rows))
}

func (s surroundings) print(out *printer) {
	out.printf("Environment: no mistakes")
	out.field("version", "%s", s.Version)
	out.field("region", "%s, of numbers without a country code", s.Region)
	out.field("countries", "%s", either(strings.Join(s.Countries, ", "), "each tenant's own region"))
	out.field("carriers", "%s", either(strings.Join(s.Carriers, ", "), "no account"))
}

func (r rulesInForce) print(out *printer) {
	from := "built in"
	switch {
	case r.From == "off":
		from = "off: people may be rung at any hour"
	case !r.builtIn:
		from = "the file " + r.From
	}
	out.printf("\nCalling rules: %s%s", plain(from), after(", digest ", r.Digest))
	if len(r.Rules) == 0 {
		return
	}
	rows := make([][]string, len(r.Rules))
	for i, one := range r.Rules {
		rows[i] = []string{
			strings.Join(one.Places, ", "), either(strings.Join(one.Purposes, ", "), "every"), one.Hours, one.Caps, one.AfterTalk,
			only(one.Consent, "required"), one.Dated + only(one.Old, " (old)"), one.Source,
		}
	}
	out.table("PLACES|PURPOSES|HOURS|CAPS|AFTER TALK|CONSENT|DATED|SOURCE", rows)
}

func (s databaseSays) print(out *printer) {
	switch {
	case !s.Reachable:
		out.printf("\nDatabase: it cannot be reached")
		return
	case !s.Usable:
		out.printf("\nDatabase: reached, and its schema is not usable")
		return
	}
	out.printf("\nDatabase: reached%s, and its schema is usable", only(s.Pooled, " through a transaction pooler"))
	if s.Role != nil {
		out.field("role", "%s%s", s.Role.Name, only(s.Role.Unbounded() != "", ", which "+s.Role.Unbounded()))
	}
	if s.Limits == nil {
		return
	}
	out.field("limits", "in force since %s, by %s", when(*s.LimitsAt), s.LimitsBy)
	for _, name := range slices.Sorted(maps.Keys(s.Limits)) {
		out.field("", "%s=%s", name, s.Limits[name])
	}
	out.field("lines", "%d, of which %d can be rung on now", s.Lines, s.Ready)
	s.daemons(out)
	s.holds(out)
}

func (s databaseSays) daemons(out *printer) {
	out.printf("\nDaemons that run: %d", len(s.Daemons))
	if len(s.Daemons) == 0 {
		return
	}
	rows := make([][]string, len(s.Daemons))
	for i, d := range s.Daemons {
		rows[i] = []string{d.Host, strconv.Itoa(d.PID), strings.Join(d.Carriers, ", "), strings.TrimSuffix(when(d.Since), " UTC")}
	}
	out.table("HOST|PID|CARRIERS|SINCE (UTC)", rows)
	out.printf("  their gates are set as this environment says%s", only(len(s.OtherGates) > 0, ", but for what is remarked on below"))
}

func (s databaseSays) holds(out *printer) {
	if len(s.Holds) == 0 {
		out.printf("\nStops and held lines: none")
		return
	}
	out.printf("\nStops and held lines")
	rows := make([][]string, len(s.Holds))
	for i, h := range s.Holds {
		rows[i] = []string{h.What, h.Tenant, h.Line, h.By, "", "", strings.ReplaceAll(h.For, "_", " ")}
		if h.Since != nil {
			rows[i][4] = strings.TrimSuffix(when(*h.Since), " UTC")
		}
		if h.Until != nil {
			rows[i][5] = strings.TrimSuffix(when(*h.Until), " UTC")
		}
	}
	out.table("WHAT|TENANT|LINE|BY|SINCE (UTC)|UNTIL (UTC)|WHY", rows)
}

// counted is a number of things: "1 rule was", "2 rules were".
func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}

// several names a few of many.
func several(names []string) string {
	const most = 10
	if more := len(names) - most; more > 0 {
		return strings.Join(names[:most], ", ") + " and " + strconv.Itoa(more) + " more"
	}
	return strings.Join(names, ", ")
}
