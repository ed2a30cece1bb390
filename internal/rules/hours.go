package rules

import (
	"slices"
	"strings"
	"time"
)

// Hours are the parts of each weekday in which calls are allowed, by the clock on the wall of
// the person called, and the days on which none are. Windows are half-open.
type Hours struct {
	week  [7][]Window // by time.Weekday, each sorted and apart from each other; none: closed that day
	spelt [7]string   // the same as they are read, because every finding tells them
	off   *daysOff    // nil: none
}

// spell works out how the hours are read.
func (h *Hours) spell() {
	for d, windows := range h.week {
		h.spelt[d] = spell(windows)
	}
}

// Open reports whether calls are allowed at an instant, by the clock of its location.
func (h *Hours) Open(t time.Time) bool { return h.openAt(wall(t)) }

// Next is the earliest instant from t on, and before limit, at which calls are allowed by the
// clock of t's location; ok is false where there is none.
//
// Between two changes of a clock the time of day runs on by itself; at a change it jumps, maybe
// over an opening or over midnight, so each stretch between changes is looked at by itself.
func (h *Hours) Next(t, limit time.Time) (next time.Time, ok bool) {
	t = t.Round(0) // by the wall's clock, were it a reading of this machine's
	for t.Before(limit) {
		now := wall(t)
		if h.openAt(now) {
			return t, true
		}
		end := limit
		switch _, change := t.ZoneBounds(); {
		case change.IsZero():
		case !change.After(t):
			// Package time errs so on the last day of a leap year (golang/go#81583): a change that
			// is near is not known there, so it is gone ahead by less than a clock changes in.
			end = earlier(limit, t.Add(15*time.Minute))
		default:
			end = earlier(limit, change)
		}
		if opening, found := h.opening(now, now.Add(end.Sub(t))); found {
			return t.Add(opening.Sub(now)), true
		}
		t = end.In(t.Location())
	}
	return time.Time{}, false
}

// On says what the hours are on the day of t by its location's clock: "10:00-13:00, 14:00-20:00",
// "closed", or "closed (Christmas Day)".
func (h *Hours) On(t time.Time) string {
	now := wall(t)
	windows := h.week[now.Weekday()]
	if len(windows) == 0 {
		return closed
	}
	if why, off := h.off.on(now); off {
		return closed + " (" + why + ")"
	}
	return h.spelt[now.Weekday()]
}

// String is the whole week: "Mon-Fri 10:00-13:00, 14:00-20:00; not on holidays of fr". Days that
// are closed are left out.
func (h *Hours) String() string {
	var parts []string
	for i := 0; i < len(monToSun); {
		windows, first := h.week[monToSun[i]], i
		for i++; i < len(monToSun) && slices.Equal(windows, h.week[monToSun[i]]); i++ {
		}
		if len(windows) == 0 {
			continue
		}
		days := shortName(monToSun[first])
		if last := i - 1; last > first {
			days += "-" + shortName(monToSun[last])
		}
		parts = append(parts, days+" "+h.spelt[monToSun[first]])
	}
	if len(parts) == 0 {
		parts = []string{closed}
	}
	return strings.Join(append(parts, h.off.say()...), "; ")
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// openAt is Open at a time on the wall.
func (h *Hours) openAt(now time.Time) bool {
	since := sinceMidnight(now)
	for _, w := range h.week[now.Weekday()] {
		if w.contains(since) {
			_, off := h.off.on(now)
			return !off
		}
	}
	return false
}

// opening is the first time on the wall, after now and before end, at which a window opens.
func (h *Hours) opening(now, end time.Time) (time.Time, bool) {
	for midnight := now.Add(-sinceMidnight(now)); midnight.Before(end); midnight = midnight.Add(day) {
		windows := h.week[midnight.Weekday()]
		if len(windows) == 0 {
			continue
		}
		if _, off := h.off.on(midnight); off {
			continue
		}
		for _, w := range windows {
			if opens := midnight.Add(w.opens); opens.After(now) {
				return opens, opens.Before(end)
			}
		}
	}
	return time.Time{}, false
}

// wall is what the clock on the wall shows at an instant, kept as if it were UTC: reckoning with
// it knows of no change of the clocks.
func wall(t time.Time) time.Time {
	_, east := t.Zone()
	return t.UTC().Add(time.Duration(east) * time.Second)
}

// sinceMidnight is the time of day on the wall, which is not the time that has passed since
// midnight on a day when the clocks change.
func sinceMidnight(wall time.Time) time.Duration {
	h, m, s := wall.Clock()
	return time.Duration(h)*time.Hour + time.Duration(m)*time.Minute + time.Duration(s)*time.Second +
		time.Duration(wall.Nanosecond())
}

// closed is the word for a day without hours.
const closed = "closed"

// spell writes the windows of a day as they are read.
func spell(windows []Window) string {
	texts := make([]string, len(windows))
	for i, w := range windows {
		texts[i] = w.String()
	}
	return strings.Join(texts, ", ")
}

// monToSun is the week as people who write rules think of it.
var monToSun = [...]time.Weekday{
	time.Monday, time.Tuesday, time.Wednesday, time.Thursday, time.Friday, time.Saturday, time.Sunday,
}

func shortName(d time.Weekday) string { return d.String()[:3] }
