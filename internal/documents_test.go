package internal_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Every test that the guarantees name is where they say.
func TestGuaranteeNamesTests(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../docs/guarantees.md")
	if err != nil {
		t.Fatal(err)
	}
	all := regexp.MustCompile(`\[((?:Test|Fuzz)\w+)\]\(([^)]+)\)`).FindAllStringSubmatch(string(text), -1)
	if len(all) < 30 {
		t.Errorf("the guarantee names %d tests", len(all))
	}
	for _, link := range all {
		source, err := os.ReadFile(filepath.Join("../docs", link[2]))
		if err != nil || !strings.Contains(string(source), "\nfunc "+link[1]+"(") {
			t.Errorf("%s is not in %s (%v)", link[1], link[2], err)
		}
	}
}
