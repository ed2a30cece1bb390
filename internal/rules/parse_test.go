package rules

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

// today is when the files of these tests are read.
func today() time.Time { return time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC) }

const good = `# Rules of a business.
about: What our lawyer told us.
rules:
  - places: [US, PR]
    hours:
      Mon-Fri: 08:00-21:00
      Sat, Sun: 10:00-13:00, 14:00-20:00
    holidays: us
    closed_on: [2026-12-24, 2026-12-31]
    caps: {24h: 3, 7d: 7, 30d: 500}
    after_talk: 7d
    source: 47 CFR 64.1200(c)(1)
    dated: 2025-11-01
  - places: NO # Norway, which YAML takes for a no
    purposes: [sales, welcome_back2]
    consent: required
    source: "Markedsføringsloven § 15"
    dated: 2026-01-16
`

func TestParse(t *testing.T) {
	t.Parallel()
	s, err := Parse([]byte(good), today())
	if err != nil {
		t.Fatal(err)
	}
	first, second := s.All()[0], s.All()[1]
	if got := fmt.Sprintln(first.Places, first.Purposes, first.Hours, first.Caps, first.AfterTalk, first.Consent, first.Source, first.Dated, first.Line); got !=
		"[US PR] [] Mon-Fri 08:00-21:00; Sat-Sun 10:00-13:00, 14:00-20:00; not on holidays of us; not on 2 listed dates {3 7 500} 168h0m0s false "+
			"47 CFR 64.1200(c)(1) 2025-11-01 4\n" {
		t.Errorf("the first rule: %s", got)
	}
	if got := fmt.Sprintln(second.Places, second.Purposes, second.Hours, second.Caps, second.AfterTalk, second.Consent, second.Source, second.Dated, second.Line); got !=
		"[NO] [sales welcome_back2] <nil> {0 0 0} 0s true Markedsføringsloven § 15 2026-01-16 14\n" {
		t.Errorf("the second rule: %s", got)
	}
}

// TestRightFiles: what may look wrong and is not.
func TestRightFiles(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"\ufeff" + good,
		strings.ReplaceAll(good, "\n", "\r\n"),
		"---\n" + good + "...\n",
		oneRule("after_talk: 1m"), oneRule("after_talk: 90d"), oneRule("after_talk: 2160h"),
		oneRule("hours: {mon: 00:00-24:00}"),
		oneRule("hours: {TUE: \"10:00-11:00,11:01-12:00\", Fri: Closed}", "holidays: \"no\""),
		oneRule("hours: {Mon: 10:00-11:00}", "holidays: no"), // Norway's, not false
		oneRule("hours: {Mon: 10:00-11:00}", "closed_on: 2030-01-01"),
		`{"rules": [{"places": "CA-ON", "caps": {"24h": 1}, "source": "x", "dated": "2025-11-01"}]}`,
	} {
		if _, err := Parse([]byte(text), today()); err != nil {
			t.Errorf("%v\n%s", err, text)
		}
	}
	if _, err := Parse([]byte(strings.ReplaceAll(good, "2025-11-01", "2031-01-01")), time.Time{}); err != nil {
		t.Errorf("a future date, on no day: %v", err)
	}
}

