package drain_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"chasephone/internal/carrier"
	"chasephone/internal/drain"
	"chasephone/internal/followup"
	"chasephone/internal/gates"
	"chasephone/internal/pgtest"
	"chasephone/internal/phone"
	"chasephone/internal/rules"
	"chasephone/internal/store"
)

// statements counts what goes to the database.
type statements struct{ queries, commits atomic.Int64 }

func (s *statements) TraceQueryStart(ctx context.Context, _ *pgx.Conn, q pgx.TraceQueryStartData) context.Context {
	if q.SQL == "commit" {
		s.commits.Add(1)
	}
	s.queries.Add(1)
	return ctx
}
func (s *statements) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}
func (s *statements) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	return ctx
}

func (s *statements) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {
	s.queries.Add(1)
}
func (s *statements) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}

// instant answers at once.
type instant struct{ calls atomic.Int64 }

func (*instant) Name() string            { return "instant" }
func (*instant) Fits(string) bool        { return true }
func (*instant) CallsPerSecond() float64 { return 0 }
func (i *instant) Place(context.Context, carrier.Call) carrier.Answer {
	return carrier.Placed{CallID: fmt.Sprintf("CA%032x", i.calls.Add(1))}
}

// timed is a store that says how long its claims take, and how much of that is the gates'.
type timed struct {
	*store.Store
	claims, statements, cases atomic.Int64
	claiming, judging         atomic.Int64 // nanoseconds
	counted                   *statements
}

func (t *timed) Claim(ctx context.Context, q drain.Query, rule drain.Rule) (drain.Claim, error) {
	begun, before := time.Now(), t.counted.queries.Load()
	c, err := t.Store.Claim(ctx, q, func(b drain.Batch) drain.Decisions {
		begun := time.Now()
		defer func() { t.judging.Add(int64(time.Since(begun))) }()
		t.cases.Add(int64(len(b.Candidates)))
		return rule(b)
	})
	if len(c.Looked) > 0 {
		t.claims.Add(1)
		t.claiming.Add(int64(time.Since(begun)))
		t.statements.Add(t.counted.queries.Load() - before)
	}
	return c, err
}

// everyGate is a chain in which each gate has something to ask.
func everyGate(b testing.TB) gates.Options {
	b.Helper()
	set, err := rules.Parse([]byte(`rules:
  - {places: US, hours: {Mon-Sun: "08:00-21:00"}, holidays: us, caps: {24h: 100}, after_talk: 1h, source: a law, dated: 2025-11-01}
  - {places: US-CA, hours: {Mon-Sun: "00:00-24:00"}, consent: required, source: another, dated: 2025-11-01}`), time.Time{})
	if err != nil {
		b.Fatal(err)
	}
	return gates.Options{
		Rules: set, Caps: rules.Caps{Day: 50, Week: 100, Month: 200}, MinGap: time.Hour,
		LineCallsAtOnce: 10_000, MaxPerTenantDay: 100_000, MaxPerMinute: 100_000,
	}
}

// BenchmarkDrain drains two due follow-ups of each tenant through every gate, and says what
// a follow-up costs in statements, commits and time, and what the gates' part in a claim is:
// without its slowest statement, the commit. Compare settings within one run only.
func BenchmarkDrain(b *testing.B) {
	for _, size := range []struct {
		tenants, slots int
		gates          string
	}{{1, 64, "few"}, {32, 64, "few"}, {1000, 64, "few"}, {1000, 256, "few"}, {1, 64, "every"}, {32, 64, "every"}, {1000, 256, "every"}} {
		b.Run(fmt.Sprintf("tenants=%d/dialslots=%d/gates=%s", size.tenants, size.slots, size.gates), func(b *testing.B) {
			counted := &statements{}
			phones := &instant{}
			options := gates.Options{HoursOff: true}
			if size.gates == "every" {
				options = everyGate(b)
			}
			db := benchStore(b, counted, phones, size.slots, options)
			for b.Loop() {
				b.StopTimer()
				prepare(b, db, size.tenants)
				counted.queries.Store(0)
				counted.commits.Store(0)
				watched := &timed{Store: db, counted: counted}
				d := drain.New(drain.Config{
					Store: watched, Carriers: drain.NewCarriers(map[string]drain.Carrier{"instant": phones}), Gates: gates.Chain(options),
					NewToken: uuid.NewString, Identify: phone.Parse, Log: slog.New(slog.DiscardHandler),
				})
				b.StartTimer()
				begun := time.Now()
				if err := d.Slot(b.Context(), size.slots); err != nil {
					b.Fatal(err)
				}
				polls := 0.0
				for unsettled := 1; unsettled > 0; time.Sleep(time.Millisecond) { // a pause, not luck: the count is what ends it
					polls++
					if err := db.Pool.QueryRow(b.Context(), `select count(*) from phone_followups where state in ('due', 'dialing')`).Scan(&unsettled); err != nil {
						b.Fatal(err)
					}
				}
				took := time.Since(begun)
				b.StopTimer()
				d.Stop(b.Context())
				n := float64(2 * size.tenants)
				b.ReportMetric((float64(counted.queries.Load())-polls)/n, "statements/followup")
				b.ReportMetric(float64(counted.commits.Load())/n, "commits/followup")
				b.ReportMetric(n/took.Seconds(), "followups/s")
				b.ReportMetric(float64(watched.judging.Load())/1e3/float64(watched.cases.Load()), "gates-µs/case")
				b.ReportMetric(float64(watched.judging.Load())/float64(watched.claiming.Load()), "gates/claim")
				b.ReportMetric(float64(watched.statements.Load())/float64(watched.claims.Load()), "statements/claim")
				b.StartTimer()
			}
		})
	}
}

