package gates

import (
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"testing"
	"time"

	"chasephone/internal/phone"
	"chasephone/internal/rules"
)

func at(s string) time.Time {
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		panic(err)
	}
	return t
}

// good is a call that nothing speaks against: noon in New York.
func good() Case {
	id, p := phone.Parse("+1 212 555 0123", "US")
	if p != "" {
		panic(p)
	}
	return Case{
		Now:        at("2026-10-06T16:00:00Z"),
		RetryAfter: time.Hour,
		Number:     id,
		Countries:  []string{"US"},
		Purpose:    rules.Requested,
		Promised:   at("2026-10-05T12:00:00Z"),
		Script:     "You asked us to call.",
		Line: Line{
			Name: "default", Exists: true, Carrier: "sim", Configured: true,
			Caller: phone.FromE164("+14155550123"), Calls: Known(Spent{}),
		},
		OptOut:      Known[*OptOut](nil),
		InCall:      Known[*InCall](nil),
		Calls:       Known(Calls{}),
		CalledIn:    Known[*CalledIn](nil),
		Consent:     Known[*Consent](nil),
		TenantDay:   Known(Spent{}),
		FleetMinute: Known(Spent{}),
	}
}

// yes is an approval of the call as it is, for these reasons.
func yes(c Case, reasons ...string) *Approval {
	return &Approval{
		ID: "7d9c", By: "Ann", Asked: c.Now.Add(-time.Minute), At: c.Now.Add(-time.Minute), Reasons: reasons,
		Number: c.Number.Number, Line: c.Line.Name, Caller: c.Line.Caller, Words: Words(c.Script, c.Line.URL),
	}
}

type gateTest struct {
	name   string
	change func(*Case)
	want   Verdict
}

func testGate(t *testing.T, g Gate, tests []gateTest) {
	t.Helper()
	t.Parallel()
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := good()
			if tt.change != nil {
				tt.change(&c)
			}
			if got := g.Judge(c); !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got  %#v\nwant %#v", got, tt.want)
			}
		})
	}
}

// notLoaded is what a gate says that asks for a fact which nobody loaded.
func notLoaded() Verdict {
	return Wait{Grounds{CodeFactsUnavailable, map[string]string{"cause": "it was not loaded"}}, at("2026-10-06T16:05:00Z")}
}

func noNumber(c *Case) { c.Number, c.Problem = phone.Identity{}, phone.Emergency }

func TestNumber(t *testing.T) {
	testGate(t, number(), []gateTest{
		{"a number", nil, Pass{}},
		{"an emergency number", noNumber, Refuse{Grounds{Code: "emergency"}}},
		{"a problem beside a number", func(c *Case) { c.Problem = phone.Premium }, Refuse{Grounds{Code: "premium"}}},
		{"nobody looked", func(c *Case) { c.Number = phone.Identity{} }, Wait{
			Grounds{CodeFactsUnavailable, map[string]string{"cause": "the number was not loaded"}}, at("2026-10-06T16:05:00Z"),
		}},
	})
}

func TestCountry(t *testing.T) {
	refused := func(region, allowed string) Verdict {
		return Refuse{Grounds{CodeCountryNotAllowed, map[string]string{"region": region, "allowed": allowed}}}
	}
	region := func(r string, allowed ...string) func(*Case) {
		return func(c *Case) { c.Number.Region, c.Countries = r, allowed }
	}
	testGate(t, country(), []gateTest{
		{"allowed", nil, Pass{}},
		{"one of several, any case", region("PR", "us", " pr "), Pass{}},
		{"+1 is shared", region("JM", "US", "CA"), refused("JM", "US,CA")},
		{"another", region("LV", "US"), refused("LV", "US")},
		{"no country's", region("001", "US"), refused("001", "US")},
		{"an empty list is not all", region("US"), refused("US", "none")},
		{"no region", region("", "US", ""), refused("none", "US,")},
		{"no number", noNumber, Pass{Grounds{Code: CodeNoNumber}}},
	})
}

