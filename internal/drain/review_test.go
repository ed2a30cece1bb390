package drain_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"chasephone/internal/carrier"
	"chasephone/internal/desk"
	"chasephone/internal/drain"
	"chasephone/internal/followup"
)

// What reviewers broke, kept mended.

// Some numbers have six digits in all; a line's name can be too long for an index. Hundreds of
// rows that cannot be rung do not stand before those that can.
func TestOddRowsStandBeforeNobody(t *testing.T) {
	w := newWorld(t, func(l *followup.Limits) { l.PerTick = 100 })
	w.exec(`insert into phone_followups (ref, phone_number, due_at, script) select 'short' || i, '+431111', now() - interval '2 hours', 'x' from generate_series(1, 520) i`)
	w.exec(`insert into phone_followups (ref, phone_number, due_at, script, line)
		select 'long', '+14155550199', now() - interval '2 hours', 'x', string_agg(md5(i::text || random()), '') from generate_series(1, 200) i`)
	w.due("a", 2, time.Hour)
	for range 7 {
		w.slot()
		w.nextSlot()
	}
	if r := w.row("a1"); r.State != "call_placed" {
		t.Errorf("a1 %+v", r)
	}
	if r := w.row("short1"); r.State != "refused" || r.Reason != "country_not_allowed" {
		t.Errorf("short1 %+v", r)
	}
	if r := w.row("long"); r.State != "refused" || r.Reason != "unknown_line" {
		t.Errorf("long %+v", r)
	}
}

// Whatever the database refuses to have admitted, for any reason, gets an outcome of its own.
func TestPoisonedAdmission(t *testing.T) {
	w := newWorld(t, nil)
	w.exec(`create function poison() returns trigger language plpgsql as $$ begin if old.ref like 'bad%' and new.ready then raise exception 'poison'; end if; return new; end $$`)
	w.exec(`create trigger poison before update on phone_followups for each row execute function poison()`)
	w.due("bad", 3, 2*time.Hour)
	w.due("a", 2, time.Hour)
	d := w.daemon()
	if err := d.Prepare(w.ctx); err == nil || !strings.Contains(err.Error(), "poison") {
		t.Errorf("the fault is not told: %v", err)
	}
	if err := d.Slot(w.ctx, 64); err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() bool { return w.row("a2").State == "call_placed" })
	if r := w.row("bad1"); r.State != "due" || r.Reason != "cannot_be_admitted" || r.NextIn < 59*time.Minute {
		t.Errorf("bad1 %+v", r)
	}
}

// A row that cannot be claimed, and cannot even be set aside, is passed by.
func TestPoisonedForGood(t *testing.T) {
	w := newWorld(t, nil)
	w.exec(`create function poison() returns trigger language plpgsql as $$ begin if old.ref = 'a1' and new.version is distinct from old.version then raise exception 'poison'; end if; return new; end $$`)
	w.exec(`create trigger poison before update on phone_followups for each row execute function poison()`)
	w.due("a", 3, time.Hour)
	w.slot()
	if r := w.row("a1"); r.State != "due" {
		t.Errorf("a1 %+v", r)
	}
	for _, ref := range []string{"a2", "a3"} {
		if r := w.row(ref); r.State != "call_placed" {
			t.Errorf("%s %+v", ref, r)
		}
	}
}

// R3: the oldest first whatever line it is on, and however many lines there are.
func TestOldestFirstAcrossLines(t *testing.T) {
	w := newWorld(t, func(l *followup.Limits) { l.PerTick = 1 })
	for i := 1; i <= 80; i++ {
		w.exec(`insert into lines (tenant_id, name, carrier, caller_number) values ('default', $1, 'scripted', '+12125550124')`, fmt.Sprintf("l%03d", i))
		w.dueOn(fmt.Sprintf("r%d-", i), 1, time.Duration(i)*time.Minute, fmt.Sprintf("l%03d", i), "")
	}
	for i := 80; i > 76; i-- {
		w.slot()
		if r := w.row(fmt.Sprintf("r%d-1", i)); r.State != "call_placed" {
			t.Fatalf("line %d was not the next: %+v", i, r)
		}
		w.nextSlot()
	}
}

