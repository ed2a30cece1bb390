package proof_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

var (
	errDead   = errors.New("this machine is dead")
	errBroken = errors.New("the connection is broken")
	errGone   = errors.New("the database is gone")
)

// wire is a machine's connection to the database. What the machine sends goes out a round trip
// at a time, and its reply comes in whole before the machine sees any of it, so that something
// can go wrong exactly before, or exactly after, a statement took effect.
type wire struct {
	m      *machine
	begins func(context.Context) (*session, error)
	act    *act // what the machine is doing on it, as the tracer says
	part   []byte
	trip   trip

	mu      sync.Mutex
	change  *sync.Cond
	session *session // nil before it has begun, and once it is lost
	busy    bool     // a round trip is under way in it
	held    []byte   // the reply, as far as the machine has not read it
	err     error
	status  byte // of the transaction, by the server's last word: I, T or E
}

// trip is a round trip: statements up to the server's ReadyForQuery.
type trip struct {
	out      []byte
	sql      []string
	executes bool
	waits    int
	known    []bool // of each statement that is described: it was prepared before, and not again
	prepares []prepared
}

// prepared is a statement that the server is asked to prepare.
type prepared struct{ name, text string }

func newWire(m *machine, begins func(context.Context) (*session, error)) *wire {
	w := &wire{m: m, begins: begins, status: 'I'}
	w.change = sync.NewCond(&w.mu)
	return w
}

// inTransaction reports whether the server holds a transaction open for it.
func (w *wire) inTransaction() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.session != nil && w.status != 'I'
}

// fail breaks the connection: neither side hears anything of the other any more.
func (w *wire) fail(err error) error {
	w.mu.Lock()
	if w.err == nil {
		w.err = err
	}
	lost, status, busy := w.session, w.status, w.busy
	w.session = nil
	w.change.Broadcast()
	w.mu.Unlock()
	if lost != nil {
		w.m.w.end(lost, status, !busy)
	}
	return err
}

func (w *wire) Close() error {
	w.m.forget(w)
	_ = w.fail(net.ErrClosed)
	return nil
}

func (w *wire) Read(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.held) == 0 && w.err == nil {
		w.change.Wait()
	}
	if len(w.held) == 0 {
		return 0, w.err
	}
	n := copy(p, w.held)
	w.held = w.held[n:]
	return n, nil
}

// hold lets the machine read something.
func (w *wire) hold(reply []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.held = append(w.held, reply...)
	w.change.Broadcast()
}

func (w *wire) Write(p []byte) (int, error) {
	if err := w.m.alive(); err != nil {
		return 0, w.fail(err)
	}
	w.mu.Lock()
	session, err := w.session, w.err
	w.mu.Unlock()
	switch {
	case err != nil:
		return 0, err
	case session == nil:
		return len(p), w.begin(p)
	}
	w.part = append(w.part, p...)
	if !w.scan(session) {
		return len(p), nil
	}
	w.part = nil
	if w.trip.waits == 0 { // it says goodbye
		return len(p), w.fail(net.ErrClosed)
	}
	if err := w.roundTrip(session); err != nil {
		return 0, w.fail(err)
	}
	return len(p), nil
}

// begin answers a startup as the server would. Of a request to cancel nothing comes.
func (w *wire) begin(p []byte) error {
	const cancels = 80877102
	if len(p) >= 8 && binary.BigEndian.Uint32(p[4:]) == cancels {
		return w.fail(io.EOF)
	}
	s, err := w.begins(context.Background())
	if err != nil {
		return w.fail(err)
	}
	w.mu.Lock()
	w.session = s
	w.mu.Unlock()
	w.hold(s.tells)
	return nil
}

// roundTrip sends what the machine has written and reads the whole reply. The points are on both sides.
func (w *wire) roundTrip(s *session) error {
	trip, point := w.trip, ""
	if trip.executes && w.act != nil {
		point = w.act.point(w.m.label(trip.sql))
		if err := w.m.reach(w, point+" sent"); err != nil {
			return err
		}
	}
	if err := w.m.breaksAt(trip.sql, "before"); err != nil {
		return err
	}
	w.mu.Lock()
	if w.session == nil { // it was lost meanwhile
		defer w.mu.Unlock()
		return w.err
	}
	w.busy = true
	w.mu.Unlock()
	refused, err := w.m.refuses(s, trip.sql)
	if err != nil {
		return err
	}
	_, err = s.Write(trip.out)
	var reply []byte
	if err == nil {
		reply, err = w.receive(s, trip)
	}
	if err != nil {
		return err // with the session busy: nobody knows how far it came
	}
	if refused {
		if err := w.m.relents(s, w.status); err != nil {
			return err
		}
	}
	w.m.executed(trip.sql)
	w.mu.Lock()
	w.busy = false
	w.mu.Unlock()
	if err := w.m.breaksAt(trip.sql, "after"); err != nil {
		return err
	}
	if point != "" {
		if err := w.m.reach(w, point+" done"); err != nil {
			return err
		}
	}
	w.hold(reply)
	return nil
}

