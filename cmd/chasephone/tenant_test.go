package main

import (
	"encoding/json"
	"strings"
	"testing"

	"chasephone/internal/gates"
)

func TestTenantAdd(t *testing.T) {
	t.Parallel()
	v := newTerminal(t)
	const lacks = "note: it has no line default yet, and its follow-ups wait for one: chasephone line add\n"
	v.says(t, "tenant acme is added: region GB, default line default, approval first_call\n"+
		"note: the first call to a number is held for approval, and every call whose follow-up asks for it\n"+lacks,
		"tenant", "add", "acme", "--region", "gb", "--approval", "first_call", "--by", "ada")
	v.says(t, "tenant acme was there already, just so: region GB, default line default, approval first_call\n"+lacks,
		"tenant", "add", "acme", "--region", "GB", "--approval", "first_call", "--by", "bob")
	v.fails(t, exitMisuse, "tenant acme is there already, with region GB, default line default, approval first_call: tenant set changes it", "tenant", "add", "acme", "--by", "bob")
	v.says(t, "tenant plain is added: region US (the environment's), default line default, approval row\n", "tenant", "add", "plain", "--by", "bob")
	if acts := v.read(t, `select string_agg(verb || ' ' || tenant_id || ' by ' || by_name || ': ' || detail, '; ' order by id) from desk_events`); acts !=
		"tenant add acme by ada: region GB, default line default, approval first_call; tenant add plain by bob: region of the environment, default line default, approval row" {
		t.Errorf("recorded: %s", acts)
	}
	var change tenantChange
	v.json(t, &change, "tenant", "add", "plain", "--by", "ada")
	if change.Changed || change.Tenant != "plain" || change.DefaultLine != "default" || change.Approval != "row" || change.Region != "" {
		t.Errorf("%+v", change)
	}

	for _, c := range []struct {
		words string
		args  []string
	}{
		{`expected "<name>"`, nil},
		{"accepts 1 to 100 printable characters", []string{""}},
		{"accepts 1 to 100 printable characters", []string{strings.Repeat("é", 101)}},
		{"accepts 1 to 100 printable characters", []string{"a\x1b[2J"}},
		{`there is no region "XX": accepts two letters of ISO 3166`, []string{"new", "--region", "XX"}},
		{`there is no region ""`, []string{"new", "--region="}},
		{`--approval: there is no policy "sometimes": accepts row never first_call always`, []string{"new", "--approval", "sometimes"}},
		{"--default-line: accepts 1 to 100 printable characters", []string{"new", "--default-line="}},
		{"nobody unnamed decides", []string{"new", "--by="}},
	} {
		v.fails(t, exitMisuse, c.words, append([]string{"tenant", "add"}, c.args...)...)
	}
	v.says(t, "is added", "tenant", "add", strings.Repeat("é", 100), "--by", "ada")
}

func TestTenantSet(t *testing.T) {
	t.Parallel()
	v := newTerminal(t)
	v.says(t, "is set", "line", "add", "main", "--carrier", "twilio", "--caller", "+14155550123", "--by", "ada")
	for _, c := range []struct{ flag, words string }{
		{"--approval=first_call", "tenant default is set: region US (the environment's), default line default, approval first_call\n" +
			"note: the first call to a number is held for approval, and every call whose follow-up asks for it\n"},
		{"--approval=first_call", "tenant default was just so already: region US (the environment's), default line default, approval first_call\n"},
		{"--approval=always", "note: every call is held for approval\n"},
		{"--approval=never", "note: no call is held for approval because its follow-up asks for it; what another gate holds is held\n"},
		{"--approval=row", "note: a call is held for approval where its follow-up asks for it\n"},
		{"--region=gb", "tenant default is set: region GB, default line default, approval row\n" +
			"note: from now on new numbers without a country code are read as in GB, and only numbers of that region may be called\n"},
		{"--region=default", "read as in US (the environment's), and only numbers of that region may be called\n"},
		{"--default-line=main", "note: follow-ups that name no line go out on main, and what was approved for another line is asked again\n"},
		{"--default-line=none", "note: it has no line none yet, and its follow-ups wait for one: chasephone line add\n"},
	} {
		out := v.says(t, c.words, "tenant", "set", "default", c.flag, "--by", "ada")
		if got := strings.Contains(out, "has no line"); got != (c.flag == "--default-line=none") {
			t.Errorf("%s: %s", c.flag, out)
		}
	}
	row := v.read(t, `select coalesce(region, 'null') || ' ' || default_line || ' ' || approval from tenants where id = 'default'`)
	if row != "null none row" {
		t.Errorf("the row is %s", row)
	}
	var change tenantChange
	v.json(t, &change, "tenant", "set", "default", "--region", "CA", "--default-line", "main", "--by", "ada")
	if !change.Changed || change.Region != "CA" || change.DefaultLine != "main" || change.Approval != "row" || len(change.Notes) != 2 {
		t.Errorf("%+v", change)
	}
	if act := v.read(t, `select verb || ' by ' || by_name || ': ' || detail from desk_events order by id desc limit 1`); act !=
		"tenant set by ada: region CA, default line main, approval row; before: region of the environment, default line none, approval row" {
		t.Errorf("recorded: %s", act)
	}

	v.fails(t, exitMisuse, "give at least one of --region, --default-line and --approval", "tenant", "set", "default", "--by", "ada")
	v.fails(t, exitMisuse, "there is no tenant nobody", "tenant", "set", "nobody", "--region", "US", "--by", "ada")
	v.fails(t, exitMisuse, `there is no region "USA"`, "tenant", "set", "default", "--region", "USA", "--by", "ada")
	v.fails(t, exitMisuse, `there is no policy ""`, "tenant", "set", "default", "--approval=", "--by", "ada")
}

func TestTenantList(t *testing.T) {
	t.Parallel()
	v := newTerminal(t)
	v.says(t, "is added", "tenant", "add", "acme", "--region", "FR", "--by", "ada")
	v.says(t, "stopped: tenant acme", "stop", "--tenant", "acme", "--by", "bob")
	out := strings.Split(v.says(t, "TENANT", "tenant", "list"), "\n")
	if len(out) != 4 || !strings.HasPrefix(out[1], "acme ") || !strings.Contains(out[1], "by bob since 20") || !strings.Contains(out[2], "US (the environment's)") {
		t.Errorf("%q", out)
	}
	var got tenantsListed
	v.json(t, &got, "tenant", "list")
	if len(got.Tenants) != 2 || got.Tenants[0].ID != "acme" || got.Tenants[0].Region != "FR" || got.Tenants[0].StoppedBy != "bob" || got.Tenants[1].StoppedAt != nil {
		t.Errorf("%+v", got)
	}
}

// TestTenantPolicyIsWhatTheGateAsks: a change is in force with the next call that is judged.
func TestTenantPolicyIsWhatTheGateAsks(t *testing.T) {
	t.Parallel()
	v := newTerminal(t)
	for _, step := range []struct{ policy, finding string }{
		{"first_call", "hold"}, {"never", "pass"}, {"always", "hold"}, {"row", "pass"},
	} {
		v.says(t, "is set", "tenant", "set", "default", "--approval", step.policy, "--by", "ada")
		got := v.run(t, "check", person, "--json")
		var c checked
		if err := json.Unmarshal([]byte(got.out), &c); err != nil {
			t.Fatalf("%v in %q, %q", err, got.out, got.err)
		}
		if finding := c.gate(t, gates.GateApproval).Finding; finding != step.finding {
			t.Errorf("with %s: %s, want %s", step.policy, finding, step.finding)
		}
	}
}
