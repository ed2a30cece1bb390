package rules

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// digest tells rules from others: two files that say the same have the same one, whatever their
// comments, their layout and the order of their rules.
func digest(all []*Rule) string {
	texts := make([]string, len(all))
	for i, r := range all {
		texts[i] = r.canonical()
	}
	slices.Sort(texts)
	sum := sha256.Sum256([]byte(strings.Join(texts, "\n")))
	const shown = 16
	return hex.EncodeToString(sum[:])[:shown]
}

// canonical is everything a rule says, in one spelling.
func (r *Rule) canonical() string {
	places, purposes := slices.Sorted(slices.Values(r.Places)), slices.Sorted(slices.Values(r.Purposes))
	return fmt.Sprintf("%q", []string{
		strings.Join(places, " "), strings.Join(purposes, " "), r.Hours.canonical(), fmt.Sprint(r.Caps),
		r.AfterTalk.String(), strconv.FormatBool(r.Consent), r.Source, r.Dated,
	})
}

func (h *Hours) canonical() string {
	if h == nil {
		return ""
	}
	var b strings.Builder
	for _, d := range monToSun {
		fmt.Fprintf(&b, "%s %s;", shortName(d), spell(h.week[d]))
	}
	if h.off != nil {
		fmt.Fprintf(&b, "%s;", h.off.calendar)
		for _, on := range h.off.own {
			fmt.Fprintf(&b, "%s;", on.Format(time.DateOnly))
		}
	}
	return b.String()
}
