package proof_test

import (
	"fmt"
	"slices"
	"strings"

	"chasephone/internal/carrier/sim"
)

// combination is one point, one fault and one variant of a story.
type combination struct {
	story   *story
	variant variant
	armed   armed
}

// variants are the company's whole table of answers, each with webhooks that do not come, come
// before the reply or come after it. Of a call that did not ring none come.
func variants() []variant {
	var all []variant
	for _, f := range sim.Faults() {
		all = append(all, variant{f, hooksNone})
		if f.Rings {
			all = append(all, variant{f, hooksBefore}, variant{f, hooksAfter})
		}
	}
	return all
}

// fits reports whether a story is another one with this variant.
func (s *story) fits(v variant) bool {
	switch s.name {
	case "tick":
		return true
	case "orphan": // what the company answered is lost: that it rang, or not, and what it tells later
		return v.hooks != hooksBefore && slices.Contains([]string{"ok", "drop_reply", "half_201", "ring_503", "http_500", "drop_request", "no_number"}, v.answer.Name)
	case "forged":
		return v.answer.Name == "drop_request" || v.answer.Name == "http_503"
	}
	// The call comes later than all that the victim does: one answer of each kind is enough.
	return v.hooks == hooksNone && slices.Contains([]string{"ok", "drop_reply", "http_500", "http_429", "no_number", "credentials"}, v.answer.Name)
}

// faultsAt are those that can happen at a point.
func faultsAt(point string) []fault {
	act, rest, _ := strings.Cut(point, "/")
	label, stage, _ := strings.Cut(rest, " ")
	switch {
	case rest == "handshake":
		return []fault{kill, breaks, pause, gone}
	case act == "dial":
		return []fault{kill, breaks, gone}
	case act == "close", act == "sweep", act == "aside", label == "begin" && strings.HasSuffix(stage, "sent"), label == "commit" && strings.HasSuffix(stage, "done"):
		return []fault{kill, breaks, pause, gone} // no transaction is open that the server would end
	}
	return []fault{kill, breaks, pause, longPause, gone}
}

// combinations are a story's with one variant, of which these are the points.
func combinations(s *story, v variant, points []string) []combination {
	var all []combination
	for _, p := range points {
		for _, f := range faultsAt(p) {
			all = append(all, combination{s, v, armed{point: p, fault: f}})
		}
	}
	return all
}

// thin leaves of combinations that are alike as alike says the one whose variant had its turn least.
// The rarest come first, so that those that can choose do not take what those cannot do without.
func thin(all []combination, alike func(combination) string) []combination {
	used := map[string]int{}
	of := map[string][]combination{}
	var kinds []string
	for _, c := range all {
		kind := alike(c)
		if len(of[kind]) == 0 {
			kinds = append(kinds, kind)
		}
		of[kind] = append(of[kind], c)
	}
	slices.SortStableFunc(kinds, func(a, b string) int { return len(of[a]) - len(of[b]) })
	turn := func(c combination) int { return used[c.variant.String()] + used[string(c.armed.fault)]/2 }
	var some []combination
	for _, kind := range kinds {
		best := of[kind][0]
		for _, c := range of[kind] {
			if turn(c) < turn(best) {
				best = c
			}
		}
		used[best.variant.String()]++
		used[string(best.armed.fault)]++
		some = append(some, best)
	}
	return some
}

// byAnswer tells combinations apart by all but when the webhooks come, and whether a pause is so long
// that the server ends the session: those come in turn.
func byAnswer(c combination) string {
	f := c.armed.fault
	if f == longPause {
		f = pause
	}
	return fmt.Sprint(c.story.name, "|", c.armed.point, "|", f, "|", c.variant.answer.Name)
}

// byFault tells them apart by point and fault: answers and webhooks come in turn.
func byFault(c combination) string {
	return fmt.Sprint(c.story.name, "|", c.armed.point, "|", c.armed.fault)
}

// byPoint tells them apart by the point alone: faults, answers and webhooks come in turn.
func byPoint(c combination) string { return c.story.name + "|" + c.armed.point }
