package drain_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"chasephone/internal/carrier"
	"chasephone/internal/desk"
	"chasephone/internal/drain"
	"chasephone/internal/followup"
	"chasephone/internal/gates"
	"chasephone/internal/pgtest"
	"chasephone/internal/phone"
	"chasephone/internal/rules"
	"chasephone/internal/store"
)

// scripted is a telephone company that does what a test tells it, and keeps its own ring book.
type scripted struct {
	cps    float64
	answer func(ctx context.Context, call carrier.Call) (rings bool, a carrier.Answer)

	mu    sync.Mutex
	rings map[string]int // by number
	calls []carrier.Call // every request, in order
}

func (s *scripted) Name() string            { return "scripted" }
func (s *scripted) CallsPerSecond() float64 { return s.cps }
func (s *scripted) Fits(script string) bool { return len(script) <= 4000 }

func (s *scripted) Place(ctx context.Context, call carrier.Call) carrier.Answer {
	s.mu.Lock()
	s.calls = append(s.calls, call)
	n := len(s.calls)
	s.mu.Unlock()
	rings, answer := true, carrier.Answer(carrier.Placed{CallID: fmt.Sprintf("CA%s", uuid.NewString()), Status: "queued"})
	_ = n
	if s.answer != nil {
		rings, answer = s.answer(ctx, call)
	}
	if rings {
		s.mu.Lock()
		s.rings[call.To.E164()]++
		s.mu.Unlock()
	}
	return answer
}

func (s *scripted) requests() []carrier.Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]carrier.Call(nil), s.calls...)
}

// world is a database of its own, with a fleet of daemons on it.
type world struct {
	t      *testing.T
	ctx    context.Context
	url    string
	db     *store.Store
	limits followup.Limits
	phones *scripted
	gates  gates.Options
}

func newWorld(t *testing.T, change func(*followup.Limits)) *world {
	t.Helper()
	t.Parallel()
	return newWorldIn(t, change)
}

// newWorldIn is newWorld for one of several worlds of a test.
func newWorldIn(t *testing.T, change func(*followup.Limits)) *world {
	t.Helper()
	w := &world{t: t, ctx: t.Context(), url: pgtest.URL(t), limits: followup.DefaultLimits(), phones: &scripted{rings: map[string]int{}}, gates: gates.Options{HoursOff: true}}
	w.db = w.connect()
	w.limits.Tick = longTick(time.Now())
	if change != nil {
		change(&w.limits)
	}
	if _, err := w.db.SetLimits(w.ctx, w.limits, "test"); err != nil {
		t.Fatal(err)
	}
	w.exec(`insert into lines (tenant_id, name, carrier, caller_number) values ('default', 'default', 'scripted', '+12125550123')`)
	return w
}

// longTick is a slot that does not end while a test runs.
func longTick(now time.Time) time.Duration {
	best, left := time.Hour, time.Duration(0)
	for _, tick := range []time.Duration{time.Hour, 47 * time.Minute} {
		if l := followup.SlotAt(now, tick).Add(tick).Sub(now); l > left {
			best, left = tick, l
		}
	}
	return best
}

func (w *world) connect() *store.Store {
	w.t.Helper()
	db, err := store.Connect(w.ctx, w.url, 8)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(db.Close)
	return w.with(db)
}

func (w *world) with(db *store.Store) *store.Store {
	return db.With(store.Config{
		Daemon: uuid.NewString(), Carriers: drain.NewCarriers(map[string]drain.Carrier{"scripted": w.phones}), Unknowns: 3, Gates: w.gates,
		Defaults: store.Defaults{Region: "US"}, Log: slog.New(slog.DiscardHandler),
	})
}

// gated gives every daemon of the world other gates.
func (w *world) gated(o gates.Options) {
	w.gates = o
	w.with(w.db)
}

