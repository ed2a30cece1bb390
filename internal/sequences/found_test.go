package sequences_test

import (
	"testing"

	"chasephone/internal/carrier"
	"chasephone/internal/followup"
)

// Sequences that once found a fault, as short as they came out.

// bothStores are worlds over the reference and over PostgreSQL.
func bothStores(t *testing.T) *machine {
	t.Helper()
	t.Parallel()
	db := newPostgres(t)
	if err := db.begin(); err != nil {
		t.Fatal(err)
	}
	m := newMachine(t.Fatalf, newWorld(newMemory(flawless), flawless), newWorld(db, flawless))
	t.Cleanup(m.close)
	return m
}

// The only call that there is.
func (m *machine) call() *call { return m.callsWhere(func(*call) bool { return true })[0] }

// R12: a call of which its end was reported while it was uncertain, and whose reply is recorded late, stays at
// its end: the reply's "queued" is older.
func TestLateReplyDoesNotMoveTheStatusBack(t *testing.T) {
	m := bothStores(t)
	m.each(func(_ int, w *world) error {
		return w.insert(followUp{ID: numbered(3, 1), Ref: "ra", Script: "Hello", Tenant: "birch", Number: "+14152000001", DueAt: m.now})
	})
	m.tickBy(0, none)
	m.clock(m.now.Add(tickLength))
	m.sweepBy(1)
	m.report(m.call(), carrier.StatusCanceled)
	m.reply(m.call(), carrier.Placed{CallID: m.call().id(), Status: "queued"}, false)
	m.look()
	if f := m.rows[0]; f.State != followup.CallPlaced || f.CallStatus != "canceled" {
		t.Errorf("it is %s, and its call %q", f.State, f.CallStatus)
	}
}
