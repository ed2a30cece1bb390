package carrier

import (
	"strings"
	"testing"
)

func TestWhatCameFromOutside(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"plain": "plain", "a\x00b": "a\uFFFDb", "a\xffb": "a\uFFFDb", strings.Repeat("é", 12): strings.Repeat("é", 10), "": "",
	} {
		if got := Storable(in, 10); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	for in, want := range map[string]string{
		"+14155550123": "+14155550123", "14155550123": "", "+0123456": "", "anonymous": "", "client:bob": "", "sip:x@y": "", "+1415555": "+1415555", "+12": "", "+1234567890123456": "", "+1415 555": "", "": "",
	} {
		if got := Number(in); got.E164() != want {
			t.Errorf("%q: %q", in, got.E164())
		}
	}
	for in, want := range map[string]int{"0": 0, "61": 61, "-1": 0, "1.5": 0, "": 0, "99999999999": 0, "2147483647": 2147483647} {
		if got := Seconds(in); got != want {
			t.Errorf("%q: %d", in, got)
		}
	}
	a, b := Number("+14155550123"), Number("+14155550124")
	if us, them := Parties(DirectionOut, a, b); us != a || them != b {
		t.Error("out")
	}
	if us, them := Parties(DirectionIn, a, b); us != b || them != a {
		t.Error("in")
	}
	if us, them := Parties("", a, b); !us.IsZero() || !them.IsZero() {
		t.Error("in no direction")
	}
}

// The order of statuses in the code is the database's: see TestStatusRanks of the store.
func TestStatuses(t *testing.T) {
	t.Parallel()
	for i, s := range Statuses() {
		if s.Rank() != i+1 || s.Final() != (i >= 4) || s.NotDialed() != (s == StatusCanceled || s == StatusFailed) {
			t.Errorf("%s: rank %d, final %v, not dialed %v", s, s.Rank(), s.Final(), s.NotDialed())
		}
		for _, other := range append(Statuses(), "", "hovering") {
			if want := s; Later(s, other) != want && other.Rank() <= s.Rank() || Later(s, other) != Later(other, s) && other.Rank() > 0 {
				t.Errorf("%s and %s: %s, %s", s, other, Later(s, other), Later(other, s))
			}
		}
	}
	if Status("hovering").Rank() != 0 || Status("").Final() {
		t.Error("what is no status has a place among them")
	}
}
