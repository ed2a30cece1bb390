package telemetry

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	leastDigits = 7  // fewer are no telephone number, and are left alone
	mostDigits  = 15 // of a number with its country code (E.164)
	shownDigits = 2  // at the end of a number
	longestGap  = 4  // characters between two digits of one number: "(415) - 555"
)

// MaskText replaces with * all but the last two digits of whatever looks like a telephone
// number: seven digits or more, in any script, with the spaces, dashes, dots, brackets and plus
// signs that people and libraries write between them, percent-encoded ones included.
//
// Left as they are: UUIDs, dates and times of the day, durations, hexadecimal and Twilio's
// ids, and IPv4 addresses (shapes.go), and integers under seven digits. In doubt it masks: an integer of seven digits or more in a text is masked too.
// Masking twice changes nothing.
func MaskText(s string) string {
	if countDigits(s) < leastDigits {
		return s
	}
	m := masker{text: s}
	for i := 0; i < len(s); {
		if end := keep(s, i); end > i && !m.mayHold(s[i:end]) {
			m.end()
			i = end
			continue
		}
		kind, size := classify(s[i:])
		m.take(kind, i, size)
		i += size
	}
	m.end()
	m.out.WriteString(s[m.written:])
	return m.out.String()
}

func countDigits(s string) (n int) {
	for _, r := range s {
		if unicode.IsDigit(r) {
			n++
		}
	}
	return n
}

// span is a part of a text, in bytes.
type span struct{ start, end int }

// masker collects the digits of one possible number at a time.
type masker struct {
	text    string
	out     strings.Builder
	written int // how much of text is in out

	plus   bool   // a plus sign came before the digits
	digits []span // of the number so far
	gap    int    // separators since the last of them
}

// mayHold reports whether a number that began with a plus sign may well go on with what
// looks like a date or an address: with no sign but a number's own in it, and not too long.
func (m *masker) mayHold(shape string) bool {
	if !m.plus || strings.ContainsFunc(shape, func(r rune) bool { return r == ':' || unicode.IsLetter(r) }) {
		return false
	}
	return len(m.digits)+countDigits(shape) <= mostDigits
}

func (m *masker) take(k kind, at, size int) {
	if k == slash && !m.joins() {
		k = other
	}
	switch {
	case k == digit:
		m.digits = append(m.digits, span{at, at + size})
		m.gap = 0
	case k == other:
		m.end()
	case len(m.digits) == 0:
		m.plus = m.plus || k == plus
	default:
		if m.gap++; m.gap > longestGap {
			m.end()
		}
	}
}

// joins reports whether a slash can be within this number, as in 030/1234567. After another
// digit it is more likely a fraction or a path.
func (m *masker) joins() bool {
	return m.plus || len(m.digits) > 0 && m.text[m.digits[0].start] == '0'
}

// end masks the digits collected, if they are a number, and begins anew.
func (m *masker) end() {
	if n := len(m.digits); n >= leastDigits {
		for _, d := range m.digits[:n-shownDigits] {
			m.out.WriteString(m.text[m.written:d.start])
			m.out.WriteByte('*')
			m.written = d.end
		}
	}
	m.digits, m.gap, m.plus = m.digits[:0], 0, false
}

// kind is what a character can be to a telephone number.
type kind int

const (
	other kind = iota
	digit
	plus
	separator
	slash
)

// classify says what the character at the beginning of s is, and its length in bytes.
func classify(s string) (k kind, size int) {
	if s[0] == '%' && len(s) >= 3 {
		switch strings.ToUpper(s[1:3]) {
		case "2B":
			return plus, 3
		case "20", "28", "29", "2D", "2E":
			return separator, 3
		}
	}
	r, size := utf8.DecodeRuneInString(s)
	switch {
	case unicode.IsDigit(r):
		return digit, size
	case r == '+' || r == '\uff0b':
		return plus, size
	case r == '/':
		return slash, size
	case r == '\n' || r == '\r':
		return other, size // no number goes on in the next line, and lists of integers do
	case strings.ContainsRune(".()[]~\u2043\u2212\u223c\uff08\uff09\uff0e\uff5e\u30fc", r):
		return separator, size
	case unicode.IsSpace(r), unicode.Is(unicode.Pd, r), unicode.Is(unicode.Cf, r), r == utf8.RuneError:
		return separator, size // Cf: the invisible marks that come along when a number is copied
	}
	return other, size
}
