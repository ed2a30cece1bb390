package rules

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"go.yaml.in/yaml/v3"

	"github.com/rickar/cal/v2"
)

// reader reads a file of rules and gathers every mistake in it. Values are always taken as the
// text that stands there: what YAML makes of NO, 10:00 or 2025-11-01 is no concern of ours.
type reader struct {
	today     time.Time
	calendars map[string][]*cal.Holiday
	purposes  map[string]bool
	found     Mistakes
}

// say notes a mistake at a node.
func (r *reader) say(n *yaml.Node, format string, args ...any) {
	r.found = append(r.found, Mistake{max(n.Line, 1), fmt.Sprintf(format, args...)})
}

// fields are the values of a mapping, by key. A key whose value is wrong in a way that was told
// already is there with nil.
type fields map[string]*yaml.Node

// has reports whether a key was written, rightly or not.
func (f fields) has(key string) bool {
	_, has := f[key]
	return has
}

// fields reads a mapping with known keys; ok is false where it is none.
func (r *reader) fields(n *yaml.Node, what string, known ...string) (_ fields, ok bool) {
	if n.Kind != yaml.MappingNode {
		r.say(n, "%s is keys with values, and its keys are %s", what, listed(known))
		return nil, false
	}
	found := fields{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		name := key.Value
		switch {
		case key.Kind != yaml.ScalarNode || !slices.Contains(known, name):
			r.unknown(key, what, known)
			continue
		case found.has(name):
			r.say(key, "%s is there twice: leave one out", name)
			continue
		case empty(value):
			r.say(key, "%s has no value: write one, or leave it out", name)
			value = nil
		}
		found[name] = value
	}
	return found, true
}

// unknown tells of a key that does not exist.
func (r *reader) unknown(key *yaml.Node, what string, known []string) {
	hint := "its keys are " + listed(known)
	if near := nearest(key.Value, known); near != "" {
		hint = "did you mean " + near + "?"
	}
	r.say(key, "%s has no key %s: %s", what, quote(key.Value), hint)
}

// text reads one text; ok is false where it is none, which was told then.
func (r *reader) text(n *yaml.Node, key string) (_ string, ok bool) {
	switch {
	case n == nil:
		return "", false
	case n.Kind != yaml.ScalarNode:
		r.say(n, "%s is one text, not a list or keys", key)
		return "", false
	}
	return n.Value, true
}

// words reads a list of texts, or a single one, and says where each stands.
func (r *reader) words(n *yaml.Node, key string) []*yaml.Node {
	switch {
	case n == nil:
		return nil
	case n.Kind == yaml.ScalarNode:
		return []*yaml.Node{n}
	case n.Kind != yaml.SequenceNode:
		r.say(n, "%s is a list such as [a, b], or a single word", key)
		return nil
	case len(n.Content) == 0:
		r.say(n, "%s is an empty list: write something in it, or leave it out", key)
		return nil
	}
	var words []*yaml.Node
	seen := map[string]bool{}
	for _, one := range n.Content {
		switch {
		case one.Kind != yaml.ScalarNode || empty(one):
			r.say(one, "%s is a list of single words", key)
		case seen[one.Value]:
			r.say(one, "%s is in %s twice: leave one out", quote(one.Value), key)
		default:
			seen[one.Value] = true
			words = append(words, one)
		}
	}
	return words
}

// printable reports whether a text is one line that can be shown as it is.
func printable(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
}

// date reads a date as midnight in UTC.
func date(s string) (time.Time, bool) {
	t, err := time.Parse(time.DateOnly, s)
	return t, err == nil && len(s) == len(time.DateOnly)
}

// listed writes words as "a, b and c".
func listed(words []string) string {
	last := len(words) - 1
	if last < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + " and " + words[last]
}
