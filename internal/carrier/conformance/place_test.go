package conformance_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"chasephone/internal/carrier"
	"chasephone/internal/drain"
	"chasephone/internal/phone"
)

// class is what an answer claims.
type class string

const (
	placed      class = "placed"
	refused     class = "refused"
	line        class = "not placed: " + class(carrier.BlameLine)
	account     class = "not placed: " + class(carrier.BlameAccount)
	unknown     class = "unknown"
	mayHaveRung class = "placed or unknown" // by what the protocol can say of it
)

// classOf takes an answer apart: what it claims, and its text.
func classOf(a carrier.Answer) (class, string) {
	switch a := a.(type) {
	case carrier.Placed:
		return placed, a.Status
	case carrier.Refused:
		return refused, a.Text
	case carrier.NotPlaced:
		return class("not placed: " + a.Blame), a.Text
	case carrier.Unknown:
		return unknown, a.Text
	}
	return class(fmt.Sprintf("%T", a)), ""
}

func (c class) is(want class) bool {
	return c == want || want == mayHaveRung && (c == placed || c == unknown)
}

// What a far end does comes to one request and an answer that claims no more than was proven.
func TestPlace(t *testing.T) {
	t.Parallel()
	config, roots := certificate()
	wall := newWall(t)
	for _, s := range subjects() {
		for _, r := range append(rows(), unsentRows()...) {
			if r.secure && !s.secure || r.wall && wall == "" {
				continue
			}
			t.Run(s.name+": "+r.name, func(st *testing.T) {
				st.Parallel()
				r.run(t, st, s, config, roots, wall)
			})
		}
	}
}

func (r row) run(table, t *testing.T, s subject, config *tls.Config, roots *x509.CertPool, wall string) {
	st := newStage(table, t, s, r.does, func(st *stage) {
		if s.secure {
			st.config = config.Clone()
			st.config.NextProtos = []string{"h2", "http/1.1"} // it would rather speak HTTP/2
		}
		if r.tls != nil {
			r.tls(st.config)
		}
		if r.plain {
			st.config = nil
		}
		if !r.strange {
			st.options.RootCAs = roots
		}
		st.options.ConnectTimeout = r.connect
	})
	addr := st.server.addr
	switch {
	case r.refuses:
		st.server.listener.Close()
	case r.wall:
		addr = wall
	}
	st.open(addr)

	wait := r.wait
	if wait == 0 {
		wait = patience
	}
	ctx, cancel := context.WithTimeout(t.Context(), wait)
	defer cancel()
	st.server.cancel = cancel
	switch {
	case r.cancel < 0:
		cancel()
	case r.cancel > 0:
		time.AfterFunc(r.cancel, cancel)
	}
	call := callOf("tok-en_1")
	if r.sendBy != 0 {
		call.SendBy = time.Now().Add(r.sendBy)
	}
	by := max(wait, 0)
	if r.by > 0 {
		by = r.by
	}
	var answer carrier.Answer
	st.within(by+slack, func() { answer = st.place(ctx, call) })
	requests := 1
	if r.unsent {
		requests = 0
	}
	st.over(requests)

	got, text := classOf(answer)
	if !got.is(r.want) || !strings.Contains(text, r.says) {
		t.Errorf("answer %#v, want %s: %s", answer, r.want, r.says)
	}
	if got != placed && text == "" && got != unknown {
		t.Errorf("no text in %#v", answer)
	}
	checkAnswer(t, s, answer, st.server.calls())
	if n := st.elsewhere.connections(); n != 0 {
		t.Errorf("%d connections were made elsewhere", n)
	}
}

func callOf(token string) carrier.Call {
	return carrier.Call{
		Token: token, To: phone.FromE164(number), From: phone.FromE164("+14155550100"),
		Script: "Hello", SendBy: time.Now().Add(ages),
	}
}

