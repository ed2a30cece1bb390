package carrier

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"
)

func rootsOf(s *httptest.Server) *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(s.Certificate())
	return pool
}

// Without a connection, or too late, nothing is sent: the answer is NotPlaced and the
// server, where there is one, has seen no byte of a request.
func TestProvenNothingSent(t *testing.T) {
	t.Parallel()
	config, trusted := serverTLS(t)
	old := config.Clone()
	old.MinVersion, old.MaxVersion = tls.VersionTLS10, tls.VersionTLS11
	serve := func(c *rawConn) {
		if c.readRequest() {
			c.say("HTTP/1.1 201 Created\r\n\r\n")
		}
	}
	silent := func(c *rawConn) { _, _ = io.Copy(io.Discard, c.below) } // until the client goes
	for _, row := range []struct {
		name    string
		scheme  string
		config  *tls.Config
		behave  func(*rawConn)
		options Options
		sendBy  time.Duration // from now; 0: long
		cancel  time.Duration // when the context is cancelled; 0: never, below 0: before
		wait    time.Duration // the context's deadline; 0: long
		blame   Blame
		code    string
	}{
		{name: "certificate not trusted", scheme: "https", config: config, behave: serve, blame: BlameDaemon, code: CodeConnectFailed},
		{name: "TLS too old", scheme: "https", config: old, behave: serve, options: Options{RootCAs: rootsOf(trusted)}, blame: BlameDaemon, code: CodeConnectFailed},
		{name: "not TLS at all", scheme: "https", behave: func(c *rawConn) { c.say("HTTP/1.1 201 Created\r\n\r\n"); c.reset() }, blame: BlameDaemon, code: CodeConnectFailed},
		{name: "closes within the handshake", scheme: "https", behave: func(c *rawConn) { c.reset() }, blame: BlameDaemon, code: CodeConnectFailed},
		{name: "silent in the handshake", scheme: "https", behave: silent, sendBy: 2 * time.Second, options: Options{ConnectTimeout: 100 * time.Millisecond}, blame: BlameDaemon, code: CodeConnectFailed},
		{name: "send_by passed before", scheme: "http", behave: serve, sendBy: -time.Nanosecond, blame: BlameNobody, code: CodeSendByPassed},
		{name: "send_by passes while connecting", scheme: "https", behave: silent, sendBy: 100 * time.Millisecond, blame: BlameNobody, code: CodeSendByPassed},
		{name: "deadline passed before", scheme: "http", behave: serve, wait: -time.Second, blame: BlameNobody, code: CodeSendByPassed},
		{name: "deadline passes while connecting", scheme: "https", behave: silent, wait: 100 * time.Millisecond, blame: BlameNobody, code: CodeSendByPassed},
		{name: "cancelled before", scheme: "http", behave: serve, cancel: -1, blame: BlameNobody, code: CodeShutDown},
		{name: "cancelled while connecting", scheme: "https", behave: silent, cancel: 100 * time.Millisecond, blame: BlameNobody, code: CodeShutDown},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			server := newRawServer(t, row.config, row.behave)
			var observed Result
			row.options.AllowLoopback = true
			row.options.Observe = func(_ string, r Result, _ time.Duration) { observed = r }
			wait := row.wait
			if wait == 0 {
				wait = patience
			}
			ctx, cancel := context.WithTimeout(t.Context(), wait)
			defer cancel()
			switch {
			case row.cancel < 0:
				cancel()
			case row.cancel > 0:
				time.AfterFunc(row.cancel, cancel)
			}
			req := testRequest(row.scheme + "://" + server.addr + "/")
			if row.sendBy != 0 {
				req.SendBy = time.Now().Add(row.sendBy)
			}
			answer := NewTransport(row.options).Post(ctx, req, nil)
			server.stop()
			got, ok := answer.(NotPlaced)
			if !ok || got.Blame != row.blame || got.Code != row.code || got.Text == "" {
				t.Errorf("answer %#v", answer)
			}
			if len(server.requests) != 0 || server.bytes.Load() != 0 {
				t.Errorf("%d requests, %d bytes reached the server", len(server.requests), server.bytes.Load())
			}
			if observed != ResultNotPlaced {
				t.Errorf("observed %q", observed)
			}
		})
	}
}

