package carrier_test

import (
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// A carrier reaches the network only through this package's Transport: it imports nothing
// that could open a connection. The simulator is no carrier, and is never linked into one.
func TestCarriersHaveNoOtherWayOut(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*/*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("no carriers: %v", err)
	}
	forbidden := map[string]bool{
		"net": true, "net/http": true, "net/rpc": true, "net/smtp": true, "net/textproto": true,
		"crypto/tls": true, "os/exec": true, "syscall": true, "unsafe": true, "plugin": true,
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") || strings.HasPrefix(file, "sim/") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range parsed.Imports {
			name := strings.Trim(i.Path.Value, `"`)
			ours := name == "chasephone/internal/carrier" || name == "chasephone/internal/phone"
			if forbidden[name] || !ours && strings.Contains(strings.Split(name, "/")[0], ".") || !ours && strings.HasPrefix(name, "chasephone/") {
				t.Errorf("%s imports %s", file, name)
			}
		}
	}
}