func TestDoNotCall(t *testing.T) {
	since := at("2026-01-02T03:04:05+01:00")
	testGate(t, doNotCall(), []gateTest{
		{"no entry", nil, Pass{}},
		{"the tenant's", func(c *Case) {
			c.OptOut = Known(&OptOut{Source: "desk", Since: since})
		}, Refuse{Grounds{CodeDoNotCall, map[string]string{"source": "desk", "since": "2026-01-02T02:04:05Z", "scope": "tenant"}}}},
		{"everybody's, its source naming the number", func(c *Case) {
			c.OptOut = Known(&OptOut{Global: true, Source: "mail from 212-555-0123", Since: since})
		}, Refuse{Grounds{CodeDoNotCall, map[string]string{"source": "mail from #", "since": "2026-01-02T02:04:05Z", "scope": "everybody"}}}},
		{"unknown", func(c *Case) { c.OptOut = Unknown[*OptOut](errors.New("list of +1 212 555 0123: timeout after 5s")) }, Wait{
			Grounds{CodeFactsUnavailable, map[string]string{"cause": "list of +#: timeout after 5s"}}, at("2026-10-06T16:05:00Z"),
		}},
		{"an error beside a value", func(c *Case) {
			c.OptOut = Known[*OptOut](nil)
			c.OptOut.Err = errors.New("half read")
		}, Wait{Grounds{CodeFactsUnavailable, map[string]string{"cause": "half read"}}, at("2026-10-06T16:05:00Z")}},
		{"never loaded", func(c *Case) { c.OptOut = Fact[*OptOut]{} }, notLoaded()},
		{"no number", noNumber, Pass{Grounds{Code: CodeNoNumber}}},
	})
}

func TestInACall(t *testing.T) {
	call := func(dialing bool, ends string) func(*Case) {
		return func(c *Case) {
			other := &InCall{FollowUp: "0199a", Dialing: dialing, Since: at("2026-10-06T15:59:00Z")}
			if ends != "" {
				other.Ends = at(ends)
			}
			c.InCall = Known(other)
		}
	}
	busy := func(state, until string) Verdict {
		return Wait{Grounds{CodeInACall, map[string]string{"follow_up": "0199a", "state": state, "since": "2026-10-06T15:59:00Z"}}, at(until)}
	}
	testGate(t, inACall(), []gateTest{
		{"none", nil, Pass{}},
		{"placed", call(false, ""), busy("placed", "2026-10-06T16:05:00Z")},
		{"placed, for long yet", call(false, "2026-10-06T17:59:00Z"), busy("placed", "2026-10-06T16:05:00Z")},
		{"placed, ends soon", call(false, "2026-10-06T16:02:00Z"), busy("placed", "2026-10-06T16:02:00Z")},
		{"placed, about to end", call(false, "2026-10-06T16:00:00.000001Z"), busy("placed", "2026-10-06T16:00:00.000001Z")},
		{"placed, ends now", call(false, "2026-10-06T16:00:00Z"), Pass{}},
		{"placed, has ended", call(false, "2026-10-06T15:00:00Z"), Pass{}},
		{"dialing", call(true, ""), busy("dialing", "2026-10-06T16:05:00Z")},
		{"dialing, whenever it would end", call(true, "2026-10-06T15:00:00Z"), busy("dialing", "2026-10-06T16:05:00Z")},
		{"dialing, ends soon", call(true, "2026-10-06T16:02:00Z"), busy("dialing", "2026-10-06T16:05:00Z")},
		{"unknown", func(c *Case) { c.InCall = Unknown[*InCall](errors.New("deadlock detected (SQLSTATE 40P01)")) }, Wait{
			Grounds{CodeFactsUnavailable, map[string]string{"cause": "deadlock detected (SQLSTATE 40P01)"}}, at("2026-10-06T16:05:00Z"),
		}},
		{"never loaded", func(c *Case) { c.InCall = Fact[*InCall]{} }, notLoaded()},
		{"no number", noNumber, Pass{Grounds{Code: CodeNoNumber}}},
	})
}

func TestApproval(t *testing.T) {
	policy := func(p Policy, asks bool, calls ...time.Time) func(*Case) {
		return func(c *Case) { c.Policy, c.NeedsApproval, c.Calls = p, asks, Known(Calls{At: calls}) }
	}
	required := func(by string) Verdict {
		return Hold{Grounds{CodeApprovalRequired, map[string]string{"by": by}}}
	}
	long := at("2020-01-01T00:00:00Z")
	testGate(t, approval(), []gateTest{
		{"not asked", nil, Pass{}},
		{"asked", func(c *Case) { c.NeedsApproval = true }, required("row")},
		{"row", policy(PolicyRow, false), Pass{}},
		{"row, asked", policy(PolicyRow, true), required("row")},
		{"never", policy(PolicyNever, false), Pass{}},
		{"never, asked", policy(PolicyNever, true), Pass{Grounds{Code: CodeApprovalWaived}}},
		{"always", policy(PolicyAlways, false), required("tenant")},
		{"always, asked", policy(PolicyAlways, true), required("tenant")},
		{"the first call", policy(PolicyFirstCall, false), Hold{Grounds{CodeFirstCall, map[string]string{"by": "tenant"}}}},
		{"the second, however long ago the first", policy(PolicyFirstCall, false, long), Pass{}},
		{"the second, asked", policy(PolicyFirstCall, true, long), required("row")},
		{"the first, asked: once is enough", policy(PolicyFirstCall, true), required("row")},
		{"nobody knows whether it is the first", func(c *Case) {
			c.Policy, c.Calls = PolicyFirstCall, Unknown[Calls](errors.New("timeout"))
		}, Wait{Grounds{CodeFactsUnavailable, map[string]string{"cause": "timeout"}}, at("2026-10-06T16:05:00Z")}},
		{"asked, whether or not it is the first", func(c *Case) {
			c.Policy, c.NeedsApproval, c.Calls = PolicyFirstCall, true, Fact[Calls]{}
		}, required("row")},
		{"nobody asks which it is", func(c *Case) { c.Calls = Fact[Calls]{} }, Pass{}},
		{"a word nobody knows", policy("sometimes", false), required("tenant")},
		{"the first call to no number", func(c *Case) {
			noNumber(c)
			c.Policy = PolicyFirstCall
		}, Pass{Grounds{Code: CodeNoNumber}}},
	})
}

