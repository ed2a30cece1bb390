package sip

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"chasephone/internal/carrier"
	"chasephone/internal/phone"
)

const patience = 20 * time.Second // far more than any case needs

// trunkServer is the other side of a trunk, below any SIP stack: it does what behave does and
// keeps what it was sent.
type trunkServer struct {
	addr     string
	listener net.Listener
	handlers sync.WaitGroup

	mu    sync.Mutex
	conns int
	got   []*letter
}

// letter is a message as a person would read it.
type letter struct {
	start  string
	lines  []string // of the header
	body   string
	method string // of a request
}

// side is one connection to a trunkServer.
type side struct {
	net.Conn
	server *trunkServer
	in     *bufio.Reader
	below  net.Conn // TCP
}

func newTrunkServer(t *testing.T, config *tls.Config, behave func(*side)) *trunkServer {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &trunkServer{addr: listener.Addr().String(), listener: listener}
	s.handlers.Go(func() {
		for {
			below, err := listener.Accept()
			if err != nil {
				return
			}
			s.mu.Lock()
			s.conns++
			s.mu.Unlock()
			s.handlers.Go(func() {
				c := &side{Conn: below, server: s, below: below}
				if config != nil {
					c.Conn = tls.Server(below, config)
				}
				c.in = bufio.NewReader(c.Conn)
				defer below.Close()
				behave(c)
			})
		}
	})
	t.Cleanup(s.stop)
	return s
}

// stop waits until everything a client did has been seen.
func (s *trunkServer) stop() {
	s.listener.Close()
	s.handlers.Wait()
}

// methods lists the requests that came, in their order.
func (s *trunkServer) methods() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []string
	for _, l := range s.got {
		if l.method != "" {
			all = append(all, l.method)
		}
	}
	return all
}

func (s *trunkServer) count(method string) int {
	n := 0
	for _, m := range s.methods() {
		if m == method {
			n++
		}
	}
	return n
}

// next reads one message; nil where there is none any more.
func (c *side) next() *letter {
	l := &letter{}
	for {
		line, err := c.in.ReadString('\n')
		if err != nil {
			return nil
		}
		line = strings.TrimRight(line, "\r\n")
		switch {
		case line == "" && l.start == "":
			continue
		case line == "":
			n, _ := strconv.Atoi(l.header("Content-Length"))
			body := make([]byte, n)
			if _, err := io.ReadFull(c.in, body); err != nil {
				return nil
			}
			l.body = string(body)
			if !strings.HasPrefix(l.start, "SIP/2.0") {
				l.method, _, _ = strings.Cut(l.start, " ")
			}
			c.server.mu.Lock()
			defer c.server.mu.Unlock()
			c.server.got = append(c.server.got, l)
			return l
		case l.start == "":
			l.start = line
		default:
			l.lines = append(l.lines, line)
		}
	}
}

// await reads on until a request of that method.
func (c *side) await(method string) *letter {
	for l := c.next(); l != nil; l = c.next() {
		if l.method == method {
			return l
		}
	}
	return nil
}

