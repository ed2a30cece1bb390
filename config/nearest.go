package config

import "strings"

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

// distance counts the letters to change, add, drop or swap with a neighbour to make b of a. A name
// that was only cut short between two words is one step away.
func distance(a, b string) int {
	if strings.HasPrefix(b, a+"_") {
		return 1
	}
	before, last := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			differ := 1
			if a[i-1] == b[j-1] {
				differ = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+differ)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}
