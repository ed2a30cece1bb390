package main

import (
	"bytes"
	"encoding/json"
	"testing"
)

func TestPlain(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"Ada Lovelace":      "Ada Lovelace",
		"Ünïcödé ☎ 電話":      "Ünïcödé ☎ 電話",
		"a\x1b[31mred":      "a�[31mred",
		"two\nlines\tand\r": "two lines and ",
		"\u009b2J":          "�2J",
		"nul\x00":           "nul�",
		"bad\xff":           "bad�",
		"\u202eevil\u2066":  "�evil�",
	} {
		if got := plain(in); got != want {
			t.Errorf("plain(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestMasked(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"+1 415 555 0123":     "+* *** *** **23",
		"(415) 555-0123 x44":  "(***) ***-**** x44",
		"٠١٢٣٤٥٦٧٨٩":          "********٨٩",
		"911":                 "*11",
		"12":                  "12",
		"no number":           "no number",
		"+14155550123\x1b[2J": "+**********3\x1b[2J",
		"":                    "",
	} {
		if got := masked(in); got != want {
			t.Errorf("masked(%q) = %q, want %q", in, got, want)
		}
	}
}

// TestVeil: the person's number is hidden in whatever spelling; other numbers are not.
func TestVeil(t *testing.T) {
	t.Parallel()
	v := veilOf("+1 415 555 0123 x44")
	for in, want := range map[string]string{
		"call 415-555-0123 please":   "call ***-***-**23 please",
		"+14155550123":               "+*********23",
		"call us on 0800 123 4567":   "call us on 0800 123 4567",
		"order 20261006":             "order 20261006",
		"5550123\x1b":                "*****23�",
		"we said: (415) 555 01 23.":  "we said: (***) *** ** 23.",
		"nothing":                    "nothing",
		"two: 4155550123, 212555010": "two: ********23, *******10",
	} {
		if got := v.text(in); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
	if got := veilOf("٤١٥٥٥٥٠١٢٣").text("415 555 0123"); got != "*** *** **23" {
		t.Errorf("a number in other digits shows as %q", got)
	}
	if got := veilOf("911").text("room 911"); got != "room 911" {
		t.Errorf("a short number hides %q", got)
	}
}

func TestPrintJSON(t *testing.T) {
	t.Parallel()
	in := map[string]string{"name": "a\x1b[31m\u009b\x7f\u202e\n<b>&\u2028"}
	var b bytes.Buffer
	if err := printJSON(&b, in); err != nil {
		t.Fatal(err)
	}
	for _, r := range b.String() {
		if acts(r) && r != '\n' {
			t.Errorf("%U is in %q", r, b.String())
		}
	}
	var out map[string]string
	if err := json.Unmarshal(b.Bytes(), &out); err != nil || out["name"] != in["name"] {
		t.Errorf("%q became %q (%v)", in, out, err)
	}
}
