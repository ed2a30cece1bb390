package gates

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"chasephone/internal/phone"
)

func says(name string, v Verdict) Gate { return Gate{name, func(Case) Verdict { return v }} }

func grounds(code string) Grounds { return Grounds{Code: code} }

func TestTheStrictestRules(t *testing.T) {
	t.Parallel()
	now := good().Now
	soon, later := now.Add(time.Hour), now.Add(2*time.Hour)
	pass := says("p", Pass{})
	short, long := says("w1", Wait{grounds("short"), soon}), says("w2", Wait{grounds("long"), later})
	holdA, holdB := says("z", Hold{grounds("a_hold")}), says("y", Hold{grounds("b_hold")})
	refuse := says("r", Refuse{grounds("never")})

	for _, tt := range []struct {
		name string
		gs   []Gate
		want Ruling
	}{
		{"all pass", []Gate{pass, pass}, Ruling{Verdict: Pass{}}},
		{"wait over pass", []Gate{pass, short}, Ruling{Wait{grounds("short"), soon}, "w1", "short", soon, nil}},
		{"the longest wait", []Gate{short, long, pass}, Ruling{Wait{grounds("long"), later}, "w2", "long", later, nil}},
		{"as long: by name", []Gate{short, says("w0", Wait{grounds("too"), soon})}, Ruling{Wait{grounds("too"), soon}, "w0", "too", soon, nil}},
		{"hold over wait, the first code", []Gate{long, holdB, holdA}, Ruling{
			Hold{grounds("a_hold")}, "z", "a_hold", time.Time{}, []string{"a_hold", "b_hold"},
		}},
		{"one code held twice: by name", []Gate{holdA, says("q", Hold{grounds("a_hold")})}, Ruling{
			Hold{grounds("a_hold")}, "q", "a_hold", time.Time{}, []string{"a_hold"},
		}},
		{"refuse over hold", []Gate{holdA, refuse, long}, Ruling{Refuse{grounds("never")}, "r", "never", time.Time{}, nil}},
		{"two refuse: by name", []Gate{refuse, says("b", Refuse{grounds("ever")})}, Ruling{Refuse{grounds("ever")}, "b", "ever", time.Time{}, nil}},
	} {
		for range 10 {
			rand.Shuffle(len(tt.gs), func(i, j int) { tt.gs[i], tt.gs[j] = tt.gs[j], tt.gs[i] })
			got, findings := Judge(tt.gs, good())
			if !reflect.DeepEqual(got, tt.want) {
				t.Errorf("%s: %+v\nwant %+v", tt.name, got, tt.want)
			}
			for i, f := range findings {
				if f.Gate != tt.gs[i].Name {
					t.Errorf("%s: finding %d is of %s", tt.name, i, f.Gate)
				}
			}
		}
	}
}

func TestNothingAgainstAGoodCall(t *testing.T) {
	t.Parallel()
	r, findings := Judge(Chain(Options{}), good())
	if r.Kind() != KindPass || r.Code != "" || r.Gate != "" || len(findings) != len(Names()) {
		t.Errorf("%+v %+v", r, findings)
	}
}

