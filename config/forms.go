package config

import (
	"crypto/ed25519"
	"encoding/base64"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nyaruka/phonenumbers"
)

var (
	wholeNumber  = regexp.MustCompile(`^[0-9]{1,9}$`)
	decimal      = regexp.MustCompile(`^[0-9]{1,9}(\.[0-9]{1,3})?$`)
	accountSID   = regexp.MustCompile(`^AC[0-9A-Za-z_-]{1,62}$`)
	connectionID = regexp.MustCompile(`^[0-9A-Za-z_-]{1,64}$`)
	e164         = regexp.MustCompile(`^\+[1-9][0-9]{6,14}$`)
	printable    = regexp.MustCompile(`^[!-~]+$`) // ASCII without the space
	hostName     = regexp.MustCompile(`^[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?(\.[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?)*\.?$`)
)

// cleanDuration wants whole milliseconds, because the database keeps limits no finer than a
// microsecond: daemons must not seem to disagree over what was rounded there.
func cleanDuration(raw, lowest, highest string) (string, bool) {
	d, err := time.ParseDuration(raw)
	from, _ := time.ParseDuration(lowest)
	to, _ := time.ParseDuration(highest)
	return d.String(), err == nil && d >= from && d <= to && d%time.Millisecond == 0
}

func cleanInteger(raw, lowest, highest string) (string, bool) {
	if !wholeNumber.MatchString(raw) {
		return "", false
	}
	n, err := strconv.Atoi(raw)
	from, _ := strconv.Atoi(lowest)
	to, _ := strconv.Atoi(highest)
	return strconv.Itoa(n), err == nil && n >= from && n <= to
}

// cleanDecimal wants three places at most, so that the least rate is one in a thousand
// seconds and the time between two calls cannot overflow.
func cleanDecimal(raw, lowest, highest string) (string, bool) {
	if !decimal.MatchString(raw) {
		return "", false
	}
	x, err := strconv.ParseFloat(raw, 64)
	from, _ := strconv.ParseFloat(lowest, 64)
	to, _ := strconv.ParseFloat(highest, 64)
	return raw, err == nil && x >= from && x <= to
}

// cleanSwitch turns on and off into the words that the parser of booleans knows.
func cleanSwitch(raw string) (string, bool) {
	word, ok := cleanWord(raw, []string{"on", "off"})
	return strconv.FormatBool(word == "on"), ok
}

// cleanWord takes a word in capitals too: LOG_LEVEL=INFO is clear enough.
func cleanWord(raw string, words []string) (string, bool) {
	if !printable.MatchString(raw) {
		return "", false
	}
	word := strings.ToLower(raw)
	return word, slices.Contains(words, word)
}

// cleanForm checks a text by the form that its variable's tag names.
func cleanForm(form, raw string) (string, bool) {
	switch form {
	case "database":
		return raw, isDatabase(raw)
	case "path":
		return raw, isText(raw) && raw == strings.TrimSpace(raw)
	case "address":
		return raw, isAddress(raw)
	case "url":
		return strings.TrimRight(raw, "/"), isURL(raw)
	case "region":
		return cleanRegion(raw)
	case "regions":
		return cleanRegions(raw)
	case "sid":
		return raw, accountSID.MatchString(raw)
	case "token":
		return raw, printable.MatchString(raw)
	case "connection":
		return raw, connectionID.MatchString(raw) && !tokenLike.MatchString(raw)
	case "key":
		return raw, isKey(raw)
	case "user":
		return raw, printable.MatchString(raw) && !strings.ContainsAny(raw, `":\`)
	case "domain":
		return raw, isDomain(raw)
	case "trunk":
		_, ok := trunkHost(raw)
		return strings.ToLower(raw), ok
	case "e164":
		return raw, e164.MatchString(raw)
	case "hours":
		return cleanHours(raw)
	}
	return "", false // a tag without a check accepts nothing; a test would notice
}

// cleanHours takes for a path only what looks like one: a word such as yes is not the name of a
// file that somebody forgot to write.
func cleanHours(raw string) (string, bool) {
	if word, ok := cleanWord(raw, []string{rulesOn, rulesOff}); ok {
		return word, true
	}
	looks := strings.Contains(raw, "/") || strings.HasSuffix(raw, ".yaml") || strings.HasSuffix(raw, ".yml")
	return raw, looks && isText(raw) && raw == strings.TrimSpace(raw)
}

// isKey reports whether a text is a public key of 32 bytes in the one base64 spelling of it.
func isKey(raw string) bool {
	key, err := base64.StdEncoding.Strict().DecodeString(raw)
	return err == nil && len(key) == ed25519.PublicKeySize && printable.MatchString(raw) // the decoder skips newlines
}

// isText reports whether a text is one line of UTF-8 without control characters.
func isText(raw string) bool {
	return strings.ToValidUTF8(raw, "\x00") == raw && !strings.ContainsFunc(raw, isControl)
}

func isControl(r rune) bool { return r < ' ' || r >= 0x7f && r < 0xa0 }

// isAddress accepts what net.Listen does, but for service names: a port is a number. An
// empty host is every address of the machine.
func isAddress(raw string) bool {
	host, port, err := net.SplitHostPort(raw)
	if err != nil || !isPort(port) {
		return false
	}
	return host == "" || isHost(host)
}

func isHost(host string) bool { return hostName.MatchString(host) || isIP(host) }

// isDomain accepts the names that SIP has: no underscores, and no dot at the end. An IPv4
// address looks like one.
func isDomain(host string) bool {
	return len(host) <= 253 && hostName.MatchString(host) && !strings.Contains(host, "_") && !strings.HasSuffix(host, ".")
}

func isPort(port string) bool {
	if !wholeNumber.MatchString(port) {
		return false
	}
	_, err := strconv.ParseUint(port, 10, 16)
	return err == nil
}

func cleanRegion(raw string) (string, bool) {
	if len(raw) != 2 || !printable.MatchString(raw) {
		return "", false
	}
	region := strings.ToUpper(raw)
	return region, phonenumbers.GetSupportedRegions()[region]
}

// cleanRegions allows spaces around the commas, which people write, and drops repetitions.
func cleanRegions(raw string) (string, bool) {
	var regions []string
	for part := range strings.SplitSeq(raw, ",") {
		region, ok := cleanRegion(strings.Trim(part, " "))
		if !ok {
			return "", false
		}
		if !slices.Contains(regions, region) {
			regions = append(regions, region)
		}
	}
	return strings.Join(regions, ","), true
}