// rulesOf reads rules for a test.
func rulesOf(t *testing.T, text string) *rules.Set {
	t.Helper()
	set, err := rules.Parse([]byte(text), time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// daytime has people of the United States rung from eight to nine.
const daytime = `rules: [{places: US, hours: {Mon-Sun: "08:00-21:00"}, source: a law, dated: 2025-11-01}]`

// daemon is one drain of the fleet; slot works one slot and awaits its calls.
func (w *world) daemon() *drain.Drain {
	return w.daemonOn(w.connect())
}

func (w *world) daemonOn(db drain.Store) *drain.Drain {
	w.t.Helper()
	d := drain.New(drain.Config{
		Store: db, Carriers: drain.NewCarriers(map[string]drain.Carrier{"scripted": w.phones}), Gates: gates.Chain(w.gates),
		NewToken: uuid.NewString, Identify: phone.Parse,
		Log: slog.New(slog.DiscardHandler),
	})
	w.t.Cleanup(func() { d.Stop(context.Background()) })
	return d
}

// slot works a slot, to the last recorded answer.
func (w *world) slot() {
	w.t.Helper()
	w.slotBy(w.db)
}

func (w *world) slotBy(db *store.Store) {
	w.t.Helper()
	d := w.daemonOn(db)
	if err := d.Prepare(w.ctx); err != nil {
		w.t.Fatal(err)
	}
	if err := d.Slot(w.ctx, w.limits.DialSlots); err != nil {
		w.t.Fatal(err)
	}
	// A stop would give back what has not begun.
	waitFor(w.t, func() bool { return w.count(`select count(*) from attempts where outcome is null`) == 0 })
	d.Stop(w.ctx)
}

// nextSlot makes the ledger's places belong to a slot of before.
func (w *world) nextSlot() {
	w.t.Helper()
	w.exec(`alter table followup_events disable trigger ledger_is_append_only`)
	w.exec(`update followup_events set slot_at = (select min(slot_at) from followup_events) - interval '1 day' where slot_at > now() - interval '2 hours'`)
	w.exec(`alter table followup_events enable trigger ledger_is_append_only`)
}

func (w *world) exec(sql string, args ...any) {
	w.t.Helper()
	if _, err := w.db.Pool.Exec(w.ctx, sql, args...); err != nil {
		w.t.Fatalf("%s: %v", sql, err)
	}
}

// due inserts n follow-ups as an integrator does, late by from on, a second apart: the first
// is the earliest. Their refs are prefix1, prefix2 and so on; each has a number of its own.
func (w *world) due(prefix string, n int, late time.Duration) {
	w.t.Helper()
	w.dueOn(prefix, n, late, "", "")
}

func (w *world) dueOn(prefix string, n int, late time.Duration, line, zone string) {
	w.t.Helper()
	w.exec(`insert into phone_followups (ref, phone_number, due_at, script, line, time_zone)
		select $1 || i, '+1415' || (2000000 + abs(hashtext($1)) % 7000000 + i)::text,
		  clock_timestamp() - $3::interval + i * interval '1 second', 'Hello ' || i, nullif($4, ''), nullif($5, '')
		from generate_series(1, $2) i`, prefix, n, late, line, zone)
}

func (w *world) count(sql string, args ...any) int {
	w.t.Helper()
	var n int
	if err := w.db.Pool.QueryRow(w.ctx, sql, args...).Scan(&n); err != nil {
		w.t.Fatalf("%s: %v", sql, err)
	}
	return n
}

type row struct {
	State, Reason, Detail string
	NextIn                time.Duration // next_try_at less now
	CallID                string
	Attempts              int
}

func (w *world) row(ref string) row {
	w.t.Helper()
	var r row
	var next float64
	err := w.db.Pool.QueryRow(w.ctx, `
		select state, coalesce(reason, ''), coalesce(detail, ''), coalesce(call_id, ''),
		  case when isfinite(next_try_at) then extract(epoch from next_try_at - clock_timestamp())::float8 else 0 end,
		  (select count(*) from attempts a where a.followup_id = f.id)
		from phone_followups f where ref = $1`, ref).Scan(&r.State, &r.Reason, &r.Detail, &r.CallID, &next, &r.Attempts)
	if err != nil {
		w.t.Fatalf("reading %s: %v", ref, err)
	}
	r.NextIn = time.Duration(next * float64(time.Second))
	return r
}

func (w *world) states() map[string]int {
	w.t.Helper()
	rows, err := w.db.Pool.Query(w.ctx, `select state, count(*) from phone_followups group by state`)
	if err != nil {
		w.t.Fatal(err)
	}
	all := map[string]int{}
	var state string
	var n int
	if _, err := pgx.ForEachRow(rows, []any{&state, &n}, func() error { all[state] = n; return nil }); err != nil {
		w.t.Fatal(err)
	}
	return all
}

// decide is a person's decision: approve, decline, cancel, rang, did-not-ring.
func (w *world) decide(what, ref string) {
	w.t.Helper()
	d, name := desk.Desk{Store: w.db}, desk.Name{Text: ref}
	var err error
	switch what {
	case "approve":
		_, err = d.Approve(w.ctx, name, "ann", "")
	case "cancel":
		_, err = d.Cancel(w.ctx, name, "ann", "")
	case "did-not-ring":
		_, err = d.DidNotRing(w.ctx, name, "ann", desk.Silence{Attempt: w.count(`select coalesce(max(attempt_no), 0) from phone_followups where ref = $1`, ref)})
	default:
		w.t.Fatalf("no such decision: %s", what)
	}
	if err != nil {
		w.t.Fatalf("%s %s: %v", what, ref, err)
	}
}
