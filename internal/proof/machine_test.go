package proof_test

import (
	"context"
	"crypto/x509"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"

	"chasephone/internal/arrivals"
	"chasephone/internal/carrier"
	"chasephone/internal/carrier/twilio"
	"chasephone/internal/drain"
	"chasephone/internal/followup"
	"chasephone/internal/gates"
	"chasephone/internal/phone"
	"chasephone/internal/store"
)

func itoa(n int) string { return strconv.Itoa(n) }

// machine is one process of the product, and all its ways to the world.
type machine struct {
	w     *world
	armed armed

	db      *store.Store
	store   *labelled
	drain   *drain.Drain
	keeper  *arrivals.Keeper
	handler *arrivals.Handler
	twilio  *twilio.Carrier
	line    net.Listener // where it asks the company

	mu      sync.Mutex
	dead    bool
	died    chan struct{} // closed when it is dead
	still   chan struct{} // closed when it has come to stand still
	gate    chan struct{} // not nil while it stands still; closed when it goes on
	fired   bool
	happens chan struct{} // closed when the fault has happened
	points  []string      // by which it came
	acts    map[string]int
	wires   map[*wire]bool
	calls   map[net.Conn]bool    // its connections to the company
	open    int                  // of those, on which the company has no request yet
	asking  int                  // of those, on which the machine looks at the company's certificate
	sends   map[string]time.Time // by when its attempts may be sent
	claim   int                  // claims under way
}

// armed is what goes wrong with a machine, and where.
type armed struct {
	point string
	fault fault
	write write         // or a write, in place of a point
	tells func(string)  // is told of every statement that took effect; nil for nobody
	hangs bool          // the company lets it wait for the answer to the end
	hurry time.Duration // how long its attempts may be sent; 0: as long as the product says
}

func newMachine(w *world, a armed) (*machine, error) {
	m := &machine{
		w: w, armed: a, happens: make(chan struct{}), died: make(chan struct{}), still: make(chan struct{}), acts: map[string]int{},
		wires: map[*wire]bool{}, calls: map[net.Conn]bool{}, sends: map[string]time.Time{},
	}
	config, err := pgxpool.ParseConfig(w.url)
	if err != nil {
		return nil, err
	}
	config.MaxConns = 8
	config.ConnConfig.TLSConfig, config.ConnConfig.Fallbacks = nil, nil
	config.ConnConfig.DialFunc = m.dial
	config.ConnConfig.Tracer = tracer{}
	config.AfterConnect = func(_ context.Context, conn *pgx.Conn) error {
		conn.TypeMap().RegisterType(&pgtype.Type{
			Name: "timestamptz", OID: pgtype.TimestamptzOID, Codec: &pgtype.TimestamptzCodec{ScanLocation: time.UTC},
		})
		return nil
	}
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	roots.AddCertWithConstraint(w.company.root, func([]*x509.Certificate) error { return m.handshake() })
	transport := carrier.NewTransport(carrier.Options{Carrier: twilio.Name, AllowLoopback: true, RootCAs: roots})
	m.twilio, err = twilio.New(twilio.Config{
		AccountSID: accountSID, AuthToken: authToken, BaseURL: w.company.open(m), PublicURL: w.post.url,
	}, transport)
	if err != nil {
		return nil, err
	}
	quiet := slog.New(slog.DiscardHandler)
	carriers := drain.NewCarriers(map[string]drain.Carrier{twilio.Name: m.twilio})
	m.db = (&store.Store{Pool: pool}).With(store.Config{
		Daemon: uuid.NewString(), Carriers: carriers, Unknowns: 3, Gates: gates.Options{HoursOff: true},
		Defaults: store.Defaults{Region: "US"}, Log: quiet,
	})
	m.store = &labelled{m: m, open: map[string]string{}}
	m.store.change = sync.NewCond(&m.store.mu)
	m.drain = m.newDrain()
	m.keeper = arrivals.NewKeeper(m.store, quiet)
	m.handler = &arrivals.Handler{
		PublicURL: w.post.url, Keep: m.keeper.Keep, Log: quiet, Metrics: arrivals.NewMetrics(prometheus.NewRegistry(), twilio.Name),
		Carriers: []arrivals.Carrier{{Name: twilio.Name, Kinds: twilio.Kinds(), Read: twilio.Read, Reply: twilio.Reply}},
		Accounts: func(string) []arrivals.Account {
			return []arrivals.Account{{Name: twilio.Name, Verify: m.twilio.Verify}}
		},
	}
	w.add(m)
	return m, nil
}

func (m *machine) newDrain() *drain.Drain {
	return drain.New(drain.Config{
		Store: m.store, Carriers: drain.NewCarriers(map[string]drain.Carrier{twilio.Name: m.twilio}),
		Gates: gates.Chain(gates.Options{HoursOff: true}), NewToken: uuid.NewString, Identify: phone.Parse, Log: slog.New(slog.DiscardHandler),
	})
}

