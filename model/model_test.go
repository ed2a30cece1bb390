// Package model_test holds the model to the code: both make the same transitions.
package model_test

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"chasephone/internal/followup"
)

var (
	comments = regexp.MustCompile(`(?s)/\*.*?\*/`)
	moves    = regexp.MustCompile(`\bmove\(([^,()]*(?:\([^()]*\))?[^,()]*),\s*(\w+),\s*(\w+)\)`)
	// Only move and a mutant's overwrite may write a state, or a mutant beside them.
	writes = regexp.MustCompile(`\bstate\[[^\]]*\]\s*=[^=]`)
	mutant = regexp.MustCompile(`^#\s*(?:el)?if(?:def)?\b.*\b(?:[A-Z0-9]+_[A-Z0-9_]+)`)
)

// What the model does with a follow-up is what the code may do: every transition of the one is in the
// other. That the database's trigger and the diagram say the same has tests of its own
// (TestDatabaseHoldsTheTransitions, TestDiagram); that the model not only writes its moves down but
// makes them is seen by check.sh.
func TestModelMakesTheTransitionsOfTheCode(t *testing.T) {
	t.Parallel()
	inCode := map[string]bool{}
	for _, tr := range followup.Transitions() {
		inCode[string(tr.From+" > "+tr.To)] = true
	}
	inModel := map[string]string{}
	for name, text := range sources(t) {
		for n, line := range strings.Split(text, "\n") {
			if strings.HasPrefix(line, "#define") {
				continue
			}
			found := moves.FindAllStringSubmatch(line, -1)
			if len(found) != strings.Count(line, "move(") {
				t.Errorf("%s:%d: a move whose states are not both named: %s", name, n+1, strings.TrimSpace(line))
			}
			for _, m := range found {
				inModel[m[2]+" > "+m[3]] = name
			}
		}
	}
	for _, pair := range slices.Sorted(maps.Keys(inCode)) {
		if inModel[pair] == "" {
			t.Errorf("%s is in followup.Transitions, and the model never makes it", pair)
		}
	}
	for _, pair := range slices.Sorted(maps.Keys(inModel)) {
		if !inCode[pair] {
			t.Errorf("%s is made in %s, and is not in followup.Transitions", pair, inModel[pair])
		}
	}
}

// A state changes through move alone. A mutant does as it likes.
func TestModelMovesOnlyByMove(t *testing.T) {
	t.Parallel()
	for name, text := range sources(t) {
		var inMutant []bool // of the conditions that the line stands in
		for n, line := range strings.Split(text, "\n") {
			switch directive := strings.Fields(line + " -")[0]; {
			case strings.HasPrefix(directive, "#if"):
				inMutant = append(inMutant, mutant.MatchString(line))
			case directive == "#elif":
				inMutant[len(inMutant)-1] = mutant.MatchString(line)
			case directive == "#else":
				inMutant[len(inMutant)-1] = false
			case directive == "#endif":
				inMutant = inMutant[:len(inMutant)-1]
			case directive == "#define", line == "mtype state[F] = due;": // as integrators insert it
			case slices.Contains(inMutant, true):
			case writes.MatchString(line), strings.Contains(line, "overwrite("):
				t.Errorf("%s:%d: a state is written by no move: %s", name, n+1, strings.TrimSpace(line))
			}
		}
	}
}

// sources are the model's files without their comments.
func sources(t *testing.T) map[string]string {
	t.Helper()
	paths, err := filepath.Glob("*.pml")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no model here: %v", err)
	}
	all := map[string]string{}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		all[path] = comments.ReplaceAllStringFunc(string(text), func(c string) string {
			return strings.Repeat("\n", strings.Count(c, "\n"))
		})
	}
	return all
}
