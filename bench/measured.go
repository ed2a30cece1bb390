package main

import "slices"

// measured is one line of what must be reached.
type measured struct {
	Measure string  `json:"measure"`
	Setting string  `json:"setting"`
	Value   float64 `json:"value"`
	Floor   float64 `json:"floor"`
	Aim     float64 `json:"aim,omitempty"`
	Below   bool    `json:"below,omitempty"` // the value is to be below, not above
}

func (m measured) says() string {
	better := func(than float64) bool { return m.Value >= than && !m.Below || m.Value < than && m.Below }
	switch {
	case m.Aim > 0 && better(m.Aim):
		return "aim reached"
	case better(m.Floor):
		return "floor reached"
	}
	return "MISSED"
}

// boundaryMost is how many seconds after a slot's boundary its attempts may be made: a tenth of a minute, the
// default slot.
const boundaryMost = 6

// measures are those of which there are figures.
func measures(results []result) []measured {
	raw, two, river := best(results, kindRaw, 0), best(results, kindTwo, 0), best(results, kindRiver, 0)
	instant, instant256 := best(results, kindInstant, 0), best(results, kindInstant, 256)
	http, http64 := best(results, kindHTTP, 0), best(results, kindHTTP, 64)
	one, fleet := best(results, kindOne, 0), best(results, kindFleet, 0)
	last, at := 0.0, ""
	for _, r := range results {
		if r.Kind == kindSlot {
			last, at = quantile(r.each(func(s sample) float64 { return s.AfterSlot.Outcome99.Seconds() }), 1), r.Name
		}
	}
	over := func(a, b found) float64 { return ratio(a.PerSecond, b.PerSecond) }
	all := []measured{
		{"instant carrier, best / raw16", instant.Name, over(instant, raw), 0.9, 1.5, false},
		{"instant carrier, best / River no-op", instant.Name, over(instant, river), 0.7, 1, false},
		{"instant carrier, 256 dial slots / 2stmt16", instant256.Name, over(instant256, two), 1.5, 2.5, false},
		{"HTTP in 20 ms, 64 dial slots / 3,200 a second", http64.Name, http64.PerSecond / (64 / answersIn.Seconds()), 0.65, 0.85, false},
		{"HTTP in 20 ms, best / raw16", http.Name, over(http, raw), 0.5, 0.75, false},
		{"two daemons, DRAINERS=2 / one with 1", fleet.Name, over(fleet, one), 1.8, 0, false},
		{"boundary to outcomes, p99, seconds, worst round", at, last, boundaryMost, boundaryMost, true},
	}
	return slices.DeleteFunc(all, func(m measured) bool { return m.Value == 0 })
}
