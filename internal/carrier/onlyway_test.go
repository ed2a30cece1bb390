package carrier_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
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
	// Libraries that could open a connection too: of these a carrier may use what is listed, and
	// that only reads and writes messages.
	inPart := map[string][]string{
		"github.com/emiago/sipgo/sip": {
			"ACK", "BYE", "CANCEL", "INVITE", "OPTIONS", "UPDATE", "Message", "Request", "RequestMethod", "Response",
			"NewRequest", "NewResponse", "NewHeader", "CopyHeaders", "CSeqHeader", "CallIDHeader", "ContactHeader",
			"FromHeader", "HeaderParams", "HeaderParser", "MaxForwardsHeader", "Uri", "ViaHeader",
			"StatusUnauthorized", "StatusForbidden", "StatusNotFound", "StatusProxyAuthRequired", "StatusTemporarilyUnavailable",
			"StatusAddressIncomplete", "StatusBusyHere", "StatusServiceUnavailable", "StatusGlobalBusyEverywhere",
			"StatusGlobalDecline", "StatusGlobalDoesNotExistAnywhere",
			"DefaultHeadersParser", "NewParser", "ParseAddressValue", "ParseUri", "Parser", "WithHeadersParsers",
		},
		"github.com/icholy/digest": {"CanDigest", "Digest", "Options", "ParseChallenge"},
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") || strings.HasPrefix(file, "sim/") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range parsed.Imports {
			name := strings.Trim(i.Path.Value, `"`)
			if allowed, ok := inPart[name]; ok {
				for _, used := range usesOf(parsed, i) {
					if !slices.Contains(allowed, used) {
						t.Errorf("%s uses %s of %s", file, used, name)
					}
				}
				continue
			}
			ours := name == "chasephone/internal/carrier" || name == "chasephone/internal/phone"
			if forbidden[name] || !ours && strings.Contains(strings.Split(name, "/")[0], ".") || !ours && strings.HasPrefix(name, "chasephone/") {
				t.Errorf("%s imports %s", file, name)
			}
		}
	}
}

// usesOf lists what a file takes from an import. One that hides its name lists as ".".
func usesOf(file *ast.File, i *ast.ImportSpec) []string {
	path := strings.Split(strings.Trim(i.Path.Value, `"`), "/")
	local := path[len(path)-1]
	if i.Name != nil {
		local = i.Name.Name
	}
	if local == "." || local == "_" {
		return []string{local}
	}
	var used []string
	ast.Inspect(file, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := s.X.(*ast.Ident); ok && x.Name == local {
				used = append(used, s.Sel.Name)
			}
		}
		return true
	})
	return used
}
