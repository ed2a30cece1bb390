package carrier

import (
	"context"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"time"
)

// Codes of NotPlaced that are ours and not a carrier's.
const (
	CodeConnectFailed = "connect_failed" // no connection: DNS, refused, TLS handshake, too slow
	CodeSendByPassed  = "send_by_passed" // too late to begin
	CodeShutDown      = "shut_down"      // the context was cancelled before the first byte
)

// Options configure a Transport.
type Options struct {
	// Carrier names it in metrics, "twilio" for instance.
	Carrier string

	// AllowLoopback permits the addresses of this machine, over http too, and private ones
	// (CARRIER_ALLOW_LOOPBACK): for the simulator, and an exchange of one's own. Nothing else
	// that is not public is ever permitted.
	AllowLoopback bool

	// ConnectTimeout bounds DNS, TCP and TLS together; 0 is 3 s. A connection that takes
	// longer speaks of this daemon. One cut off sooner by SendBy speaks of nobody, so this
	// must be less than the time a call has from its begin to its SendBy (5 s), or a daemon
	// whose network swallows everything would never be told from one that was late.
	ConnectTimeout time.Duration

	// RootCAs judge the carrier's certificate; nil is the system's.
	RootCAs *x509.CertPool

	// Observe is told of every request, once; nil for nobody. Metrics.Observe is one.
	Observe func(carrier string, result Result, took time.Duration)
}

// Transport is the only way a request that may ring a phone leaves this process.
//
// Invariant: one Post writes at most one request, in one Write, on a connection that was
// made for it and is closed after it; and if it did not reach that Write nothing was sent.
//
// net/http's client is not used for it, because it may send again by itself: on a reused
// connection, after an HTTP/2 GOAWAY, on a 307, or when a header it takes for a promise is
// set. Here there is no pool, no proxy, no HTTP/2, no redirect and no retry to switch off.
type Transport struct {
	carrier        string
	guard          guard
	dialer         net.Dialer
	roots          *x509.CertPool
	connectTimeout time.Duration
	observe        func(string, Result, time.Duration)
	secrets        [][]byte
}

// NewTransport makes the Transport of one carrier. It is safe for concurrent use.
func NewTransport(o Options) *Transport {
	t := &Transport{
		carrier:        o.Carrier,
		guard:          guard{loopback: o.AllowLoopback},
		roots:          o.RootCAs,
		connectTimeout: o.ConnectTimeout,
		observe:        o.Observe,
	}
	t.dialer.Control = t.guard.control
	if t.connectTimeout <= 0 {
		t.connectTimeout = 3 * time.Second
	}
	if t.observe == nil {
		t.observe = func(string, Result, time.Duration) {}
	}
	return t
}

// CheckURL says why requests may not go to raw, if they may not: it must be https and
// public. Where its name leads is checked again at every connection.
func (t *Transport) CheckURL(raw string) error {
	_, err := t.guard.url(raw)
	return err
}

// Request is one POST. It has no headers of the caller's, so that none can be added that
// makes anything on the way believe the request may be repeated.
type Request struct {
	URL           string
	Authorization string // the header's value
	ContentType   string
	Body          []byte

	// SendBy is when it is too late to write the first byte. It is compared on the monotonic
	// clock and on the wall clock, and either can say so: the monotonic clock stands still
	// while a machine is suspended. The zero time is always too late.
	SendBy time.Time
}

// Reply is what a carrier answered over HTTP, for its package to make sense of.
type Reply struct {
	Status    int
	Body      []byte // at most 64 KiB
	Truncated bool   // the body was longer than that, or broke off
}

// Post sends req once and says what is known then. The answer is awaited until ctx's
// deadline (a minute, if it has none). read is called with the reply if there was one, and
// decides; everything else is decided here:
//
//   - no connection, or SendBy passed, or ctx cancelled, before the first byte: NotPlaced
//   - no reply after the first byte, whatever the reason: Unknown
func (t *Transport) Post(ctx context.Context, req Request, read func(Reply) Answer) Answer {
	began := time.Now()
	answer := t.post(ctx, req, read)
	t.observe(t.carrier, ResultOf(answer), time.Since(began))
	return answer
}

func (t *Transport) post(ctx context.Context, req Request, read func(Reply) Answer) Answer {
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Minute)
		defer cancel()
	}
	target, err := t.guard.url(req.URL)
	if err != nil {
		return connectFailed(fmt.Errorf("the carrier's URL %w", err))
	}
	wire, err := encode(http.MethodPost, target, req.Authorization, req.ContentType, req.Body)
	if err != nil {
		return connectFailed(fmt.Errorf("writing down the request: %w", err))
	}
	conn, answer := t.connect(ctx, target, req.SendBy)
	if conn == nil {
		return answer
	}
	defer func() { _ = conn.Close() }()
	reply, answer := exchange(ctx, conn, wire, req.SendBy)
	reply.Body = t.hide(reply.Body)
	if answer == nil {
		answer = read(reply)
	}
	if answer == nil {
		answer = Unknown{Stage: StageAnswered, Text: "an answer that nothing was made of"}
	}
	return answer
}