func TestWordsGate(t *testing.T) {
	testGate(t, words(), []gateTest{
		{"a script", nil, Pass{}},
		{"nothing", func(c *Case) { c.Script = "" }, Refuse{Grounds{Code: CodeNoWords}}},
		{"only spaces", func(c *Case) { c.Script = " \n\u00a0" }, Refuse{Grounds{Code: CodeNoWords}}},
		{"a URL speaks", func(c *Case) { c.Script, c.Line.URL = "", "https://example.com/voice" }, Pass{}},
		{"no script and no line yet", func(c *Case) { c.Script, c.Line = "", Line{} }, Pass{Grounds{Code: CodeNoLine}}},
		{"too long", func(c *Case) { c.Script, c.Line.TooLong = "ééééé", true }, Refuse{
			Grounds{CodeScriptTooLong, map[string]string{"length": "5"}},
		}},
		{"too long, but not spoken", func(c *Case) {
			c.Script, c.Line.TooLong, c.Line.URL = "ééééé", true, "https://example.com/voice"
		}, Pass{}},
	})
}

func TestNamesAreTheChain(t *testing.T) {
	t.Parallel()
	for _, o := range []Options{{}, {HoursOff: true}} {
		var names []string
		for _, g := range Chain(o) {
			names = append(names, g.Name)
		}
		if !slices.Equal(names, Names()) {
			t.Errorf("the chain is %v, the names are %v", names, Names())
		}
	}
}

func TestFindingJSON(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		f    Finding
		want string
	}{
		{Finding{"number", Pass{}}, `{"gate":"number","finding":"pass"}`},
		{
			Finding{"calling_hours", Wait{Grounds{CodeOutsideHours, map[string]string{
				"zone": "America/Denver", "window": "08:00-21:00", "local": "21:31",
			}}, at("2026-10-07T14:00:00.5Z")}},
			`{"gate":"calling_hours","finding":"wait","code":"outside_hours","until":"2026-10-07T14:00:00.5Z",` +
				`"on":{"local":"21:31","window":"08:00-21:00","zone":"America/Denver"}}`,
		},
		{Finding{"approval", Hold{Grounds{Code: CodeApprovalRequired}}}, `{"gate":"approval","finding":"hold","code":"approval_required"}`},
		{Finding{"number", Refuse{Grounds{Code: "premium"}}}, `{"gate":"number","finding":"refuse","code":"premium"}`},
	} {
		b, err := json.Marshal(tt.f)
		if err != nil || string(b) != tt.want {
			t.Errorf("%s, %v\nwant %s", b, err, tt.want)
		}
		var back Finding
		if err := json.Unmarshal(b, &back); err != nil || !reflect.DeepEqual(back, tt.f) {
			t.Errorf("read back %#v, %v", back, err)
		}
	}
	// Times are written in UTC, whatever they are in.
	f := Finding{"line", Wait{Grounds{Code: CodeLineNotReady}, at("2026-10-07T14:00:00+02:00")}}
	if b, _ := json.Marshal(f); string(b) != `{"gate":"line","finding":"wait","code":"line_not_ready","until":"2026-10-07T12:00:00Z"}` {
		t.Errorf("%s", b)
	}
	for _, bad := range []string{`{}`, `{"finding":"maybe"}`, `[]`, `{"finding":"wait","until":"soon"}`} {
		if err := json.Unmarshal([]byte(bad), &f); err == nil {
			t.Errorf("%s was read", bad)
		}
	}
}
