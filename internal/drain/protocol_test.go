package drain_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"chasephone/internal/carrier"
	"chasephone/internal/desk"
	"chasephone/internal/drain"
	"chasephone/internal/followup"
	"chasephone/internal/gates"
	"chasephone/internal/phone"
)

// faulty is a database whose replies get lost: what was asked is done, or not, and either
// way the caller hears nothing of it.
type faulty struct {
	drain.Store
	claim  func(context.Context, drain.Query, drain.Rule) (drain.Claim, error)
	record func(context.Context, []drain.Settlement) error
}

func (f *faulty) Claim(ctx context.Context, q drain.Query, rule drain.Rule) (drain.Claim, error) {
	if f.claim != nil {
		return f.claim(ctx, q, rule)
	}
	return f.Store.Claim(ctx, q, rule)
}

func (f *faulty) Record(ctx context.Context, set []drain.Settlement) error {
	if f.record != nil {
		return f.record(ctx, set)
	}
	return f.Store.Record(ctx, set)
}

// claimOnly commits attempts as a daemon does that dies before it sends.
func (w *world) claimOnly() []drain.Attempt {
	w.t.Helper()
	ruler := drain.Ruler{Gates: gates.Chain(gates.Options{HoursOff: true}), NewToken: uuid.NewString}
	if _, err := w.db.Admit(w.ctx, 500, phone.Parse); err != nil {
		w.t.Fatal(err)
	}
	c, err := w.db.Claim(w.ctx, drain.Query{Most: 64}, ruler.Rule)
	if err != nil {
		w.t.Fatal(err)
	}
	return c.Attempts
}

// sweepAll sweeps as if every attempt's time were over.
func (w *world) sweepAll() int {
	w.t.Helper()
	n, err := w.db.Sweep(w.ctx, -time.Hour, 500)
	if err != nil {
		w.t.Fatal(err)
	}
	return n
}

// quarantineOver makes every attempt an hour older.
func (w *world) quarantineOver() {
	w.t.Helper()
	w.exec(`alter table attempts disable trigger attempt_is_frozen`)
	w.exec(`update attempts set created_at = created_at - interval '1 hour', begin_at = begin_at - interval '1 hour', send_by = send_by - interval '1 hour', answer_by = answer_by - interval '1 hour'`)
	w.exec(`alter table attempts enable trigger attempt_is_frozen`)
}

const callID = "CA0123456789abcdef0123456789abcdef"

// Row 2: the commit of an attempt went through and its reply was lost. It is no right to
// ring: nothing is sent, and the attempt is given back.
func TestCommitReplyLost(t *testing.T) {
	w := newWorld(t, nil)
	w.due("a", 1, time.Hour)
	lost := &faulty{Store: w.connect()}
	lost.claim = func(ctx context.Context, q drain.Query, rule drain.Rule) (drain.Claim, error) {
		c, err := lost.Store.Claim(ctx, q, rule)
		if err == nil && len(c.Attempts) > 0 {
			return c, drain.ErrCommitUnknown
		}
		return c, err
	}
	d := w.daemonOn(lost)
	if err := d.Prepare(w.ctx); err != nil {
		t.Fatal(err)
	}
	if err := d.Slot(w.ctx, 64); !errors.Is(err, drain.ErrCommitUnknown) {
		t.Fatalf("got %v", err)
	}
	waitFor(t, func() bool { return w.row("a1").State == "due" })
	if r := w.row("a1"); r.Reason != "not_sent" || r.Attempts != 1 || len(w.phones.requests()) != 0 {
		t.Fatalf("%+v, %d requests", r, len(w.phones.requests()))
	}
}

