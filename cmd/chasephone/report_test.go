package main

import (
	"strings"
	"testing"
)

func TestReport(t *testing.T) {
	t.Parallel()
	v := newTerminal(t)
	v.exec(t, `insert into tenants (id, region) values ('paris', 'FR')`)
	const at = "2026-01-02T03:04:05.5+01:00"
	calls := func(want string) {
		t.Helper()
		if got := v.read(t, `select coalesce(string_agg(concat_ws(' ', tenant_id, e164, direction, talked, source, reported_by), ', ' order by id), '') from other_calls`); got != want {
			t.Errorf("the calls are\n%s, want\n%s", got, want)
		}
	}
	placed := []string{"report", person, "--placed", "--at", at, "--by", "ada", "--source", "dialler, 415-555-0123"}
	const one = "a call to +*********23 at 2026-01-02 02:04:05 UTC (tenant default): "
	v.says(t, one+"reported\n", placed...)
	v.says(t, one+"it was reported already, and nothing was changed\n", placed...)
	v.says(t, one+"it was reported already, and nothing was changed\n", "report", "415 555 0123", "--placed", "--at", "2026-01-02T02:04:05.5Z", "--by", "bob", "--source", "dialler, 415-555-0123")
	calls("default +14155550123 out f dialler, ***-***-**23 ada")
	v.says(t, one+"it was reported already; that it reached somebody is noted now\n", append(placed, "--talked")...)
	v.says(t, one+"it was reported already, and nothing was changed\n", append(placed, "--talked")...)
	v.says(t, one+"it was reported already, and nothing was changed\n", placed...)
	calls("default +14155550123 out t dialler, ***-***-**23 ada")

	// Whatever differs makes another call of it.
	v.says(t, "a call from +*********23 at 2026-01-02 02:04:05 UTC (tenant default): reported\n", "report", person, "--called-in", "--at", at, "--by", "ada", "--source", "dialler, 415-555-0123")
	v.says(t, ": reported\n", "report", person, "--placed", "--at", at, "--by", "ada")
	v.says(t, ": reported\n", "report", "+33 1 99 00 12 34", "--placed", "--at", at, "--by", "ada")
	v.says(t, "(tenant paris): reported\n", "report", "01 99 00 12 34", "--placed", "--at", at, "--by", "ada", "--tenant", "paris")
	v.says(t, ": reported\n", "report", "01 99 00 12 34", "--placed", "--at", "2026-01-02T03:04:06.5+01:00", "--by", "ada", "--region", "fr")
	// Without an instant every report is a call.
	for range 2 {
		v.says(t, ": reported\n", "report", person, "--called-in", "--by", "ada")
	}
	if got := v.read(t, `select count(*) || ' ' || count(*) filter (where began_at > clock_timestamp() - interval '1 minute' and began_at <= clock_timestamp()) from other_calls`); got != "8 2" {
		t.Errorf("%s calls, of which so many just now; want 8 2", got)
	}

	var got reported
	v.json(t, &got, "report", person, "--placed", "--talked", "--at", "2026-02-02T03:04:05Z", "--by", "ada")
	if got.Number != "+14155550123" || got.Tenant != "default" || got.Direction != "out" || !got.Talked || !got.Changed || got.BeganAt.Unix() != 1770001445 {
		t.Errorf("%+v", got)
	}
	v.json(t, &got, "report", person, "--placed", "--talked", "--at", "2026-02-02T03:04:05Z", "--by", "ada")
	if got.Changed {
		t.Errorf("%+v", got)
	}
}

func TestReportMisuse(t *testing.T) {
	t.Parallel()
	v := newTerminal(t)
	for _, c := range []struct {
		want string
		args []string
	}{
		{"the number is too short for its country: its area code or some digits are missing (it was read as in region US)", []string{"415", "--placed"}},
		{"this is an emergency number", []string{"911", "--called-in"}},
		{"missing flags: --placed or --called-in", []string{person}},
		{"--placed and --called-in can't be used together", []string{person, "--placed", "--called-in"}},
		{"--talked goes with --placed: whoever called in has reached us", []string{person, "--called-in", "--talked"}},
		{"there is no tenant nobody", []string{person, "--placed", "--tenant", "nobody"}},
		{"--at is in the future: only a call that has begun can be reported", []string{person, "--placed", "--at", "+2m"}},
		{"--at is in the future", []string{person, "--placed", "--at", "2099-01-01T00:00:00Z"}},
		{`--at: "yesterday" is no instant`, []string{person, "--placed", "--at", "yesterday"}},
		{`--region: there is no region "xx"`, []string{"415 555 0123", "--placed", "--region", "xx"}},
		{"nobody unnamed decides: give a name with --by", []string{person, "--placed", "--by="}},
	} {
		v.fails(t, exitMisuse, c.want, append([]string{"report", "--by", "ada"}, c.args...)...)
	}
	if n := v.read(t, `select count(*)::text from other_calls`); n != "0" {
		t.Errorf("%s calls were written", n)
	}
	// A reporter's clock may be ahead a little.
	v.says(t, ": reported\n", "report", person, "--placed", "--at", "+50s", "--by", "ada")
	if got := command(t, nil, "", "report", person, "--placed"); got.code != exitMisuse || !strings.Contains(got.err, "DATABASE_URL is unset") {
		t.Errorf("exit %d, %q", got.code, got.err)
	}
}

// TestReportWaitsForAClaim: it holds the number's lock as a claim does, so that no claim that
// has not counted the call is under way when it returns.
func TestReportWaitsForAClaim(t *testing.T) {
	t.Parallel()
	v := newTerminal(t)
	tx, err := v.db.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), `select pg_advisory_xact_lock(hashtextextended('+14155550123', 0))`); err != nil {
		t.Fatal(err)
	}
	done := make(chan answer, 1)
	go func() { done <- v.run(t, "report", person, "--placed", "--by", "ada") }()
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
	if got := <-done; got.code != exitDone || !strings.HasSuffix(got.out, ": reported\n") {
		t.Errorf("%+v", got)
	}
}
