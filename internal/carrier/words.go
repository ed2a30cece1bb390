package carrier

import (
	"errors"
	"net/url"
	"regexp"
	"strconv"
	"time"
	"unicode"

	"chasephone/internal/phone"
)

// What carriers' packages read the parts of a delivery with. Nothing here errs: what is not what
// it should be is the zero value, because it came from outside and its neighbours still count.

const (
	// LongestField is how many characters of a field are kept in the carrier's own words.
	LongestField = 500
	// LongestText is how many of a text's words: more than its ten segments hold.
	LongestText = 4000

	maxSeconds = 1<<31 - 1 // of an integer column
)

var e164 = regexp.MustCompile(`^\+[1-9][0-9]{3,14}$`)

// Storable is what a text column of PostgreSQL can hold: no NUL and no bad UTF-8, and the first
// most characters of it.
func Storable(s string, most int) string {
	out := make([]rune, 0, min(len(s), most))
	for _, r := range s { // a bad byte comes out of range as U+FFFD
		if len(out) == most {
			break
		}
		if r == 0 {
			r = unicode.ReplacementChar
		}
		out = append(out, r)
	}
	return string(out)
}

// Number is the zero Number for what is no telephone number in E.164 form: "anonymous", "client:x",
// a SIP address.
func Number(s string) phone.Number {
	if !e164.MatchString(s) {
		return phone.Number{}
	}
	return phone.FromE164(s)
}

// Parties tells the tenant's number from the person's; neither is known without a direction.
func Parties(direction string, from, to phone.Number) (us, them phone.Number) {
	switch direction {
	case DirectionOut:
		return from, to
	case DirectionIn:
		return to, from
	}
	return phone.Number{}, phone.Number{}
}

// Seconds reads a whole number of them.
func Seconds(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 || n > maxSeconds {
		return 0
	}
	return n
}

// Instant reads a time that is written as layout says; the zero time where it is something else, or
// in a year of more or less than four digits, which JSON cannot hold.
func Instant(layout, s string) time.Time {
	t, err := time.Parse(layout, s)
	if t = t.UTC(); err != nil || t.Year() < 0 || t.Year() > 9999 {
		return time.Time{}
	}
	return t
}

// CheckPublicURL accepts what a carrier can be told to call, and nothing at all: it need not be
// reachable from here.
func CheckPublicURL(public string) error {
	if public == "" {
		return nil
	}
	u, err := url.Parse(public)
	switch {
	case err != nil:
		return errors.New("is not a URL")
	case u.Scheme != "https" && u.Scheme != "http", u.Host == "":
		return errors.New("is not an http or https URL with a host")
	case u.User != nil, u.RawQuery != "", u.ForceQuery, u.Fragment != "":
		return errors.New("has more than a scheme, a host and a path")
	}
	return nil
}
