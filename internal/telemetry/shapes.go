package telemetry

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// longestShape bounds, in bytes, how far a shape of figures is looked for.
const longestShape = 64

// figures are the texts of digits and signs that are certainly no telephone number. Each is
// narrow: whatever a number may look like is not here.
var figures = regexp.MustCompile(`^(?:` + strings.Join([]string{
	date + `(?:[T ]` + clock + `)?`,
	clock,
	`(?:19|20)\d\d` + month + day + `(?:T[0-2]\d[0-5]\d[0-5]\dZ?|[0-2]\d[0-5]\d[0-5]\d)`,
	octet + `(?:\.` + octet + `){3}(?::\d{1,5})?`,
	`ip-` + octet + `(?:-` + octet + `){3}`,       // a host's name at Amazon
	`(?:\d{1,6}h)?(?:\d{1,2}m)?\d{1,2}\.\d{1,9}s`, // time.Duration
	`\d{1,3}\.\d{1,6}(?:ms|µs|us)`,
}, "|") + `)`)

const (
	month = `(?:0[1-9]|1[0-2])`
	day   = `(?:0[1-9]|[12]\d|3[01])`
	date  = `(?:19|20)\d\d[-/]` + month + `[-/]` + day
	octet = `(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)`
	// With an offset from UTC only where it touches the time, as in RFC 3339: after a space,
	// +1415 is the beginning of a number.
	clock = `[0-2]\d:[0-5]\d(?::[0-5]\d(?:[.,]\d{1,9})?(?:Z|[+-][01]\d(?::?[0-5]\d)?)?)?`
)

// inPairs is how some countries write numbers of eight digits. It is an IPv4 address only
// by accident, unless a port follows.
var inPairs = regexp.MustCompile(`^\d\d\.\d\d\.\d\d\.\d\d$`)

// keep is the end of what begins at i and is not to be masked, or i.
func keep(s string, i int) int {
	if !startsWord(s, i) {
		return i
	}
	end := i + wordLength(s[i:])
	switch c := s[i]; {
	case isUUID(s[i:]):
		end = i + uuidLength
	case isID(s[i:end]):
	case c >= '0' && c <= '9' || c == 'i':
		found := figures.FindString(s[i:min(len(s), i+longestShape)])
		if found == "" || inPairs.MatchString(found) {
			return i
		}
		end = i + len(found)
	default:
		return i
	}
	if !endsWord(s, end) {
		return i
	}
	return end
}

const uuidLength = 36

func isUUID(s string) bool {
	if len(s) < uuidLength {
		return false
	}
	for i := range uuidLength {
		switch isDash := i == 8 || i == 13 || i == 18 || i == 23; {
		case isDash && s[i] != '-', !isDash && !isHex(s[i]):
			return false
		}
	}
	return true
}

// isID reports whether a word is a Twilio id, a pointer or a long hexadecimal id. One of
// digits alone is none: nothing tells it from a number.
func isID(word string) bool {
	if len(word) == 34 && word[0] >= 'A' && word[0] <= 'Z' && word[1] >= 'A' && word[1] <= 'Z' && allHex(word[2:]) {
		return true
	}
	if after, ok := strings.CutPrefix(word, "0x"); ok {
		return allHex(after)
	}
	return len(word) >= 16 && allHex(word) && strings.ContainsFunc(word, unicode.IsLetter)
}

func allHex(s string) bool {
	for i := range len(s) {
		if !isHex(s[i]) {
			return false
		}
	}
	return true
}

func isHex(c byte) bool { return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F' }

// wordLength is how many ASCII letters and digits s begins with.
func wordLength(s string) int {
	for i := range len(s) {
		if c := s[i]; !isHex(c) && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			return i
		}
	}
	return len(s)
}

// startsWord reports whether i is neither within a word nor after "12." or its like, where what
// follows belongs to the same number. What follows a % is an encoded character.
func startsWord(s string, i int) bool {
	before, size := utf8.DecodeLastRuneInString(s[:i])
	if isWord(before) || before == '%' {
		return false
	}
	if before != '.' && before != '-' && before != '/' {
		return true
	}
	first, _ := utf8.DecodeLastRuneInString(s[:i-size])
	return !unicode.IsDigit(first)
}

func endsWord(s string, end int) bool {
	after, size := utf8.DecodeRuneInString(s[end:])
	if after != '.' && after != '-' {
		return !isWord(after)
	}
	next, _ := utf8.DecodeRuneInString(s[end+size:])
	return !unicode.IsDigit(next)
}

func isWord(r rune) bool { return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r)) }
