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

// BenchmarkDrain drains two due follow-ups of each tenant through every gate, and says what
// a follow-up costs in statements, commits and time. Compare settings within one run only.
func BenchmarkDrain(b *testing.B) {
	for _, size := range []struct{ tenants, slots int }{{1, 64}, {32, 64}, {1000, 64}, {1000, 256}} {
		b.Run(fmt.Sprintf("tenants=%d/dialslots=%d", size.tenants, size.slots), func(b *testing.B) {
			counted := &statements{}
			phones := &instant{}
			db := benchStore(b, counted, phones, size.slots)
			for b.Loop() {
				b.StopTimer()
				prepare(b, db, size.tenants)
				counted.queries.Store(0)
				counted.commits.Store(0)
				d := drain.New(drain.Config{
					Store: db, Carriers: map[string]drain.Carrier{"instant": phones}, Gates: gates.Chain(gates.Options{HoursOff: true}),
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
				b.StartTimer()
			}
		})
	}
}

func benchStore(b *testing.B, counted *statements, phones *instant, slots int) *store.Store {
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
		Daemon: uuid.NewString(), Carriers: map[string]drain.Carrier{"instant": phones}, Unknowns: 3,
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
func prepare(b *testing.B, db *store.Store, n int) {
	b.Helper()
	for _, sql := range []string{
		`truncate phone_followups, attempts, approvals cascade`,
		`insert into tenants (id) select 't' || i from generate_series(1, @n) i on conflict do nothing`,
		`insert into lines (tenant_id, name, carrier, caller_number) select 't' || i, 'default', 'instant', '+12125550100' from generate_series(1, @n) i on conflict do nothing`,
		`insert into phone_followups (tenant_id, ref, phone_number, due_at, script)
		 select 't' || i, 'r' || j, '+1415' || (2000000 + i * 2 + j)::text, clock_timestamp() - interval '1 hour', 'Hello' from generate_series(1, @n) i, generate_series(0, 1) j`,
	} {
		if sql[:8] == "truncate" {
			_, _ = db.Pool.Exec(b.Context(), `alter table followup_events disable trigger user; alter table evidence disable trigger user`)
		}
		args := []any{pgx.NamedArgs{"n": n}}
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
