package gates

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// maxValue is the longest text kept under one key of a finding, in characters.
	maxValue = 200
	// phoneLike is how many digits, grouped as people group them, may be a telephone number.
	phoneLike = 7
	// digitRun is how many digits in one run may be part of one.
	digitRun = 6
)

// storable gives a finding's grounds as the ledger can hold them: valid UTF-8, no control
// characters (PostgreSQL refuses U+0000), no endless text. It copies only what it must change,
// and says whether it changed nothing.
func storable(on map[string]string) (_ map[string]string, same bool) {
	var out map[string]string
	for k, v := range on {
		s := printable(v)
		if s == v {
			continue
		}
		if out == nil {
			out = make(map[string]string, len(on))
			for k, v := range on {
				out[k] = printable(v)
			}
		}
		out[k] = s
	}
	if out != nil {
		return out, false
	}
	return on, true
}

func printable(s string) string {
	if plain(s) {
		return s
	}
	fine := len(s) <= maxValue && utf8.ValidString(s) && strings.IndexFunc(s, unicode.IsControl) < 0
	if fine {
		return s
	}
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, string(utf8.RuneError)))
	if runes := []rune(s); len(runes) > maxValue {
		s = string(runes[:maxValue-1]) + "…"
	}
	return s
}

// clean makes text that somebody else wrote (an error, a name, a source) fit for the ledger,
// which holds no number: what may be one becomes a #.
func clean(s string) string {
	if plain(s) && fewDigits(s) {
		return strings.TrimSpace(s)
	}
	runes := []rune(strings.ToValidUTF8(s, string(utf8.RuneError)))
	var b strings.Builder
	for i := 0; i < len(runes); {
		end, digits, run := grouped(runes[i:])
		if digits >= phoneLike || run >= digitRun {
			b.WriteRune('#')
		} else {
			b.WriteString(string(runes[i : i+max(end, 1)]))
		}
		i += max(end, 1)
	}
	return strings.TrimSpace(printable(b.String()))
}

// plain reports whether a text is short, printable ASCII: nearly every one is.
func plain(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return len(s) <= maxValue
}

// fewDigits reports whether a plain text has too few digits for any part of a telephone number.
func fewDigits(s string) bool {
	digits := 0
	for i := range len(s) {
		if s[i] >= '0' && s[i] <= '9' {
			digits++
		}
	}
	return digits < min(phoneLike, digitRun)
}

// grouped measures the digits a text begins with, together with what groups digits between
// them: where the last of them ends, how many they are, and the longest run without a break.
func grouped(s []rune) (end, digits, longest int) {
	run := 0
	for i, r := range s {
		switch {
		case unicode.IsDigit(r):
			digits, run, end = digits+1, run+1, i+1
			longest = max(longest, run)
		case digits > 0 && groups(r):
			run = 0
		default:
			return end, digits, longest
		}
	}
	return end, digits, longest
}

func groups(r rune) bool {
	switch r {
	case '.', '(', ')', '/', '_', '·':
		return true
	}
	return unicode.IsSpace(r) || unicode.Is(unicode.Pd, r) || unicode.Is(unicode.Cf, r)
}
