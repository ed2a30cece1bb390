package telemetry_test

import (
	"bufio"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"chasephone/internal/telemetry"
)

// bounded serves with short bounds. What a handler was refused is told on failed.
func bounded(t *testing.T, b telemetry.Bounds) (addr string, failed chan error) {
	t.Helper()
	failed = make(chan error, 100)
	server, err := telemetry.Endpoints{
		Variable: "HTTP_ADDR", Addr: "127.0.0.1:0", Log: slog.New(slog.DiscardHandler), Bounds: b,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if _, err := io.Copy(io.Discard, http.MaxBytesReader(w, r.Body, 64<<10)); err != nil {
				failed <- err
				http.Error(w, "no", http.StatusRequestEntityTooLarge)
				return
			}
			if r.URL.Path == "/much" {
				for range 1 << 10 {
					if _, err := w.Write(make([]byte, 64<<10)); err != nil {
						failed <- err
						return
					}
				}
			}
			_, _ = io.WriteString(w, "ok")
		}),
	}.Listen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	run(t, server)
	return server.Addr(), failed
}

func dial(t *testing.T, addr, say string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if _, err := io.WriteString(conn, say); err != nil {
		t.Fatal(err)
	}
	return conn
}

// hears reads until the server closes the connection, which it must do by itself.
func hears(t *testing.T, conn net.Conn) string {
	t.Helper()
	_ = conn.SetReadDeadline(time.Now().Add(30 * time.Second))
	said, err := io.ReadAll(conn)
	var slow net.Error
	if errors.As(err, &slow) && slow.Timeout() {
		t.Errorf("the connection is left open; it said %q", said)
	}
	return string(said)
}

// drips sends a byte at a time for as long as the server takes them.
func drips(conn net.Conn) {
	for range time.Tick(20 * time.Millisecond) {
		if _, err := io.WriteString(conn, "x"); err != nil {
			return
		}
	}
}

// A header or a body that comes drop by drop, one that is too long, an answer that nobody reads
// and a connection on which nothing is asked are all given up.
func TestSlowAndLong(t *testing.T) {
	t.Parallel()
	const moment, long = 150 * time.Millisecond, time.Hour
	b := telemetry.Bounds{Header: long, Read: long, Write: long, Idle: long}
	for name, c := range map[string]struct {
		only  func(*telemetry.Bounds) // the bound that is to catch it
		say   string
		drips bool
		hears string
	}{
		"nothing at all":     {func(b *telemetry.Bounds) { b.Header = moment }, "", false, ""},
		"a slow header":      {func(b *telemetry.Bounds) { b.Header = moment }, "GET / HTTP/1.1\r\nHost: x\r\nX-Slow: ", true, ""},
		"a slow body":        {func(b *telemetry.Bounds) { b.Read = moment }, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 60000\r\n\r\n", true, ""},
		"a slow chunk":       {func(b *telemetry.Bounds) { b.Read = moment }, "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nffff\r\n", true, ""},
		"no second request":  {func(b *telemetry.Bounds) { b.Idle = moment }, "GET / HTTP/1.1\r\nHost: x\r\n\r\n", false, "200 OK"},
		"a long header":      {func(*telemetry.Bounds) {}, "GET / HTTP/1.1\r\nHost: x\r\nX-Long: " + strings.Repeat("x", 21<<10) + "\r\n\r\n", false, "431 Request Header Fields Too Large"},
		"a long line":        {func(*telemetry.Bounds) {}, "GET /" + strings.Repeat("x", 21<<10) + " HTTP/1.1\r\nHost: x\r\n\r\n", false, "431 Request Header Fields Too Large"},
		"a long body":        {func(*telemetry.Bounds) {}, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n" + strings.Repeat("x", 70<<10), false, "413 Request Entity Too Large"},
		"a long body, alive": {func(b *telemetry.Bounds) { b.Read = 2 * time.Second }, "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" + strings.Repeat("1000\r\n"+strings.Repeat("x", 4096)+"\r\n", 20), false, "413 Request Entity Too Large"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := b
			c.only(&b)
			addr, _ := bounded(t, b)
			conn := dial(t, addr, c.say)
			if c.drips {
				go drips(conn)
			}
			if said := hears(t, conn); !strings.Contains(said, c.hears) {
				t.Errorf("it said %q, want %q", said, c.hears)
			}
		})
	}
	t.Run("an answer that nobody reads", func(t *testing.T) {
		t.Parallel()
		b := b
		b.Write = moment
		addr, failed := bounded(t, b)
		dial(t, addr, "GET /much HTTP/1.1\r\nHost: x\r\n\r\n")
		select {
		case <-failed:
		case <-time.After(30 * time.Second):
			t.Error("the handler writes for ever")
		}
	})
}

// Connections are bounded: who only holds one makes room for who asks something.
func TestConnectionsAreBounded(t *testing.T) {
	t.Parallel()
	const most = 4
	asks := func(t *testing.T, addr string) net.Conn {
		t.Helper()
		conn := dial(t, addr, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
		_ = conn.SetReadDeadline(time.Now().Add(30 * time.Second))
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Errorf("no answer: %v", err)
		}
		return conn
	}
	t.Run("idle ones are closed, the oldest first", func(t *testing.T) {
		t.Parallel()
		addr, _ := bounded(t, telemetry.Bounds{Idle: time.Hour, Conns: most})
		first := asks(t, addr)
		for range 10 * most {
			asks(t, addr)
		}
		_ = first.SetReadDeadline(time.Now().Add(30 * time.Second))
		if _, err := io.ReadAll(first); err != nil {
			t.Errorf("the first one is open still: %v", err)
		}
	})
	t.Run("slow ones make room once they are given up", func(t *testing.T) {
		t.Parallel()
		addr, _ := bounded(t, telemetry.Bounds{Header: 300 * time.Millisecond, Idle: time.Hour, Conns: most})
		for range 3 * most {
			dial(t, addr, "GET / HTTP/1.1\r\nX-Slow: ")
		}
		asks(t, addr)
	})
	t.Run("it is stopped while one waits", func(t *testing.T) {
		t.Parallel()
		addr, _ := bounded(t, telemetry.Bounds{Header: time.Hour, Read: time.Hour, Conns: 1})
		for range 3 {
			dial(t, addr, "GET / HTTP/1.1\r\nX-Slow: ")
		}
	})
}