// dial connects to the database, unless it or the machine is gone.
func (m *machine) dial(context.Context, string, string) (net.Conn, error) {
	if m.w.isGone() {
		return nil, errGone
	}
	w := newWire(m, func(ctx context.Context) (*session, error) { return m.w.session(ctx, m.w.server) })
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.dead {
		return nil, errDead
	}
	m.wires[w] = true
	return w, nil
}

func (m *machine) forget(w *wire) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.wires, w)
}

func (m *machine) alive() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.dead {
		return errDead
	}
	return nil
}

// label names a round trip by its statements.
func (m *machine) label(sql []string) string {
	first := m.w.source.label(sql[0])
	if n := len(sql); n > 1 {
		return first + " and " + itoa(n-1) + " more"
	}
	return first
}

func (m *machine) executed(sql []string) {
	if m.armed.tells == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, text := range sql {
		m.armed.tells(text)
	}
}

// act begins one thing that the machine does.
func (m *machine) act(ctx context.Context, name string) context.Context {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.acts[name]++
	if n := m.acts[name]; n > 1 {
		name += " " + itoa(n)
	}
	return context.WithValue(ctx, actKey{}, &act{name: name, trips: map[string]int{}})
}

// reach is called at every point of the machine's own. It returns an error where the connection is
// to end there.
func (m *machine) reach(w *wire, point string) error { return m.reachFrom(w, point, true) }

// reachFrom is reach, also for what does not stand still with the machine.
func (m *machine) reachFrom(w *wire, point string, inside bool) error {
	m.mu.Lock()
	for inside && m.gate != nil { // the machine stands still
		gate := m.gate
		m.mu.Unlock()
		<-gate
		m.mu.Lock()
	}
	defer m.mu.Unlock()
	if m.dead {
		return errDead
	}
	m.points = append(m.points, point)
	if m.fired || point != m.armed.point {
		return nil
	}
	m.fired = true
	defer close(m.happens)
	switch m.armed.fault {
	case kill:
		m.die()
		return errDead
	case breaks:
		return errBroken
	case gone:
		m.mu.Unlock()
		m.w.leave()
		m.mu.Lock()
		if w == nil {
			return nil // the company does not mind
		}
		return errGone
	case pause, longPause:
		m.gate = make(chan struct{})
		gate := m.gate
		close(m.still)
		m.mu.Unlock()
		// It is told of only now: whoever hears of it finds the machine standing still.
		m.w.stands <- w
		<-gate
		m.mu.Lock()
		if m.dead {
			return errDead
		}
		if m.armed.fault == longPause {
			return errBroken
		}
	}
	return nil
}

// goOn ends a pause.
func (m *machine) goOn() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.gate != nil {
		close(m.gate)
		m.gate = nil
	}
}

// die cuts the machine off. m.mu is held.
func (m *machine) die() {
	m.dead = true
	close(m.died)
	for w := range m.wires {
		_ = w.fail(errDead)
	}
	for c := range m.calls {
		cut(c)
	}
}

func (m *machine) isDead() bool { return m.alive() != nil }

// tick works one slot, to the last answer recorded.
func (m *machine) tick() error {
	ctx := context.Background()
	prepared := m.drain.Prepare(ctx)
	err := m.drain.Slot(ctx, 64)
	m.store.idle()
	if prepared != nil {
		return prepared
	}
	return err
}

func (m *machine) bridge() error {
	for {
		n, err := m.db.Bridge(m.act(context.Background(), "bridge"), reader, 100)
		if err != nil || n < 100 {
			return err
		}
	}
}

func reader(string) func(carrier.Delivery) (carrier.Report, error) { return twilio.Read }

// close ends the machine: in good order, or dead.
func (m *machine) close() {
	m.mu.Lock()
	m.fired = true // nothing happens to it any more
	m.mu.Unlock()
	m.goOn()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if m.isDead() {
		cancel()
	}
	m.drain.Stop(ctx)
	m.keeper.Close(ctx)
	m.quiet()
	m.w.remove(m)
	_ = m.line.Close()
	m.db.Close()
}

// newPoints are those by which it came, each once, in order; a second act of a kind is left out:
// how many there are is the scheduler's to say.
func (m *machine) newPoints() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	seen := map[string]bool{}
	var all []string
	for _, p := range m.points {
		name, _, _ := strings.Cut(p, "/")
		if !seen[p] && !strings.Contains(name, " ") {
			all = append(all, p)
		}
		seen[p] = true
	}
	return all
}

func (m *machine) String() string { return fmt.Sprintf("%s at %q", m.armed.fault, m.armed.point) }

// window is how long before its send_by the product begins an attempt.
const window = followup.SendWindow
