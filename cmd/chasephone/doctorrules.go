package main

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"chasephone/config"
	"chasephone/internal/rules"
)

// rulesInForce are the calling rules with their sources.
type rulesInForce struct {
	From    string     `json:"from"` // "built in", "off", or the file
	Digest  string     `json:"digest,omitempty"`
	Rules   []ruleSays `json:"rules"`
	Unread  []unread   `json:"no_hours"` // places without any calling hours
	builtIn bool
}

type ruleSays struct {
	Places    []string `json:"places"`
	Purposes  []string `json:"purposes,omitempty"` // none: every purpose
	Hours     string   `json:"hours,omitempty"`
	Caps      string   `json:"caps,omitempty"`
	AfterTalk string   `json:"after_talk,omitempty"`
	Consent   bool     `json:"consent_required"`
	Source    string   `json:"source"`
	Dated     string   `json:"dated"`
	Old       bool     `json:"read_more_than_a_year_ago"`
	Line      int      `json:"line"` // in its file
}

// unread is a region for which no rule has calling hours, as far as it is called.
type unread struct {
	Region   string   `json:"region"`
	Purposes []string `json:"purposes,omitempty"` // none: for every purpose in use
	Only     []string `json:"only,omitempty"`     // parts of it that have hours
	Open     int      `json:"open_followups"`
}

// inForce are the rules of an environment. now is this machine's date, by which rules age: they
// are told without a database too.
func inForce(conf config.Config, now time.Time) rulesInForce {
	in := rulesInForce{From: rulesFile(conf), Digest: conf.Gates.Rules.Digest(), Rules: []ruleSays{}, Unread: []unread{}}
	switch {
	case conf.Gates.Rules == nil:
		in.From = "off"
	case in.From == "":
		in.From, in.builtIn = "built in", true
	}
	for _, r := range conf.Gates.Rules.All() {
		in.Rules = append(in.Rules, said(r, now))
	}
	return in
}

func said(r *rules.Rule, now time.Time) ruleSays {
	s := ruleSays{Places: r.Places, Purposes: r.Purposes, Consent: r.Consent, Source: r.Source, Dated: r.Dated, Line: r.Line}
	if r.Hours != nil {
		s.Hours = r.Hours.String()
	}
	var caps []string
	for _, c := range []struct {
		calls int
		in    string
	}{{r.Caps.Day, "24h"}, {r.Caps.Week, "7d"}, {r.Caps.Month, "30d"}} {
		if c.calls > 0 {
			caps = append(caps, fmt.Sprintf("%d in %s", c.calls, c.in))
		}
	}
	s.Caps = strings.Join(caps, ", ")
	switch days := r.AfterTalk / (24 * time.Hour); {
	case r.AfterTalk == 0:
	case days > 0 && r.AfterTalk%(24*time.Hour) == 0:
		s.AfterTalk = strconv.Itoa(int(days)) + "d" // as it is written in the file
	default:
		s.AfterTalk = r.AfterTalk.String()
	}
	read, err := time.Parse(time.DateOnly, r.Dated)
	s.Old = err == nil && read.AddDate(1, 0, 0).Before(now)
	return s
}

// dated remarks on rules that somebody should read again.
func (d *diagnosis) dated() {
	old, first := 0, ""
	for _, r := range d.Rules.Rules {
		if r.Old {
			if old++; first == "" || r.Dated < first {
				first = r.Dated
			}
		}
	}
	if old > 0 {
		d.remark("%s read more than a year ago, the first on %s: see whether the sources still say so", counted(old, "rule was", "rules were"), first)
	}
}

// unread remarks on the regions that may be called and have no hours. Open follow-ups to any
// other region are refused, wherever they are from: see notAllowed.
func (d *diagnosis) unread(f facts, conf config.Config) {
	set := conf.Gates.Rules
	if set == nil { // they are off, which is remarked on
		return
	}
	inUse := []string{rules.Requested}
	for _, o := range f.open {
		inUse = append(inUse, o.Purpose)
	}
	slices.Sort(inUse)
	inUse = slices.Compact(inUse)
	for _, region := range callableRegions(f, conf) {
		u := unread{Region: region, Only: partsWithHours(set, region)}
		for _, purpose := range inUse {
			if !set.HasHours(region, purpose) {
				u.Purposes = append(u.Purposes, purpose)
			}
		}
		if len(u.Purposes) == 0 {
			continue
		}
		for _, o := range f.open {
			if o.Region == region && slices.Contains(u.Purposes, o.Purpose) && slices.Contains(mayCall(o.TenantRegion, conf), region) {
				u.Open += o.Count
			}
		}
		if len(u.Purposes) == len(inUse) {
			u.Purposes = nil
		}
		d.Rules.Unread = append(d.Rules.Unread, u)
		d.remark("%s", u)
	}
}

// String says what becomes of calls there.
func (u unread) String() string {
	says, calls := u.Region+": no calling hours are known", "every call"
	if len(u.Purposes) > 0 {
		says, calls = says+" for "+several(u.Purposes), "every such call"
	}
	where := "there"
	if len(u.Only) > 0 {
		says, where = says+" but in "+several(u.Only), "elsewhere"
	}
	return says + ": " + calls + " " + where + " is held for a person" +
		only(u.Open > 0, " ("+counted(u.Open, "open follow-up", "open follow-ups")+")")
}

// notAllowed remarks on open follow-ups to regions that their tenant may not call.
func (d *diagnosis) notAllowed(f facts, conf config.Config) {
	open := map[string]int{}
	for _, o := range f.open {
		if !slices.Contains(mayCall(o.TenantRegion, conf), o.Region) {
			open[o.Region] += o.Count
		}
	}
	for _, region := range slices.Sorted(maps.Keys(open)) {
		d.remark("%s: %s will be refused, because the tenant may not call there (GATE_COUNTRIES)",
			region, counted(open[region], "open follow-up", "open follow-ups"))
	}
}

// mayCall are the regions that a tenant of a region ("" for the environment's) may call.
func mayCall(tenantRegion string, conf config.Config) []string {
	if len(conf.Gates.Countries) > 0 {
		return conf.Gates.Countries
	}
	return []string{either(tenantRegion, conf.Intake.Region)}
}

// callableRegions are those that some tenant may call, each once; where the tenants are not known
// because the database cannot be asked, those of a tenant that has no region of its own.
func callableRegions(f facts, conf config.Config) []string {
	if len(f.tenants) == 0 {
		return mayCall("", conf)
	}
	var all []string
	for _, t := range f.tenants {
		all = append(all, mayCall(t.Region, conf)...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// partsWithHours are the parts of a country that have hours where the country has none.
func partsWithHours(set *rules.Set, country string) []string {
	var parts []string
	for _, r := range set.All() {
		for _, place := range r.Places {
			if r.Hours != nil && strings.HasPrefix(place, country+"-") {
				parts = append(parts, place)
			}
		}
	}
	slices.Sort(parts)
	return slices.Compact(parts)
}
