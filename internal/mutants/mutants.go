// Package mutants are chasephones that lack one guard each. A proof that a phone rings once is
// worth something only if it fails where a guard is missing: the walk over the crash points
// (internal/proof) and the chaos drill (drill) are run against them, and must fail.
//
// A mutant is the product's own source with a few words changed, which the compiler reads in
// place of the file (go build -overlay). Nothing of it is in the product.
package mutants

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Mutant is chasephone without one guard.
type Mutant struct {
	Name  string
	Guard string // what is missing, in words
	Edits []Edit
	// Loosen is SQL that takes the database's own guard away, where it would hold without the
	// program's; "" where there is none. The owner of the schema runs it after migrating.
	Loosen string
}

// Edit is one change of a source file.
type Edit struct {
	File     string // from the repository's root
	Old, New string // Old is in the file once
}

// Named is the mutant of that name.
func Named(name string) (Mutant, bool) {
	for _, m := range All() {
		if m.Name == name {
			return m, true
		}
	}
	return Mutant{}, false
}

// Overlay writes the changed files of a mutant into dir, and gives the file that go build, or
// go test, takes as its -overlay. root is the repository's. It fails where the source no
// longer says what the mutant changes: then the mutant is to be brought up to date.
func Overlay(root, dir string, m Mutant) (string, error) {
	replaced := map[string]string{}
	for _, e := range m.Edits {
		source := filepath.Join(root, filepath.FromSlash(e.File))
		now := source
		if changed, ok := replaced[source]; ok {
			now = changed // a second edit of one file
		}
		text, err := os.ReadFile(now)
		if err != nil {
			return "", fmt.Errorf("mutant %s: %w", m.Name, err)
		}
		if n := strings.Count(string(text), e.Old); n != 1 {
			return "", fmt.Errorf("mutant %s: %s has %d times, and should have once: %s", m.Name, e.File, n, e.Old)
		}
		if now == source {
			now = filepath.Join(dir, strconv.Itoa(len(replaced))+"_"+filepath.Base(e.File))
			replaced[source] = now
		}
		if err := os.WriteFile(now, []byte(strings.Replace(string(text), e.Old, e.New, 1)), 0o600); err != nil {
			return "", fmt.Errorf("mutant %s: %w", m.Name, err)
		}
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replaced})
	if err != nil {
		return "", fmt.Errorf("mutant %s: %w", m.Name, err)
	}
	path := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(path, overlay, 0o600); err != nil {
		return "", fmt.Errorf("mutant %s: %w", m.Name, err)
	}
	return path, nil
}
