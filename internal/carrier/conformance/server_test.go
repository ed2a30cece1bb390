package conformance_test

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"
)

const (
	patience = 20 * time.Second // far more than any case needs
	soon     = time.Second      // the deadline of a case in which nothing comes; a busy machine must get as far by then
	slack    = 2 * time.Second  // by which Place may be later than its deadline, on a busy machine
)

// server is a far end below any protocol: a raw socket that does with each connection what
// behave does, and keeps what it heard on all of them together, to their ends.
type server struct {
	addr     string
	far      far
	returned chan struct{} // closed: every Place has returned
	cancel   func()        // ends the context of the Place that it hears

	elsewhere string           // where a redirect leads
	late      func(*testing.T) // looks again, once the whole table is over

	listener net.Listener
	handlers sync.WaitGroup

	mu        sync.Mutex
	conns     []net.Conn
	open      int
	heard     []*message
	protocols []string // what TLS agreed on
}

// conn is one connection to a server.
type conn struct {
	net.Conn // TLS, where that is spoken
	below    *net.TCPConn
	in       *bufio.Reader
	server   *server
	far      far
}

// newServer listens on loopback, over TLS if config is given. It listens until all of table's
// subtests are over, and must not have heard more by then than when its own case was counted.
func newServer(table *testing.T, f far, config *tls.Config, behave func(*conn)) *server {
	s := &server{far: f, returned: make(chan struct{}), cancel: func() {}, late: func(*testing.T) {}}
	s.listen(table)
	s.handlers.Go(func() { s.accept(config, behave) })
	table.Cleanup(func() {
		s.stop()
		s.late(table)
	})
	return s
}

func (s *server) listen(t *testing.T) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.listener, s.addr = listener, listener.Addr().String()
}

func (s *server) accept(config *tls.Config, behave func(*conn)) {
	for {
		below, err := s.listener.Accept()
		if err != nil {
			return
		}
		s.mu.Lock()
		s.conns, s.open = append(s.conns, below), s.open+1
		s.mu.Unlock()
		s.handlers.Go(func() {
			s.handle(below, config, behave)
			s.mu.Lock()
			s.open--
			s.mu.Unlock()
		})
	}
}

func (s *server) handle(below net.Conn, config *tls.Config, behave func(*conn)) {
	defer below.Close()
	c := &conn{Conn: below, below: below.(*net.TCPConn), server: s, far: s.far}
	if config != nil {
		secure := tls.Server(below, config)
		if secure.Handshake() != nil {
			return
		}
		s.mu.Lock()
		s.protocols = append(s.protocols, secure.ConnectionState().NegotiatedProtocol)
		s.mu.Unlock()
		c.Conn = secure
	}
	c.in = bufio.NewReader(c.Conn)
	behave(c)
}

// stop hears no more of anybody.
func (s *server) stop() {
	s.listener.Close()
	s.mu.Lock()
	conns := slices.Clone(s.conns)
	s.mu.Unlock()
	for _, c := range conns {
		c.Close()
	}
	s.handlers.Wait()
}

func (s *server) count(m *message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.heard = append(s.heard, m)
}

// settled reports whether every connection has been heard to its end.
func (s *server) settled() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open == 0
}

// calls are the messages, whole or not, that may have rung a phone.
func (s *server) calls() []*message {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []*message
	for _, m := range s.heard {
		if !m.whole || s.far.mayRing(m) {
			all = append(all, m)
		}
	}
	return all
}

func (s *server) connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.conns)
}

// hangUp ends what is said from here. What is said to here is still heard.
func (c *conn) hangUp() {
	if secure, ok := c.Conn.(*tls.Conn); ok {
		_ = secure.CloseWrite()
	}
	_ = c.below.CloseWrite()
}

// reset closes with an RST.
func (c *conn) reset() {
	_ = c.below.SetLinger(0)
	c.below.Close()
}

// certificate is the configuration of a server, and the roots of a client that trusts it.
func certificate() (*tls.Config, *x509.CertPool) {
	s := httptest.NewTLSServer(nil) // for its certificate
	s.Close()
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	return &tls.Config{Certificates: s.TLS.Certificates, MinVersion: tls.VersionTLS12}, roots
}

// eventually waits for a condition, and reports whether it came.
func eventually(so func() bool) bool {
	for began := time.Now(); time.Since(began) < patience; time.Sleep(2 * time.Millisecond) {
		if so() {
			return true
		}
	}
	return false
}
