package main

import (
	"encoding/json"
	"strings"
	"testing"

	"chasephone/internal/gates"
)

func TestConsent(t *testing.T) {
	t.Parallel()
	v := newTerminal(t)
	v.exec(t, `insert into tenants (id, region) values ('berlin', 'DE')`)
	v.says(t, "no entries\n", "consent", "list")
	v.says(t, "consent of +*********23 to calls of tenant default for sales is on file: given 2026-03-01 09:00:00 UTC, added by ada\n",
		"consent", "add", person, "--purpose", "sales", "--given", "2026-03-01T10:00:00+01:00", "--source", "form of 4155550123", "--by", "ada")
	v.says(t, "consent of +*********23 to calls of tenant default for sales was on file already; the earlier entry stands: given 2026-03-01 09:00:00 UTC, added by ada\n",
		"consent", "add", "(415) 555-0123", "--purpose", "sales", "--by", "bob")
	v.says(t, "for debt is on file", "consent", "add", person, "--purpose", "debt", "--by", "bob")
	v.says(t, "tenant berlin for sales is on file", "consent", "add", "030 23125 123", "--tenant", "berlin", "--purpose", "sales", "--by", "bob")

	out := v.says(t, "NUMBER", "consent", "list")
	numberless(t, out)
	if !strings.Contains(out, "berlin") || !strings.Contains(out, "2026-03-01 09:00:00") {
		t.Errorf("%s", out)
	}
	v.says(t, "there are more", "consent", "list", "--most", "1")
	var got consentsListed
	v.json(t, &got, "consent", "list", "--tenant", "default")
	if len(got.Entries) != 2 || got.More || got.Entries[0].Number != "+14155550123" || got.Entries[0].By != "ada" ||
		got.Entries[0].Purpose != "sales" || got.Entries[0].Source != "form of ********23" {
		t.Errorf("%+v", got)
	}
	var again consentAdded
	v.json(t, &again, "consent", "add", person, "--purpose", "sales", "--by", "carol")
	if again.Changed || again.By != "ada" || !again.Given.Equal(got.Entries[0].Given) {
		t.Errorf("%+v", again)
	}

	v.says(t, "for sales is taken off file\nstill on file, for the same tenant: debt\n", "consent", "remove", person, "--purpose", "sales", "--by", "carol")
	v.says(t, "for sales was not on file\n", "consent", "remove", person, "--purpose", "sales", "--by", "carol")
	var gone consentRemoved
	v.json(t, &gone, "consent", "remove", person, "--purpose", "debt", "--by", "carol")
	if !gone.Changed || len(gone.Kept) != 0 || gone.Number != "+14155550123" {
		t.Errorf("%+v", gone)
	}
	acts := v.read(t, `select string_agg(verb || ' by ' || by_name || ': ' || detail, '; ' order by id) from desk_events where tenant_id = 'default'`)
	numberless(t, acts)
	for _, want := range []string{
		"consent add by ada: sales +*********23; consent add by bob: debt +*********23; ",
		"consent remove by carol: sales +*********23, given 2026-03-01T09:00:00Z, added by ada; ",
	} {
		if !strings.Contains(acts, want) {
			t.Errorf("%q is not recorded: %s", want, acts)
		}
	}
}

func TestConsentNoteOfAPurpose(t *testing.T) {
	t.Parallel()
	v := newTerminal(t)
	v.says(t, "note: no rule in force names the purpose slaes: they tell apart debt, requested, sales\n",
		"consent", "add", person, "--purpose", "slaes", "--by", "ada")
	if out := v.says(t, "is on file", "consent", "add", person, "--purpose", "sales", "--by", "ada"); strings.Contains(out, "note:") {
		t.Errorf("%s", out)
	}
}

