package rules

import (
	"fmt"
	"strings"
	"time"
)

const day = 24 * time.Hour

// Window is a part of a day in which calls are allowed, by the clock on the wall of the person
// called: half-open, and within one day. There is no window over midnight: it has been typed by
// people who meant something else. Get one from NewWindow or ParseWindow; the zero Window is
// never open.
type Window struct{ opens, closes time.Duration } // since midnight

// NewWindow makes a window from the times of day it opens and closes at, in whole minutes;
// 24:00 may close it. Opening must come before closing.
func NewWindow(opens, closes time.Duration) (Window, error) {
	switch {
	case opens < 0 || closes > day:
		return Window{}, fmt.Errorf("calling hours from %s to %s after midnight: not within one day", opens, closes)
	case opens%time.Minute != 0 || closes%time.Minute != 0:
		return Window{}, fmt.Errorf("calling hours from %s to %s after midnight: not whole minutes", opens, closes)
	case opens >= closes:
		return Window{}, fmt.Errorf("calling hours %s-%s: they must open before they close, on the same day; what goes over midnight is written under two days",
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
		return Window{}, fmt.Errorf("calling hours %s: write them as 08:00-21:00", quote(s))
	}
	return NewWindow(from, to)
}

// clock reads "08:00", up to "24:00".
func clock(s string) (time.Duration, error) {
	s = strings.TrimSpace(s)
	if s == "24:00" {
		return day, nil
	}
	t, err := time.Parse("15:04", s)
	if err != nil {
		return 0, err
	}
	return time.Duration(t.Hour())*time.Hour + time.Duration(t.Minute())*time.Minute, nil
}

// String is "08:00-21:00".
func (w Window) String() string { return onClock(w.opens) + "-" + onClock(w.closes) }

func onClock(d time.Duration) string {
	return fmt.Sprintf("%02d:%02d", d/time.Hour, d%time.Hour/time.Minute)
}

// contains reports whether the window is open at a time of day.
func (w Window) contains(sinceMidnight time.Duration) bool {
	return w.opens <= sinceMidnight && sinceMidnight < w.closes
}
