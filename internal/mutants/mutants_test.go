package mutants_test

import (
	"testing"

	"chasephone/internal/mutants"
)

// The source still says what each mutant changes.
func TestMutantsFitTheSource(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, m := range mutants.All() {
		if m.Name == "" || m.Guard == "" || seen[m.Name] {
			t.Errorf("a mutant has a name of its own and says what it lacks: %+v", m)
		}
		seen[m.Name] = true
		t.Run(m.Name, func(t *testing.T) {
			t.Parallel()
			if _, err := mutants.Overlay("../..", t.TempDir(), m); err != nil {
				t.Fatal(err)
			}
		})
	}
}
