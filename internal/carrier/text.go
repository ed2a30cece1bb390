package carrier

import (
	"strings"
	"unicode"
)

const (
	maxText   = 500 // characters of a carrier's text that are kept
	cutMark   = " … [cut]"
	maxScan   = 64 << 10 // bytes looked at: a megabyte of text costs no more than this
	shownTail = 2        // digits of a number that stay readable
)

// CleanText makes a text that came from outside storable, printable and free of numbers:
// NUL and bad UTF-8 become U+FFFD, other control characters a space, runs of digits that
// may be a phone number are masked but for the last two (carriers echo the number they
// were given), and at most 500 characters are kept, with " … [cut]" where some were not.
func CleanText(s string) string {
	cut := false
	if len(s) > maxScan {
		s, cut = s[:maxScan], true
	}
	out := make([]rune, 0, min(len(s), maxScan))
	for _, r := range s { // a bad byte comes out of range as U+FFFD
		out = append(out, printable(r))
	}
	maskNumbers(out)
	if len(out) > maxText {
		out, cut = out[:maxText], true
	}
	text := strings.TrimSpace(string(out))
	if cut {
		text += cutMark
	}
	return text
}

// printable keeps a terminal and a web page safe: no escape sequences, no text that runs
// backwards. PostgreSQL's text cannot hold NUL at all.
func printable(r rune) rune {
	switch {
	case r == 0:
		return unicode.ReplacementChar
	case unicode.IsControl(r),
		r >= '\u202a' && r <= '\u202e', r >= '\u2066' && r <= '\u2069', // bidi overrides
		r == '\u2028', r == '\u2029':
		return ' '
	}
	return r
}

// maskNumbers hides what may be a phone number: seven or more digits in a row, or nine or
// more that are only parted as people part them, "(415) 555-0123".
func maskNumbers(text []rune) {
	const solid, parted, maxGap = 7, 9, 2
	for i := 0; i < len(text); i++ {
		if !unicode.IsDigit(text[i]) {
			continue
		}
		digits, row, longest, end := 0, 0, 0, i
		for j := i; j < len(text) && j-end <= maxGap+1; j++ {
			switch {
			case unicode.IsDigit(text[j]):
				digits, row, end = digits+1, row+1, j
				longest = max(longest, row)
			case strings.ContainsRune(" -.()/\u00a0\u2010\u2011\u2013", text[j]):
				row = 0
			default:
				j = len(text)
			}
		}
		if longest >= solid || digits >= parted {
			hideDigits(text[i:end+1], digits-shownTail)
		}
		i = end
	}
}

// hideDigits stars out the first n digits of text.
func hideDigits(text []rune, n int) {
	for i := range text {
		if n > 0 && unicode.IsDigit(text[i]) {
			text[i] = '*'
			n--
		}
	}
}