// uncommitted is a database whose claims are not committed, and whose word on that is lost.
func (w *world) uncommitted() *faulty {
	lost := &faulty{Store: w.connect()}
	lost.claim = func(ctx context.Context, q drain.Query, rule drain.Rule) (drain.Claim, error) {
		c, err := lost.Store.Claim(ctx, q, func(b drain.Batch) drain.Decisions {
			d := rule(b)
			for i := range d.Decided {
				d.Decided[i].Place = 99 // the database refuses it
			}
			return d
		})
		if err == nil {
			w.t.Error("it was committed")
		}
		return c, drain.ErrCommitUnknown
	}
	return lost
}

// Row 2, the other half: the commit did not happen. Giving back what is not there does nothing.
func TestCommitReplyLostAndNotCommitted(t *testing.T) {
	w := newWorld(t, nil)
	w.due("a", 1, time.Hour)
	lost := w.uncommitted()
	d := w.daemonOn(lost)
	if err := d.Prepare(w.ctx); err != nil {
		t.Fatal(err)
	}
	if err := d.Slot(w.ctx, 64); !errors.Is(err, drain.ErrCommitUnknown) {
		t.Fatalf("got %v", err)
	}
	d.Stop(w.ctx)
	if r := w.row("a1"); r.State != "due" || r.Attempts != 0 || len(w.phones.requests()) != 0 {
		t.Fatalf("%+v, %d requests", r, len(w.phones.requests()))
	}
}

// Row 2, between two daemons: what one gives back, whose commit did not happen, has the number of an
// attempt that the other has made since, and rings this moment. It is not that one's to give back.
func TestGivingBackAnothersAttempt(t *testing.T) {
	w := newWorld(t, nil)
	w.due("a", 1, time.Hour)
	ringing, answer := make(chan struct{}, 2), make(chan struct{})
	w.phones.answer = func(context.Context, carrier.Call) (bool, carrier.Answer) {
		ringing <- struct{}{}
		<-answer
		return true, carrier.Placed{CallID: callID, Status: "queued"}
	}
	lost := w.uncommitted()
	again, given := make(chan struct{}), make(chan struct{})
	lost.record = func(ctx context.Context, set []drain.Settlement) error {
		<-again // the database is out of its reach for a while
		defer close(given)
		return lost.Store.Record(ctx, set)
	}
	one := w.daemonOn(lost)
	if err := one.Prepare(w.ctx); err != nil {
		t.Fatal(err)
	}
	if err := one.Slot(w.ctx, 64); !errors.Is(err, drain.ErrCommitUnknown) {
		t.Fatalf("got %v", err)
	}
	two := w.daemon()
	if err := two.Slot(w.ctx, 64); err != nil {
		t.Fatal(err)
	}
	<-ringing
	close(again)
	<-given
	if r := w.row("a1"); r.State != "dialing" || r.Attempts != 1 {
		t.Errorf("given back: %+v", r)
	}
	if err := w.daemon().Slot(w.ctx, 64); err != nil {
		t.Fatal(err)
	}
	close(answer)
	waitFor(t, func() bool { return w.row("a1").State == "call_placed" })
	if n := len(w.phones.requests()); n != 1 {
		t.Errorf("%d requests for one follow-up", n)
	}
	if n := w.count(`select count(*) from evidence`); n != 0 {
		t.Errorf("what was given back is kept as evidence %d times", n)
	}
}

// Row 6: the record's commit went through and its reply was lost. It is repeated and changes nothing.
func TestRecordReplyLost(t *testing.T) {
	w := newWorld(t, nil)
	w.due("a", 1, time.Hour)
	lost := &faulty{Store: w.connect()}
	var tries atomic.Int32
	lost.record = func(ctx context.Context, set []drain.Settlement) error {
		err := lost.Store.Record(ctx, set)
		if tries.Add(1) <= 2 {
			return errors.Join(drain.ErrCommitUnknown, err)
		}
		return err
	}
	d := w.daemonOn(lost)
	if err := errors.Join(d.Prepare(w.ctx), d.Slot(w.ctx, 64)); err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() bool { return tries.Load() == 3 })
	d.Stop(w.ctx)
	if r := w.row("a1"); r.State != "call_placed" || len(w.phones.requests()) != 1 {
		t.Fatalf("%+v, %d requests", r, len(w.phones.requests()))
	}
	if n := w.count(`select count(*) from followup_events where outcome = 'call_placed'`) + w.count(`select count(*) from evidence`); n != 1 {
		t.Fatalf("it is told %d times", n)
	}
}

