package proof_test

import (
	"bufio"
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/url"
	"path"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"chasephone/internal/carrier/sim"
)

const (
	accountSID = "AC00000000000000000000000000000001"
	authToken  = "the account's own token"
)

// company is the telephone company: the simulator, and before it an exchange that every request
// passes, where it can be lost and so can its reply. For each combination there is a new one in
// the same house, with an empty ring book.
type company struct {
	root  *x509.Certificate
	leaf  tls.Certificate
	addr  string // of the simulator
	now   atomic.Pointer[sim.Server]
	check func(token, to string) // called with every request before the company has it
}

func newCompany(t testing.TB) *company {
	t.Helper()
	c := &company{}
	c.certify(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.now.Load().Handler().ServeHTTP(w, r)
	})}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	c.addr = listener.Addr().String()
	return c
}

// certify makes an authority, and a certificate of it for this machine.
func (c *company) certify(t testing.TB) {
	t.Helper()
	ca, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	form := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "proof"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, form, form, &ca.PublicKey, ca)
	if err != nil {
		t.Fatal(err)
	}
	if c.root, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	form = &x509.Certificate{
		SerialNumber: big.NewInt(2), NotBefore: form.NotBefore, NotAfter: form.NotAfter, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	if der, err = x509.CreateCertificate(rand.Reader, form, c.root, &key.PublicKey, ca); err != nil {
		t.Fatal(err)
	}
	c.leaf = tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// begin opens a company with an empty book.
func (c *company) begin(t testing.TB, rules []sim.Rule) *sim.Server {
	t.Helper()
	s, err := sim.New(sim.Options{
		Accounts: map[string]string{accountSID: authToken}, PlainNumbers: true, StatusDelay: 200 * time.Microsecond, Rules: rules,
	})
	if err != nil {
		t.Fatal(err)
	}
	c.now.Store(s)
	return s
}

// open gives a machine an address of its own to ask the company at, and the exchange behind it.
func (c *company) open(m *machine) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	m.line = listener
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go c.exchange(m, conn.(*net.TCPConn))
		}
	}()
	return "https://" + listener.Addr().String()
}

// exchange carries one request and its reply. What a dead machine sent arrives or not; nothing
// reaches it any more.
func (c *company) exchange(m *machine, conn *net.TCPConn) {
	defer func() { _ = conn.Close() }()
	if !m.calling(conn) {
		cut(conn)
		return
	}
	defer m.calledOff(conn)
	secure := tls.Server(conn, &tls.Config{Certificates: []tls.Certificate{c.leaf}, SessionTicketsDisabled: true, MinVersion: tls.VersionTLS13})
	request, token, to, err := readRequest(secure)
	if err != nil {
		m.landed("")
		return
	}
	watched := m.w.watches(to)
	if watched {
		err = m.atCompany("dial/request written")
	}
	if err == nil && to != "" {
		c.check(token, to)
	}
	if err != nil {
		m.landed("")
		cut(conn)
		return
	}
	company, err := net.Dial("tcp", c.addr)
	if err != nil {
		m.landed("")
		return
	}
	defer func() { _ = company.Close() }()
	_, _ = company.Write(request)
	c.await(token)
	m.landed(token)
	if watched {
		if lost := m.atCompany("dial/request taken"); lost != nil {
			cut(conn)
			return
		}
	}
	go func() { // whoever gives up waiting is not waited for
		_, _ = io.Copy(io.Discard, secure)
		_ = company.Close()
	}()
	reply, err := io.ReadAll(company)
	if !watched && !m.armed.hangs {
		m.inTurn()
	}
	if watched {
		if lost := m.atCompany("dial/reply"); lost != nil {
			cut(conn)
			return
		}
	}
	_, _ = secure.Write(reply)
	if err != nil {
		cut(conn)
		return
	}
	_ = secure.CloseWrite()
}

// await returns when an attempt's request is in the ring book.
func (c *company) await(token string) {
	for began := time.Now(); token != "" && time.Since(began) < 10*time.Second; time.Sleep(50 * time.Microsecond) {
		if c.now.Load().Rings().ByToken[token].Requests > 0 {
			return
		}
	}
}

// readRequest reads one request, and says whom it is to ring for which attempt.
func readRequest(conn net.Conn) (raw []byte, token, to string, err error) {
	var all bytes.Buffer
	r, err := http.ReadRequest(bufio.NewReader(io.TeeReader(conn, &all)))
	if err != nil {
		return nil, "", "", err
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, "", "", err
	}
	if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/Calls.json") {
		form, _ := url.ParseQuery(string(body))
		token, to = path.Base(form.Get("StatusCallback")), form.Get("To")
	}
	return all.Bytes(), token, to, nil
}

// cut resets a connection, so that whoever reads knows at once.
func cut(conn net.Conn) {
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}

// calling notes a connection to the company; false where the machine is dead.
func (m *machine) calling(conn net.Conn) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.dead {
		return false
	}
	m.calls[conn] = true
	m.open++
	return true
}

func (m *machine) calledOff(conn net.Conn) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.calls, conn)
}

// atCompany is a point that the machine's request, or its reply, has come to: outside of it, so that
// it does not stand still with it.
func (m *machine) atCompany(point string) error { return m.reachFrom(nil, point, false) }
