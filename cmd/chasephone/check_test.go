package main

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"chasephone/internal/gates"
)

// check runs the command in an environment, and wants an answer: on standard output, and nothing beside it.
func (v terminal) check(t *testing.T, code int, environ []string, args ...string) checked {
	t.Helper()
	got := command(t, append([]string{"DATABASE_URL=" + v.url}, environ...), "", append([]string{"check", "--json"}, args...)...)
	if got.code != code || got.err != "" {
		t.Errorf("%q: exit %d, %q; want exit %d", args, got.code, got.err, code)
	}
	var c checked
	if err := json.Unmarshal([]byte(got.out), &c); err != nil {
		t.Fatalf("%q: %v in %q", args, err, got.out)
	}
	return c
}

func TestCheck(t *testing.T) {
	t.Parallel()
	v := staffed(t)
	out := v.says(t, "", "check", person, "--time-zone", noon())
	numberless(t, out)
	same(t, regexp.MustCompile(`\d\d:\d\d in Etc/GMT[+-]\d+`).ReplaceAllString(out, "L in Z"), `
+*********23 may be called now, tenant default, line default, purpose requested
  number         pass    nothing against it
  country        pass    nothing against it
  do_not_call    pass    nothing against it
  consent        pass    nothing against it
  calling_hours  pass    inside calling hours: L in Z, open 08:00–21:00 (rule: 47 CFR 64.1200(c)(1), read 2026-11-30, for US-CA, requested)
  caps           pass    nothing against it
  gap            pass    nothing against it
  in_a_call      pass    nothing against it
  called_in      pass    nothing against it
  approval       pass    nothing against it
  line           pass    nothing against it
  budget         pass    nothing against it
  ruling: pass
  next:   now
`)
	c := v.check(t, exitDone, nil, "(415) 555-0123", "--time-zone", noon())
	if !c.Allowed || c.Number != "+14155550123" || c.Tenant != "default" || c.Line != "default" || c.Purpose != "requested" ||
		len(c.Gates) != len(gates.Names())-1 || !c.Next.At.Equal(c.At) {
		t.Errorf("%+v", c)
	}
	c.is(t, "pass", "", nextNow, "now")
	for _, args := range [][]string{{"--tenant", v.tenant(t, "paris", "FR"), "--line", "l"}, {"--region", "fr"}} {
		c := v.check(t, exitDone, []string{"GATE_CALLING_HOURS=off", "GATE_COUNTRIES=FR"}, append([]string{"01 99 00 12 34"}, args...)...)
		if !c.Allowed || c.Number != "+33199001234" {
			t.Errorf("%q: %+v", args, c)
		}
	}

	// Outside hours.
	c = v.check(t, exitFailed, nil, person, "--time-zone", night())
	c.is(t, "wait", "outside_hours", nextNotBefore, ": outside calling hours")
	if c.Allowed || c.Next.At.IsZero() {
		t.Errorf("%+v", c)
	}
	if c := v.check(t, exitDone, []string{"GATE_CALLING_HOURS=off"}, person, "--time-zone", night()); !c.Allowed {
		t.Errorf("%+v", c)
	}

	// No rules for the place.
	const london = "+44 20 7946 0018"
	both := []string{"GATE_COUNTRIES=GB,US"}
	v.check(t, exitFailed, nil, london).is(t, "refuse", "country_not_allowed", nextRefused, "never: ")
	v.check(t, exitFailed, both, london).is(t, "hold", "no_rules", nextApproval, "only with a person's leave: no rule says when people may be called in GB; it is ")

	// What is no number, and what no line is.
	c = v.check(t, exitFailed, nil, "911")
	c.is(t, "refuse", "emergency", nextRefused, "never: this is an emergency number")
	if c.Number != "911" {
		t.Errorf("%+v", c)
	}
	v.check(t, exitFailed, nil, "nobody").is(t, "refuse", "letters", nextRefused, "")
	v.check(t, exitFailed, nil, person, "--line", "none", "--time-zone", noon()).is(t, "refuse", "unknown_line", nextRefused, "there is no line of this name: none")

	// A refusal is an answer, on standard output and with nothing beside it.
	v.says(t, "is on", "dnc", "add", person, "--by", "ada", "--source", "she rang from 415 555 0123")
	got := v.run(t, "check", person, "--time-zone", noon())
	if got.code != exitFailed || got.err != "" || !strings.Contains(got.out, "+*********23 may not be called now") || !strings.Contains(got.out, "\n  next:   never: do not call: an opt-out since ") {
		t.Errorf("exit %d, %q, %q", got.code, got.out, got.err)
	}
	numberless(t, got.out)
	v.check(t, exitFailed, nil, person, "--time-zone", night()).is(t, "refuse", "do_not_call", nextRefused, "never: ")
}

