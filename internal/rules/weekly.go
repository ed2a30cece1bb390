package rules

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// hours reads the hours of a rule and the days on which they do not hold.
func (r *reader) hours(rule *yaml.Node, f fields) *Hours {
	if !f.has("hours") {
		for _, key := range []string{"holidays", "closed_on"} {
			if f.has(key) {
				r.say(rule, "this rule has %s and no hours: days are closed only where hours are open, so write the hours", key)
			}
		}
		return nil
	}
	h := &Hours{off: r.daysOff(f["holidays"], f["closed_on"])}
	n := f["hours"]
	switch {
	case n == nil:
		return nil
	case n.Kind != yaml.MappingNode || len(n.Content) == 0:
		r.say(n, "hours are weekdays with times, such as Mon-Fri: 09:00-18:00")
		return nil
	}
	before, named, open := len(r.found), map[time.Weekday]bool{}, false
	for i := 0; i+1 < len(n.Content); i += 2 {
		days, windows := r.weekly(n.Content[i], n.Content[i+1])
		for _, d := range days {
			if named[d] {
				r.say(n.Content[i], "%s is named twice: write all its hours in one place, with commas between", shortName(d))
			}
			named[d], h.week[d] = true, windows
		}
		open = open || len(windows) > 0
	}
	if !open && len(r.found) == before {
		r.say(n, "these hours are never open, so nobody would ever be called: leave the places out of all rules to have a person asked")
	}
	h.spell()
	return h
}

// weekly reads "Mon-Fri, Sun: 10:00-13:00, 14:00-20:00".
func (r *reader) weekly(key, value *yaml.Node) ([]time.Weekday, []Window) {
	days, err := parseDays(key.Value)
	if key.Kind != yaml.ScalarNode {
		err = errors.New("the days are one text, such as Mon-Fri")
	}
	if _, isWindow := ParseWindow(key.Value); isWindow == nil {
		err = fmt.Errorf("%s stands where days are expected: put quotes around several windows, as in \"10:00-13:00, 14:00-20:00\"", quote(key.Value))
	}
	if err != nil {
		r.say(key, "%s", err)
		return nil, nil
	}
	if value.Kind != yaml.ScalarNode || empty(value) {
		r.say(value, "%s has no hours: write them as 09:00-18:00, or closed", quote(key.Value))
		return days, nil
	}
	windows, err := parseWindows(value.Value)
	if err != nil {
		r.say(value, "%s", err)
	}
	return days, windows
}

// parseDays reads "Mon-Fri, Sun".
func parseDays(s string) ([]time.Weekday, error) {
	var days []time.Weekday
	for part := range strings.SplitSeq(s, ",") {
		part = strings.TrimSpace(part)
		from, to, isRange := strings.Cut(part, "-")
		first, last := weekday(from), weekday(to)
		if !isRange {
			last = first
		}
		switch {
		case first < 0 || last < 0:
			return nil, fmt.Errorf("%s is no weekday: they are Mon, Tue, Wed, Thu, Fri, Sat and Sun, with - between for a range and commas for a list", quote(part))
		case isRange && first >= last:
			return nil, fmt.Errorf("%s does not run from an earlier to a later day of Mon to Sun: write the days with commas between", quote(part))
		}
		days = append(days, monToSun[first:last+1]...)
	}
	return days, nil
}

// weekday is the place of a day in the week from Monday on, -1 for what is none.
func weekday(name string) int {
	return slices.IndexFunc(monToSun[:], func(d time.Weekday) bool { return strings.EqualFold(shortName(d), strings.TrimSpace(name)) })
}

// parseWindows reads "10:00-13:00, 14:00-20:00", or closed.
func parseWindows(s string) ([]Window, error) {
	if strings.EqualFold(strings.TrimSpace(s), closed) {
		return nil, nil
	}
	var windows []Window
	for part := range strings.SplitSeq(s, ",") {
		w, err := ParseWindow(strings.TrimSpace(part))
		if err != nil {
			return nil, err
		}
		if n := len(windows); n > 0 && windows[n-1].closes >= w.opens {
			return nil, fmt.Errorf("calling hours %s and then %s: write windows in order, with time between them", windows[n-1], w)
		}
		windows = append(windows, w)
	}
	return windows, nil
}

// daysOff reads the days on which hours do not hold; nil is none.
func (r *reader) daysOff(holidays, closedOn *yaml.Node) *daysOff {
	d := &daysOff{}
	if name, ok := r.text(holidays, "holidays"); ok {
		list, known := r.calendars[name]
		if !known {
			r.say(holidays, "%s is no calendar of holidays: those known are %s; list other days under closed_on", quote(name), calendarNames(r.calendars))
		}
		d.calendar, d.holidays = name, list
	}
	for _, one := range r.words(closedOn, "closed_on") {
		on, is := date(one.Value)
		if !is {
			r.say(one, "%s is no date: write it as 2025-12-24", quote(one.Value))
			continue
		}
		d.own = append(d.own, on)
	}
	slices.SortFunc(d.own, time.Time.Compare)
	if d.calendar == "" && len(d.own) == 0 {
		return nil
	}
	return d
}