func TestConsentMisuse(t *testing.T) {
	t.Parallel()
	v := newTerminal(t)
	for _, c := range []struct {
		words string
		args  []string
	}{
		{"missing flags: --purpose=PURPOSE", nil},
		{`--purpose: "Sales" is no purpose: write a word in small letters, such as sales`, []string{"--purpose", "Sales"}},
		{`--purpose: "" is no purpose`, []string{"--purpose", ""}},
		{"there is no tenant nobody", []string{"--purpose", "sales", "--tenant", "nobody"}},
		{"--given is in the future: it is ", []string{"--purpose", "sales", "--given", "+2h"}},
		{`--given: "yesterday" is no instant`, []string{"--purpose", "sales", "--given", "yesterday"}},
		{"(it was read as in region XX)", []string{"--purpose", "sales", "--region", "xx"}},
		{"nobody unnamed decides", []string{"--purpose", "sales", "--by", ""}},
	} {
		v.fails(t, exitMisuse, c.words, append([]string{"consent", "add", "4155550123"}, c.args...)...)
	}
	v.fails(t, exitMisuse, "the number is too short", "consent", "remove", "415", "--purpose", "sales")
	v.fails(t, exitMisuse, "there is no tenant nobody", "consent", "remove", person, "--purpose", "sales", "--tenant", "nobody")
	if n := v.read(t, `select count(*)::text from consents`); n != "0" {
		t.Errorf("%s consents are on file", n)
	}
}

// TestConsentIsWhatTheGateAsks: for the tenant, number and purpose that it was given for, and for
// as long as it is on file.
func TestConsentIsWhatTheGateAsks(t *testing.T) {
	t.Parallel()
	v := newTerminal(t)
	v.exec(t, `insert into tenants (id, region) values ('berlin', 'DE')`)
	const number = "030 23125 123"
	finding := func(purpose string) string {
		t.Helper()
		got := v.run(t, "check", number, "--tenant", "berlin", "--purpose", purpose, "--json")
		var c checked
		if err := json.Unmarshal([]byte(got.out), &c); err != nil {
			t.Fatalf("%v in %q, %q", err, got.out, got.err)
		}
		return c.gate(t, gates.GateConsent).Finding
	}
	of := []string{number, "--tenant", "berlin", "--purpose", "sales", "--by", "ada"}
	for _, step := range []struct {
		verb        string
		sales, debt string
	}{
		{"", "hold", "pass"}, // a rule wants it for sales alone
		{"add", "pass", "pass"},
		{"remove", "hold", "pass"},
	} {
		if step.verb != "" {
			v.says(t, "file", append([]string{"consent", step.verb}, of...)...)
		}
		if sales, debt := finding("sales"), finding("debt"); sales != step.sales || debt != step.debt {
			t.Errorf("after %q: %s for sales, %s for debt; want %s, %s", step.verb, sales, debt, step.sales, step.debt)
		}
	}
}

// TestConsentRemovalWaitsForAClaim: when it returns, no claim that counted on it is under way.
func TestConsentRemovalWaitsForAClaim(t *testing.T) {
	t.Parallel()
	v := newTerminal(t)
	v.says(t, "is on file", "consent", "add", person, "--purpose", "sales", "--by", "ada")
	tx, err := v.db.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), `select pg_advisory_xact_lock(hashtextextended('+14155550123', 0))`); err != nil {
		t.Fatal(err)
	}
	done := make(chan answer, 1)
	go func() { done <- v.run(t, "consent", "remove", person, "--purpose", "sales", "--by", "ada") }()
	for waits := ""; waits != "1"; {
		if err := tx.QueryRow(t.Context(), `
			select count(*)::text from pg_locks l where locktype = 'advisory' and not granted
			  and database = (select oid from pg_database where datname = current_database())`).Scan(&waits); err != nil {
			t.Fatal(err)
		}
		select {
		case got := <-done:
			t.Fatalf("it did not wait: %+v", got)
		default:
		}
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := <-done; got.code != exitDone || !strings.Contains(got.out, "is taken off file") {
		t.Errorf("%+v", got)
	}
}