// TestWrongFiles: every mistake is told with its line and what to do.
func TestWrongFiles(t *testing.T) {
	t.Parallel()
	rule := func(lines string) string { return oneRule(strings.Split(lines, "\n")...) }
	const hours = "hours: {Mon: 10:00-11:00}"
	for _, tt := range []struct{ text, want string }{
		// The file.
		{"", "line 1: the file is empty"},
		{"# nothing\n", "line 1: the file is empty"},
		{"~", "line 1: the file is empty"},
		{"\n---\n", "line 1: the file is empty"},
		{strings.Repeat("# long\n", 1<<18), "line 1: the file is larger than 1 MiB"},
		{"rules:\n\xff", "line 2: there are bytes that are not UTF-8"},
		{"rules:\n  - a: \x00", "line 2: there is the invisible character U+0000: delete it"},
		{"rules:\n# a\u2028b", "line 2: there is the invisible character U+2028"},
		{"rules:\rx", "line 1: a line ends in a bare carriage return"},
		{good + "---\nrules: []\n", "line 19: a second document begins"},
		{"Tick: 5", `line 1: the file has no key "Tick": its keys are rules and about` + "\n" + `line 1: there is no rules: write rules: and a list of them`},
		{"rule: []", `line 1: the file has no key "rule": did you mean rules?`},
		{"just words", "line 1: the file is keys with values, and its keys are rules and about"},
		{"rules: []", "line 1: rules is a list of at least one rule"},
		{"about: x\nrules:", "line 2: rules has no value"},
		{"rules: {a: b}", "line 1: rules is a list of at least one rule"},
		{"rules:\n  - x\n  -\n", "line 2: a rule is keys with values, and its keys are places, purposes, hours,"},
		{"about: [a]\nrules: [b]", "line 1: about is one text, not a list or keys"},

		// YAML, and what we do not take of it.
		{"rules:\n  - places: [US\n    source: x\n", "line 2: from here on it is not YAML (did not find expected ',' or ']')"},
		{"rules:\n  - places: US\n   source: x\n", "line 3: from here on it is not YAML (did not find expected '-' indicator)"},
		{"rules:\n  - places: US\n    source: \"x\n    dated: 1\n", "line 3: from here on it is not YAML (found unexpected end of stream)"},
		{"rules:\n  - places: US\n    source: x: y\n", "line 3: from here on it is not YAML (mapping values are not allowed in this context)"},
		{"rules:\n\t- places: US\n", "line 2: there is a tab before the text: indent with spaces"},
		{"rules:\n  - places: *here\n", "line 2: from here on it is not YAML (unknown anchor 'here' referenced)"},
		{rule("hours: &all {Mon: 10:00-11:00}"), "line 5: &all is a name to refer to: leave it out"},
		{"rules:\n  - &a {places: US}\n  - *a\n", "line 2: &a is a name to refer to: leave it out\nline 3: *a refers to another place"},
		{rule(hours + "\n<<: {consent: required}"), "line 6: << takes over keys from another place"},
		{rule("consent: !!str required"), `line 5: the type "!!str" is written before the value`},

		// Keys.
		{rule("hour: {Mon: 10:00-11:00}"), `line 5: a rule has no key "hour": did you mean hours?`},
		{rule(hours + "\nwindow: x"), `line 6: a rule has no key "window": its keys are places, purposes,`},
		{rule(hours + "\n? [a, b]\n: c"), `line 6: a rule has no key "": its keys are`},
		{rule(hours + "\nsource: y"), "line 6: source is there twice: leave one out"},
		{"rules:\n  - caps: {7d: 7}\n", "line 2: this rule has no places: write where it holds"},
		{"rules:\n  - caps: {7d: 7}\n", "line 2: this rule has no source: write where it is written"},
		{"rules:\n  - caps: {7d: 7}\n", "line 2: this rule has no dated: write the day"},
		{rule("purposes: sales"), "line 2: this rule says nothing: give it hours, caps, after_talk or consent"},
		{rule("holidays: us\nconsent: required"), "line 2: this rule has holidays and no hours"},
		{rule("closed_on: 2026-01-01\nconsent: required"), "line 2: this rule has closed_on and no hours"},

		// Places and purposes.
		{placed("us"), `line 2: "us" is no place: write it in capitals, US`},
		{placed("US, CA"), `line 2: "US, CA" is no place: write several as a list`},
		{placed("[US, UK]"), `line 2: "UK" is no place: write GB`},
		{placed("USA"), `line 2: "USA" is no place: write a country as FR`},
		{placed("ZZ"), `line 2: "ZZ" is no place: there are no telephone numbers of a country ZZ`},
		{placed("US-XX"), `line 2: "US-XX" is no place: US has no part XX`},
		{placed("US-PR"), `line 2: "US-PR" is no place: PR has a code of its own: write PR`},
		{placed("GB-SCT"), `line 2: "GB-SCT" is no place: no telephone number tells the part of GB that it belongs to: write GB`},
		{placed("CA-NF"), `line 2: "CA-NF" is no place: CA has no part NF`},
		{placed("[US, US]"), `line 2: "US" is in places twice`},
		{placed("[US, [CA]]"), "line 2: places is a list of single words"},
		{placed("[US, ~]"), "line 2: places is a list of single words"},
		{placed("[]"), "line 2: places is an empty list"},
		{placed("{US: CA}"), "line 2: places is a list such as [a, b], or a single word"},
		{placed("~"), "line 2: places has no value"},
		{placed("\n      - US\n      - U S"), `line 4: "U S" is no place`},
		{rule(hours + "\npurposes: Sales"), `line 6: "Sales" is no purpose: write a word in small letters, such as requested, sales or debt`},
		{rule(hours + "\npurposes: [sales, 2nd]"), `line 6: "2nd" is no purpose`},
		{rule(hours + "\npurposes: [" + strings.Repeat("a", 32) + "]"), `is no purpose`},
		{rule(hours + "\npurposes: [" + many("p", 101) + "]"), "line 6: the rules together have more than 100 purposes"},
		{"rules: [" + many("x", 1001) + "]", "line 1: there are more than 1000 rules"},

		// Hours.
		{rule("hours: 08:00-21:00"), "line 5: hours are weekdays with times, such as Mon-Fri: 09:00-18:00"},
		{rule("hours: {}"), "line 5: hours are weekdays with times"},
		{rule("hours: {Mon-Fri: 10:00-13:00, 14:00-20:00}"), `line 5: "14:00-20:00" stands where days are expected: put quotes around several windows`},
		{rule("hours:\n  Monday: 10:00-13:00"), `line 6: "Monday" is no weekday: they are Mon, Tue,`},
		{rule("hours:\n  Mon–Fri: 10:00-13:00"), `line 6: "Mon–Fri" is no weekday`},
		{rule("hours:\n  Fri-Mon: 10:00-13:00"), `line 6: "Fri-Mon" does not run from an earlier to a later day`},
		{rule("hours:\n  Mon-Mon: 10:00-13:00"), `line 6: "Mon-Mon" does not run from an earlier to a later day`},
		{rule("hours:\n  Mon-Wed-Fri: 10:00-13:00"), `line 6: "Mon-Wed-Fri" is no weekday`},
		{rule("hours:\n  'Mon,': 10:00-13:00"), `line 6: "" is no weekday`},
		{rule("hours:\n  ? [Mon]\n  : 10:00-13:00"), `line 6: the days are one text, such as Mon-Fri`},
		{rule("hours:\n  Mon-Fri: 10:00-13:00\n  Wed: closed"), "line 7: Wed is named twice"},
		{rule("hours:\n  Mon, Mon: 10:00-13:00"), "line 6: Mon is named twice"},
		{rule("hours:\n  Mon:"), `line 6: "Mon" has no hours: write them as 09:00-18:00, or closed`},
		{rule("hours:\n  Mon: [10:00-13:00]"), `line 6: "Mon" has no hours`},
		{rule("hours:\n  Mon: 25:00-26:00"), `line 6: calling hours "25:00-26:00": write them as 08:00-21:00`},
		{rule("hours:\n  Mon: 10:00–13:00"), `line 6: calling hours "10:00–13:00": write them as 08:00-21:00`},
		{rule("hours:\n  Mon: 10:00:30-13:00"), `line 6: calling hours "10:00:30-13:00": write them`},
		{rule("hours:\n  Mon: 10:00"), `line 6: calling hours "10:00": write them`},
		{rule("hours:\n  Mon: open"), `line 6: calling hours "open": write them`},
		{rule("hours:\n  Mon: 22:00-02:00"), "line 6: calling hours 22:00-02:00: they must open before they close, on the same day; what goes over midnight"},
		{rule("hours:\n  Mon: 14:00-20:00, 10:00-13:00"), "line 6: calling hours 14:00-20:00 and then 10:00-13:00: write windows in order, with time between them"},
		{rule("hours:\n  Mon: 10:00-13:00, 13:00-20:00"), "line 6: calling hours 10:00-13:00 and then 13:00-20:00"},
		{rule("hours:\n  Mon: 10:00-13:00, 12:00-20:00"), "line 6: calling hours 10:00-13:00 and then 12:00-20:00"},
		{rule("hours:\n  Mon: 10:00-13:00,"), `line 6: calling hours "": write them`},
		{rule("hours:\n  Mon-Sun: closed"), "line 6: these hours are never open, so nobody would ever be called"},
		{rule(hours + "\nholidays: FR"), `line 6: "FR" is no calendar of holidays: those known are at, au, be,`},
		{rule(hours + "\nholidays: [fr]"), "line 6: holidays is one text"},
		{rule(hours + "\nclosed_on: [2026-01-01, 2026-02-30]"), `line 6: "2026-02-30" is no date: write it as 2025-12-24`},
		{rule(hours + "\nclosed_on: [2026-01-01, 2026-01-01]"), `line 6: "2026-01-01" is in closed_on twice`},

		// The rest.
		{rule("caps: 3"), "line 5: caps is keys with values, and its keys are 24h, 7d and 30d"},
		{rule("caps: {}"), "line 5: caps are empty"},
		{rule("caps: {1d: 3}"), `line 5: caps has no key "1d": its keys are 24h, 7d and 30d`},
		{rule("caps:\n  24h: 0\n  7d: 501\n  30d: few"), `line 6: "0" is no cap: write a whole number of calls from 1 to 500` + "\nline 7: \"501\" is no cap"},
		{rule("caps: {7d: 1_0}"), `line 5: "1_0" is no cap`},
		{rule("caps: {7d: 0x10}"), `line 5: "0x10" is no cap`},
		{rule("caps: {7d: [1]}"), `line 5: 7d is one text`},
		{rule("after_talk: 59s"), `line 5: "59s" is no after_talk: write a time from 1m to 90d`},
		{rule("after_talk: 91d"), `line 5: "91d" is no after_talk`},
		{rule("after_talk: 7"), `line 5: "7" is no after_talk`},
		{rule("after_talk: -7d"), `line 5: "-7d" is no after_talk`},
		{rule("after_talk: 1.5d"), `line 5: "1.5d" is no after_talk`},
		{rule("after_talk: [7d]"), `line 5: after_talk is one text`},
		{rule("consent: yes"), `line 5: "yes" is not said of consent: write required`},
		{replaced("source: x", "source: ''"), "line 3: source is empty"},
		{replaced("source: x", "source:"), "line 3: source has no value"},
		{replaced("source: x", "source: "+strings.Repeat("é", 201)), "line 3: source has 201 letters: write at most 200"},
		{replaced("source: x", `source: "a\nb"`), "line 3: source is not one line of letters that can be seen"},
		{replaced("source: x", "source: a\u202eb"), "line 3: source is not one line of letters"},
		{replaced("2025-11-01", "2025-11-31"), `line 4: "2025-11-31" is no date`},
		{replaced("2025-11-01", "1 November"), `line 4: "1 November" is no date`},
		{replaced("2025-11-01", "1989-12-31"), `line 4: "1989-12-31" is before 1990`},
		{replaced("2025-11-01", "2026-01-17"), `line 4: "2026-01-17" is in the future`},
	} {
		s, err := Parse([]byte(tt.text), today())
		if err == nil || s != nil || !strings.Contains("\n"+err.Error(), "\n"+tt.want) && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%.200s\nsays\n%v\nwant\n%s", tt.text, err, tt.want)
			continue
		}
		checkMistakes(t, tt.text, err)
	}
}

