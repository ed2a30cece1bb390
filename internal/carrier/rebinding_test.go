package carrier

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// rebinding is a DNS that answers each A query with the next set of addresses.
func rebinding(sets ...[][4]byte) (*net.Resolver, *atomic.Int64) {
	var asked atomic.Int64
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		go func() { // over a net.Pipe, which is no packet connection, DNS is spoken as over TCP
			defer func() { _ = server.Close() }()
			buf := make([]byte, 1024)
			n, err := server.Read(buf)
			for err == nil && (n < 2 || n < 2+int(buf[0])<<8+int(buf[1])) {
				var m int
				m, err = server.Read(buf[n:])
				n += m
			}
			if err != nil {
				return
			}
			query := buf[2:n]
			end := 12
			for query[end] != 0 {
				end += int(query[end]) + 1
			}
			reply := append([]byte{query[0], query[1], 0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0}, query[12:end+5]...)
			if query[end+2] == 1 { // type A
				set := sets[int(asked.Add(1)-1)%len(sets)]
				reply[7] = byte(len(set))
				for _, ip := range set {
					reply = append(reply, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, ip[0], ip[1], ip[2], ip[3])
				}
			}
			_, _ = server.Write(append([]byte{byte(len(reply) >> 8), byte(len(reply))}, reply...))
		}()
		return client, nil
	}}, &asked
}

// A name that was public when it was configured may lead here by the time of a call, by one address
// or among several, and anew each time: each connection is judged by the address that it is made
// to, calls and questions alike. Nothing that listens on this machine hears of it.
func TestRebindingReachesNothing(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	var heard atomic.Int64
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			heard.Add(1)
			_ = conn.Close()
		}
	}()
	at := netip.MustParseAddrPort(listener.Addr().String()).Port()
	here := [4]byte{127, 0, 0, 1}
	resolver, asked := rebinding(
		[][4]byte{here}, [][4]byte{{10, 0, 0, 1}, here}, [][4]byte{{169, 254, 169, 254}, {192, 168, 0, 1}, here}, [][4]byte{{100, 64, 0, 1}, here, here}, [][4]byte{{0, 0, 0, 0}, here})
	tr := NewTransport(Options{})
	tr.dialer.Resolver = resolver
	target := fmt.Sprintf("https://api.carrier.example:%d/", at)
	if err := tr.CheckURL(target); err != nil {
		t.Fatalf("it is refused as it is configured, already: %v", err)
	}
	for range 5 {
		_, answer := post(t, tr, target, patience)
		if got, ok := answer.(NotPlaced); !ok || got.Code != CodeConnectFailed || !strings.Contains(got.Text, "where the carrier's name leads") {
			t.Errorf("a call: %#v", answer)
		}
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		if _, err := tr.Ask(ctx, Question{Method: "GET", URL: target}); err == nil || !strings.Contains(err.Error(), "where the carrier's name leads") {
			t.Errorf("a question: %v", err)
		}
		conn, answer := tr.Signal(ctx, Signal{Host: "trunk.carrier.example", Port: at, SendBy: time.Now().Add(patience)})
		if conn != nil || answer == nil {
			t.Errorf("a signal: %#v", answer)
		}
		cancel()
	}
	if n := heard.Load(); n != 0 || asked.Load() < 15 {
		t.Errorf("%d connections to this machine, after %d questions to DNS", n, asked.Load())
	}
}

// An answer that points elsewhere is not gone after, wherever it points: not with the credentials,
// and not with a question either.
func TestRedirectsAreNotFollowed(t *testing.T) {
	t.Parallel()
	elsewhere := newRawServer(t, nil, func(c *rawConn) { c.readRequest(); c.say("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n") })
	for _, status := range []string{"301 Moved Permanently", "302 Found", "303 See Other", "307 Temporary Redirect", "308 Permanent Redirect"} {
		server := newRawServer(t, nil, func(c *rawConn) {
			c.readRequest()
			c.say("HTTP/1.1 " + status + "\r\nLocation: http://" + elsewhere.addr + "/\r\nContent-Length: 0\r\n\r\n")
		})
		tr := NewTransport(Options{AllowLoopback: true})
		post(t, tr, "http://"+server.addr+"/", patience)
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		reply, err := tr.Ask(ctx, Question{Method: "GET", URL: "http://" + server.addr + "/", Authorization: "Basic x"})
		cancel()
		if err != nil || reply.Status < 300 || reply.Status > 308 {
			t.Errorf("%s: %d, %v", status, reply.Status, err)
		}
		server.stop()
	}
	elsewhere.stop()
	if n := elsewhere.conns.Load(); n != 0 {
		t.Errorf("%d connections to where an answer pointed", n)
	}
}
