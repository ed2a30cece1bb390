package store_test

import (
	"testing"
	"time"

	"chasephone/internal/followup"
	"chasephone/internal/pgtest"
	"chasephone/internal/store"
)

func open(t *testing.T) *store.Store {
	t.Helper()
	db, err := store.Connect(t.Context(), pgtest.URL(t), 8)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return db
}

// R1, row 13: a slot is let through once, and only while it is now or just was.
func TestFence(t *testing.T) {
	t.Parallel()
	db, ctx := open(t), t.Context()
	long := followup.DefaultLimits()
	long.Tick = time.Hour // it does not end while the test runs
	if _, err := db.SetLimits(ctx, long, "test"); err != nil {
		t.Fatal(err)
	}
	slot, err := db.Offer(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if slot.Ticked || slot.Left <= 0 || slot.Left > slot.Tick || slot.Tick != time.Hour {
		t.Fatalf("%+v", slot)
	}
	pass := func(at time.Time) bool {
		t.Helper()
		_, ok, err := db.Pass(ctx, at)
		if err != nil {
			t.Fatal(err)
		}
		return ok
	}
	if pass(slot.At.Add(2 * slot.Tick)) {
		t.Error("a slot of the future was let through")
	}
	if pass(slot.At.Add(-2 * slot.Tick)) {
		t.Error("a slot long past was let through")
	}
	if !pass(slot.At.Add(-slot.Tick)) {
		t.Error("the slot before, whose job is late, was not let through")
	}
	if !pass(slot.At) || pass(slot.At) || pass(slot.At.Add(-slot.Tick)) {
		t.Error("a slot is let through once, and none before it afterwards")
	}
	if slot, err := db.Offer(ctx); err != nil || !slot.Ticked {
		t.Errorf("it is not told as ticked: %+v, %v", slot, err)
	}
	// Row 22: the database's clock was set back: its fence must not stop the fleet for an hour.
	if _, err := db.Pool.Exec(ctx, `update tick_fence set slot_at = slot_at + interval '1 day'`); err != nil {
		t.Fatal(err)
	}
	if slot, err = db.Offer(ctx); err != nil || slot.Ticked || !pass(slot.At) {
		t.Errorf("a fence ahead of the clock stops the fleet: %+v, %v", slot, err)
	}
}

// R17: the newest start's limits are in force, each change a row with who and when; a
// change of the tick's length makes no slot older than one before it.
func TestLimitsInForce(t *testing.T) {
	t.Parallel()
	db, ctx := open(t), t.Context()
	one := followup.DefaultLimits()
	one.Tick, one.PerTick = time.Second, 7
	before, err := db.SetLimits(ctx, one, "daemon one")
	if err != nil || before != followup.DefaultLimits() {
		t.Fatalf("before %+v, %v", before, err)
	}
	slot, err := db.Offer(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok, err := db.Pass(ctx, slot.At); err != nil || !ok {
		t.Fatalf("%t %v", ok, err)
	}
	if before, err = db.SetLimits(ctx, one, "daemon one again"); err != nil || before != one {
		t.Fatalf("before %+v, %v", before, err)
	}
	if before, err = db.SetLimits(ctx, followup.DefaultLimits(), "daemon two"); err != nil || before != one {
		t.Fatalf("before %+v, %v", before, err)
	}
	if now, err := db.Limits(ctx); err != nil || now != followup.DefaultLimits() {
		t.Fatalf("now %+v, %v", now, err)
	}
	var rows int
	if err := db.Pool.QueryRow(ctx, `select count(*) from limits where set_by like 'daemon%'`).Scan(&rows); err != nil || rows != 2 {
		t.Errorf("%d changes are kept, want 2 (%v)", rows, err)
	}
	next, err := db.Offer(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok, err := db.Pass(ctx, next.At.Add(next.Tick)); err != nil || ok {
		t.Errorf("the minute after was let through: %t %v", ok, err)
	}
}

// R17: daemons whose environments differ are told so.
func TestDaemonsDisagree(t *testing.T) {
	t.Parallel()
	db, ctx := open(t), t.Context()
	other := followup.DefaultLimits()
	other.PerTick = 5
	for _, d := range []struct {
		id     string
		limits followup.Limits
		want   int
	}{
		{"00000000-0000-0000-0000-000000000001", followup.DefaultLimits(), 0},
		{"00000000-0000-0000-0000-000000000002", followup.DefaultLimits(), 0},
		{"00000000-0000-0000-0000-000000000003", other, 2},
		{"00000000-0000-0000-0000-000000000001", followup.DefaultLimits(), 1},
	} {
		n, err := db.With(store.Config{Daemon: d.id}).Heartbeat(ctx, d.limits)
		if err != nil || n != d.want {
			t.Errorf("daemon %s sees %d that differ, want %d (%v)", d.id, n, d.want, err)
		}
	}
}

// Outcomes are counted from the ledger, once each, whoever caused them, and none is passed
// over because its transaction committed late.
func TestTally(t *testing.T) {
	t.Parallel()
	db, ctx := open(t), t.Context()
	for i, ref := range []string{"a", "b", "c"} {
		if _, err := db.Pool.Exec(ctx, `insert into phone_followups (ref, phone_number, due_at, script) values ($1, 'x', now() - $2 * interval '1 day', 'x')`, ref, 2+i); err != nil {
			t.Fatal(err)
		}
	}
	slow, err := db.Pool.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = slow.Rollback(ctx) }()
	if _, err := slow.Exec(ctx, `with x as (insert into followup_events (followup_id, version, tenant_id, at, from_state, to_state, outcome, actor, reason)
		select id, 1, tenant_id, now(), 'due', 'missed', 'missed', 'tick', 'too_late' from phone_followups where ref = 'a' returning followup_id)
		update phone_followups set state = 'missed', version = 1, reason = 'too_late' from x where id = followup_id`); err != nil {
		t.Fatal(err)
	}
	if n, err := db.CloseLate(ctx, 10); err != nil || n != 2 {
		t.Fatalf("closed %d: %v", n, err)
	}
	total := func() int64 {
		t.Helper()
		if err := db.Tally(ctx); err != nil {
			t.Fatal(err)
		}
		g, err := db.Gauges(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return g.Outcomes[followup.OutcomeMissed]
	}
	if n := total(); n != 0 {
		t.Errorf("counted %d past an older transaction that is still under way", n)
	}
	if err := slow.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if n := total(); n != 3 {
			t.Errorf("counted %d, want 3", n)
		}
	}
}
