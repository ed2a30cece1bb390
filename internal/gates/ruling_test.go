package gates

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"chasephone/internal/phone"
	"chasephone/internal/rules"
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
	r, findings := Judge(Chain(everyLimit(t)), good())
	if r.Kind() != KindPass || r.Code != "" || r.Gate != "" || len(findings) != len(Names()) {
		t.Errorf("%+v %+v", r, findings)
	}
}

// An approval answers the holds it names, for the call as it was approved, and nothing else.
func TestApprovals(t *testing.T) {
	t.Parallel()
	chain := append(Chain(Options{Rules: law(t, usHours)}), says("extra", Hold{Grounds{"extra", map[string]string{"why": "new"}}}))
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
		// Of an hour that no rule knows a person may say yes: the finding told what time it is there.
		{"no rules", []string{CodeApprovalRequired, "extra", CodeNoRules}, func(c *Case) { c.Number.Place = "BR" }, KindPass, nil, ""},
		{"no rules, and nobody was asked", []string{CodeApprovalRequired, "extra"}, func(c *Case) {
			c.Number.Place = "BR"
		}, KindHold, []string{CodeNoRules}, ""},
		{"called in before", []string{CodeApprovalRequired, "extra", CodeCalledIn}, func(c *Case) {
			c.CalledIn = Known(&CalledIn{At: c.Approval.At})
		}, KindPass, nil, ""},
		{"called in since", []string{CodeApprovalRequired, "extra", CodeCalledIn, CodeCalledInAgain}, func(c *Case) {
			c.CalledIn = Known(&CalledIn{At: c.Now})
		}, KindHold, []string{CodeCalledInAgain}, ""},
		{"the tenant wants to see all", []string{CodeApprovalRequired, "extra"}, func(c *Case) { c.Policy = PolicyAlways }, KindPass, nil, ""},
		{"the tenant never does", []string{"extra"}, func(c *Case) { c.Policy = PolicyNever }, KindPass, nil, ""},
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
	if got := of(findings, GateApproval).Sentence(); got != "approved by Ann: a person must approve this call" {
		t.Error(got)
	}
}

// everyLimit are options under which every gate has something to ask.
func everyLimit(t testing.TB) Options {
	return Options{
		Rules: law(t, strict), Caps: rules.Caps{Day: 5, Week: 10, Month: 20}, MinGap: 2 * time.Hour,
		LineCallsAtOnce: 2, MaxPerTenantDay: 100, MaxPerMinute: 10,
	}
}

func of(findings []Finding, gate string) Finding {
	return findings[slices.IndexFunc(findings, func(f Finding) bool { return f.Gate == gate })]
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