// checkAnswer reads an answer as a person would who must not be shown a number or a secret, and a
// request as the far end that it names the attempt to.
func checkAnswer(t *testing.T, s subject, answer carrier.Answer, calls []*message) {
	t.Helper()
	shown := fmt.Sprintf("%+v", answer)
	for _, secret := range append(s.far.secrets(), "4155550123", "4155550100") {
		if strings.Contains(shown, secret) {
			t.Errorf("%q is in the answer %s", secret, shown)
		}
	}
	for _, m := range calls {
		for _, token := range s.far.tokens(m) {
			if m.whole && token != "tok-en_1" {
				t.Errorf("the attempt is called %q", token)
			}
		}
		if p, ok := answer.(carrier.Placed); ok && p.CallID != s.far.named(m) {
			t.Errorf("placed as %q, the far end calls it %q", p.CallID, s.far.named(m))
		}
	}
}

// stage is one carrier and its far end, from the first Place until nothing can come any more.
type stage struct {
	t         *testing.T
	subject   subject
	server    *server
	elsewhere *server
	config    *tls.Config // nil: TCP
	options   carrier.Options
	carrier   drain.Carrier
	label     string
}

func newStage(table, t *testing.T, s subject, does func(*conn), change func(*stage)) *stage {
	t.Helper()
	st := &stage{t: t, subject: s, label: t.Name(), options: carrier.Options{Carrier: s.carrier, AllowLoopback: true}}
	if change != nil {
		change(st)
	}
	st.server = newServer(table, s.far, st.config, does)
	st.elsewhere = newServer(table, s.far, st.config, answered(placedAnswer))
	st.server.elsewhere = s.scheme + st.elsewhere.addr
	return st
}

func (st *stage) open(addr string) {
	st.t.Helper()
	st.carrier = st.subject.open(st.t, st.subject.scheme+addr, carrier.NewTransport(st.options))
}

// place is Place, with a mark on every goroutine that comes of it.
func (st *stage) place(ctx context.Context, call carrier.Call) (answer carrier.Answer) {
	marked(ctx, st.label, func(ctx context.Context) { answer = st.carrier.Place(ctx, call) })
	return answer
}

// within runs f, which must not take longer than a time. If it does the far end goes, so that the
// case has an end.
func (st *stage) within(most time.Duration, f func()) {
	st.t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
	case <-time.After(most):
		st.t.Errorf("has not returned after %v", most)
		st.server.stop()
		<-done
	}
}

// over ends everything, counts to the end, and looks for what was left behind. What a carrier does
// later still is counted once the whole table is over.
func (st *stage) over(requests int) {
	st.t.Helper()
	if n, connections := st.end(), st.server.connections(); n != requests || requests > 0 && connections != requests {
		st.t.Errorf("%d requests on %d connections that may ring a phone, want %d", n, connections, requests)
	}
}

// end is over without what is expected: it says how many requests may have rung a phone.
func (st *stage) end() int {
	st.t.Helper()
	close(st.server.returned)
	if closes, ok := st.carrier.(interface{ Close(context.Context) error }); ok {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(st.t.Context()), patience)
		defer cancel()
		marked(ctx, st.label, func(ctx context.Context) {
			if err := closes.Close(ctx); err != nil {
				st.t.Errorf("closing: %v", err)
			}
		})
	}
	if !eventually(st.server.settled) {
		st.t.Error("a connection was left behind")
	}
	if left := ""; !eventually(func() bool { left = bearing(st.label); return left == "" }) {
		st.t.Errorf("left behind:\n%s", left)
	}
	calls := st.server.calls()
	if slices.Contains(st.server.protocols, "h2") {
		st.t.Error("HTTP/2 was spoken")
	}
	st.server.late = func(table *testing.T) {
		if now := len(st.server.calls()); now != len(calls) {
			table.Errorf("%s: %d requests more came later", st.label, now-len(calls))
		}
	}
	return len(calls)
}
