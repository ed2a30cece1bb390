package sequences_test

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"chasephone/internal/followup"
)

// flaw is a fault that the reference is given, to see whether the sequences find it.
type flaw string

const (
	flawless             flaw = ""
	sweepMakesDue        flaw = "a sweep makes due again"
	recordOverwrites     flaw = "a record does not compare before it sets"
	unknownIsNotPlaced   flaw = "an unknown answer is taken for not placed"
	approvalNotSpent     flaw = "an approval is not spent"
	placesNotCounted     flaw = "places are not counted"
	lateByLastTry        flaw = "lateness is counted from the last try"
	noQuarantine         flaw = "no quarantine"
	evidenceRevives      flaw = "evidence changes what is final"
	evidenceForgotten    flaw = "evidence is forgotten where it comes while it can change nothing"
	ledgerForgets        flaw = "a change has no row in the ledger"
	sendsOnUnknownCommit flaw = "what may not be committed is sent"
	sweepSleeps          flaw = "a sweep does nothing"
	stopForgotten        flaw = "a stopped line is rung on"
	inCallForgotten      flaw = "a number is rung twice at once"
)

// mostHunts is how many sequences a flaw may take to be found: what CI has of them.
const mostHunts = 3000

// What the sequences are worth: every one of these faults is found by some of them.
func TestSequencesFindFlaws(t *testing.T) {
	t.Parallel()
	for _, f := range []flaw{
		sweepMakesDue, recordOverwrites, unknownIsNotPlaced, approvalNotSpent, placesNotCounted, lateByLastTry, noQuarantine,
		evidenceRevives, evidenceForgotten, ledgerForgets, sendsOnUnknownCommit, sweepSleeps, stopForgotten, inCallForgotten,
	} {
		t.Run(string(f), func(t *testing.T) {
			t.Parallel()
			hunt(t, mostHunts, func(t *rapid.T) string { found, _ := sequenceWith(t, f); return found })
		})
	}
}

// A database that does one thing otherwise is told from the reference: here, a line that is not ready is
// asked for a second later.
func TestSequencesFindADifference(t *testing.T) {
	t.Parallel()
	db := newPostgres(t)
	if _, err := db.Pool.Exec(t.Context(), `
		create function dawdles() returns trigger language plpgsql as 'begin new.next_try_at := new.next_try_at + interval ''1 second''; return new; end';
		create trigger dawdles before update on phone_followups for each row
		  when (new.state = 'due' and new.reason = 'line_not_ready' and old.state <> 'due') execute function dawdles()`); err != nil {
		t.Fatal(err)
	}
	hunt(t, 100, func(t *rapid.T) string {
		if err := db.begin(); err != nil {
			panic(err)
		}
		found, _ := sequenceIn(t, newWorld(newMemory(flawless), flawless), newWorld(db, flawless))
		return found
	})
}

// hunt expects some sequence to fail.
func hunt(t *testing.T, most int, sequence func(*rapid.T) string) {
	t.Helper()
	sequences := rapid.Custom(sequence)
	for seed := range most {
		if found := sequences.Example(seed + 1); found != "" {
			t.Logf("sequence %d: %s", seed+1, found)
			return
		}
	}
	t.Errorf("%d sequences do not find it", most)
}

// And they come by every change of state that there is.
func TestSequencesComeByEverything(t *testing.T) {
	t.Parallel()
	type change struct{ from, to followup.State }
	missing := map[change]bool{}
	for _, tr := range followup.Transitions() {
		missing[change{tr.From, tr.To}] = true
	}
	var failed string
	changes := rapid.Custom(func(t *rapid.T) (all []change) {
		found, rows := sequenceWith(t, flawless)
		failed += found
		for _, f := range rows {
			for _, e := range f.Ledger {
				all = append(all, change{e.From, e.To})
			}
		}
		return all
	})
	for seed := 0; seed < mostHunts && len(missing) > 0 && failed == ""; seed++ {
		for _, c := range changes.Example(seed + 1) {
			delete(missing, c)
		}
	}
	if failed != "" {
		t.Fatal(failed)
	}
	for c := range missing {
		t.Errorf("no sequence goes from %s to %s", c.from, c.to)
	}
}

// failure is what a sequence that is expected to fail fails with: rapid would fail the test.
type failure string

func sequenceWith(t *rapid.T, f flaw) (found string, rows []*followUp) {
	return sequenceIn(t, newWorld(newMemory(f), f))
}

func sequenceIn(t *rapid.T, worlds ...*world) (found string, rows []*followUp) {
	m := newMachine(func(format string, args ...any) { panic(failure(fmt.Sprintf(format, args...))) }, worlds...)
	defer m.close()
	defer func() {
		switch is := recover().(type) {
		case nil:
		case failure:
			found = string(is)
		default:
			panic(is)
		}
	}()
	m.run(t)
	return "", m.rows
}
