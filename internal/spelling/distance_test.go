package spelling

import (
	"testing"

	"pgregory.net/rapid"
)

func TestDistance(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		a, b string
		want int
	}{
		{"", "", 0},
		{"", "abc", 3},
		{"hours", "hours", 0},
		{"hour", "hours", 1},
		{"hpurs", "hours", 1},
		{"horus", "hours", 1},
		{"ohurs", "hours", 1},
		{"kitten", "sitting", 3},
		{"ca", "abc", 3},
	} {
		if got := Distance(tt.a, tt.b); got != tt.want {
			t.Errorf("%q to %q: %d, want %d", tt.a, tt.b, got, tt.want)
		}
	}
}

func TestDistanceIsTheSameBothWays(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringMatching(`[a-c]{0,6}`)
		a, b := word.Draw(t, "a"), word.Draw(t, "b")
		d := Distance(a, b)
		if d != Distance(b, a) || (d == 0) != (a == b) || d > max(len(a), len(b)) {
			t.Fatalf("%q, %q: %d and %d", a, b, d, Distance(b, a))
		}
	})
}