// Row 6, the other half, and a database that is away for a while: the answer is kept until it is written.
func TestRecordIsNotGivenUp(t *testing.T) {
	w := newWorld(t, nil)
	w.due("a", 2, time.Hour)
	away := &faulty{Store: w.connect()}
	var tries atomic.Int32
	away.record = func(ctx context.Context, set []drain.Settlement) error {
		if tries.Add(1) <= 5 {
			return errors.New("connection refused")
		}
		return away.Store.Record(ctx, set)
	}
	d := w.daemonOn(away)
	if err := errors.Join(d.Prepare(w.ctx), d.Slot(w.ctx, 64)); err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() bool { return w.states()["call_placed"] == 2 })
}

// Rows 3 to 5: the process died with attempts committed. They are uncertain, and no tick
// and no restart ever sends them (invariants 1 and 2).
func TestOrphansAreUncertainForever(t *testing.T) {
	w := newWorld(t, nil)
	w.due("a", 2, time.Hour)
	if n := len(w.claimOnly()); n != 2 {
		t.Fatalf("%d attempts", n)
	}
	if n, err := w.db.Sweep(w.ctx, 3*time.Second, 500); err != nil || n != 0 {
		t.Fatalf("swept %d before their time: %v", n, err)
	}
	if n := w.sweepAll(); n != 2 {
		t.Fatalf("swept %d", n)
	}
	for range 5 {
		w.nextSlot()
		w.slot()
	}
	if r := w.row("a1"); r.State != "uncertain" || r.Reason != "no_record" || len(w.phones.requests()) != 0 {
		t.Fatalf("%+v, %d requests", r, len(w.phones.requests()))
	}
}

// Row 17: a zombie's late word. "Placed" is the carrier's own evidence; anything else is
// for a person to weigh.
func TestLateWords(t *testing.T) {
	for name, test := range map[string]struct {
		answer carrier.Answer
		state  string
	}{
		"placed":     {carrier.Placed{CallID: callID}, "call_placed"},
		"refused":    {carrier.Refused{Code: "21211"}, "uncertain"},
		"not placed": {carrier.NotPlaced{Blame: carrier.BlameLine, Code: "429"}, "uncertain"},
		"unknown":    {carrier.Unknown{Stage: carrier.StageAwaiting}, "uncertain"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, nil)
			w.due("a", 1, time.Hour)
			attempts := w.claimOnly()
			w.sweepAll()
			for range 2 { // said twice
				if err := w.db.Record(w.ctx, []drain.Settlement{drain.Settle(attempts[0], test.answer)}); err != nil {
					t.Fatal(err)
				}
			}
			if r := w.row("a1"); r.State != test.state {
				t.Errorf("%+v, want %s", r, test.state)
			}
			if held := w.count(`select count(*) from lines where held_until is not null`); held != 0 {
				t.Error("a late word holds the line")
			}
		})
	}
}

// Row 25, R8: evidence that it rang after a person said it did not. Due again: placed, not
// rung a second time. Both ways a conflict is kept.
func TestEvidenceAgainstAPerson(t *testing.T) {
	for _, again := range []bool{false, true} {
		w := newWorldIn(t, nil)
		w.due("a", 1, time.Hour)
		first := w.claimOnly()[0]
		w.sweepAll()
		w.quarantineOver()
		w.decide("did-not-ring", "a1")
		if again {
			w.nextSlot()
			w.slot()
		}
		if err := w.db.Record(w.ctx, []drain.Settlement{drain.Settle(first, carrier.Placed{CallID: callID})}); err != nil {
			w.t.Fatal(err)
		}
		if r := w.row("a1"); r.State != "call_placed" || again == (r.CallID == callID) {
			w.t.Errorf("%+v", r)
		}
		if n := w.count(`select count(*) from evidence where conflict`); n != 1 {
			w.t.Errorf("%d conflicts", n)
		}
		w.nextSlot()
		w.slot()
		if n := len(w.phones.requests()); again && n != 1 || !again && n != 0 {
			w.t.Errorf("%d requests", n)
		}
	}
}

