package gates

import (
	"fmt"
	"strings"
	"time"
)

// Window is the part of a day in which calls are allowed, by the clock on the wall of the person
// called: half-open, and within one day. The zero Window is 08:00-21:00, as 47 CFR 64.1200(c)(1)
// has it. There is no window that is always open, and none over midnight: both have been typed
// by people who meant something else.
type Window struct{ opens, closes time.Duration } // since midnight; both zero is the default

// NewWindow makes a window from the times of day it opens and closes at, in whole minutes;
// 24:00 may close it. Opening must come before closing.
func NewWindow(opens, closes time.Duration) (Window, error) {
	const day = 24 * time.Hour
	switch {
	case opens < 0 || closes > day:
		return Window{}, fmt.Errorf("calling hours from %s to %s after midnight: not within one day", opens, closes)
	case opens%time.Minute != 0 || closes%time.Minute != 0:
		return Window{}, fmt.Errorf("calling hours from %s to %s after midnight: not whole minutes", opens, closes)
	case opens >= closes:
		return Window{}, fmt.Errorf("calling hours %s-%s: they must open before they close, on the same day",
			onClock(opens), onClock(closes))
	default:
		return Window{opens, closes}, nil
	}
}

// ParseWindow reads "08:00-21:00".
func ParseWindow(s string) (Window, error) {
	opens, closes, found := strings.Cut(s, "-")
	from, err := clock(opens)
	to, err2 := clock(closes)
	if !found || err != nil || err2 != nil {
		return Window{}, fmt.Errorf("calling hours %q: write them as 08:00-21:00", s)
	}
	return NewWindow(from, to)
}

// clock reads "08:00", up to "24:00".
func clock(s string) (time.Duration, error) {
	s = strings.TrimSpace(s)
	if s == "24:00" {
		return 24 * time.Hour, nil
	}
	t, err := time.Parse("15:04", s)
	if err != nil {
		return 0, err
	}
	return time.Duration(t.Hour())*time.Hour + time.Duration(t.Minute())*time.Minute, nil
}

func (w Window) orDefault() Window {
	if w == (Window{}) {
		return Window{8 * time.Hour, 21 * time.Hour}
	}
	return w
}

// String is "08:00-21:00".
func (w Window) String() string {
	w = w.orDefault()
	return onClock(w.opens) + "-" + onClock(w.closes)
}

func onClock(d time.Duration) string {
	return fmt.Sprintf("%02d:%02d", d/time.Hour, d%time.Hour/time.Minute)
}

// contains reports whether the window is open at an instant, by the clock of its location.
func (w Window) contains(t time.Time) bool {
	now := sinceMidnight(t)
	return w.opens <= now && now < w.closes
}

// next is the earliest instant from t on at which the window is open by the clock of t's
// location. Between two changes of that clock the time of day runs on by itself; at a change
// it jumps, maybe over the opening, so each stretch is looked at by itself.
func (w Window) next(t time.Time) time.Time {
	for !w.contains(t) {
		wait := w.opens - sinceMidnight(t)
		if wait < 0 {
			wait += 24 * time.Hour
		}
		opening := t.Add(wait)
		if _, change := t.ZoneBounds(); !change.IsZero() && !change.After(opening) {
			t = change // in t's location, and later than t
			continue
		}
		return opening
	}
	return t
}

// sinceMidnight is the time of day on the wall, which is not the time that has passed since
// midnight on a day when the clocks change.
func sinceMidnight(t time.Time) time.Duration {
	h, m, s := t.Clock()
	return time.Duration(h)*time.Hour + time.Duration(m)*time.Minute + time.Duration(s)*time.Second +
		time.Duration(t.Nanosecond())
}
