package followup_test

import (
	"flag"
	"os"
	"strings"
	"testing"

	"chasephone/internal/followup"
)

var update = flag.Bool("update", false, "write the diagram into ARCHITECTURE.md instead of comparing")

// The diagram in the documentation is the table in the code.
func TestDiagram(t *testing.T) {
	t.Parallel()
	const path, begin, end = "../../ARCHITECTURE.md", "<!-- states:begin -->\n", "<!-- states:end -->"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), begin)
	diagram, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("ARCHITECTURE.md has no lines %q and %q around the diagram", strings.TrimSpace(begin), end)
	}
	if diagram == followup.Diagram() {
		return
	}
	if !*update {
		t.Fatal("the diagram in ARCHITECTURE.md is not the table of transitions: run `make generate`")
	}
	if err := os.WriteFile(path, []byte(before+begin+followup.Diagram()+end+after), 0o644); err != nil {
		t.Fatal(err)
	}
}