// An approval answers the holds it names, for the call as it was approved, and nothing else.
func TestApprovals(t *testing.T) {
	t.Parallel()
	chain := append(Chain(Options{}), says("extra", Hold{Grounds{"extra", map[string]string{"why": "new"}}}))
	held := func() Case {
		c := good()
		c.NeedsApproval = true
		return c
	}
	for _, tt := range []struct {
		name   string
		reason []string
		change func(*Case) // after the approval was given
		kind   string
		holds  []string
		why    string // what the ledger says of the approval
	}{
		{"answers all", []string{CodeApprovalRequired, "extra"}, nil, KindPass, nil, ""},
		{"answers one", []string{CodeApprovalRequired}, nil, KindHold, []string{"extra"}, ""},
		{"answers none", []string{"another"}, nil, KindHold, []string{CodeApprovalRequired, "extra"}, ""},
		{"none", nil, func(c *Case) { c.Approval = nil }, KindHold, []string{CodeApprovalRequired, "extra"}, ""},
		{"another number", []string{CodeApprovalRequired, "extra"}, func(c *Case) {
			c.Number.Number = phone.FromE164("+12125550124")
		}, KindHold, []string{CodeApprovalRequired, "extra"}, "number"},
		{"another line", []string{CodeApprovalRequired, "extra"}, func(c *Case) { c.Line.Name = "sales" }, KindHold, []string{CodeApprovalRequired, "extra"}, "line"},
		{"another caller", []string{CodeApprovalRequired, "extra"}, func(c *Case) {
			c.Line.Caller = phone.FromE164("+14155550124")
		}, KindHold, []string{CodeApprovalRequired, "extra"}, "caller"},
		{"other words", []string{CodeApprovalRequired, "extra"}, func(c *Case) { c.Script += "!" }, KindHold, []string{CodeApprovalRequired, "extra"}, "words"},
		{"a URL speaks now", []string{CodeApprovalRequired, "extra"}, func(c *Case) {
			c.Line.URL = "https://example.com/voice"
		}, KindHold, []string{CodeApprovalRequired, "extra"}, "words"},
		{"opted out since", []string{CodeApprovalRequired, "extra"}, func(c *Case) {
			c.OptOut = Known(&OptOut{Source: "desk"})
		}, KindRefuse, nil, ""},
		{"outside hours", []string{CodeApprovalRequired, "extra", CodeOutsideHours}, func(c *Case) {
			c.Now = at("2026-10-07T05:00:00Z")
		}, KindWait, nil, ""},
		{"could not be loaded", nil, func(c *Case) {
			c.Approval, c.ApprovalErr = nil, errors.New("timeout")
		}, KindWait, nil, ""},
		// A bare yes would ring at whatever hour it was given.
		{"no zone came with it", []string{CodeApprovalRequired, "extra", CodeTimeZoneUnknown}, func(c *Case) {
			c.Number.Zones = nil
		}, KindHold, []string{CodeTimeZoneUnknown}, ""},
		{"an unknown zone came with it", []string{CodeApprovalRequired, "extra", CodeTimeZoneUnknown}, func(c *Case) {
			c.Number.Zones, c.Approval.TimeZone = nil, "Mars"
		}, KindHold, []string{CodeTimeZoneUnknown}, ""},
		{"a zone came with it", []string{CodeApprovalRequired, "extra", CodeTimeZoneUnknown}, func(c *Case) {
			c.Number.Zones, c.Approval.TimeZone = nil, "America/Chicago"
		}, KindPass, nil, ""},
		{"no common hours, and no zone", []string{CodeApprovalRequired, "extra", CodeNoCommonHours}, func(c *Case) {
			c.Number.Zones = []string{"Pacific/Pitcairn", "Atlantic/Reykjavik", "Asia/Singapore"}
		}, KindHold, []string{CodeNoCommonHours}, ""},
		{"no common hours, and a zone", []string{CodeApprovalRequired, "extra", CodeNoCommonHours}, func(c *Case) {
			c.Number.Zones = []string{"Pacific/Pitcairn", "Atlantic/Reykjavik", "Asia/Singapore"}
			c.Approval.TimeZone = "America/Chicago"
		}, KindPass, nil, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := held()
			c.Approval = yes(c, tt.reason...)
			if tt.change != nil {
				tt.change(&c)
			}
			r, findings := Judge(chain, c)
			if r.Kind() != tt.kind || !slices.Equal(r.Holds, tt.holds) {
				t.Fatalf("%+v, want %s %v", r, tt.kind, tt.holds)
			}
			if tt.why != "" {
				for _, f := range findings {
					if f.Kind() == KindHold && (f.On()["approval"] != "no longer matches" || f.On()["what"] != tt.why) {
						t.Errorf("%s says %v, want %s", f.Gate, f.On(), tt.why)
					}
				}
			}
		})
	}

	c := held()
	c.Approval = yes(c, CodeApprovalRequired, "extra")
	_, findings := Judge(chain, c)
	want := Finding{"extra", Pass{Grounds{"extra", map[string]string{"why": "new", "approved_by": "Ann", "approval": "7d9c"}}}}
	if got := findings[len(findings)-1]; !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got := findings[5].Sentence(); got != "approved by Ann: a person must approve this call" {
		t.Error(got)
	}
}

