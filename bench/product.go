package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"chasephone/internal/drain"
	"chasephone/internal/followup"
	"chasephone/internal/gates"
	"chasephone/internal/phone"
	"chasephone/internal/rules"
	"chasephone/internal/store"
)

// setting is how chasephone is run in one measurement.
type setting struct {
	tenants  int
	perTick  int
	slots    int // DIAL_SLOTS
	drainers int // DRAINERS
}

func (s setting) String() string {
	return fmt.Sprintf("%d tenants × %d, %d dial slots, %d drainers", s.tenants, s.perTick, s.slots, s.drainers)
}

func (s setting) items() int { return s.tenants * s.perTick }

// product is chasephone's own drain on a database.
type product struct {
	setting
	db      *store.Store
	carrier drain.Carrier
	account string // that every line is on
	counts  *statements
	url     string
	gates   gates.Options
}

// accountName is the carrier account that every line is on, but where daemons are told of one by their environment.
const accountName = "bench"

// everyGate asks every gate all it can ask of a follow-up, its tenant and its line. The budget of
// the whole fleet in a minute is left out: its greatest value is less than what is measured here.
func everyGate() (gates.Options, error) {
	set, err := rules.Parse([]byte(`rules:
  - {places: US, hours: {Mon-Sun: "08:00-21:00"}, caps: {24h: 100}, after_talk: 1h, source: a law, dated: 2025-11-01}
  - {places: US-CA, hours: {Mon-Sun: "00:00-24:00"}, consent: required, source: another, dated: 2025-11-01}`), time.Time{})
	if err != nil {
		return gates.Options{}, err
	}
	return gates.Options{
		Rules: set, Caps: rules.Caps{Day: 50, Week: 100, Month: 200}, MinGap: time.Hour,
		LineCallsAtOnce: 10_000, MaxPerTenantDay: 100_000,
	}, nil
}

// conns is how many connections of the product's own a daemon has.
const conns = 12

func newProduct(ctx context.Context, url string, s setting, c drain.Carrier) (*product, error) {
	options, err := everyGate()
	if err != nil {
		return nil, err
	}
	db, err := store.Connect(ctx, url, conns)
	if err != nil {
		return nil, err
	}
	p := &product{setting: s, db: db, carrier: c, account: accountName, counts: &statements{}, url: url, gates: options}
	settings := db.Pool.Config()
	db.Pool.Close()
	settings.ConnConfig.Tracer = p.counts
	if db.Pool, err = open(ctx, settings); err != nil {
		return nil, err
	}
	db.With(store.Config{
		Daemon: uuid.NewString(), Carriers: p.carriers(), Unknowns: 3, Gates: options,
		Defaults: store.Defaults{Region: "US"}, Log: slog.New(slog.DiscardHandler),
	})
	return p, nil
}

func (p *product) carriers() *drain.Carriers {
	return drain.NewCarriers(map[string]drain.Carrier{p.account: p.carrier})
}

// prepare empties the database and puts in the due follow-ups of one round, admitted. The slot is an
// hour's, so that none begins in the middle of a round.
func (p *product) prepare(ctx context.Context) error {
	if err := p.setLimits(ctx); err != nil {
		return err
	}
	noon := zoneAt(time.Now(), 12)
	for _, sql := range []string{
		`alter table followup_events disable trigger user`, `alter table evidence disable trigger user`, `alter table lookups disable trigger user`,
		`truncate phone_followups, attempts, approvals, followup_events, evidence, lookups cascade`,
		`alter table followup_events enable trigger user`, `alter table evidence enable trigger user`, `alter table lookups enable trigger user`,
		`insert into tenants (id) select 't' || i from generate_series(1, @tenants::int) i on conflict do nothing`,
		`insert into lines (tenant_id, name, carrier, caller_number, calls_per_second)
		 select 't' || i, 'default', @account, '+12125550100', 0 from generate_series(1, @tenants::int) i on conflict do nothing`,
		`insert into phone_followups (tenant_id, ref, phone_number, due_at, script, time_zone)
		 select 't' || i, 'order ' || j, '+1415' || (2000000 + i * @per_tick::int + j)::text, clock_timestamp() - interval '1 hour',
		   'This is the garage: your car is ready. We are open until six.', @noon
		 from generate_series(1, @tenants::int) i, generate_series(0, @per_tick::int - 1) j`,
		`truncate consents`,
		`insert into consents (tenant_id, e164, purpose, added_by) select tenant_id, phone_number, 'requested', 'bench' from phone_followups`,
	} {
		if _, err := p.db.Pool.Exec(ctx, sql, pgx.NamedArgs{"tenants": p.tenants, "per_tick": p.perTick, "noon": noon, "account": p.account}); err != nil {
			return fmt.Errorf("%s: %w", sql, err)
		}
	}
	for {
		n, err := p.db.Admit(ctx, 5000, phone.Parse)
		if err != nil {
			return err
		}
		if n == 0 {
			break
		}
	}
	for _, sql := range []string{`vacuum analyze phone_followups`, `analyze tenants, lines`, `checkpoint`} {
		if _, err := p.db.Pool.Exec(ctx, sql); err != nil {
			return err
		}
	}
	p.counts.reset()
	return nil
}