// checkMistakes: each is one line that names a line of the file.
func checkMistakes(t interface {
	Helper()
	Fatalf(format string, args ...any)
}, text string, err error,
) {
	t.Helper()
	found, ok := errors.AsType[Mistakes](err)
	if !ok || len(found) == 0 || len(found) > mostTold {
		t.Fatalf("%T with %d mistakes", err, len(found))
	}
	for i, m := range found {
		if m.Line < 1 || m.Line > strings.Count(text, "\n")+1 || i > 0 && m.Line < found[i-1].Line {
			t.Fatalf("line %d of %d, in %v", m.Line, strings.Count(text, "\n")+1, found)
		}
		if m.Says == "" || !printable(m.Says) || len(m.Says) > 600 {
			t.Fatalf("%q is not one line", m.Says)
		}
	}
}

func placed(places string) string { return replaced("places: US", "places: "+places) }

func replaced(old, changed string) string {
	return strings.Replace(oneRule("hours: {Mon: 10:00-11:00}"), old, changed, 1)
}

func many(word string, n int) string {
	words := make([]string, n)
	for i := range words {
		words[i] = fmt.Sprint(word, i)
	}
	return strings.Join(words, ", ")
}

// TestAllMistakesAtOnce: in the order of the file, twenty at the most.
func TestAllMistakesAtOnce(t *testing.T) {
	t.Parallel()
	_, err := Parse([]byte(`rules:
  - places: [XX, US]
    hours:
      Sat: 17:00-10:00
      Sun: 10:00-17:00
    holidays: uss
    dated: 2025-11-01
  - places: CA
    cap: {24h: 3}
    source: x
    dated: soon
`), today())
	const want = `line 2: this rule has no source: write where it is written
line 2: "XX" is no place: there are no telephone numbers of a country XX
line 4: calling hours 17:00-10:00: they must open before they close, on the same day; what goes over midnight is written under two days
line 6: "uss" is no calendar of holidays: those known are at, au, be, ca, ch, cz, de, dk, es, fr, gb, gr, hr, ie, it, jp, lt, lv, nc, nl, no, se, si, sk, us, za; list other days under closed_on
line 8: this rule says nothing: give it hours, caps, after_talk or consent, or leave it out
line 9: a rule has no key "cap": did you mean caps?
line 11: "soon" is no date: write the day the source was read, such as 2025-11-01`
	if err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
	_, err = Parse([]byte("rules:\n"+strings.Repeat("  - x\n", 50)), today())
	if found, _ := errors.AsType[Mistakes](err); len(found) != mostTold || !strings.HasSuffix(found[19].Says, "(and 30 more from here on)") {
		t.Errorf("%v", err)
	}
}

