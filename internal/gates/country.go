package gates

import (
	"cmp"
	"slices"
	"strings"
)

// country refuses numbers of regions that are not allowed, against toll fraud. +1 is shared by
// two dozen regions, and each must be named. An empty list allows none: the default is the
// caller's to fill in.
func country() Gate {
	return Gate{GateCountry, func(c Case) Verdict {
		if !c.judgeable() {
			return Pass{Grounds{Code: CodeNoNumber}}
		}
		region := c.Number.Region
		if region != "" && slices.ContainsFunc(c.Countries, func(allowed string) bool {
			return strings.EqualFold(strings.TrimSpace(allowed), region)
		}) {
			return Pass{}
		}
		return Refuse{Grounds{CodeCountryNotAllowed, map[string]string{
			"region":  cmp.Or(region, "none"),
			"allowed": cmp.Or(strings.Join(c.Countries, ","), "none"),
		}}}
	}}
}
