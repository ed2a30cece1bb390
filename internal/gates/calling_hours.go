package gates

import (
	"strconv"
	"time"
)

// commonWithin is how far ahead an hour is looked for at which every candidate zone is open. It
// is more than a week, so that no rule by weekday and no change of the clocks hides one.
const commonWithin = 8 * 24 * time.Hour

// Where a zone was taken from, under "zone_from".
const (
	zoneFromRow      = "confirmed"
	zoneFromApproval = "approval"
	zoneFromNumber   = "number"
)

type hours struct {
	window Window
	text   string // of the window
	zones  zones
}

// callingHours waits for the hours in which people may be rung, by the clock of the person
// called: the zone they confirmed, or the one a person approved; else every zone the number
// allows must be open at once. No zone at all is for a person to decide.
func callingHours(w Window, off bool) Gate {
	if off {
		return Gate{GateCallingHours, func(Case) Verdict { return Pass{Grounds{Code: CodeHoursOff}} }}
	}
	w = w.orDefault()
	h := &hours{window: w, text: w.String(), zones: zones{loaded: map[string]*time.Location{}}}
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
	until, ok := h.common(c.Now, locs)
	if !ok {
		return Hold{Grounds{CodeNoCommonHours, map[string]string{
			"zones": strconv.Itoa(len(locs)), "zone_from": from, "window": h.text,
		}}}
	}

	// The zone shown is one that is closed, where there is one.
	shown := locs[0]
	for _, loc := range locs {
		if !h.window.contains(c.Now.In(loc)) {
			shown = loc
			break
		}
	}
	on := map[string]string{
		"zone": shown.String(), "zone_from": from, "local": c.Now.In(shown).Format("15:04"), "window": h.text,
	}
	if len(locs) > 1 {
		on["zones"] = strconv.Itoa(len(locs))
	}
	if until.After(c.Now) {
		return Wait{Grounds{CodeOutsideHours, on}, until.UTC()}
	}
	return Pass{Grounds{On: on}}
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

// common is the earliest instant from now on at which all zones are open. Each step goes to a
// zone's own next opening, before which no common hour can lie, so none is missed.
func (h *hours) common(now time.Time, locs []*time.Location) (time.Time, bool) {
	t, agreed := now.Round(0), 0 // by the wall's clock, were it a reading of this machine's
	limit := t.Add(commonWithin)
	for i := 0; agreed < len(locs); i = (i + 1) % len(locs) {
		if next := h.window.next(t.In(locs[i])); next.After(t) {
			t, agreed = next, 0
		}
		agreed++
		if t.After(limit) {
			return time.Time{}, false
		}
	}
	return t, true
}
