package gates

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestWhatTheLedgerCanHold(t *testing.T) {
	t.Parallel()
	on := map[string]string{"nul": "busy\x00line", "bytes": "a\xff\xfeb", "long": strings.Repeat("é", 10_000), "as long": strings.Repeat("e", maxValue+1), "fine": "fine"}
	_, findings := Judge([]Gate{says("r", Refuse{Grounds{"r", on}})}, good())
	got := findings[0].On()
	if got["nul"] != "busy line" || got["bytes"] != "a\uFFFDb" || got["fine"] != "fine" ||
		got["as long"] != strings.Repeat("e", maxValue-1)+"…" || utf8.RuneCountInString(got["long"]) != maxValue || !strings.HasSuffix(got["long"], "…") {
		t.Errorf("%q", got)
	}
	if on["nul"] != "busy\x00line" {
		t.Error("the gate's own map was changed")
	}
}

func TestClean(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                                     "",
		"timeout after 5s":                     "timeout after 5s",
		"FATAL (SQLSTATE 53300)":               "FATAL (SQLSTATE 53300)",
		"port 5432":                            "port 5432",
		"+14155550123":                         "+#",
		"ring (415) 555-0123 now":              "ring (# now",
		"1\u00a0415\u200b555\u20110123":        "#",
		"٠١٩٩٠٠١٢٣٤":                           "#",
		"call 555 0123":                        "call #",
		"123456":                               "#",
		"12345":                                "12345",
		"a 123, 456, 789":                      "a 123, 456, 789",
		"+33 1 99 00 12 34 and 0199001234":     "+# and #",
		" \x00 nul ":                           "nul",
		"line\nbreak":                          "line break",
		"dial tcp 192.168.100.200:5432: reset": "dial tcp #:5432: reset",
	} {
		if got := clean(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}
