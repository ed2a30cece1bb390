package phone

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxText is the longest text that is looked at, in characters.
const maxText = 250

// typed is what a text says before any numbering plan is asked.
type typed struct {
	plus      bool   // it began with a +
	digits    string // ASCII digits of the number, 1 or more
	bare      string // the same without a "(0)"; "" where there was none
	extension string
}

// read takes a text apart. It is strict where the number library is lenient: that one drops
// what it does not understand, and would ring the rest.
func read(raw string) (typed, Problem) {
	if len(raw) > maxText*utf8.UTFMax || utf8.RuneCountInString(raw) > maxText {
		return typed{}, TooLong
	}
	if !utf8.ValidString(raw) {
		return typed{}, OddCharacter
	}
	s := strings.Trim(fold(raw), ` '"`)
	s = strings.TrimLeft(strings.TrimPrefix(s, "tel:"), " ")
	if s == "" {
		return typed{}, NoNumber
	}

	var t typed
	end := len(s)
	digits := make([]byte, 0, len(s))
scan:
	for i, r := range s {
		switch {
		case isDigit(r):
			digits = append(digits, byte(r))
		case r == '+' && !t.plus && len(digits) == 0:
			t.plus = true
		case r == '+':
			return typed{}, SeveralNumbers
		case strings.ContainsRune(" ()[]./-_·•'", r):
			// how people group digits
		case r == '*', r == '#' && len(digits) == 0:
			return typed{}, ServiceCode
		case len(digits) == 0 && unicode.IsLetter(r):
			return typed{}, Letters
		case len(digits) > 0 && (unicode.IsLetter(r) || strings.ContainsRune(",;#~:=", r)):
			end = i
			break scan
		default:
			return typed{}, OddCharacter
		}
	}
	if len(digits) == 0 {
		return typed{}, NotANumber
	}
	t.digits = string(digits)
	t.bare = withoutTrunk(s[:end])

	var p Problem
	t.extension, p = readExtension(s[end:])
	if p != "" {
		return typed{}, p
	}
	return t, ""
}

// withoutTrunk is the digits of "+33 (0)1 99 00 12 34" without the (0), which is dialled at
// home only; "" where there is none.
func withoutTrunk(number string) string {
	before, after, found := strings.Cut(number, "(0)")
	if !found {
		return ""
	}
	return strings.Map(func(r rune) rune {
		if isDigit(r) {
			return r
		}
		return -1
	}, before+after)
}

// fold brings a text to lower case ASCII as far as it can be: digits of every script, full-width
// forms, the many spaces and dashes. What cannot be seen is dropped.
func fold(raw string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r < utf8.RuneSelf && r > ' ':
			return unicode.ToLower(r)
		case unicode.IsSpace(r) || unicode.Is(unicode.Zs, r):
			return ' '
		case invisible(r):
			return -1
		case unicode.IsDigit(r):
			return '0' + digitValue(r)
		case unicode.Is(unicode.Pd, r) || r == '\u2212': // dashes, and the minus sign
			return '-'
		case r == '\u2018' || r == '\u2019':
			return '\''
		case r >= '\uFF01' && r <= '\uFF5E': // full-width forms of ! to ~
			return unicode.ToLower(r - 0xFEE0)
		default:
			return unicode.ToLower(r)
		}
	}, raw)
}

// invisible reports zero-width characters, direction marks, the soft hyphen and such (all of
// them format characters), and the selectors of a character's shape.
func invisible(r rune) bool {
	return unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Variation_Selector, r) || r == '\u034F'
}

func isDigit(r rune) bool { return r >= '0' && r <= '9' }

// digitValue is the value of a decimal digit of any script. Unicode gives each script's digits
// ten code points in a row, so in the tables' ranges they come in tens.
func digitValue(r rune) rune {
	for _, t := range unicode.Nd.R16 {
		if r >= rune(t.Lo) && r <= rune(t.Hi) {
			return (r - rune(t.Lo)) % 10
		}
	}
	for _, t := range unicode.Nd.R32 {
		if r >= rune(t.Lo) && r <= rune(t.Hi) {
			return (r - rune(t.Lo)) % 10
		}
	}
	return 0
}
