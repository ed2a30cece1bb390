package arrivals_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"chasephone/internal/arrivals"
	"chasephone/internal/telemetry"
)

const path = "/webhooks/acme/status"

// dial opens a connection below HTTP.
func (d *desk) dial(t *testing.T) *net.TCPConn {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(d.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn.(*net.TCPConn)
}

// raw is a signed request with a header of one's own on top.
func raw(body, length string) string {
	return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: x\r\nX-Test-Signature: %s\r\n%s\r\n\r\n%s", path, sign("first", public+path, body), length, body)
}

func write(t *testing.T, conn io.Writer, text string) {
	t.Helper()
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
}

// A body that ends before it should is not kept, though what came of it was signed.
func TestTruncated(t *testing.T) {
	t.Parallel()
	for name, one := range map[string]struct {
		length string
		end    func(*net.TCPConn) error
	}{
		"closed":               {"Content-Length: 100", (*net.TCPConn).Close},
		"half closed":          {"Content-Length: 100", (*net.TCPConn).CloseWrite},
		"reset":                {"Content-Length: 100", func(c *net.TCPConn) error { _ = c.SetLinger(0); return c.Close() }},
		"chunks without end":   {"Transfer-Encoding: chunked", (*net.TCPConn).CloseWrite},
		"chunks of wrong size": {"Transfer-Encoding: chunked", func(c *net.TCPConn) error { _, err := io.WriteString(c, "\r\nzz\r\n"); return err }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := serve(t, nil)
			conn := d.dial(t)
			body := "half of it"
			if strings.Contains(one.length, "chunked") {
				body = "a\r\nhalf of it"
			}
			write(t, conn, strings.TrimSuffix(raw("half of it", one.length), "half of it")+body)
			if err := one.end(conn); err != nil {
				t.Fatal(err)
			}
			await(t, "it was counted", func() bool { return d.count(t, "acme", "malformed") == 1 })
			if tried := d.store.tries(); len(tried) != 0 {
				t.Errorf("kept: %v", tried)
			}
		})
	}
}

// The length says it at once, though nothing of the body came.
func TestTooLargeIsNotAwaited(t *testing.T) {
	t.Parallel()
	d := serve(t, nil)
	conn := d.dial(t)
	const size = 10 << 20
	write(t, conn, raw("", fmt.Sprintf("Content-Length: %d", size)))
	go func() { _, _ = io.Copy(conn, io.LimitReader(endless{}, size)) }() // fails once it was answered
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil || response.StatusCode != 413 || !response.Close {
		t.Errorf("%v, %v", response, err)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

func TestPipelined(t *testing.T) {
	t.Parallel()
	d := serve(t, nil)
	conn := d.dial(t)
	var all strings.Builder
	for i := range 50 {
		body := fmt.Sprintf("delivery %d", i)
		all.WriteString(raw(body, fmt.Sprintf("Content-Length: %d", len(body))))
	}
	write(t, conn, all.String())
	in := bufio.NewReader(conn)
	for i := range 50 {
		response, err := http.ReadResponse(in, nil)
		if err != nil || response.StatusCode != 200 {
			t.Fatalf("%d: %v, %v", i, response, err)
		}
		_ = response.Body.Close()
	}
	for body, n := range d.store.bodies() {
		if n != 1 {
			t.Errorf("%s: kept %d times", body, n)
		}
	}
	if n := len(d.store.bodies()); n != 50 {
		t.Errorf("%d kept", n)
	}
}

// Not every carrier delivers again what it hung up on: it is kept, and the answer is lost.
func TestHungUpWhileItIsKept(t *testing.T) {
	t.Parallel()
	begun, release := make(chan struct{}), make(chan struct{})
	d := serve(t, func(d *desk, _ *http.Server) {
		d.store.before = func(context.Context, []arrivals.Arrival) error { close(begun); <-release; return nil }
	})
	conn := d.dial(t)
	write(t, conn, raw("a", "Content-Length: 1"))
	<-begun
	conn.Close()
	close(release)
	await(t, "it was kept", func() bool { return d.count(t, "acme", "kept") == 1 })
}

// Who sends slowly is hung up on, by the time-outs of telemetry's server, and nothing is kept.
func TestSlowSenders(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes ten seconds")
	}
	d := serve(t, nil)
	server, err := telemetry.Endpoints{
		Variable: "HTTP_ADDR", Addr: "127.0.0.1:0", Handler: d.handler, Log: slog.New(slog.DiscardHandler),
	}.Listen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- server.Run(ctx) }()
	d.url = "http://" + server.Addr()
	whole := raw("a signed body", "Content-Length: 13")
	var all sync.WaitGroup
	for _, sent := range []int{0, 10, len(whole) - 14, len(whole) - 1} { // nothing, a line's part, a header's, a body's
		conn := d.dial(t)
		write(t, conn, whole[:sent])
		all.Go(func() {
			_ = conn.SetReadDeadline(time.Now().Add(20 * time.Second))
			if _, err := io.Copy(io.Discard, conn); err != nil {
				t.Errorf("%d bytes sent, and not hung up on: %v", sent, err)
			}
		})
	}
	all.Wait()
	if n := d.count(t, "acme", "malformed"); n != 1 || len(d.store.tries()) != 0 {
		t.Errorf("%d malformed, kept %v", n, d.store.tries())
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
