package proof_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"chasephone/internal/followup"
	"chasephone/internal/mutants"
	"chasephone/internal/pgtest"
	"chasephone/internal/store"
)

// dialTimeout is how long an answer is awaited here: some must be awaited to the end.
const dialTimeout = 150 * time.Millisecond

// world is a database, the fleet on it and a telephone company. One combination after the other is
// lived in it, each with tenants of its own.
type world struct {
	t       *testing.T
	ctx     context.Context
	url     string
	sees    *pgxpool.Pool // nothing ever happens to this one
	source  *statements
	server  *pgconn.Config
	company *company
	post    *post
	second  *machine   // a daemon that nothing happens to
	stands  chan *wire // a machine has come to stand still, on this connection
	watched atomic.Pointer[string]

	mu       sync.Mutex
	away     bool
	machines map[*machine]bool
	people   int
	tenants  int
	ages     int
	idle     []*session
}

// mutantVariable names the mutant that the product was built as, so that the database's own guard is
// taken away with the program's.
const mutantVariable = "CHASEPHONE_MUTANT"

func newWorld(t *testing.T, source *statements) *world {
	t.Helper()
	w := &world{
		t: t, ctx: context.Background(), url: pgtest.URL(t), source: source, company: newCompany(t),
		stands: make(chan *wire, 1), machines: map[*machine]bool{},
	}
	w.post = newPost(w)
	var err error
	if w.server, err = pgconn.ParseConfig(w.url); err != nil {
		t.Fatal(err)
	}
	pool, err := pgxpool.New(w.ctx, w.url)
	if err != nil {
		t.Fatal(err)
	}
	w.sees = pool
	t.Cleanup(pool.Close)
	db := &store.Store{Pool: pool}
	limits := followup.DefaultLimits()
	limits.Tick, limits.DialTimeout = time.Hour, dialTimeout
	if _, err := db.With(store.Config{}).SetLimits(w.ctx, limits, "proof"); err != nil {
		t.Fatal(err)
	}
	w.exec(`create index proof_events on followup_events (tenant_id)`) // the proof asks by tenant, nobody else does
	w.letTimePass()
	if name := os.Getenv(mutantVariable); name != "" {
		m, ok := mutants.Named(name)
		if !ok {
			t.Fatalf("there is no mutant %q", name)
		}
		if m.Loosen != "" {
			w.exec(m.Loosen)
		}
	}
	if w.second, err = newMachine(w, armed{fault: none}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.second.close)
	return w
}

func (w *world) exec(sql string, args ...any) {
	w.t.Helper()
	if _, err := w.sees.Exec(w.ctx, sql, args...); err != nil {
		w.t.Fatalf("%s: %v", sql, err)
	}
}

// letTimePass amends the guards that keep instants as they are: the proof's own session may make
// rows older. No machine's may.
func (w *world) letTimePass() {
	w.t.Helper()
	for _, one := range []struct{ table, trigger string }{
		{"attempts", "attempt_is_frozen"},
		{"phone_followups", "promise_is_frozen"},
		{"followup_events", "ledger_is_append_only"},
	} {
		var made string
		err := w.sees.QueryRow(w.ctx, `select pg_get_triggerdef(oid) from pg_trigger where tgname = $1 and tgrelid = $2::regclass`, one.trigger, one.table).Scan(&made)
		if err != nil {
			w.t.Fatalf("trigger %s: %v", one.trigger, err)
		}
		const unless = `coalesce(current_setting('proof.ages', true), '') <> 'on'`
		head, act, _ := strings.Cut(made, " EXECUTE FUNCTION ")
		if before, when, conditional := strings.Cut(head, " WHEN ("); conditional {
			head = before + " WHEN (" + unless + " AND (" + when + ")"
		} else {
			head += " WHEN (" + unless + ")"
		}
		w.exec(`drop trigger ` + one.trigger + ` on ` + one.table)
		w.exec(head + " EXECUTE FUNCTION " + act)
	}
}

// age lets time pass for a tenant.
func (w *world) age(tenant string, by time.Duration) {
	w.ages++
	by += time.Duration(w.ages%1e6) * time.Microsecond // no slot falls on another
	sql := strings.NewReplacer("BY", fmt.Sprintf("interval '%d microseconds'", by.Microseconds()), "TENANT", "'"+tenant+"'").Replace(agingSQL)
	var err error
	for range 10 {
		if _, err = w.sees.Exec(w.ctx, sql, pgx.QueryExecModeSimpleProtocol); err == nil {
			return
		}
		_, _ = w.sees.Exec(w.ctx, "rollback", pgx.QueryExecModeSimpleProtocol)
		var refused *pgconn.PgError
		if !errors.As(err, &refused) || refused.Code != "40P01" {
			break // else whoever had a row that this one wanted wanted one that this one had
		}
	}
	w.t.Errorf("letting time pass: %v", err)
}

const agingSQL = `
set local proof.ages = 'on';
update attempts set created_at = created_at - BY, begin_at = begin_at - BY, send_by = send_by - BY, answer_by = answer_by - BY,
  late_at = late_at - BY, outcome_at = outcome_at - BY, look_at = look_at - BY where tenant_id = TENANT;
update followup_events set at = at - BY, slot_at = slot_at - BY where tenant_id = TENANT;
update phone_followups set due_at = due_at - BY, next_try_at = next_try_at - BY where tenant_id = TENANT;
update lines set next_call_at = next_call_at - BY, held_until = held_until - BY where tenant_id = TENANT;
update unfit_lines set until = until - BY where tenant_id = TENANT`

func (w *world) add(m *machine) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.machines[m] = true
}

func (w *world) remove(m *machine) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.machines, m)
}

// awayFor is how long the database is gone. Nothing depends on it.
const awayFor = 30 * time.Millisecond

// leave makes the database go: every session ends, and none begins until it is back.
func (w *world) leave() {
	w.mu.Lock()
	w.away = true
	var all []*machine
	for m := range w.machines {
		all = append(all, m)
	}
	w.mu.Unlock()
	time.AfterFunc(awayFor, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.away = false
	})
	for _, m := range all {
		m.mu.Lock()
		var wires []*wire
		for one := range m.wires {
			wires = append(wires, one)
		}
		m.mu.Unlock()
		for _, one := range wires {
			_ = one.fail(errGone)
		}
	}
}

func (w *world) isGone() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.away
}

// watches reports whether a number is the one that a combination is about.
func (w *world) watches(to string) bool {
	number := w.watched.Load()
	return number != nil && *number == to
}

// number is one that nobody had before in this world.
func (w *world) number() string {
	w.people++
	return "+1415" + itoa(2000000+w.people)
}

// unbridged reports whether there are arrivals to bridge: in production a job says so.
func (w *world) unbridged() (is bool) {
	if err := w.sees.QueryRow(w.ctx, `select exists (select from tenant_twilio_events where bridged_at is null)`).Scan(&is); err != nil {
		w.t.Errorf("looking for arrivals: %v", err)
	}
	return is
}
