package carrier

import (
	"bufio"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
)

// rawServer is a server below HTTP: it does what behave does and counts what it saw.
type rawServer struct {
	addr  string
	conns atomic.Int64
	bytes atomic.Int64 // above TLS

	mu       sync.Mutex
	requests []*http.Request

	listener net.Listener
	handlers sync.WaitGroup
}

// rawConn is one connection to a rawServer.
type rawConn struct {
	net.Conn
	server *rawServer
	in     *bufio.Reader
	below  net.Conn // TCP
}

// newRawServer listens on loopback, over TLS if config is given. Each connection is closed
// when behave returns.
func newRawServer(t *testing.T, config *tls.Config, behave func(*rawConn)) *rawServer {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &rawServer{addr: listener.Addr().String(), listener: listener}
	s.handlers.Go(func() {
		for {
			below, err := listener.Accept()
			if err != nil {
				return
			}
			s.conns.Add(1)
			s.handlers.Go(func() {
				c := &rawConn{Conn: below, server: s, below: below}
				if config != nil {
					c.Conn = tls.Server(below, config)
				}
				c.in = bufio.NewReader(c)
				defer below.Close()
				behave(c)
			})
		}
	})
	t.Cleanup(s.stop)
	return s
}

// stop waits until everything a client did has been seen.
func (s *rawServer) stop() {
	s.listener.Close()
	s.handlers.Wait()
}

func (c *rawConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.server.bytes.Add(int64(n))
	return n, err
}

// readRequest reads one request to its end and counts it.
func (c *rawConn) readRequest() bool {
	r, err := http.ReadRequest(c.in)
	if err != nil {
		return false
	}
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return false
	}
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	c.server.requests = append(c.server.requests, r)
	return true
}

func (c *rawConn) say(text string) { _, _ = io.WriteString(c, text) }

// awaitClose blocks until the client has gone.
func (c *rawConn) awaitClose() { _, _ = io.Copy(io.Discard, c.in) }

// reset closes with an RST.
func (c *rawConn) reset() {
	_ = c.below.(*net.TCPConn).SetLinger(0)
	c.below.Close()
}

// serverTLS is the configuration of a server that its client trusts, and that client's roots.
func serverTLS(t *testing.T) (*tls.Config, *httptest.Server) {
	t.Helper()
	s := httptest.NewTLSServer(nil)
	s.Close()
	return &tls.Config{Certificates: s.TLS.Certificates, MinVersion: tls.VersionTLS12}, s
}
