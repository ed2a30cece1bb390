package rules

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// FuzzParse: whatever a file holds, it is rules or mistakes that name its lines.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		good, several, "", "rules:", "rules: []", "rules:\n  - places: &a [US]\n    x: *a", "a: !!binary x", "{a: [b, {c: d}]}", "--- a\n--- b",
		"rules:\n# x\n  - a: |\n      b\n   # y\n", "? a\n: b\n", "a: \"\\u2028\"\n", "%YAML 1.1\n---\na: b", "[\n#\n]", "- - - a\n", "a: 'b\n\n", "\t", "<<: x",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := Parse(text, today())
		if err != nil {
			checkMistakes(t, string(text), err)
			return
		}
		checkSet(t, s)
	})
}

// checkSet: what was accepted keeps its promises.
func checkSet(t interface {
	Helper()
	Fatalf(format string, args ...any)
}, s *Set,
) {
	t.Helper()
	if len(s.All()) == 0 || len(s.Digest()) != 16 {
		t.Fatalf("%d rules, digest %q", len(s.All()), s.Digest())
	}
	for _, r := range s.All() {
		if len(r.Places) == 0 || r.Source == "" || r.Dated == "" || r.Line < 1 || r.Hours == nil && r.Caps.Most() == 0 && r.AfterTalk == 0 && !r.Consent {
			t.Fatalf("%+v", r)
		}
		if h := r.Hours; h != nil {
			if _, ok := h.Next(today(), today().AddDate(3, 0, 0)); !ok && (h.off == nil || len(h.off.own) < 100) {
				t.Fatalf("never open: %s", h)
			}
		}
	}
}

// TestMutations: a good file with some of its parts changed is still good, or the mistakes name
// lines of it.
func TestMutations(t *testing.T) {
	t.Parallel()
	pieces := []string{
		"", " ", "  ", "\n", "\t", ":", ": ", "- ", "-", ",", "[", "]", "{", "}", "#", "\"", "'", "|", ">", "&a ", "*a", "!!str ", "!", "<<: ", "? ", "---\n",
		"...\n", "~", "null", "on", "NO", "US", "US-FL", "24:00", "00:00-24:00", "Mon", "7d", "0", "-1", "1e3", "2026-02-30", "\u00e9", "\u2028", "\xff", "\r", "%", "@", "`",
	}
	lines := strings.SplitAfter(good, "\n")
	rapid.Check(t, func(t *rapid.T) {
		text := good
		for range rapid.IntRange(1, 4).Draw(t, "changes") {
			from := rapid.IntRange(0, len(text)).Draw(t, "from")
			piece := rapid.OneOf(rapid.SampledFrom(pieces), rapid.SampledFrom(lines)).Draw(t, "piece")
			to := min(len(text), from+rapid.IntRange(0, 12).Draw(t, "cut"))
			text = text[:from] + piece + text[to:]
		}
		s, err := Parse([]byte(text), today())
		if err != nil {
			checkMistakes(t, text, err)
			return
		}
		checkSet(t, s)
	})
}