func TestWordsBindWhatIsSaid(t *testing.T) {
	t.Parallel()
	// Approvals that are stored already hold digests: another way to make them would void them all.
	if got, want := Words("Hello", ""), "1d3d5ea9fd41a7e98d3f66f0ca48b677c0cf2960e3931113ac93c3b1687749c7"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	seen := map[string]string{}
	for _, w := range [][2]string{{"", ""}, {"a", ""}, {"", "a"}, {"ab", ""}, {"a", "b"}, {"", "ab"}, {"a\x00", ""}, {"a ", ""}} {
		d := Words(w[0], w[1])
		if len(d) != 64 || d != Words(w[0], w[1]) {
			t.Errorf("%q: %s", w, d)
		}
		if other, twice := seen[d]; twice {
			t.Errorf("%q and %s have one digest", w, other)
		}
		seen[d] = fmt.Sprintf("%q", w)
	}
}

// A gate that breaks makes the call wait; it takes neither the daemon nor the ruling along.
func TestABrokenGateFailsClosed(t *testing.T) {
	t.Parallel()
	for name, g := range map[string]Gate{
		"panics":            {"broken", func(Case) Verdict { panic("index of +1 415 555 0123 out of range") }},
		"panics with error": {"broken", func(Case) Verdict { panic(errors.New("boom")) }},
		"panics with nil":   {"broken", func(Case) Verdict { panic(nil) }},
		"says nothing":      {"broken", func(Case) Verdict { return nil }},
		"says a pointer":    {"broken", func(Case) Verdict { return &Pass{} }},
		"says a nil":        {"broken", func(Case) Verdict { return (*Pass)(nil) }},
		"is not there":      {Name: "broken"},
	} {
		r, findings := Judge([]Gate{number(), g}, good())
		if r.Kind() != KindWait || r.Code != CodeGateFailed || r.Gate != "broken" || !r.Until.Equal(good().Now.Add(5*time.Minute)) {
			t.Errorf("%s: %+v", name, r)
		}
		if f := findings[1]; f.Code() != CodeGateFailed || f.On()["cause"] == "" || strings.Contains(f.On()["cause"], "415") {
			t.Errorf("%s: %+v", name, f)
		}
	}
	if r, _ := Judge(nil, good()); r.Kind() != KindWait || r.Code != CodeGateFailed {
		t.Errorf("no gates: %+v", r)
	}
	// A refusal is not held up by somebody else's fault.
	if r, _ := Judge([]Gate{{Name: "broken"}, says("r", Refuse{grounds("never")})}, good()); r.Kind() != KindRefuse {
		t.Errorf("%+v", r)
	}
}

// A row that waits until now would be claimed again at once, for ever.
func TestWaitsEndInTheFuture(t *testing.T) {
	t.Parallel()
	now := good().Now
	for _, until := range []time.Time{{}, now.Add(-time.Hour), now} {
		if r, _ := Judge([]Gate{says("w", Wait{grounds("w"), until})}, good()); !r.Until.Equal(now.Add(time.Minute)) {
			t.Errorf("%s: until %s", until, r.Until)
		}
	}
	r, findings := Judge([]Gate{says("w", Wait{grounds("w"), time.Unix(1<<40, 0)})}, good())
	if r.Until.Year() > 2200 {
		t.Errorf("until %s", r.Until)
	}
	if _, err := json.Marshal(findings); err != nil {
		t.Error(err)
	}
}

