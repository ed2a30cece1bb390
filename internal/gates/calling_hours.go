package gates

import (
	"slices"
	"strconv"
	"time"

	"chasephone/internal/rules"
)

// commonWithin is how far ahead an hour is looked for at which every candidate zone is open by
// every rule. It is more than a week, so that no rule by weekday and no change of the clocks
// hides one, and nothing rings so late anyway.
const commonWithin = 8 * 24 * time.Hour

// Where a zone was taken from, under "zone_from".
const (
	zoneFromRow      = "confirmed"
	zoneFromApproval = "approval"
	zoneFromNumber   = "number"
)

type hours struct {
	rules *rules.Set
	byDay []*rules.Rule // for a place without rules, where a person has said yes
	zones zones
}

// callingHours waits for the hours in which people may be rung, by the clock of the person
// called: the zone they confirmed, or the one a person approved; else every zone the number
// allows must be open at once. Every rule that binds the call must be open. No zone at all is for
// a person to decide, and so is a place of which nobody has read up the rules; their yes to such
// a place holds by day.
func callingHours(rs *rules.Set, off bool) Gate {
	if off {
		return Gate{GateCallingHours, func(Case) Verdict { return Pass{Grounds{Code: CodeHoursOff}} }}
	}
	h := &hours{rules: rs, byDay: []*rules.Rule{rules.ByDay()}, zones: zones{loaded: map[string]*time.Location{}}}
	return Gate{GateCallingHours, h.judge}
}

func (h *hours) judge(c Case) Verdict {
	if !c.judgeable() {
		return Pass{Grounds{Code: CodeNoNumber}}
	}
	var room [64]*time.Location // on the stack: a toll-free number of +1 has about forty
	locs, from, unknown := h.whose(&c, room[:0])
	if len(locs) == 0 {
		on := map[string]string{"zone_from": from}
		if unknown != "" {
			on["zone"] = clean(unknown)
		}
		return Hold{Grounds{CodeTimeZoneUnknown, on}}
	}
	bound := h.rules.For(c.Number.Place, c.Purpose)
	decides := slices.IndexFunc(bound, func(r *rules.Rule) bool { return r.Hours != nil })
	var code string // of a pass
	if decides < 0 {
		if a := c.Approval; a == nil || !a.answers(CodeNoRules) || a.differs(&c) != "" {
			return Hold{Grounds{CodeNoRules, map[string]string{
				"place": place(&c), "purpose": clean(c.Purpose),
				// Whoever approves it should see what time it is there.
				"zone": locs[0].String(), "zone_from": from, "local": onWall(c.Now, locs[0]),
			}}}
		}
		bound, decides, code = h.byDay, 0, CodeNoRules
	}
	p := pairs{bound[decides:], locs}
	until, ok := p.open(c.Now)
	if !ok {
		r := bound[decides]
		on := map[string]string{
			"zones": strconv.Itoa(len(locs)), "zone_from": from, "window": r.Hours.String(),
			"place": place(&c), "purpose": clean(c.Purpose),
		}
		cite(on, r)
		return Hold{Grounds{CodeNoCommonHours, on}}
	}

	r, loc, shut := p.closed(c.Now)
	if shut != until.After(c.Now) { // asked in two ways they must agree, or somebody is rung at night
		return broken(c, "whether the hours are open and when they open next contradict each other")
	}
	local := c.Now.In(loc)
	on := map[string]string{
		"zone": loc.String(), "zone_from": from, "local": onWall(c.Now, loc), "window": r.Hours.On(local),
		"place": place(&c), "purpose": clean(c.Purpose), "rule": r.Source, "dated": r.Dated,
	}
	if len(locs) > 1 {
		on["zones"] = strconv.Itoa(len(locs))
	}
	if code != "" {
		on["approved_by"], on["approval"] = clean(c.Approval.By), c.Approval.ID
	}
	if shut {
		return Wait{Grounds{CodeOutsideHours, on}, until.UTC()}
	}
	return Pass{Grounds{code, on}}
}

// whose appends the zones whose clocks count, and says where they are from; or none, and the
// name that is unknown ("" where nothing was named).
func (h *hours) whose(c *Case, locs []*time.Location) (_ []*time.Location, from, unknown string) {
	confirmed := c.TimeZoneGiven || c.TimeZone != ""
	if confirmed {
		if loc, err := h.zones.load(c.TimeZone); err == nil {
			return append(locs, loc), zoneFromRow, ""
		}
	}
	if a := c.Approval; a != nil && a.TimeZone != "" && a.differs(c) == "" {
		if loc, err := h.zones.load(a.TimeZone); err == nil {
			return append(locs, loc), zoneFromApproval, ""
		}
	}
	if confirmed { // and unknown: the number's own zones would be a guess against what was said
		return nil, zoneFromRow, c.TimeZone
	}
	for _, name := range c.Number.Zones {
		loc, err := h.zones.load(name)
		if err != nil {
			return nil, zoneFromNumber, name
		}
		locs = append(locs, loc)
	}
	return locs, zoneFromNumber, ""
}

// pairs are each rule by each clock: all of them must be open at once.
type pairs struct {
	rules []*rules.Rule // the first has hours
	locs  []*time.Location
}

// open is the earliest instant from now on at which all pairs are open. Each step goes to a
// pair's own next opening, before which no common hour can lie, so none is missed.
func (p pairs) open(now time.Time) (time.Time, bool) {
	t := now.Round(0) // by the wall's clock, were it a reading of this machine's
	limit := t.Add(commonWithin)
	all := len(p.rules) * len(p.locs)
	for i, agreed := 0, 0; agreed < all; i, agreed = (i+1)%all, agreed+1 {
		r, loc := p.rules[i/len(p.locs)], p.locs[i%len(p.locs)]
		if r.Hours == nil {
			continue
		}
		next, ok := r.Hours.Next(t.In(loc), limit)
		if !ok {
			return time.Time{}, false
		}
		if next.After(t) {
			t, agreed = next, 0
		}
	}
	return t, true
}

// closed is the first pair that is closed now, or, where none is, the first of all and not shut.
func (p pairs) closed(now time.Time) (_ *rules.Rule, _ *time.Location, shut bool) {
	for _, r := range p.rules {
		if r.Hours == nil {
			continue
		}
		for _, loc := range p.locs {
			if !r.Hours.Open(now.In(loc)) {
				return r, loc, true
			}
		}
	}
	return p.rules[0], p.locs[0], false
}

func onWall(t time.Time, loc *time.Location) string { return t.In(loc).Format("15:04") }