// tenant makes a tenant in a region with a line l.
func (v terminal) tenant(t *testing.T, id, region string) string {
	t.Helper()
	v.exec(t, `insert into tenants (id, region) values ($1, $2)`, id, region)
	v.says(t, "is set", "line", "add", "l", "--tenant", id, "--carrier", "twilio", "--caller", "+14155550100", "--by", "ada")
	return id
}

// TestCheckCounts: calls that were reported count, and that somebody called in stands in the way
// of what was promised only.
func TestCheckCounts(t *testing.T) {
	t.Parallel()
	v := staffed(t)
	three := []string{"GATE_MAX_PER_NUMBER_24H=3"}
	check := []string{person, "--time-zone", noon()}
	promised := v.promise(t, "a", "now", "--time-zone", noon())
	v.says(t, "reported", "report", person, "--called-in", "--by", "ada")
	v.check(t, exitDone, three, check...).is(t, "pass", "", nextNow, "now")
	v.now(t, promised).is(t, "hold", "called_in", nextApproval, "only after a person approves it: the person has reached us since this call was promised")

	for i := range 3 {
		if c := v.check(t, exitDone, three, check...); !c.Allowed {
			t.Errorf("after %d calls: %+v", i, c.Ruling)
		}
		v.says(t, "reported", "report", "+1 (415) 555-0123", "--placed", "--by", "ada")
	}
	c := v.check(t, exitFailed, three, check...)
	if c.Ruling.Code != "too_many_calls" || c.Ruling.Gate != gates.GateCaps {
		t.Errorf("%+v", c.Ruling)
	}
	if ahead := c.Next.At.Sub(c.At); c.Next.Kind != nextNotBefore || ahead > 24*time.Hour || ahead < 23*time.Hour {
		t.Errorf("%+v at %s", c.Next, c.At)
	}
	// Another tenant has a count of its own.
	v.check(t, exitDone, three, append(check, "--tenant", v.tenant(t, "other", "US"), "--line", "l")...).is(t, "pass", "", nextNow, "now")

	c = v.check(t, exitFailed, []string{"GATE_MIN_GAP=1h", "GATE_MAX_PER_TENANT_DAY=3", "GATE_MAX_PER_MINUTE=3"}, check...)
	for name, code := range map[string]string{gates.GateGap: "too_soon", gates.GateBudget: "tenant_budget"} {
		if g := c.gate(t, name); g.Finding != "wait" || g.Code != code {
			t.Errorf("%+v, want %s", g, code)
		}
	}
	// A debt collector who has talked to somebody keeps away for a week.
	v.says(t, "reported", "report", person, "--placed", "--talked", "--by", "ada")
	c = v.check(t, exitFailed, nil, append(check, "--purpose", "debt")...)
	c.is(t, "wait", "too_soon", nextNotBefore, "too soon after a call to this number that reached somebody")
	v.check(t, exitDone, nil, check...)
	v.exec(t, `update other_calls set began_at = began_at + interval '1 day' where talked`) // in the future it counts not yet
	v.check(t, exitDone, nil, append(check, "--purpose", "debt")...)
}

// TestCheckFailsClosed: what cannot be loaded is told by the gate that needs it, and is no yes.
func TestCheckFailsClosed(t *testing.T) {
	t.Parallel()
	v := staffed(t)
	v.exec(t, `alter table other_calls rename column talked to gone`)
	v.exec(t, `alter table do_not_call rename column source to gone`)
	c := v.check(t, exitFailed, []string{"GATE_MAX_PER_NUMBER_24H=3"}, person, "--time-zone", noon())
	c.is(t, "wait", "facts_unavailable", nextLasting, "not as long as this lasts: what this gate needs to know could not be loaded: ")
	for name, want := range map[string]string{gates.GateCaps: "wait", gates.GateDoNotCall: "wait", gates.GateCallingHours: "pass", gates.GateLine: "pass"} {
		if g := c.gate(t, name); g.Finding != want {
			t.Errorf("%+v, want %s", g, want)
		}
	}
}

