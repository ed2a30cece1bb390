package twilio

import (
	"encoding/xml"
	"strings"
	"testing"
	"unicode/utf8"
)

// parsed is what an XML reader makes of the document: words within Say, and nothing else.
func parsed(t *testing.T, document string) string {
	t.Helper()
	var response struct {
		XMLName xml.Name   `xml:"Response"`
		Attrs   []xml.Attr `xml:",any,attr"`
		Text    string     `xml:",chardata"`
		Say     []struct {
			Attrs []xml.Attr `xml:",any,attr"`
			Words string     `xml:",chardata"`
			Inner []struct{} `xml:",any"`
		} `xml:"Say"`
		Other []struct{} `xml:",any"`
	}
	if err := xml.Unmarshal([]byte(document), &response); err != nil {
		t.Fatalf("%q: %v", document, err)
	}
	if len(response.Say) != 1 || len(response.Other) > 0 || response.Text != "" || len(response.Attrs) > 0 ||
		len(response.Say[0].Attrs) > 0 || len(response.Say[0].Inner) > 0 {
		t.Fatalf("%q does more than speak: %+v", document, response)
	}
	return response.Say[0].Words
}

// Rule R13: what was approved is what is said.
func TestTwimlSaysTheScript(t *testing.T) {
	t.Parallel()
	for script, want := range map[string]string{
		"Good morning.":                     "Good morning.",
		`Tom & Jerry's "<b>" ]]> &amp;`:     `Tom & Jerry's "<b>" ]]> &amp;`,
		"</Say><Dial>+19005550123</Dial>":   "</Say><Dial>+19005550123</Dial>",
		"</Say></Response><Response><Say>":  "</Say></Response><Response><Say>",
		"<!-- <![CDATA[ <?x ?> <!DOCTYPE x": "<!-- <![CDATA[ <?x ?> <!DOCTYPE x",
		"one\ntwo\tthree":                   "one\ntwo\tthree",
		"one\r\ntwo":                        "one \ntwo",
		"a\x00b\x1bc\x7fd\u0085e":           "a b c d e",
		"a\ufffeb\uffffc":                   "a b c",
		"bad \xff\xfe bytes":                "bad    bytes",
		"Grüß Gott 😀 مرحبا":                 "Grüß Gott 😀 مرحبا",
	} {
		if got := parsed(t, twiml(script)); got != want {
			t.Errorf("%q is spoken as %q, want %q", script, got, want)
		}
	}
}

func FuzzTwiml(f *testing.F) {
	f.Add("</Say><Dial>+1</Dial>\x00\r\n&#0;")
	f.Fuzz(func(t *testing.T, script string) {
		got := parsed(t, twiml(script))
		if utf8.RuneCountInString(got) != utf8.RuneCountInString(script) {
			t.Errorf("%q is spoken as %q", script, got)
		}
	})
}

func TestFits(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name   string
		script string
		want   bool
	}{
		{"short", "x", true},
		{"exactly", strings.Repeat("x", MaxScript()), true},
		{"one more", strings.Repeat("x", MaxScript()+1), false},
		{"letters of two bytes count once", strings.Repeat("é", MaxScript()), true},
		{"emoji count twice", strings.Repeat("😀", MaxScript()/2+1), false},
		{"escaping makes it longer", strings.Repeat("&", MaxScript()/5+1), false},
		{"escaping, exactly", strings.Repeat("&", MaxScript()/5), true},
	} {
		if got := Fits(row.script); got != row.want {
			t.Errorf("%s: %v", row.name, got)
		}
	}
	if n := len(twiml(strings.Repeat("x", MaxScript()))); n != 4000 {
		t.Errorf("the longest plain script makes a document of %d characters", n)
	}
}