// Scarce dial slots do not always go to the tenants that come first by name.
func TestScarceSlotsGoRound(t *testing.T) {
	w := newWorld(t, func(l *followup.Limits) { l.DialSlots = 1 })
	for _, tenant := range []string{"a", "b", "c"} {
		w.exec(`insert into tenants (id) values ($1)`, tenant)
		w.exec(`insert into lines (tenant_id, name, carrier, caller_number) values ($1, 'default', 'scripted', '+12125550124')`, tenant)
		w.exec(`insert into phone_followups (tenant_id, ref, phone_number, due_at, script)
			select $1, $1 || i, '+1415' || (3000000 + ascii($1) * 1000 + i)::text, now() - interval '1 hour', 'x' from generate_series(1, 20) i`, tenant)
	}
	out := make(chan struct{})
	w.phones.answer = func(context.Context, carrier.Call) (bool, carrier.Answer) {
		<-out
		return true, carrier.Placed{CallID: fmt.Sprint(time.Now().UnixNano())}
	}
	d := w.daemon()
	if err := d.Prepare(w.ctx); err != nil {
		t.Fatal(err)
	}
	for range 3 { // each slot ends with its one dial slot taken
		ctx, cancel := context.WithTimeout(w.ctx, 300*time.Millisecond)
		if err := d.Slot(ctx, 1); err != nil {
			t.Fatal(err)
		}
		cancel()
		out <- struct{}{}
		w.nextSlot()
	}
	close(out)
	if n := w.count(`select count(distinct tenant_id) from attempts`); n != 3 {
		t.Errorf("%d tenants of three were rung in three slots", n)
	}
}