func TestWhatTheLedgerCanHold(t *testing.T) {
	t.Parallel()
	on := map[string]string{"nul": "busy\x00line", "bytes": "a\xff\xfeb", "long": strings.Repeat("é", 10_000), "fine": "fine"}
	_, findings := Judge([]Gate{says("r", Refuse{Grounds{"r", on}})}, good())
	got := findings[0].On()
	if got["nul"] != "busy line" || got["bytes"] != "a\uFFFDb" || got["fine"] != "fine" ||
		utf8.RuneCountInString(got["long"]) != maxValue || !strings.HasSuffix(got["long"], "…") {
		t.Errorf("%q", got)
	}
	if on["nul"] != "busy\x00line" {
		t.Error("the gate's own map was changed")
	}
}

func TestClean(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                                     "",
		"timeout after 5s":                     "timeout after 5s",
		"FATAL (SQLSTATE 53300)":               "FATAL (SQLSTATE 53300)",
		"port 5432":                            "port 5432",
		"+14155550123":                         "+#",
		"ring (415) 555-0123 now":              "ring (# now",
		"1\u00a0415\u200b555\u20110123":        "#",
		"٠١٩٩٠٠١٢٣٤":                           "#",
		"call 555 0123":                        "call #",
		"123456":                               "#",
		"12345":                                "12345",
		"a 123, 456, 789":                      "a 123, 456, 789",
		"+33 1 99 00 12 34 and 0199001234":     "+# and #",
		" \x00 nul ":                           "nul",
		"line\nbreak":                          "line break",
		"dial tcp 192.168.100.200:5432: reset": "dial tcp #:5432: reset",
	} {
		if got := clean(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// anyCase draws a call with anything wrong with it.
func anyCase(t *rapid.T) Case {
	flip := func(label string) bool { return rapid.Bool().Draw(t, label) }
	c := good()
	c.Now = time.Unix(rapid.Int64Range(1_700_000_000, 1_900_000_000).Draw(t, "now"), 0).UTC()
	if flip("another number") {
		raw := rapid.SampledFrom([]string{
			"+13085550123", "+18005550123", "+80012345678", "+33199001234", "911", "+19005550123", "x", "", "+1 415", "+61491570156",
		}).Draw(t, "number")
		c.Number, c.Problem = phone.Parse(raw, "US")
	}
	c.Countries = rapid.SampledFrom([][]string{nil, {"US"}, {"US", "FR", "AU", "001"}}).Draw(t, "countries")
	c.TimeZone = rapid.SampledFrom([]string{"", "", "America/Denver", "America/New York", "Local", "\x00", "+14155550123"}).Draw(t, "zone")
	c.TimeZoneGiven = flip("zone given")
	c.Script = rapid.SampledFrom([]string{"Hello", "", "far too long a script"}).Draw(t, "script")
	c.NeedsApproval = flip("needs approval")
	if flip("another line") {
		c.Line = Line{
			Name: rapid.SampledFrom([]string{"default", "sales", "\xff"}).Draw(t, "line"), Named: flip("named"), Exists: flip("exists"),
			Configured: flip("configured"), Stopped: flip("stopped"), TooLong: flip("too long"),
			URL: rapid.SampledFrom([]string{"", "https://example.com"}).Draw(t, "url"), HeldFor: "busy",
			HeldUntil: c.Now.Add(time.Duration(rapid.IntRange(-5, 5).Draw(t, "held")) * time.Hour),
		}
	}
	err := errors.New("number +1 415 555 0123: connection reset")
	c.OptOut = rapid.SampledFrom([]Fact[*OptOut]{Known[*OptOut](nil), Known(&OptOut{Source: "desk"}), Unknown[*OptOut](err), {}}).Draw(t, "opt-out")
	c.InCall = rapid.SampledFrom([]Fact[*InCall]{Known[*InCall](nil), Known(&InCall{FollowUp: "f"}), Unknown[*InCall](err), {}}).Draw(t, "in a call")
	if flip("approval unknown") {
		c.ApprovalErr = err
	} else if flip("approval") {
		c.Approval = yes(c, rapid.SliceOf(rapid.SampledFrom([]string{CodeApprovalRequired, CodeTimeZoneUnknown, CodeNoCommonHours})).Draw(t, "reasons")...)
		c.Approval.TimeZone = rapid.SampledFrom([]string{"", "America/Denver", "Mars"}).Draw(t, "approved zone")
		if flip("does not match") {
			c.Approval.Words = "other"
		}
	}
	return c
}

// What holds for any call: the order of the gates changes nothing, the ruling is no milder than any
// finding, every code is known and has its sentence, the ledger can hold every finding, and no
// finding holds a number.
func TestAnyCase(t *testing.T) {
	t.Parallel()
	chain := Chain(Options{})
	codes := Codes()
	rapid.Check(t, func(t *rapid.T) {
		c := anyCase(t)
		want, findings := Judge(chain, c)
		got, _ := Judge(rapid.Permutation(chain).Draw(t, "order"), c)
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("in another order %+v, not %+v", got, want)
		}
		holds := []string{}
		for _, f := range findings {
			if f.Verdict.strictness() > want.Verdict.strictness() {
				t.Fatalf("%+v is stricter than the ruling %+v", f, want)
			}
			if f.Kind() == KindHold {
				holds = append(holds, f.Code())
			}
			if w := f.Until(); f.Kind() == KindWait && (!w.After(c.Now) || want.Kind() == KindWait && w.After(want.Until)) {
				t.Fatalf("%+v waits longer than the ruling %+v, or not at all", f, want)
			}
			if f.Code() != "" && !slices.Contains(codes, f.Code()) {
				t.Fatalf("the code %q of %s is not in Codes", f.Code(), f.Gate)
			}
			if s := f.Sentence(); s == "" || s == strings.ReplaceAll(f.Code(), "_", " ") {
				t.Fatalf("no sentence for %+v", f)
			}
			b, err := json.Marshal(f)
			if err != nil || strings.Contains(string(b), `\u0000`) || strings.Contains(string(b), "415") {
				t.Fatalf("the ledger cannot hold %s, %v", b, err)
			}
			var back Finding
			if err := json.Unmarshal(b, &back); err != nil || !reflect.DeepEqual(back, f) {
				t.Fatalf("%+v is read back as %+v, %v", f, back, err)
			}
		}
		slices.Sort(holds)
		if want.Kind() == KindHold && !slices.Equal(want.Holds, slices.Compact(holds)) {
			t.Fatalf("holds %v, want %v", want.Holds, holds)
		}
	})
}

// Every code and cause declared in this package is listed, and has a sentence of its own.
func TestEveryCodeHasItsSentence(t *testing.T) {
	t.Parallel()
	declared := declaredStrings(t, "Code")
	codes := Codes()
	if len(declared)+len(phone.Problems()) != len(codes) {
		t.Errorf("%d codes are declared and %d problems, %d listed", len(declared), len(phone.Problems()), len(codes))
	}
	seen := map[string]string{}
	for _, code := range codes {
		s := Explain(code, nil)
		if s == "" || s == strings.ReplaceAll(code, "_", " ") {
			t.Errorf("%s has no sentence", code)
		}
		if other, twice := seen[s]; twice {
			t.Errorf("%s and %s are both %q", code, other, s)
		}
		seen[s] = code
	}
	for _, code := range declared {
		if !slices.Contains(codes, code) {
			t.Errorf("%s is not in Codes", code)
		}
	}
	for _, cause := range declaredStrings(t, "Cause") {
		if s := causeSentence(cause); strings.HasPrefix(s, "it is held") {
			t.Errorf("the cause %s has no sentence", cause)
		}
	}
}

// declaredStrings are the values of this package's string constants with a prefix.
func declaredStrings(t *testing.T, prefix string) []string {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, isValue := n.(*ast.ValueSpec)
			if !isValue {
				return true
			}
			for i, name := range spec.Names {
				if !strings.HasPrefix(name.Name, prefix) || i >= len(spec.Values) {
					continue
				}
				if lit, isLit := spec.Values[i].(*ast.BasicLit); isLit && lit.Kind == token.STRING {
					s, err := strconv.Unquote(lit.Value)
					if err != nil {
						t.Fatal(err)
					}
					out = append(out, s)
				}
			}
			return true
		})
	}
	if len(out) == 0 {
		t.Fatalf("no constant begins with %s", prefix)
	}
	return out
}

