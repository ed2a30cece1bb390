package rules

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// Purposes that rules may tell apart. A follow-up has Requested unless it says otherwise.
const (
	Requested = "requested"
	Sales     = "sales"
	Debt      = "debt"
)

// Rule is what one source says of calls to some places, for some purposes.
type Rule struct {
	Places    []string      // ISO 3166-1 alpha-2 (US), or ISO 3166-2 (US-FL)
	Purposes  []string      // empty: every purpose
	Hours     *Hours        // nil: it says nothing about hours
	Caps      Caps          // calls to one number
	AfterTalk time.Duration // no further call for so long after one that reached somebody; 0: none
	Consent   bool          // only with the consent of the person called
	Source    string
	Dated     string // when the source was read, 2006-01-02
	Line      int    // in its file
}

// Caps are the most calls to one number in rolling windows; 0 is no such cap.
type Caps struct{ Day, Week, Month int } // 24 hours, 7 days, 30 days

// Most is the largest cap.
func (c Caps) Most() int { return max(c.Day, c.Week, c.Month) }

// Set is the rules in force. It is not changed once made.
type Set struct {
	rules    []*Rule
	digest   string
	purposes map[string]bool
	bound    map[binding][]*Rule
}

// binding is whom rules bind. The purpose "" is one that no rule names: all of them bind it.
type binding struct{ place, purpose string }

// newSet makes a set of checked rules. digest tells it from every other.
func newSet(all []*Rule, digest string) *Set {
	s := &Set{rules: all, digest: digest, purposes: map[string]bool{Requested: true, Sales: true, Debt: true}, bound: map[binding][]*Rule{}}
	at := map[string][]*Rule{}
	for _, r := range all {
		for _, p := range r.Purposes {
			s.purposes[p] = true
		}
		for _, p := range r.Places {
			at[p] = append(at[p], r)
		}
	}
	for place := range at {
		var there []*Rule // those of the place, then those of its country
		for _, around := range within(place) {
			for _, r := range at[around] {
				if !slices.Contains(there, r) { // it may name both
					there = append(there, r)
				}
			}
		}
		s.bound[binding{place, ""}] = there
		for purpose := range s.purposes {
			s.bound[binding{place, purpose}] = forPurpose(there, purpose)
		}
	}
	return s
}

// forPurpose are the rules among some that bind calls for a purpose.
func forPurpose(all []*Rule, purpose string) []*Rule {
	var found []*Rule
	for _, r := range all {
		if len(r.Purposes) == 0 || slices.Contains(r.Purposes, purpose) {
			found = append(found, r)
		}
	}
	return found
}

// within is a place and the country it lies in: US-FL, US.
func within(place string) []string {
	country, _, part := strings.Cut(place, "-")
	if part {
		return []string{place, country}
	}
	return []string{place}
}

// For are the rules that bind a call, those of the place before those of its country. A purpose
// that no rule names may be any of them in another spelling, so all rules of the place bind it.
// The slice is not the caller's to change.
func (s *Set) For(place, purpose string) []*Rule {
	if s == nil {
		return nil
	}
	if !s.purposes[purpose] {
		purpose = ""
	}
	if found, ok := s.bound[binding{place, purpose}]; ok {
		return found
	}
	country, _, _ := strings.Cut(place, "-")
	return s.bound[binding{country, purpose}]
}

// HasHours reports whether some rule says in which hours a place may be called for a purpose.
func (s *Set) HasHours(place, purpose string) bool {
	return slices.ContainsFunc(s.For(place, purpose), func(r *Rule) bool { return r.Hours != nil })
}

// All are the rules, in their file's order.
func (s *Set) All() []*Rule {
	if s == nil {
		return nil
	}
	return slices.Clone(s.rules)
}

// Purposes are those that rules tell apart, sorted.
func (s *Set) Purposes() []string {
	if s == nil {
		return nil
	}
	all := make([]string, 0, len(s.purposes))
	for p := range s.purposes {
		all = append(all, p)
	}
	slices.Sort(all)
	return all
}

// Digest tells these rules from others; "" where there are none.
func (s *Set) Digest() string {
	if s == nil {
		return ""
	}
	return s.digest
}

// Purpose says whom a rule is for, "every purpose" or a list.
func (r *Rule) Purpose() string { return cmp.Or(strings.Join(r.Purposes, ", "), "every purpose") }

// ByDay is no rule of any place: it is when a person's leave to call a place that has no rules
// is taken to hold. Whoever says yes by day has not said that people may be rung at night.
func ByDay() *Rule {
	h := &Hours{}
	for d := range h.week {
		h.week[d] = []Window{{8 * time.Hour, 21 * time.Hour}}
	}
	h.spell()
	return &Rule{Hours: h, Source: "no rule is known here: by day only"}
}
