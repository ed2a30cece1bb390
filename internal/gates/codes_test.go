package gates

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"chasephone/internal/phone"
)

// Every code is one that the chain gives: a call that gets it, and the kind of finding that has it.
func TestEveryCodeIsGiven(t *testing.T) {
	t.Parallel()
	contact := func(c *Case) { c.CalledIn = Known(&CalledIn{At: c.Now.Add(-time.Hour)}) }
	type given struct {
		kind   string
		change func(*Case)
	}
	all := map[string]given{
		CodeFactsUnavailable:  {KindWait, func(c *Case) { c.OptOut = Fact[*OptOut]{} }},
		CodeGateFailed:        {KindWait, func(c *Case) { c.Line.Name = "panic" }},
		CodeNoNumber:          {KindPass, noNumber},
		CodeNoLine:            {KindPass, func(c *Case) { c.Line, c.Script = Line{}, "" }},
		CodeCountryNotAllowed: {KindRefuse, func(c *Case) { c.Countries = nil }},
		CodeDoNotCall:         {KindRefuse, func(c *Case) { c.OptOut = Known(&OptOut{}) }},
		CodeNoConsent:         {KindHold, func(c *Case) { c.Number.Place = "DE" }},
		CodeOutsideHours:      {KindWait, func(c *Case) { c.Now = at("2026-10-06T05:00:00Z") }},
		CodeNoRules:           {KindHold, func(c *Case) { c.Number.Place = "BR" }},
		CodeTimeZoneUnknown:   {KindHold, func(c *Case) { c.Number.Zones = nil }},
		CodeNoCommonHours:     {KindHold, func(c *Case) { c.Number.Zones = []string{"Pacific/Pitcairn", "Atlantic/Reykjavik", "Asia/Singapore"} }},
		CodeHoursOff:          {KindPass, func(*Case) {}},
		CodeTooManyCalls: {KindWait, func(c *Case) {
			c.Calls = Known(Calls{At: []time.Time{c.Now, c.Now, c.Now}})
		}},
		CodeTooSoon:          {KindWait, func(c *Case) { c.Calls = Known(Calls{At: []time.Time{c.Now}}) }},
		CodeInACall:          {KindWait, func(c *Case) { c.InCall = Known(&InCall{}) }},
		CodeCalledIn:         {KindHold, contact},
		CodeCalledInAgain:    {KindHold, func(c *Case) { contact(c); c.Approval = &Approval{} }},
		CodeApprovalRequired: {KindHold, func(c *Case) { c.NeedsApproval = true }},
		CodeFirstCall:        {KindHold, func(c *Case) { c.Policy = PolicyFirstCall }},
		CodeApprovalWaived:   {KindPass, func(c *Case) { c.NeedsApproval, c.Policy = true, PolicyNever }},
		CodeNoWords:          {KindRefuse, func(c *Case) { c.Script = "" }},
		CodeScriptTooLong:    {KindRefuse, func(c *Case) { c.Line.TooLong = true }},
		CodeUnknownLine:      {KindRefuse, func(c *Case) { c.Line = Line{Named: true} }},
		CodeLineNotReady:     {KindWait, func(c *Case) { c.Line.Stopped = true }},
		CodeLineBusy:         {KindWait, func(c *Case) { c.Line.Calls = Known(Spent{Calls: 2}) }},
		CodeTenantBudget:     {KindWait, func(c *Case) { c.TenantDay = Known(Spent{Calls: 100}) }},
		CodeFleetBudget:      {KindWait, func(c *Case) { c.FleetMinute = Known(Spent{Calls: 10}) }},
	}
	for _, p := range phone.Problems() {
		all[string(p)] = given{KindRefuse, func(c *Case) { c.Problem = p }}
	}
	on, off := everyLimit(t), everyLimit(t)
	off.HoursOff = true
	fails := Gate{"fails", func(c Case) Verdict {
		if c.Line.Name == "panic" {
			panic("boom")
		}
		return Pass{}
	}}
	for _, code := range Codes() {
		one, listed := all[code]
		if !listed {
			t.Errorf("no call here gets %s", code)
			continue
		}
		c, o := good(), on
		one.change(&c)
		if code == CodeHoursOff {
			o = off
		}
		_, findings := Judge(append(Chain(o), fails), c)
		if !slices.ContainsFunc(findings, func(f Finding) bool { return f.Code() == code && f.Kind() == one.kind }) {
			t.Errorf("%s is not given as %s: %+v", code, one.kind, findings)
		}
	}
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
		"outside calling hours: 20:31 in America/Denver, open 08:00–20:00 (rule: trade sources, read 2025-11-01, for US-CO, requested)": {
			"calling_hours", Wait{Grounds: Grounds{CodeOutsideHours, map[string]string{
				"zone": "America/Denver", "local": "20:31", "window": "08:00-20:00", "rule": "trade sources", "dated": "2025-11-01",
				"place": "US-CO", "purpose": "requested",
			}}},
		},
		"outside calling hours: 12:00 in Europe/Paris, that day closed (Lundi de Pâques) (rule: Décret 2022-1313, read 2025-11-01, for FR)": {
			"calling_hours", Wait{Grounds: Grounds{CodeOutsideHours, map[string]string{
				"zone": "Europe/Paris", "local": "12:00", "window": "closed (Lundi de Pâques)", "rule": "Décret 2022-1313", "dated": "2025-11-01", "place": "FR",
			}}},
		},
		"outside calling hours: 13:30 in Europe/Paris, open 10:00–13:00, 14:00–20:00": {"calling_hours", Wait{Grounds: Grounds{
			CodeOutsideHours, map[string]string{"zone": "Europe/Paris", "local": "13:30", "window": "10:00-13:00, 14:00-20:00"},
		}}},
		"no rule says when people may be called in BR; it is 12:00 in America/Sao_Paulo": {"calling_hours", Hold{Grounds{
			CodeNoRules, map[string]string{"place": "BR", "purpose": "requested", "zone": "America/Sao_Paulo", "local": "12:00"},
		}}},
		"approved by Ann: no rule says when people may be called where this number may be; it is 12:00 in America/Sao_Paulo": {"calling_hours", Pass{Grounds{
			CodeNoRules, map[string]string{"place": "none", "zone": "America/Sao_Paulo", "local": "12:00", "approved_by": "Ann", "approval": "7d9c"},
		}}},
		"a rule wants consent, and none is on file (rule: 7a UWG, read 2025-11-05, for DE, requested)": {"consent", Hold{Grounds{
			CodeNoConsent, map[string]string{"place": "DE", "purpose": "requested", "rule": "7a UWG", "dated": "2025-11-05"},
		}}},
		"consent is on file since 2026-01-02T03:04:05Z, from web form": {"consent", Pass{Grounds{
			"", map[string]string{"consent": "web form", "since": "2026-01-02T03:04:05Z"},
		}}},
		"as many calls to this number as are allowed: 3 in 24h, the oldest of them at 2026-10-05T16:30:00Z (rule: Fla. 501.616(6), read 2025-11-02)": {
			"caps", Wait{Grounds: Grounds{CodeTooManyCalls, map[string]string{
				"cap": "3 in 24h", "calls": "3", "since": "2026-10-05T16:30:00Z", "rule": "Fla. 501.616(6)", "dated": "2025-11-02",
			}}},
		},
		"too soon after the last call to this number, at 2026-10-06T15:00:00Z; the gap is 2h (rule: GATE_MIN_GAP)": {"gap", Wait{Grounds: Grounds{
			CodeTooSoon, map[string]string{"gap": "2h", "after": "call", "since": "2026-10-06T15:00:00Z", "rule": "GATE_MIN_GAP"},
		}}},
		"too soon after a call to this number that reached somebody, at 2026-10-06T10:00:00Z; the gap is 7 days (rule: Reg F, read 2025-11-01)": {
			"gap", Wait{Grounds: Grounds{CodeTooSoon, map[string]string{
				"gap": "7 days", "after": "talk", "since": "2026-10-06T10:00:00Z", "rule": "Reg F", "dated": "2025-11-01",
			}}},
		},
		"the person has reached us since this call was promised, at 2026-10-06T10:00:00Z, says desk": {"called_in", Hold{Grounds{
			CodeCalledIn, map[string]string{"at": "2026-10-06T10:00:00Z", "source": "desk"},
		}}},
		"a person must approve every call of this tenant": {"approval", Hold{Grounds{CodeApprovalRequired, map[string]string{"by": "tenant"}}}},
		"a person must approve this call":                 {"approval", Hold{Grounds{CodeApprovalRequired, map[string]string{"by": "row"}}}},
		"the line default is busy: as many calls at once as are allowed, 2": {"line", Wait{Grounds: Grounds{
			CodeLineBusy, map[string]string{"line": "default", "calls": "2", "at_once": "2"},
		}}},
		"the tenant has used up its calls: 10 in 24h":                    {"budget", Wait{Grounds: Grounds{CodeTenantBudget, map[string]string{"limit": "10", "window": "24h"}}}},
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
