package config

import (
	"strings"

	"chasephone/internal/spelling"
)

// guarded are the beginnings of names that are ours alone. Under them a name that nobody
// knows is a setting somebody believes to be in force.
func guarded() []string { return []string{"PHONE_FOLLOWUP_", "GATE_", "IDEMPOTENCY_"} }

// guard is the beginning that makes a name ours, or "".
func guard(name string) string {
	for _, prefix := range guarded() {
		if strings.HasPrefix(name, prefix) {
			return prefix
		}
	}
	return ""
}

// nearest is the one of the known names that an unknown one was most likely meant to be,
// among those that begin as it does.
func nearest(name string, known []string) string {
	best, least := "", -1
	for _, candidate := range known {
		if guard(candidate) != guard(name) {
			continue
		}
		if d := distance(name, candidate); least < 0 || d < least {
			best, least = candidate, d
		}
	}
	return best
}

// distance counts the letters that differ. A name that was only cut short between two words is
// one step away.
func distance(a, b string) int {
	if strings.HasPrefix(b, a+"_") {
		return 1
	}
	return spelling.Distance(a, b)
}