func (l *letter) header(name string) string {
	for _, line := range l.lines {
		if n, v, _ := strings.Cut(line, ":"); strings.EqualFold(n, name) {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

func (c *side) say(text string) { _, _ = io.WriteString(c.Conn, text) }

// reply is an answer to a request, with our tag and more header lines.
func (l *letter) reply(status string, tag string, more ...string) string {
	if l == nil {
		return ""
	}
	to := l.header("To")
	if tag != "" && !strings.Contains(to, ";tag=") {
		to += ";tag=" + tag
	}
	body := ""
	if i := slices.IndexFunc(more, func(s string) bool { return strings.HasPrefix(s, "v=0") }); i >= 0 {
		body, more = more[i], slices.Delete(slices.Clone(more), i, i+1)
	}
	lines := append([]string{
		"SIP/2.0 " + status, "Via: " + l.header("Via"), "From: " + l.header("From"), "To: " + to,
		"Call-ID: " + l.header("Call-ID"), "CSeq: " + l.header("CSeq"), "Contact: <sip:b@127.0.0.1:5060>",
	}, more...)
	return strings.Join(lines, "\r\n") + fmt.Sprintf("\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
}

// bye is the trunk's own, for a call that it answered with tag.
func (l *letter) bye(tag string) string {
	return "BYE sip:x@127.0.0.1 SIP/2.0\r\nVia: SIP/2.0/TCP trunk.example;branch=z9hG4bKbye\r\nFrom: " + l.header("To") + ";tag=" + tag +
		"\r\nTo: " + l.header("From") + "\r\nCall-ID: " + l.header("Call-ID") + "\r\nCSeq: 7 BYE\r\nContent-Length: 0\r\n\r\n"
}

// awaitClose reads what still comes, until the other side has gone.
func (c *side) awaitClose() {
	for c.next() != nil {
	}
}

// reset closes with an RST.
func (c *side) reset() {
	_ = c.below.(*net.TCPConn).SetLinger(0)
	c.below.Close()
}

// answering answers a BYE and a CANCEL as a trunk would, until the other side has gone.
func (c *side) answering(invite *letter) {
	for l := c.next(); l != nil; l = c.next() {
		switch l.method {
		case "BYE":
			c.say(l.reply("200 OK", ""))
		case "CANCEL":
			c.say(l.reply("200 OK", "b") + invite.reply("487 Request Terminated", "b"))
		}
	}
}

// told collects what is reported.
type told struct {
	mu  sync.Mutex
	all []carrier.Delivery
}

func (r *told) tell(d carrier.Delivery) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, d)
}

// statuses are what was reported, read again: "ringing", or the method where it says no status.
func (r *told) statuses(t *testing.T) []string {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []string
	for _, d := range r.all {
		report, err := Read(d)
		if err != nil || report.Kind != carrier.KindCall || report.Token != testToken || report.ID != callIDOf(testToken) ||
			report.Us != phone.FromE164("+14155550100") || report.Them != phone.FromE164("+14155550123") || report.At.IsZero() {
			t.Errorf("%s reads %+v, %v", d.Body, report, err)
		}
		word := string(report.Status)
		if word == "" {
			word = report.Fields["method"]
		}
		all = append(all, word)
	}
	return all
}

const testToken = "3f2b6c1e-7f3e-4f7e-8d57-0123456789ab"

func testCall() carrier.Call {
	return carrier.Call{
		Token: testToken, To: phone.FromE164("+14155550123"), From: phone.FromE164("+14155550100"),
		Script: "hello", SendBy: time.Now().Add(30 * time.Second),
	}
}

// newCarrier is a trunk at addr that rings for a minute and talks for 60 ms, unless change says otherwise.
func newCarrier(t *testing.T, addr string, options carrier.Options, change func(*Config)) (*Carrier, *told) {
	t.Helper()
	reports := &told{}
	c := Config{Trunk: "sip:" + addr + ";transport=tcp", TalkFor: 60 * time.Millisecond, Report: reports.tell}
	if change != nil {
		change(&c)
	}
	options.Carrier, options.AllowLoopback = Name, true
	a, err := New(c, carrier.NewTransport(options))
	if err != nil {
		t.Fatal(err)
	}
	return a, reports
}

// over waits until every call is, without hanging up on any.
func over(t *testing.T, a *Carrier) {
	t.Helper()
	done := make(chan struct{})
	go func() { a.running.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(patience):
		t.Fatal("the call goes on and on")
	}
}

func within(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// serverTLS is the configuration of a server, and the roots of a client that trusts it.
func serverTLS(t *testing.T) (*tls.Config, *x509.CertPool) {
	t.Helper()
	s := httptest.NewTLSServer(nil)
	s.Close()
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	return &tls.Config{Certificates: s.TLS.Certificates, MinVersion: tls.VersionTLS12}, roots
}