// A claim while limits change, a stop among busy claims: neither is lost nor starved.
func TestClaimsAndTheFleetsRow(t *testing.T) {
	w := newWorld(t, func(l *followup.Limits) { l.PerTick = 100 })
	w.due("a", 50, time.Hour)
	ctx, cancel := context.WithCancel(w.ctx)
	var claims sync.WaitGroup
	for range 4 {
		d := w.daemon()
		claims.Go(func() {
			for ctx.Err() == nil {
				if err := d.Slot(w.ctx, 1); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for i := range 5 {
		limits := w.limits
		limits.RetryAfter = time.Duration(i+1) * time.Minute
		if _, err := w.db.SetLimits(w.ctx, limits, "test"); err != nil {
			t.Error(err)
		}
		begun := time.Now()
		if _, err := (desk.Desk{Store: w.db}).Stop(w.ctx, desk.Scope{}, "ann"); err != nil {
			t.Error(err)
		}
		if took := time.Since(begun); took > 5*time.Second {
			t.Errorf("a stop took %s", took)
		}
		if _, _, err := (desk.Desk{Store: w.db}).Resume(w.ctx, desk.Scope{}, "ann"); err != nil {
			t.Error(err)
		}
	}
	cancel()
	claims.Wait()
}

// A line that somebody holds in a session of their own costs the other tenants nothing.
func TestLockedLine(t *testing.T) {
	w := newWorld(t, nil)
	w.exec(`insert into tenants (id) values ('other')`)
	w.exec(`insert into lines (tenant_id, name, carrier, caller_number) values ('other', 'default', 'scripted', '+12125550124')`)
	w.due("a", 1, time.Hour)
	w.exec(`insert into phone_followups (tenant_id, ref, phone_number, due_at, script) values ('other', 'b1', '+14155550177', now() - interval '1 minute', 'x')`)
	tx, err := w.connect().Pool.Begin(w.ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(w.ctx) }()
	if _, err := tx.Exec(w.ctx, `select from lines where tenant_id = 'default' for update`); err != nil {
		t.Fatal(err)
	}
	w.slot()
	if r := w.row("b1"); r.State != "call_placed" {
		t.Errorf("b1 %+v", r)
	}
	if err := tx.Rollback(w.ctx); err != nil {
		t.Fatal(err)
	}
	w.slot()
	if r := w.row("a1"); r.State != "call_placed" {
		t.Errorf("a1 %+v", r)
	}
}

// A carrier that keeps silent bounds the line before its first unknown answer is in.
func TestSilentCarrierBoundsTheLine(t *testing.T) {
	w := newWorld(t, func(l *followup.Limits) { l.PerTick = 100 })
	w.due("a", 10, time.Hour)
	attempts := w.claimOnly()
	if len(attempts) != 10 {
		t.Fatalf("%d attempts on a line that nothing is known against", len(attempts))
	}
	w.exec(`alter table attempts disable trigger attempt_is_frozen`)
	w.exec(`update attempts set created_at = created_at - interval '4 seconds', begin_at = begin_at - interval '4 seconds'`)
	w.exec(`alter table attempts enable trigger attempt_is_frozen`)
	w.due("b", 5, time.Hour)
	if n := len(w.claimOnly()); n != 0 {
		t.Errorf("%d more attempts while ten are silent", n)
	}
}

// A paced line that waits for an answer is not asked again and again for room.
func TestNoSpinOnABoundedLine(t *testing.T) {
	w := newWorld(t, func(l *followup.Limits) { l.PerTick = 100 })
	w.phones.cps = 1000
	w.exec(`update lines set unknowns_in_row = 2`)
	w.due("a", 5, time.Hour)
	out := make(chan struct{})
	w.phones.answer = func(context.Context, carrier.Call) (bool, carrier.Answer) {
		<-out
		return true, carrier.Refused{Code: "21211"}
	}
	claims := 0
	counted := &faulty{Store: w.connect()}
	d := w.daemonOn(counted)
	ruled := counted.Store.Claim
	counted.claim = func(ctx context.Context, q drain.Query, rule drain.Rule) (drain.Claim, error) {
		claims++
		return ruled(ctx, q, rule)
	}
	if err := d.Prepare(w.ctx); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(w.ctx, time.Second)
	defer cancel()
	if err := d.Slot(ctx, 64); err != nil {
		t.Fatal(err)
	}
	close(out)
	if claims > 10 {
		t.Errorf("%d claims for one call", claims)
	}
}

// Halted: no slot claims any more, and what had no turn yet is given back.
func TestHalt(t *testing.T) {
	w := newWorld(t, func(l *followup.Limits) { l.PerTick = 100 })
	w.phones.cps = 1
	w.due("a", 20, time.Hour)
	d := w.daemon()
	if err := d.Prepare(w.ctx); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- d.Slot(w.ctx, 64) }()
	waitFor(t, func() bool { return len(w.phones.requests()) >= 1 })
	d.Halt()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	d.Stop(w.ctx)
	rung := len(w.phones.requests())
	if states := w.states(); states["call_placed"] != rung || states["due"] != 20-rung || rung > 4 {
		t.Errorf("%d requests, states %v", rung, states)
	}
}

// Evidence that it rang, while a person is asked whether it may ring: the answer is no.
func TestApproveWhatRang(t *testing.T) {
	w := newWorld(t, nil)
	w.due("a", 1, time.Hour)
	first := w.claimOnly()[0]
	w.sweepAll()
	w.quarantineOver()
	w.decide("did-not-ring", "a1")
	w.exec(`update phone_followups set needs_approval = true`)
	w.nextSlot()
	w.slot()
	if r := w.row("a1"); r.State != "awaiting_approval" {
		t.Fatalf("%+v", r)
	}
	for range 2 {
		if err := w.db.Record(w.ctx, []drain.Settlement{drain.Settle(first, carrier.Placed{CallID: callID})}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := (desk.Desk{Store: w.db}).Approve(w.ctx, desk.Name{Text: "a1"}, "ann", ""); err == nil || !strings.Contains(err.Error(), "rang already") {
		t.Errorf("approved: %v", err)
	}
	if n := w.count(`select count(*) from evidence`); n != 1 {
		t.Errorf("the same word is kept %d times", n)
	}
}
