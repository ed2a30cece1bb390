package phone

import (
	"strings"
	"unicode"
)

const (
	// maxExtension is how many tones one carrier parameter takes (Twilio's SendDigits).
	maxExtension = 32
	// maxBareExtension is the longest run of digits after a lone comma that is still taken for
	// an extension: "4155550123,4155550124" is two numbers.
	maxBareExtension = 6
	// comma is a pause of two seconds as telephones dial it, in Twilio's half seconds.
	comma = "wwww"
)

// readExtension reads what follows a number: "x44", ";ext=44", ", poste 44", ",,44#", or nothing.
func readExtension(tail string) (string, Problem) {
	const separators = " .,;:=#~-("
	if strings.Trim(tail, " .,;:)") == "" {
		return "", ""
	}
	s := strings.TrimLeft(tail, separators)
	lead := tail[:len(tail)-len(s)]
	s, labelled := cutLabel(s)
	s = strings.TrimLeft(s, separators)

	tones, p := readTones(s)
	if p != "" {
		return "", p
	}
	if !labelled && !strings.Contains(lead, ",,") && !strings.HasSuffix(s, "#") && len(tones) > maxBareExtension {
		return "", SeveralNumbers
	}
	// A closing # ends what is keyed in; a pause before or after says nothing.
	tones = strings.Trim(strings.TrimRight(tones, "w#"), "w")
	if len(tones) > maxExtension || !strings.ContainsAny(tones, "0123456789") {
		return "", BadExtension
	}
	return tones, ""
}

// cutLabel takes the word off that says an extension follows, in the languages people write it in.
func cutLabel(s string) (rest string, found bool) {
	for _, label := range []string{ // the longer before its own beginning
		"extension", "extensión", "extensão", "extn", "ext", "xtn", "xt", "x",
		"poste", "anexo", "ramal", "interno", "int", "доб", "p", "w",
	} {
		if rest, found = strings.CutPrefix(s, label); found {
			return rest, true
		}
	}
	return s, false
}

func readTones(s string) (string, Problem) {
	var b strings.Builder
	for _, r := range s {
		switch {
		case isDigit(r), r == '*', r == '#', r == 'w':
			b.WriteRune(r)
		case r == ',', r == ';', r == 'p':
			b.WriteString(comma)
		case r == ' ', r == '-', r == '.', r == ')':
			// how people group digits
		case r == '+':
			return "", SeveralNumbers
		case unicode.IsLetter(r):
			return "", Letters
		default:
			return "", BadExtension
		}
	}
	return b.String(), ""
}