// scan reads the messages that part holds, and reports whether the last is whole.
func (w *wire) scan(s *session) bool {
	w.trip = trip{}
	rest := w.part
	for len(rest) > 0 {
		if len(rest) < 5 || len(rest) < 1+int(binary.BigEndian.Uint32(rest[1:])) {
			return false
		}
		size := 1 + int(binary.BigEndian.Uint32(rest[1:]))
		if w.message(s, rest[0], rest[5:size]) {
			w.trip.out = append(w.trip.out, rest[:size]...)
		}
		rest = rest[size:]
	}
	return true
}

// message takes note of one, and reports whether it is to be sent: what is prepared in the session
// already is not prepared again.
func (w *wire) message(s *session, kind byte, body []byte) bool {
	word := func() string {
		text, rest, _ := bytes.Cut(body, []byte{0})
		body = rest
		return string(text)
	}
	t := &w.trip
	switch kind {
	case 'P':
		name := word()
		text := word()
		known := name != "" && s.texts[name] == text
		t.known = append(t.known, known)
		if !known {
			t.prepares = append(t.prepares, prepared{name, text})
		}
		return !known
	case 'B':
		word() // the portal
		t.sql = append(t.sql, s.texts[word()])
	case 'C':
		if body[0] == 'S' {
			delete(s.texts, string(bytes.TrimRight(body[1:], "\x00")))
		}
	case 'E':
		t.executes = true
	case 'Q':
		text := word()
		t.sql = append(t.sql, text)
		t.executes = t.executes || !strings.HasPrefix(text, "--") // pgx's ping
		t.waits++
	case 'S':
		t.waits++
	}
	return true
}

// receive reads until the server is ready again as often as it was asked to be.
func (w *wire) receive(s *session, t trip) ([]byte, error) {
	var reply session
	stuck := time.AfterFunc(20*time.Second, func() {
		w.m.w.stuck(t)
		_ = s.Close()
	})
	defer stuck.Stop()
	for waits := t.waits; waits > 0; {
		kind, body, err := s.message()
		if err != nil {
			return nil, err
		}
		if kind == 't' && len(t.known) > 0 { // of what was prepared: pgx describes all that it prepares
			if t.known[0] {
				reply.tell('1', nil)
			}
			t.known = t.known[1:]
		}
		if kind == '1' && len(t.prepares) > 0 {
			s.texts[t.prepares[0].name] = t.prepares[0].text
			t.prepares = t.prepares[1:]
		}
		reply.tell(kind, body)
		if kind == 'Z' {
			waits--
			w.mu.Lock()
			w.status = body[0]
			w.mu.Unlock()
		}
	}
	return reply.tells, nil
}

func (w *wire) SetDeadline(t time.Time) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.session != nil {
		return w.session.SetDeadline(t)
	}
	return nil
}

func (w *wire) SetReadDeadline(t time.Time) error  { return w.SetDeadline(t) }
func (w *wire) SetWriteDeadline(t time.Time) error { return w.SetDeadline(t) }
func (w *wire) LocalAddr() net.Addr                { return &net.TCPAddr{} }
func (w *wire) RemoteAddr() net.Addr               { return &net.TCPAddr{} }

// act is one thing that a machine does: a claim, a record, a decision.
type act struct {
	name  string
	trips map[string]int
}

// point names a round trip of the act.
func (a *act) point(label string) string {
	a.trips[label]++
	if n := a.trips[label]; n > 1 {
		return a.name + "/" + label + " " + itoa(n)
	}
	return a.name + "/" + label
}

type actKey struct{}

// tracer tells a connection what it is used for.
type tracer struct{}

func note(ctx context.Context, conn *pgx.Conn) context.Context {
	if w, ok := conn.PgConn().Conn().(*wire); ok {
		w.act, _ = ctx.Value(actKey{}).(*act)
	}
	return ctx
}

func (tracer) TraceQueryStart(ctx context.Context, conn *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	return note(ctx, conn)
}

func (tracer) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func (tracer) TraceBatchStart(ctx context.Context, conn *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	return note(ctx, conn)
}

func (tracer) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}

func (tracer) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}
