package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// dataDir is the daemons' folder of a fleet.
func (f *fleet) dataDir() string {
	for _, pair := range f.environ {
		if dir, is := strings.CutPrefix(pair, "DATA_DIR="); is {
			return dir
		}
	}
	f.t.Fatal("no DATA_DIR")
	return ""
}

// run runs a command to its end.
func (f *fleet) run(args ...string) (out string, code int) {
	f.t.Helper()
	r := f.start(args...)
	<-r.done
	return r.log.String(), r.ProcessState.ExitCode()
}

// misses makes the daemons' folder say that they saw an attempt which the database does not have.
func (f *fleet) misses() {
	f.t.Helper()
	var fleetID string
	if err := f.db.QueryRow(f.t.Context(), `select id::text from fleet`).Scan(&fleetID); err != nil {
		f.t.Fatal(err)
	}
	text, err := json.Marshal(map[string]any{"fleet": fleetID, "server": "1/00000001/2/3", "own": "0197f7b2-0000-7000-8000-000000000000", "at": time.Now().Add(-time.Minute)})
	if err != nil {
		f.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(f.dataDir(), "seen-"+fleetID+".json"), text, 0o600); err != nil {
		f.t.Fatal(err)
	}
}

// calls is a company's list of one call that was made just now to a number.
func calls(to, sid string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		call := ""
		if r.FormValue("To") == to {
			call = fmt.Sprintf(`{"sid": %q, "account_sid": "AC00000000000000000000000000000001", "to": %q, "from": "+12125550100", "status": "completed", "direction": "outbound-api", "date_created": %q}`,
				sid, to, time.Now().UTC().Format(time.RFC1123Z))
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"calls": [%s], "next_page_uri": null}`, call)
	}
}

// Row 19: a database that has forgotten an attempt rings nobody before a person has said so, who
// is told what the carriers list that no attempt owns. It says so in log, metric and doctor.
func TestRingingIsHeldWhereAttemptsWereForgotten(t *testing.T) {
	f := newFleet(t)
	f.due(3, "1 hour")
	const rang = "CA00000000000000000000000000000001"
	f.misses()
	d := f.daemon()
	f.wait("ringing is held", func() bool { return f.count(`select count(*) from ringing_holds where released_at is null`) == 1 })
	f.company.lists(calls("+14152000001", rang))
	f.ticks(2)
	f.wait("the metric says so", func() bool { return strings.Contains(d.metrics(t), "chasephone_ringing_held 1") })
	if n := len(f.company.requests()); n != 0 {
		t.Fatalf("%d rings before the release", n)
	}
	if !strings.Contains(d.log.String(), "all ringing is held until a person releases it: chasephone release") {
		t.Error("the log does not say so")
	}
	if out, code := f.run("doctor"); code != exitFailed || !strings.Contains(out, "all ringing is held: the database may have forgotten attempts") {
		t.Errorf("doctor ends with %d and says:\n%s", code, out)
	}
	if out, code := f.run("show", "r1"); code != exitDone || !strings.Contains(out, "not rung while this lasts: all ringing held (attempt forgotten) since ") {
		t.Errorf("show ends with %d and says:\n%s", code, out)
	}
	out, code := f.run("release", "--by", "ann")
	if code != exitFailed || !strings.Contains(out, "they list 1 call(s) that no attempt owns") || !strings.Contains(out, "NOT released. If those calls kept") || !strings.Contains(out, rang) {
		t.Fatalf("release ends with %d and says:\n%s", code, out)
	}
	if n := f.count(`select count(*) from ringing_holds where released_at is null`); n != 1 {
		t.Fatal("it was released by looking")
	}
	if out, code := f.run("release", "--by", "  "); code != exitMisuse || !strings.Contains(out, "nobody unnamed decides") {
		t.Fatalf("nobody's release ends with %d and says:\n%s", code, out)
	}
	out, code = f.run("release", "--cancel-rung", "--by", "ann")
	if code != exitDone || !strings.Contains(out, "cancelled, by ann: 1 follow-up") || !strings.Contains(out, "released, by ann: calls begin again") {
		t.Fatalf("release ends with %d and says:\n%s", code, out)
	}
	f.wait("the others are rung", func() bool {
		return f.count(`select count(*) from phone_followups where state = 'call_placed'`) == 2
	})
	if s := f.state("r1"); s != "cancelled" {
		t.Errorf("what rang before is %s", s)
	}
	if n := f.count(`select count(*) from desk_events where verb = 'release' and by_name = 'ann'`); n != 1 {
		t.Errorf("it is noted %d times who released", n)
	}
	f.once()
	if out, code := f.run("release", "--by", "ann"); code != exitDone || !strings.Contains(out, "nothing to release") {
		t.Errorf("a second release ends with %d and says:\n%s", code, out)
	}
}

// A daemon that remembers nothing asks the carriers; where they list a call to somebody who is due
// and that no attempt owns, it holds. Where a carrier gives no answer, a person says whether to go on.
func TestUnownedCallsHoldRinging(t *testing.T) {
	f := newFleet(t)
	f.due(1, "1 hour")
	f.company.lists(calls("+14152000001", "CA00000000000000000000000000000009"))
	f.daemon()
	if n := f.count(`select count(*) from ringing_holds where released_at is null and why = 'calls_unowned'`); n != 1 {
		t.Fatalf("%d holds", n)
	}
	f.ticks(2)
	f.company.lists(nil)
	if out, code := f.run("release", "--by", "ann"); code != exitFailed || !strings.Contains(out, "no answer to go by: twilio: ") || !strings.Contains(out, "NOT released: not every call could be asked for") {
		t.Fatalf("release ends with %d and says:\n%s", code, out)
	}
	if n := len(f.company.requests()); n != 0 {
		t.Fatalf("%d rings before the release", n)
	}
	if out, code := f.run("release", "--despite-calls", "--by", "ann", "--json"); code != exitDone || !strings.Contains(out, `"released": true`) {
		t.Fatalf("release ends with %d and says:\n%s", code, out)
	}
	f.wait("it is rung", func() bool { return f.state("r1") == "call_placed" })
	f.once()
}

// Two promises are to the number that a call rang: which one it kept is for a person to say, and
// none is withdrawn by itself.
func TestReleaseCancelsOnlyWhatIsClear(t *testing.T) {
	f := newFleet(t)
	f.exec(`insert into phone_followups (ref, phone_number, due_at, script) values ('one', '+14152000001', now() - interval '2 hours', 'Hello'), ('two', '+14152000001', now() - interval '1 hour', 'Hello')`)
	f.company.lists(calls("+14152000001", "CA00000000000000000000000000000009"))
	f.daemon()
	out, code := f.run("release", "--cancel-rung", "--by", "ann")
	if code != exitFailed || !strings.Contains(out, "they list 1 call(s)") || !strings.Contains(out, "NOT released: it is not clear which promise every call kept") {
		t.Fatalf("release ends with %d and says:\n%s", code, out)
	}
	if f.state("one") != "due" || f.state("two") != "due" {
		t.Fatalf("one is %s, two is %s", f.state("one"), f.state("two"))
	}
	if n := len(f.company.requests()); n != 0 {
		t.Fatalf("%d rings before the release", n)
	}
}

// A folder that was restored together with the database agrees with it: the carriers' lists do not.
func TestMemoryRestoredWithTheDatabase(t *testing.T) {
	f := newFleet(t)
	f.due(1, "1 hour")
	f.daemon() // remembers the database as it is
	f.wait("it is rung", func() bool { return f.state("r1") == "call_placed" })
	f.exec(`update fleet set stopped_at = now(), stopped_by = 'test'`)
	f.exec(`insert into phone_followups (ref, phone_number, due_at, script) values ('lost', '+14152000077', now() - interval '1 minute', 'Hello')`)
	f.company.lists(calls("+14152000077", "CA00000000000000000000000000000077"))
	f.daemon()
	if n := f.count(`select count(*) from ringing_holds where released_at is null and why = 'calls_unowned'`); n != 1 {
		t.Fatalf("%d holds", n)
	}
}
