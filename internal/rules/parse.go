package rules

import (
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// Bounds of a file of rules.
const (
	mostRules     = 1000 // and purposes: a set holds who is bound by what, worked out ahead
	mostPurposes  = 100
	longestSource = 200
	mostCalls     = 500
	longestGap    = 90 * day
	shortestGap   = time.Minute
)

// Parse reads a file of rules. The error is of type Mistakes and has all that is wrong, by line.
// today is what the date of a source is checked against; the zero time is for rules that come
// with the program, which must start whatever its machine takes the date to be.
func Parse(text []byte, today time.Time) (*Set, error) {
	top, mistakes := document(text)
	if len(mistakes) > 0 {
		return nil, mistakes.asError()
	}
	r := &reader{today: today, calendars: calendars(), purposes: map[string]bool{}}
	all := r.rules(top)
	if err := r.found.asError(); err != nil {
		return nil, err
	}
	return newSet(all, digest(all)), nil
}

func (r *reader) rules(top *yaml.Node) []*Rule {
	f, ok := r.fields(top, "the file", "rules", "about")
	if !ok {
		return nil
	}
	if f.has("about") {
		r.text(f["about"], "about")
	}
	list := f["rules"]
	switch {
	case !f.has("rules"):
		r.say(top, "there is no rules: write rules: and a list of them")
		return nil
	case list == nil:
		return nil
	case list.Kind != yaml.SequenceNode || len(list.Content) == 0:
		r.say(list, "rules is a list of at least one rule, each beginning with a dash; to have no rules set GATE_CALLING_HOURS to off")
		return nil
	case len(list.Content) > mostRules:
		r.say(list.Content[mostRules], "there are more than %d rules: name several places in one", mostRules)
		return nil
	}
	var all []*Rule
	for _, n := range list.Content {
		if rule := r.rule(n); rule != nil {
			all = append(all, rule)
		}
	}
	return all
}

func (r *reader) rule(n *yaml.Node) *Rule {
	f, ok := r.fields(n, "a rule",
		"places", "purposes", "hours", "holidays", "closed_on", "caps", "after_talk", "consent", "source", "dated")
	if !ok {
		return nil
	}
	for _, needed := range []struct{ key, hint string }{
		{"places", "where it holds, such as [US, CA-ON]"},
		{"source", "where it is written"},
		{"dated", "the day the source was read, such as 2025-11-01"},
	} {
		if !f.has(needed.key) {
			r.say(n, "this rule has no %s: write %s", needed.key, needed.hint)
		}
	}
	if !f.has("hours") && !f.has("caps") && !f.has("after_talk") && !f.has("consent") {
		r.say(n, "this rule says nothing: give it hours, caps, after_talk or consent, or leave it out")
	}
	return &Rule{
		Places:    r.places(f["places"]),
		Purposes:  r.purposesOf(f["purposes"]),
		Hours:     r.hours(n, f),
		Caps:      r.caps(f["caps"]),
		AfterTalk: r.afterTalk(f["after_talk"]),
		Consent:   r.consent(f["consent"]),
		Source:    r.source(f["source"]),
		Dated:     r.dated(f["dated"]),
		Line:      n.Line,
	}
}

var purposeForm = regexp.MustCompile(`^[a-z][a-z0-9_]{0,30}$`)

func (r *reader) purposesOf(n *yaml.Node) []string {
	var purposes []string
	for _, one := range r.words(n, "purposes") {
		if !purposeForm.MatchString(one.Value) {
			r.say(one, "%s is no purpose: write a word in small letters, such as %s, %s or %s", quote(one.Value), Requested, Sales, Debt)
			continue
		}
		if r.purposes[one.Value] = true; len(r.purposes) > mostPurposes {
			r.say(one, "the rules together have more than %d purposes: tell fewer apart", mostPurposes)
			return nil
		}
		purposes = append(purposes, one.Value)
	}
	return purposes
}

func (r *reader) caps(n *yaml.Node) (c Caps) {
	if n == nil {
		return c
	}
	f, ok := r.fields(n, "caps", "24h", "7d", "30d")
	if ok && len(n.Content) == 0 {
		r.say(n, "caps are empty: write for instance 30d: 4, or leave them out")
	}
	c.Day = r.cap(f["24h"], "24h")
	c.Week = r.cap(f["7d"], "7d")
	c.Month = r.cap(f["30d"], "30d")
	return c
}

func (r *reader) cap(n *yaml.Node, key string) int {
	text, ok := r.text(n, key)
	if !ok {
		return 0
	}
	calls, err := strconv.ParseUint(text, 10, 16)
	if err != nil || calls < 1 || calls > mostCalls {
		r.say(n, "%s is no cap: write a whole number of calls from 1 to %d", quote(text), mostCalls)
		return 0
	}
	return int(calls)
}

// afterTalk reads "7d", or a duration as Go writes it.
func (r *reader) afterTalk(n *yaml.Node) time.Duration {
	text, ok := r.text(n, "after_talk")
	if !ok {
		return 0
	}
	var gap time.Duration
	var err error
	if days, inDays := strings.CutSuffix(text, "d"); inDays {
		var whole uint64
		whole, err = strconv.ParseUint(days, 10, 16)
		gap = time.Duration(whole) * day
	} else {
		gap, err = time.ParseDuration(text)
	}
	if err != nil || gap < shortestGap || gap > longestGap {
		r.say(n, "%s is no after_talk: write a time from 1m to 90d, such as 7d or 36h", quote(text))
		return 0
	}
	return gap
}

func (r *reader) consent(n *yaml.Node) bool {
	text, ok := r.text(n, "consent")
	if ok && text != "required" {
		r.say(n, "%s is not said of consent: write required, or leave it out where it is not", quote(text))
	}
	return text == "required"
}

func (r *reader) source(n *yaml.Node) string {
	text, ok := r.text(n, "source")
	switch letters := utf8.RuneCountInString(text); {
	case !ok:
	case strings.TrimSpace(text) == "":
		r.say(n, "source is empty: write where the rule is written")
	case letters > longestSource:
		r.say(n, "source has %d letters: write at most %d", letters, longestSource)
	case !printable(text):
		r.say(n, "source is not one line of letters that can be seen")
	}
	return text
}

func (r *reader) dated(n *yaml.Node) string {
	text, ok := r.text(n, "dated")
	if !ok {
		return ""
	}
	on, is := date(text)
	switch {
	case !is:
		r.say(n, "%s is no date: write the day the source was read, such as 2025-11-01", quote(text))
	case on.Year() < 1990:
		r.say(n, "%s is before 1990: write the day the source was read", quote(text))
	case !r.today.IsZero() && on.After(r.today.Add(day)):
		r.say(n, "%s is in the future: write the day the source was read", quote(text))
	}
	return text
}
