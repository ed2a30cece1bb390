package carrier

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestCleanText(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, in, want string }{
		{"plain", "Account not active", "Account not active"},
		{"NUL and bad bytes", "busy\x00line\xff\xfe", "busy\ufffdline\ufffd\ufffd"},
		{"control characters", "a\r\nb\tc\x1b[31m", "a  b c [31m"},
		{"text that runs backwards", "a\u202eb\u2066c", "a b c"},
		{"echoed number", "The number +14155550123 is not valid", "The number +*********23 is not valid"},
		{"echoed number as people write it", "call (415) 555-0123.", "call (***) ***-**23."},
		{"international, parted", "+44 20 7946 0958", "+** ** **** **58"},
		{"in a URL", "to=%2B14155550123&x", "to=%2B*********23&x"},
		{"seven digits", "5550123", "*****23"},
		{"six digits", "555012", "555012"},
		{"other scripts' digits", "٠١٢٣٤٥٦٧", "******٦٧"},
		{"codes and dates stay", "error 21211 (HTTP 400) on 2026-09-10", "error 21211 (HTTP 400) on 2026-09-10"},
		{"two numbers", "+14155550123, +14155550124", "+*********23, +*********24"},
		{"exactly the limit", strings.Repeat("x", 500), strings.Repeat("x", 500)},
		{"one over", strings.Repeat("é", 501), strings.Repeat("é", 500) + " … [cut]"},
		{"a number across the cut", strings.Repeat("x", 495) + "14155550123", strings.Repeat("x", 495) + "***** … [cut]"},
		{"empty", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := CleanText(c.in); got != c.want {
				t.Errorf("CleanText(%q)\n got %q\nwant %q", c.in, got, c.want)
			}
		})
	}
}

// The case nul-byte-in-reason: NUL, bad UTF-8 and a megabyte must not keep a row open.
func TestCleanTextAlwaysStorable(t *testing.T) {
	t.Parallel()
	got := CleanText("busy\x00line\xff\xfe" + strings.Repeat("0123456789 ", 1<<17))
	if !utf8.ValidString(got) || strings.ContainsRune(got, 0) || !strings.HasSuffix(got, cutMark) {
		t.Errorf("not storable: %q", got)
	}
	if n := utf8.RuneCountInString(got); n > maxText+utf8.RuneCountInString(cutMark) {
		t.Errorf("%d characters", n)
	}
}

func FuzzCleanText(f *testing.F) {
	f.Add("The number +14155550123 is not valid\x00\xff")
	f.Fuzz(func(t *testing.T, s string) {
		got := CleanText(s)
		if !utf8.ValidString(got) || strings.ContainsAny(got, "\x00\x1b\n") {
			t.Errorf("CleanText(%q) = %q", s, got)
		}
		if again := CleanText(got); !strings.HasSuffix(got, cutMark) && again != got {
			t.Errorf("cleaning twice: %q then %q", got, again)
		}
	})
}