// Row 34: a reason that cannot be stored costs neither its row nor its neighbours.
func TestUnstorableAnswer(t *testing.T) {
	w := newWorld(t, nil)
	w.due("a", 2, time.Hour)
	w.phones.answer = func(_ context.Context, call carrier.Call) (bool, carrier.Answer) {
		if strings.HasSuffix(call.Script, "1") {
			return false, carrier.Refused{Code: "21211", Text: "busy\x00line \xff\xfe"}
		}
		return true, carrier.Placed{CallID: callID}
	}
	w.slot()
	if r := w.row("a1"); r.State != "uncertain" && r.State != "refused" {
		t.Errorf("a1 %+v", r)
	}
	if r := w.row("a2"); r.State != "call_placed" {
		t.Errorf("a2 %+v", r)
	}
}

// A carrier that gives two calls one id: the second proves nothing.
func TestOneCallIDTwice(t *testing.T) {
	w := newWorld(t, nil)
	w.due("a", 2, time.Hour)
	w.phones.answer = func(context.Context, carrier.Call) (bool, carrier.Answer) {
		return true, carrier.Placed{CallID: callID}
	}
	w.slot()
	if states := w.states(); states["call_placed"] != 1 || states["uncertain"] != 1 {
		t.Errorf("states %v", states)
	}
}

// Invariant 10: a row that makes the claim's statement fail is set aside, its neighbours are rung.
func TestPoisonedClaim(t *testing.T) {
	w := newWorld(t, func(l *followup.Limits) { l.PerTick = 5 })
	w.due("a", 4, time.Hour)
	w.exec(`create function poison() returns trigger language plpgsql as $$ begin
		if exists (select from phone_followups where id = new.followup_id and ref = 'a2') then raise exception using errcode = '22012', message = 'poison'; end if; return new; end $$`)
	w.exec(`create trigger poison before insert on attempts for each row execute function poison()`)
	w.slot()
	if states := w.states(); states["call_placed"] != 3 || states["due"] != 1 {
		t.Fatalf("states %v", states)
	}
	if r := w.row("a2"); r.Reason != "cannot_be_claimed" || r.NextIn < 59*time.Minute {
		t.Fatalf("a2 %+v", r)
	}
}

// R5, fail closed: facts that cannot be loaded make it wait with the true cause.
func TestFactsFail(t *testing.T) {
	w := newWorld(t, nil)
	w.due("a", 2, time.Hour)
	w.exec(`alter table do_not_call rename to elsewhere`)
	w.slot()
	if r := w.row("a1"); r.State != "due" || r.Reason != "facts_unavailable" || !strings.Contains(r.Detail, "do_not_call") || r.NextIn <= 0 {
		t.Errorf("%+v", r)
	}
	if n := len(w.phones.requests()); n != 0 {
		t.Errorf("%d requests", n)
	}
	w.exec(`alter table elsewhere rename to do_not_call`)
	w.exec(`update phone_followups set next_try_at = now()`)
	w.slot()
	if r := w.row("a1"); r.State != "call_placed" {
		t.Errorf("afterwards: %+v", r)
	}
}

