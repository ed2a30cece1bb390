package rules

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/rickar/cal/v2"
)

// daysOff are days on which nobody may be called, whatever the weekday: the holidays of a
// calendar and dates of a rule's own. A nil one has none.
type daysOff struct {
	calendar string // its name in the file; "" is none
	holidays []*cal.Holiday
	own      []time.Time // midnights in UTC, sorted

	// years are those last asked for: working one out takes a hundred times as long as a
	// look-up. A slot holds the years that are equal modulo its number, so memory is bounded.
	years [4]atomic.Pointer[yearOff]
}

// yearOff is why days of one year are off.
type yearOff struct {
	year int
	why  map[monthDay]string
}

type monthDay struct {
	month time.Month
	day   int
}

// on says why the day of a time on the wall is off, if it is.
func (d *daysOff) on(wall time.Time) (why string, off bool) {
	if d == nil {
		return "", false
	}
	year, month, day := wall.Date()
	why, off = d.of(year).why[monthDay{month, day}]
	return why, off
}

// of gives a year, from memory where it can.
func (d *daysOff) of(year int) *yearOff {
	slot := &d.years[uint(year)%uint(len(d.years))]
	if known := slot.Load(); known != nil && known.year == year {
		return known
	}
	worked := d.workOut(year)
	slot.Store(worked)
	return worked
}

// workOut finds the days off in a year. A day is a holiday when the holiday falls on it, and when
// it is observed on it: a rule that means only one of them is not known. What falls on the first
// of January may be observed the year before.
func (d *daysOff) workOut(year int) *yearOff {
	y := &yearOff{year, map[monthDay]string{}}
	note := func(date time.Time, why string, better bool) {
		of, month, day := date.Date()
		if _, noted := y.why[monthDay{month, day}]; of == year && (better || !noted) {
			y.why[monthDay{month, day}] = why
		}
	}
	for _, date := range d.own {
		note(date, "a date the rule lists", true)
	}
	for from := year - 1; from <= year+1; from++ {
		for _, h := range d.holidays {
			if actual, observed, is := fallsOn(h, from); is {
				note(observed, h.Name+", observed", false)
				note(actual, h.Name, true)
			}
		}
	}
	return y
}

// fallsOn are the day of a holiday in a year and the day it is observed, as midnights in UTC.
//
// The library has midnight in the machine's own zone. Where that midnight does not exist it has
// an hour of the day before, which would be taken for that day, and for its weekday when the
// observed day is looked for. So only the date is asked for, at noon, and the rest is done here:
// what people may be called must not hang on where the machine stands. The copy also keeps the
// library from writing to a holiday that others read at the time (Japan's equinox).
func fallsOn(h *cal.Holiday, year int) (actual, observed time.Time, is bool) {
	plain := *h
	plain.Observed = nil
	there, _ := plain.Calc(year)
	if there.IsZero() {
		return time.Time{}, time.Time{}, false
	}
	y, m, d := there.Add(day / 2).Date()
	actual = time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
	for _, alternative := range h.Observed {
		if alternative.Day == actual.Weekday() {
			return actual, actual.AddDate(0, 0, alternative.Offset), true
		}
	}
	return actual, actual, true
}

// say names the days off, for a person.
func (d *daysOff) say() []string {
	var parts []string
	if d == nil {
		return parts
	}
	if d.calendar != "" {
		parts = append(parts, "not on holidays of "+d.calendar)
	}
	switch len(d.own) {
	case 0:
	case 1:
		parts = append(parts, "not on "+d.own[0].Format(time.DateOnly))
	default:
		parts = append(parts, fmt.Sprintf("not on %d listed dates", len(d.own)))
	}
	return parts
}