func TestNoServerNothingSent(t *testing.T) {
	t.Parallel()
	closed := newRawServer(t, nil, func(*rawConn) {})
	closed.stop()
	for name, url := range map[string]string{
		"refused":     "http://" + closed.addr + "/",
		"no such DNS": "https://no-such-carrier.invalid/",
		"not allowed": "https://169.254.169.254/",
		"not a URL":   "://",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tr := NewTransport(Options{AllowLoopback: true, ConnectTimeout: 2 * time.Second})
			_, answer := post(t, tr, url, patience)
			if got, ok := answer.(NotPlaced); !ok || got.Blame != BlameDaemon || got.Code != CodeConnectFailed {
				t.Errorf("answer %#v", answer)
			}
		})
	}
}

// The last check stands between the connection and the one Write.
func TestTooLateOnceConnected(t *testing.T) {
	t.Parallel()
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	now := time.Now()
	for _, row := range []struct {
		name   string
		ctx    context.Context
		sendBy time.Time
		code   string
	}{
		{"send_by passed", t.Context(), now.Add(-time.Nanosecond), CodeSendByPassed},
		{"send_by never set", t.Context(), time.Time{}, CodeSendByPassed},
		{"send_by without a monotonic reading", t.Context(), now.Round(0).Add(-time.Second), CodeSendByPassed},
		{"cancelled", cancelled, now.Add(time.Hour), CodeShutDown},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			c := &writeCounter{}
			_, answer := exchange(row.ctx, c, []byte("POST"), row.sendBy)
			if got, ok := answer.(NotPlaced); !ok || got.Blame != BlameNobody || got.Code != row.code || c.writes != 0 {
				t.Errorf("answer %#v after %d writes", answer, c.writes)
			}
		})
	}
}

// A failed Write is never taken for "nothing sent", and is not tried again.
func TestFailedWriteIsUnknown(t *testing.T) {
	t.Parallel()
	c := &writeCounter{}
	_, answer := exchange(t.Context(), c, []byte("POST"), time.Now().Add(time.Hour))
	if got, ok := answer.(Unknown); !ok || got.Stage != StageWriting || c.writes != 1 {
		t.Errorf("answer %#v after %d writes", answer, c.writes)
	}
}

// writeCounter is a connection whose every write fails.
type writeCounter struct {
	net.Conn
	writes int
}

func (c *writeCounter) Write([]byte) (int, error)   { c.writes++; return 0, fmt.Errorf("broken pipe") }
func (c *writeCounter) SetDeadline(time.Time) error { return nil }

// A public name that leads to a private address passes the first check and not the second.
func TestNameThatResolvesToPrivateAddress(t *testing.T) {
	t.Parallel()
	for name, resolvesTo := range map[string][4]byte{
		"private": {10, 1, 2, 3}, "loopback": {127, 0, 0, 1}, "link-local": {169, 254, 169, 254},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tr := NewTransport(Options{})
			tr.dialer.Resolver = fakeDNS(resolvesTo)
			_, answer := post(t, tr, "https://api.carrier.example/", patience)
			got, ok := answer.(NotPlaced)
			if !ok || got.Code != CodeConnectFailed || !strings.Contains(got.Text, "where the carrier's name leads") {
				t.Errorf("answer %#v", answer)
			}
		})
	}
}

// fakeDNS answers every A query with ip, and every other with nothing.
func fakeDNS(ip [4]byte) *net.Resolver {
	resolver, _ := rebinding([][4]byte{ip})
	return resolver
}

// No proxy of the environment's sees a request.
func TestProxyIsNotAsked(t *testing.T) {
	proxy := newRawServer(t, nil, func(c *rawConn) { c.readRequest() })
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy"} {
		t.Setenv(name, "http://"+proxy.addr)
	}
	server := newRawServer(t, nil, func(c *rawConn) { c.readRequest(); c.say("HTTP/1.1 201 Created\r\n\r\n") })
	post(t, NewTransport(Options{AllowLoopback: true}), "http://"+server.addr+"/", patience)
	server.stop()
	proxy.stop()
	if len(server.requests) != 1 || proxy.conns.Load() != 0 || os.Getenv("HTTP_PROXY") == "" {
		t.Errorf("%d requests, %d connections to the proxy", len(server.requests), proxy.conns.Load())
	}
}