// R14: when stop returns no attempt is committed any more, whatever was being claimed.
func TestStopWhileClaiming(t *testing.T) {
	for _, scope := range []desk.Scope{{}, {Tenant: "default"}, {Tenant: "default", Line: "default"}} {
		w := newWorldIn(t, func(l *followup.Limits) { l.PerTick = 100 })
		w.due("a", 60, time.Hour)
		if err := w.daemon().Prepare(w.ctx); err != nil {
			w.t.Fatal(err)
		}
		var fleet sync.WaitGroup
		for range 3 {
			d := w.daemon()
			fleet.Go(func() {
				for range 20 {
					if err := d.Slot(w.ctx, 1); err != nil {
						w.t.Error(err)
					}
				}
			})
		}
		waitFor(w.t, func() bool { return w.count(`select count(*) from attempts`) > 3 })
		if _, err := (desk.Desk{Store: w.db}).Stop(w.ctx, scope, "ann"); err != nil {
			w.t.Fatal(err)
		}
		before := w.count(`select count(*) from attempts`)
		fleet.Wait()
		if after := w.count(`select count(*) from attempts`); after != before {
			w.t.Errorf("%d attempts when stop returned, %d later", before, after)
		}
		stopped, err := desk.Desk{Store: w.db}.Stop(w.ctx, scope, "bob")
		if err != nil || !stopped.Already || stopped.By != "ann" {
			w.t.Errorf("a second stop: %+v, %v", stopped, err)
		}
		if lifted, _, err := (desk.Desk{Store: w.db}).Resume(w.ctx, scope, "bob"); err != nil || !lifted {
			w.t.Errorf("resume: %t, %v", lifted, err)
		}
		w.slot()
		if n := w.count(`select count(*) from attempts`); n != 60 && before < 60 {
			w.t.Errorf("%d attempts after resume, want 60", n)
		}
	}
}

// R6: line release makes the rows that wait for the line due at once.
func TestReleaseWakes(t *testing.T) {
	w := newWorld(t, func(l *followup.Limits) { l.PerTick = 1 })
	w.due("a", 1, time.Hour)
	w.phones.answer = func(context.Context, carrier.Call) (bool, carrier.Answer) {
		return false, carrier.NotPlaced{Blame: carrier.BlameLine, Code: "20429"}
	}
	w.slot()
	w.phones.answer = nil
	w.nextSlot()
	w.slot()
	if r := w.row("a1"); r.State != "due" || r.NextIn < 50*time.Minute {
		t.Fatalf("held: %+v", r)
	}
	if due, err := w.db.ReleaseLine(w.ctx, "default", "default", "ann"); err != nil || due != 1 {
		t.Fatalf("released %d: %v", due, err)
	}
	w.slot()
	if r := w.row("a1"); r.State != "call_placed" {
		t.Fatalf("released: %+v", r)
	}
}

// R13, R9: a graceful stop awaits the call in progress and gives back what has not begun.
func TestStopAwaitsCallsInProgress(t *testing.T) {
	w := newWorld(t, nil)
	w.due("a", 1, time.Hour)
	begun, finish := make(chan struct{}), make(chan struct{})
	w.phones.answer = func(context.Context, carrier.Call) (bool, carrier.Answer) {
		close(begun)
		<-finish
		return true, carrier.Placed{CallID: callID}
	}
	d := w.daemon()
	if err := errors.Join(d.Prepare(w.ctx), d.Slot(w.ctx, 64)); err != nil {
		t.Fatal(err)
	}
	<-begun
	stopped := make(chan struct{})
	go func() { d.Stop(context.Background()); close(stopped) }()
	select {
	case <-stopped:
		t.Fatal("stopped with a call in progress")
	case <-time.After(50 * time.Millisecond):
	}
	if _, err := (desk.Desk{Store: w.db}).Cancel(w.ctx, desk.Name{Text: "a1"}, "ann", ""); err == nil || !strings.Contains(err.Error(), "too late") {
		t.Errorf("cancelled while dialing: %v", err) // row 30
	}
	close(finish)
	<-stopped
	if r := w.row("a1"); r.State != "call_placed" {
		t.Fatalf("%+v", r)
	}
}