func TestCheckNeedsAPerson(t *testing.T) {
	t.Parallel()
	v := staffed(t)
	v.exec(t, `update tenants set approval = 'always'`)
	v.check(t, exitFailed, nil, person, "--time-zone", noon()).is(t, "hold", "approval_required", nextApproval,
		"only with a person's leave: a person must approve every call of this tenant; then nothing else is in the way")
	v.check(t, exitFailed, nil, person, "--time-zone", night()).is(t, "hold", "approval_required", nextApproval, "; then not before ")
	v.exec(t, `update lines set held_until = clock_timestamp() + interval '8 days', held_for = 'by_hand'`)
	v.check(t, exitFailed, nil, person, "--time-zone", noon()).is(t, "hold", "approval_required", nextBeyond,
		"; and even then not within 7 days: the line default is not ready: it is held (by hand)")
	v.exec(t, `update tenants set approval = 'row'`)
	v.check(t, exitFailed, nil, person, "--time-zone", noon()).is(t, "wait", "line_not_ready", nextBeyond, "not within 7 days: the line default is not ready: it is held (by hand)")
	v.says(t, "stopped", "stop", "--by", "ada")
	v.check(t, exitFailed, nil, person, "--time-zone", noon()).is(t, "wait", "line_not_ready", nextStopped, "calls are stopped")
}

// TestCheckMisuse: a mistake in the question is no answer, whoever reads exit codes.
func TestCheckMisuse(t *testing.T) {
	t.Parallel()
	v := newTerminal(t)
	v.fails(t, exitMisuse, "there is no tenant nobody", "check", person, "--tenant", "nobody")
	v.fails(t, exitMisuse, "there is no tenant nobody", "check", "911", "--tenant", "nobody", "--region", "US")
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"check"}, `expected "<number>"`},
		{[]string{"check", person, "--time-zone", "Mars/Olympus"}, `--time-zone: there is no time zone "Mars/Olympus"`},
		{[]string{"check", person, "--region", "XX"}, `--region: there is no region "XX": accepts two letters of ISO 3166, US or GB for instance`},
		{[]string{"check", person, "--region", "001"}, `--region: there is no region "001"`},
		{[]string{"check", person, "--region="}, `--region: there is no region ""`},
		{[]string{"check", person, "--line="}, `--line must not be empty: leave it out for the tenant's default`},
		{[]string{"check", person, "--purpose", " "}, `--purpose is a word: requested, sales, debt, or one of your rules`},
	} {
		got := command(t, nil, "", c.args...)
		if got.code != exitMisuse || !strings.Contains(got.err, c.want) || strings.Count(got.err, "\n") != 1 || got.out != "" {
			t.Errorf("%q: exit %d, %q, %q; want %q", c.args, got.code, got.out, got.err, c.want)
		}
	}
	if got := command(t, nil, "", "check", person); got.code != exitMisuse || !strings.Contains(got.err, "DATABASE_URL is unset") {
		t.Errorf("exit %d, %q", got.code, got.err)
	}
	help := strings.Join(strings.Fields(command(t, nil, "", "check", "--help").out), " ")
	for _, want := range []string{"chasephone speaks none of them", "The exit code is 0 only where every gate passes", "It changes nothing and rings nobody"} {
		if !strings.Contains(help, want) {
			t.Errorf("%q is not in %q", want, help)
		}
	}
}

// TestCheckJSON is the shape that others read.
func TestCheckJSON(t *testing.T) {
	t.Parallel()
	v := staffed(t)
	v.alive(t, "beta", 7, map[string]string{"GATE_MIN_GAP": "1h0m0s"})
	got := v.run(t, "check", person, "--json", "--time-zone", night())
	var doc map[string]any
	if err := json.Unmarshal([]byte(got.out), &doc); err != nil || got.code != exitFailed || got.err != "" {
		t.Fatalf("exit %d, %v, %q, %q", got.code, err, got.out, got.err)
	}
	for path, want := range map[string]string{
		"number": "+14155550123", "tenant_id": "default", "line": "default", "purpose": "requested", "allowed": "false",
		"gates.0.gate": "number", "gates.0.finding": "pass", "gates.0.says": "nothing against it", "gates.0.until": "<nil>",
		"gates.4.gate": "calling_hours", "gates.4.finding": "wait", "gates.4.code": "outside_hours", "gates.4.on.zone": night(),
		"ruling.finding": "wait", "ruling.gate": "calling_hours", "ruling.code": "outside_hours", "next.kind": "not_before",
	} {
		if at := reach(doc, strings.Split(path, ".")...); fmt.Sprint(at) != want {
			t.Errorf("%s is %v, want %s", path, at, want)
		}
	}
	if until := reach(doc, "ruling", "until"); until == nil || until != reach(doc, "next", "at") || until != reach(doc, "gates", "4", "until") {
		t.Errorf("until %v in %s", until, got.out)
	}
	if first := fmt.Sprint(reach(doc, "notes", "0")); !strings.HasPrefix(first, "daemon on beta (pid 7) has ") || !strings.Contains(first, "GATE_MIN_GAP=1h0m0s, this command's environment has 0s") {
		t.Errorf("the note is %q", first)
	}
}
