package desk

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"chasephone/internal/telemetry"
)

// FuzzPerson: whatever somebody is called, and whatever the reason, the ledger can hold it on one
// line, without a number; nobody unseen decides; and whoever says the same again is the same.
func FuzzPerson(f *testing.F) {
	for _, s := range []string{"", " ann ", "\u200b", "\u202eann", "a\x00b", "ann\x1b[2J", "\u009b2J", "\xff", "+1 415 555 0123", strings.Repeat("é", 101), "a\nb", "\u0301", "\u3000", "O\u2019Neil"} {
		f.Add(s, s)
	}
	f.Fuzz(func(t *testing.T, by, why string) {
		name, err := Person(by)
		if err == nil {
			again, err := Person(name)
			if again != name || err != nil || !fits(name) || !strings.ContainsFunc(name, visible) || telemetry.MaskText(name) != name {
				t.Errorf("%q is %q, and then %q (%v)", by, name, again, err)
			}
		}
		said := because("declined", why)
		if !fits(said) || !strings.HasPrefix(said, "declined") || utf8.RuneCountInString(said) > mostWhy+len("declined: …") || telemetry.MaskText(said) != said {
			t.Errorf("%q is %q", why, said)
		}
	})
}

func fits(s string) bool { return utf8.ValidString(s) && !strings.ContainsFunc(s, unicode.IsControl) }