func (p *product) setLimits(ctx context.Context) error {
	_, err := p.db.SetLimits(ctx, p.limits(longTick(time.Now())), "bench")
	return err
}

// limits are the setting's, with slots of that length.
func (p *product) limits(tick time.Duration) followup.Limits {
	limits := followup.DefaultLimits()
	limits.Tick, limits.PerTick, limits.DialSlots, limits.Drainers = tick, p.perTick, p.slots, p.drainers
	return limits
}

// newToken is as the daemon's.
func newToken() string { return uuid.Must(uuid.NewV7()).String() }

// settled waits until every attempt has its outcome: a stop would give back what has not begun.
func (p *product) settled(ctx context.Context) error {
	for open := true; open; time.Sleep(5 * time.Millisecond) { // a look again, not luck
		if err := p.db.Pool.QueryRow(ctx, lookSQL).Scan(&open); err != nil {
			return err
		}
	}
	return nil
}

// lookSQL is our own look whether a round is over, and not chasephone's.
const lookSQL = `select exists (select from attempts where outcome is null)`

// run drains one slot to its last committed outcome.
func (p *product) run(ctx context.Context) error {
	d := drain.New(drain.Config{
		Store: p.db, Carriers: p.carriers(), Gates: gates.Chain(p.gates),
		NewToken: newToken, Identify: phone.Parse, Log: slog.New(slog.DiscardHandler),
	})
	var (
		drainers sync.WaitGroup
		failed   = make([]error, p.drainers)
	)
	for i := range p.drainers {
		drainers.Go(func() { failed[i] = d.Slot(ctx, p.slots) })
	}
	drainers.Wait()
	if err := p.settled(ctx); err != nil {
		return err
	}
	d.Stop(ctx)
	return errors.Join(failed...)
}

// verify fails unless every follow-up was placed by exactly one attempt, with both of its ledger rows.
func (p *product) verify(ctx context.Context) error {
	var placed, attempts, tokens, events, found int
	err := p.db.Pool.QueryRow(ctx, `
		select (select count(*) from phone_followups where state = 'call_placed' and call_id is not null),
		  (select count(*) from attempts where outcome = 'placed'), (select count(distinct followup_id) from attempts),
		  (select count(*) from followup_events), (select count(*) from followup_events where jsonb_array_length(findings) > 8)`).Scan(&placed, &attempts, &tokens, &events, &found)
	if err != nil {
		return err
	}
	if n := p.items(); placed != n || attempts != n || tokens != n || events != 2*n || found != n {
		return fmt.Errorf("%d follow-ups: %d placed, by %d attempts of %d follow-ups; %d ledger rows, %d of them with findings", n, placed, attempts, tokens, events, found)
	}
	return nil
}

// statements counts what goes to the database, but for our own looks.
type statements struct{ queries, commits atomic.Int64 }

func (s *statements) reset() { s.queries.Store(0); s.commits.Store(0) }

func (s *statements) TraceQueryStart(ctx context.Context, _ *pgx.Conn, q pgx.TraceQueryStartData) context.Context {
	switch q.SQL {
	case lookSQL:
		return ctx
	case "commit":
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

// longTick is the length of a slot of which much is left now.
func longTick(now time.Time) time.Duration {
	best, left := time.Hour, time.Duration(0)
	for _, tick := range []time.Duration{time.Hour, 47 * time.Minute} {
		if l := followup.SlotAt(now, tick).Add(tick).Sub(now); l > left {
			best, left = tick, l
		}
	}
	return best
}

// zoneAt is a zone in which it is that hour now.
func zoneAt(now time.Time, hour int) string {
	offset := (hour - now.UTC().Hour() + 24) % 24
	if offset > 12 {
		return fmt.Sprintf("Etc/GMT+%d", 24-offset) // these names have the sign the other way round
	}
	return fmt.Sprintf("Etc/GMT-%d", offset)
}
