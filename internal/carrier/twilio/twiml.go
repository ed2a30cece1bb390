package twilio

import (
	"strings"
	"unicode"
	"unicode/utf16"
)

const (
	say     = "<Response><Say>"
	said    = "</Say></Response>"
	longest = 4000 // characters of the Twiml parameter Twilio takes
)

// MaxScript is how many characters of plain text fit into one call. A script with
// characters that XML writes as several (&, <, >, quotes) fits less: ask Fits.
func MaxScript() int { return longest - len(say) - len(said) }

// Fits reports whether script can be spoken whole in one call.
func Fits(script string) bool {
	// Twilio does not say what it calls a character; UTF-16 units are the larger count.
	units := 0
	for _, r := range twiml(script) {
		units += utf16.RuneLen(r)
	}
	return units <= longest
}

// MaxScript is the package's, for those who hold only a Carrier.
func (a *Carrier) MaxScript() int { return MaxScript() }

// Fits is the package's, for those who hold only a Carrier.
func (a *Carrier) Fits(script string) bool { return Fits(script) }

// twiml is the document that speaks script and does nothing else, whatever script contains.
func twiml(script string) string {
	var b strings.Builder
	b.WriteString(say)
	for _, r := range script { // a bad byte comes out of range as U+FFFD
		switch r {
		case '&':
			b.WriteString("&amp;")
		case '<':
			b.WriteString("&lt;")
		case '>':
			b.WriteString("&gt;")
		case '"':
			b.WriteString("&#34;")
		case '\'':
			b.WriteString("&#39;")
		default:
			b.WriteRune(speakable(r))
		}
	}
	b.WriteString(said)
	return b.String()
}

// speakable replaces what XML 1.0 cannot hold, or would read as something else, by a space,
// which is not spoken. Lines stay lines.
func speakable(r rune) rune {
	switch {
	case r == '\n', r == '\t':
		return r
	case unicode.IsControl(r), r == '\ufffe', r == '\uffff', r == unicode.ReplacementChar:
		return ' '
	}
	return r
}
