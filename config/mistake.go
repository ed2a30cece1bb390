package config

import (
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"unicode"
)

// Mistakes are all that is wrong with an environment. It is the error of Load; a program
// that gets one starts nothing.
type Mistakes []Mistake

// Error is one line for each mistake, variables in Config's order, unknown names last.
func (m Mistakes) Error() string {
	lines := make([]string, len(m))
	for i, mistake := range m {
		lines[i] = mistake.Error()
	}
	return strings.Join(lines, "\n")
}

// Mistake is one thing wrong with one variable.
type Mistake struct {
	Name  string // as it is, or would have to be, in the environment
	Value string // as it may be shown: quoted, "(hidden)", or "unset"
	Text  string // what is accepted instead
}

// Error is one line that names the variable, the value and what is accepted.
func (m Mistake) Error() string { return m.Name + " is " + m.Value + ": " + m.Text }

// unset is the Value of a variable that has none.
const unset = "unset"

// longestShown bounds a shown value, in bytes, so that a file put in a variable stays one line.
const longestShown = 80

var (
	// tokenLike is how Twilio's, Telnyx's and many others' secrets look. A value that looks so is
	// not shown, whatever variable it is in: an account and its token are easily swapped.
	tokenLike = regexp.MustCompile(`^([0-9a-fA-F]{32,}|KEY[0-9A-Za-z_-]{20,})$`)

	// userLike is a text with a user before a host, where a password may be, as SIP has it.
	userLike = regexp.MustCompile(`(?s)^[^/]*:.*@`)
)

// show is a variable's value as a mistake may show it.
func (v variable) show(raw string) string {
	switch form := v.tag.Get("form"); {
	case v.secret && (form != "database" || !strings.Contains(raw, "://")):
		return hidden
	case form == "e164":
		return quote(maskDigits(raw))
	}
	return showText(raw)
}

// showFile is what NAME_FILE was set to. That of a secret is shown only where it looks
// like a path: it may be the secret itself.
func (v variable) showFile(path string) string {
	if v.secret && !strings.HasPrefix(path, "/") && !strings.HasPrefix(path, ".") {
		return hidden
	}
	return showText(path)
}

// showText is any value that is not known to be a secret.
func showText(raw string) string {
	switch {
	case strings.Contains(raw, "://"):
		return showURL(raw)
	case tokenLike.MatchString(raw), userLike.MatchString(raw):
		return hidden
	}
	return quote(raw)
}

// showURL shows a URL without its password and parameters, and nothing at all where it is
// not certain which part of it the password is.
func showURL(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || u.Opaque != "" || tokenLike.MatchString(u.Host) {
		return hidden
	}
	user, ats := "", 0
	if u.User != nil {
		user, ats = hidden+"@", 1
	}
	if strings.Count(raw, "@") != ats {
		return hidden // a password with a / or a ? in it has been taken for the rest of the URL
	}
	shown := u.Scheme + "://" + user + u.Host + u.EscapedPath()
	if strings.ContainsAny(raw, "?#") {
		shown += "?" + hidden
	}
	return quote(shown)
}

func quote(s string) string {
	if len(s) > longestShown {
		return strconv.Quote(s[:longestShown]) + "..."
	}
	return strconv.Quote(s)
}

// maskDigits hides all digits but the last two: the rest is enough to see what is wrong
// with the way a number is written.
func maskDigits(s string) string {
	const shown = 2
	out := []rune(s)
	for i, seen := len(out)-1, 0; i >= 0; i-- {
		if !unicode.IsDigit(out[i]) {
			continue
		}
		if seen++; seen > shown {
			out[i] = '*'
		}
	}
	return string(out)
}