func TestDigest(t *testing.T) {
	t.Parallel()
	of := func(text string) string { return parse(t, text).Digest() }
	first := of(good)
	if len(first) != 16 {
		t.Errorf("%q", first)
	}
	for old, same := range map[string]string{
		"# Rules of a business.":   "# Others.",
		"[US, PR]":                 "[PR, US]",
		"Sat, Sun: 10":             "Sat-Sun: 10",
		"after_talk: 7d":           "after_talk: 168h",
		"[2026-12-24, 2026-12-31]": "[2026-12-31, 2026-12-24]",
		"about: What our":          "about: What your",
	} {
		if got := of(strings.Replace(good, old, same, 1)); got != first {
			t.Errorf("%q for %q is another set", same, old)
		}
	}
	for old, other := range map[string]string{
		"[US, PR]":            "[US]",
		"08:00-21:00":         "08:00-21:01",
		"Sat, Sun: 10":        "Sun: 10",
		"holidays: us":        "holidays: fr",
		"2026-12-24":          "2026-12-23",
		"24h: 3":              "24h: 4",
		"after_talk: 7d":      "after_talk: 8d",
		"[sales, ":            "[debt, ",
		"consent: required":   "caps: {7d: 1}",
		"§ 15":                "§ 16",
		"dated: 2026-01-16":   "dated: 2026-01-15",
		"closed_on: [2026-12": "closed_on: [2027-12",
	} {
		if got := of(strings.Replace(good, old, other, 1)); got == first {
			t.Errorf("%q for %q is the same set", other, old)
		}
	}
}