func benchStore(b testing.TB, counted *statements, phones *instant, slots int, options gates.Options) *store.Store {
	b.Helper()
	db, err := store.Connect(b.Context(), pgtest.URL(b), 12)
	if err != nil {
		b.Fatal(err)
	}
	config := db.Pool.Config()
	config.ConnConfig.Tracer = counted
	db.Pool.Close()
	if db.Pool, err = pgxpool.NewWithConfig(context.WithoutCancel(b.Context()), config); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(db.Close)
	db.With(store.Config{
		Daemon: uuid.NewString(), Carriers: drain.NewCarriers(map[string]drain.Carrier{"instant": phones}), Unknowns: 3, Gates: options,
		Defaults: store.Defaults{Region: "US"}, Log: slog.New(slog.DiscardHandler),
	})
	limits := followup.DefaultLimits()
	limits.Tick, limits.DialSlots = longTick(time.Now()), slots
	if _, err := db.SetLimits(b.Context(), limits, "bench"); err != nil {
		b.Fatal(err)
	}
	return db
}

// prepare puts in two due follow-ups of each of n tenants, admitted, in a slot of its own.
func prepare(b testing.TB, db *store.Store, n int) {
	b.Helper()
	for _, sql := range []string{
		`truncate phone_followups, attempts, approvals cascade`,
		`insert into tenants (id) select 't' || i from generate_series(1, @n) i on conflict do nothing`,
		`insert into lines (tenant_id, name, carrier, caller_number) select 't' || i, 'default', 'instant', '+12125550100' from generate_series(1, @n) i on conflict do nothing`,
		`insert into phone_followups (tenant_id, ref, phone_number, due_at, script, time_zone)
		 select 't' || i, 'r' || j, '+1415' || (2000000 + i * 2 + j)::text, clock_timestamp() - interval '1 hour', 'Hello', @noon from generate_series(1, @n) i, generate_series(0, 1) j`,
		`insert into consents (tenant_id, e164, purpose, added_by)
		 select tenant_id, phone_number, 'requested', 'bench' from phone_followups where @n > 0 on conflict do nothing`,
	} {
		if sql[:8] == "truncate" {
			_, _ = db.Pool.Exec(b.Context(), `alter table followup_events disable trigger user; alter table evidence disable trigger user; alter table lookups disable trigger user`)
		}
		args := []any{pgx.NamedArgs{"n": n, "noon": zoneAt(time.Now(), 12)}}
		if sql[:8] == "truncate" {
			args = nil
		}
		if _, err := db.Pool.Exec(b.Context(), sql, args...); err != nil {
			b.Fatal(err)
		}
	}
	if _, err := db.Pool.Exec(b.Context(), `alter table followup_events enable trigger user`); err != nil {
		b.Fatal(err)
	}
	for {
		got, err := db.Admit(b.Context(), 500, phone.Parse)
		if err != nil {
			b.Fatal(err)
		}
		if got == 0 {
			break
		}
	}
	if _, err := db.Pool.Exec(b.Context(), `analyze`); err != nil {
		b.Fatal(err)
	}
}