func TestSentences(t *testing.T) {
	t.Parallel()
	for want, f := range map[string]Finding{
		"nothing against it": {"number", Pass{}},
		"outside calling hours: 21:31 in America/Denver, open 08:00–21:00": {"calling_hours", Wait{Grounds: Grounds{
			CodeOutsideHours, map[string]string{"zone": "America/Denver", "local": "21:31", "window": "08:00-21:00"},
		}}},
		"inside calling hours: 10:31 in America/Denver, open 08:00–21:00, one of 2 zones this number may be in": {"calling_hours", Pass{Grounds{
			"", map[string]string{"zone": "America/Denver", "local": "10:31", "window": "08:00-21:00", "zones": "2"},
		}}},
		"no common calling hours within 8 days, open 08:00–21:00, zones this number may be in: 3": {"calling_hours", Hold{Grounds{
			CodeNoCommonHours, map[string]string{"window": "08:00-21:00", "zones": "3"},
		}}},
		"time zone unknown: there is none called “America/New York”":     {"calling_hours", Hold{Grounds{CodeTimeZoneUnknown, map[string]string{"zone": "America/New York"}}}},
		"time zone unknown: the follow-up gives an empty one":            {"calling_hours", Hold{Grounds{CodeTimeZoneUnknown, map[string]string{"zone_from": zoneFromRow}}}},
		"time zone unknown: the number does not tell where its owner is": {"calling_hours", Hold{Grounds{CodeTimeZoneUnknown, map[string]string{"zone_from": zoneFromNumber}}}},
		"a person must approve this call; the approval given no longer matches: another number": {"approval", Hold{Grounds{
			CodeApprovalRequired, map[string]string{"approval": "no longer matches", "what": "number"},
		}}},
		"the line default is not ready: it is held (three unknown)": {"line", Wait{Grounds: Grounds{
			CodeLineNotReady, map[string]string{"cause": "three_unknown", "line": "default"},
		}}},
		"this is a premium rate number": {"number", Refuse{grounds("premium")}},
		"of a later version":            {"later", Refuse{grounds("of_a_later_version")}},
	} {
		if got := f.Sentence(); got != want {
			t.Errorf("%q\nwant %q", got, want)
		}
	}
}

func BenchmarkJudge(b *testing.B) {
	for _, bb := range []struct{ name, number, now string }{
		{"one zone, passes", "+12125550123", "2026-10-06T16:00:00Z"},
		{"one zone, waits", "+12125550123", "2026-10-06T05:00:00Z"},
		{"two zones, passes", "+13085550123", "2026-10-06T16:00:00Z"},
		{"toll-free, waits", "+18005550123", "2026-10-06T16:00:00Z"},
	} {
		b.Run(bb.name, func(b *testing.B) {
			b.ReportAllocs()
			chain := Chain(Options{})
			c := good()
			c.Now = at(bb.now)
			c.Number = phone.Restore(bb.number, "", "US")
			for b.Loop() {
				Judge(chain, c)
			}
		})
	}
}

func BenchmarkJudgeApproved(b *testing.B) {
	b.ReportAllocs()
	chain := Chain(Options{})
	c := good()
	c.NeedsApproval = true
	c.Approval = yes(c, CodeApprovalRequired)
	for b.Loop() {
		Judge(chain, c)
	}
}
