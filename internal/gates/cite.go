package gates

import (
	"cmp"
	"strconv"
	"time"

	"chasephone/internal/rules"
)

// What findings are judged on, in the words that the ledger keeps.

// cite says which rule decided. A rule is the operator's own text, and its source may well look
// like a telephone number (Décret 2022-1313), so it is not cleaned.
func cite(on map[string]string, r *rules.Rule) { on["rule"], on["dated"] = r.Source, r.Dated }

// noPlace stands for the place of a number that has none.
const noPlace = "none"

func place(c *Case) string { return cmp.Or(c.Number.Place, noPlace) }

// named is a source that somebody else wrote, fit for the ledger.
func named(source string) string { return cmp.Or(clean(source), "an unnamed source") }

// span is a length of time as people say it: 30 days, 24h, 15m.
func span(d time.Duration) string {
	whole := func(unit time.Duration, name string) string { return strconv.FormatInt(int64(d/unit), 10) + name }
	switch {
	case d > inDay && d%inDay == 0:
		return whole(inDay, " days")
	case d >= time.Hour && d%time.Hour == 0:
		return whole(time.Hour, "h")
	case d >= time.Minute && d%time.Minute == 0:
		return whole(time.Minute, "m")
	default:
		return d.String()
	}
}
