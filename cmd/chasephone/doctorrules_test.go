package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"chasephone/config"
)

func rulesOf(t *testing.T, text string) (setting string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "rules.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return "GATE_CALLING_HOURS=" + path
}

// TestDoctorPlacesWithoutHours: those that may be called, and how many open follow-ups they have.
func TestDoctorPlacesWithoutHours(t *testing.T) {
	t.Parallel()
	v := healthy(t)
	v.exec(t, `insert into tenants (id, region) values ('london', 'GB')`)
	finds(t, v.doctor(t, exitDone).Remarks, "GB: no calling hours are known: every call there is held for a person")
	for _, ref := range []string{"a", "b", "c"} {
		v.promise(t, ref, "+1h", "--tenant", "london", "--number", "+442079460123")
	}
	v.promise(t, "d", "+1h", "--number", "+442079460123")
	d := v.doctor(t, exitDone)
	finds(t, d.Remarks, "GB: no calling hours are known: every call there is held for a person (3 open follow-ups)")
	finds(t, d.Remarks, "GB: 1 open follow-up will be refused, because the tenant may not call there (GATE_COUNTRIES)")
	d = v.doctor(t, exitDone, "GATE_COUNTRIES=US,GB")
	finds(t, d.Remarks, "GB: no calling hours are known: every call there is held for a person (4 open follow-ups)")
	not(t, d.Remarks, "will be refused")
	if len(d.Rules.Unread) != 1 || d.Rules.Unread[0].Region != "GB" || d.Rules.Unread[0].Open != 4 {
		t.Errorf("%+v", d.Rules.Unread)
	}
	d = v.doctor(t, exitDone, "GATE_COUNTRIES=US,GB", "GATE_CALLING_HOURS=off")
	finds(t, d.Remarks, "GATE_CALLING_HOURS is off")
	not(t, d.Remarks, "no calling hours")
	if d.Rules.From != "off" || len(d.Rules.Rules) != 0 {
		t.Errorf("%+v", d.Rules)
	}
	v.says(t, "cancel", "cancel", "d", "--by", "ada")
	finds(t, v.doctor(t, exitDone, "GATE_COUNTRIES=GB").Remarks, "(3 open follow-ups)")
}

func TestDoctorRulesOfOnesOwn(t *testing.T) {
	t.Parallel()
	v := healthy(t)
	setting := rulesOf(t, `
rules:
  - places: [US-CA, US-NY]
    hours: {Mon-Fri: 09:00-18:00}
    caps: {24h: 3, 30d: 7}
    source: "our own\ttext: 2022"
    dated: 2019-05-01
`)
	got := command(t, []string{"DATABASE_URL=" + v.url, setting}, "", "doctor")
	if got.code != exitMisuse || !strings.Contains(got.err, "line 6: ") || !strings.Contains(got.err, "GATE_CALLING_HOURS") {
		t.Errorf("a tab in a source: exit %d, %q", got.code, got.err)
	}
	text := `
rules:
  - places: [US-CA, US-NY]
    hours: {Mon-Fri: 09:00-18:00}
    caps: {24h: 3, 30d: 7}
    after_talk: 7d
    source: our own
    dated: 2019-05-01
  - places: DE
    purposes: sales
    hours: {Mon-Fri: 09:00-18:00}
    after_talk: 36h
    consent: required
    source: read by ada
    dated: ` + today(t, v) + "\n"
	setting = rulesOf(t, text)
	path := strings.TrimPrefix(setting, "GATE_CALLING_HOURS=")
	d := v.doctor(t, exitDone, setting, "GATE_COUNTRIES=DE,US")
	if d.Rules.From != path || len(d.Rules.Rules) != 2 {
		t.Fatalf("%+v", d.Rules)
	}
	first, second := d.Rules.Rules[0], d.Rules.Rules[1]
	if first.Hours != "Mon-Fri 09:00-18:00" || first.Caps != "3 in 24h, 7 in 30d" || first.AfterTalk != "7d" || !first.Old || first.Line != 3 || first.Consent {
		t.Errorf("%+v", first)
	}
	if second.AfterTalk != "36h0m0s" || second.Old || !second.Consent || len(second.Purposes) != 1 {
		t.Errorf("%+v", second)
	}
	finds(t, d.Remarks, "DE: no calling hours are known: every call there is held for a person")
	finds(t, d.Remarks, "US: no calling hours are known but in US-CA, US-NY: every call elsewhere is held for a person")
	finds(t, d.Remarks, "1 rule was read more than a year ago, the first on 2019-05-01: ")
	// With a purpose in use that has hours, it is the other one that has none.
	v.promise(t, "a", "+1h", "--number", "+493023125123", "--purpose", "sales")
	finds(t, v.doctor(t, exitDone, setting, "GATE_COUNTRIES=DE,US").Remarks, "DE: no calling hours are known for requested: every such call there is held for a person")

	out := command(t, []string{"DATABASE_URL=" + v.url, setting}, "", "doctor")
	if out.code != exitDone || !strings.Contains(out.out, "Calling rules: the file "+path+", digest ") || !strings.Contains(out.out, "2019-05-01 (old)") {
		t.Errorf("exit %d, %q, %q", out.code, out.out, out.err)
	}
	if got := command(t, []string{setting}, "", "doctor", "--rules"); got.code != exitDone || got.out != text || got.err != "" {
		t.Errorf("--rules: exit %d, %q, %q", got.code, got.out, got.err)
	}
}

func today(t *testing.T, v terminal) string {
	t.Helper()
	return v.read(t, `select to_char(clock_timestamp() at time zone 'UTC', 'YYYY-MM-DD')`)
}

// TestDoctorPrintsTheBuiltInRules: to begin with, where nothing is set up yet.
func TestDoctorPrintsTheBuiltInRules(t *testing.T) {
	t.Parallel()
	for _, environ := range [][]string{nil, {"DATABASE_URL=postgres://nobody@192.0.2.1:1/none"}, {"GATE_CALLING_HOURS=off"}} {
		if got := command(t, environ, "", "doctor", "--rules"); got.code != exitDone || got.out != config.BuiltInRules() || got.err != "" {
			t.Errorf("%q: exit %d, %q, and %d bytes", environ, got.code, got.err, len(got.out))
		}
	}
	if got := command(t, nil, "", "doctor", "--rules", "--json"); got.code != exitMisuse || got.out != "" {
		t.Errorf("exit %d, %q, %q", got.code, got.out, got.err)
	}
}
