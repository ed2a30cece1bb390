package carrier

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// post sends one request to url, and gives the reply (if read was called) and the answer.
func post(t *testing.T, tr *Transport, url string, wait time.Duration) (*Reply, Answer) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), wait)
	defer cancel()
	var got *Reply
	answer := tr.Post(ctx, testRequest(url), func(r Reply) Answer {
		got = &r
		return Unknown{Stage: StageAnswered, Code: fmt.Sprint(r.Status)}
	})
	return got, answer
}

func testRequest(url string) Request {
	return Request{
		URL: url, Authorization: "Basic eDp5", ContentType: "application/x-www-form-urlencoded",
		Body: []byte("To=%2B14155550123"), SendBy: time.Now().Add(30 * time.Second),
	}
}

const patience = 20 * time.Second // far more than any case needs

// Rule R7: one request goes out, whatever comes back. Every row is one server's behaviour.
func TestOneRequestWhateverHappens(t *testing.T) {
	t.Parallel()
	answered := func(text string) func(*rawConn) {
		return func(c *rawConn) {
			if c.readRequest() {
				c.say(text)
			}
		}
	}
	const created = "HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\n{}"
	for _, row := range []struct {
		name      string
		behave    func(*rawConn)
		wait      time.Duration // 0: patience
		stage     Stage         // of an Unknown without a reply
		status    int           // of a reply
		truncated bool
	}{
		{name: "201", behave: answered(created), status: 201},
		{name: "no content", behave: answered("HTTP/1.1 204 No Content\r\n\r\n"), status: 204},
		{name: "closes after the request", behave: answered(""), stage: StageAwaiting},
		{name: "resets after the request", behave: func(c *rawConn) { c.readRequest(); c.reset() }, stage: StageAwaiting},
		{name: "half a status line", behave: answered("HTTP/1.1 20"), stage: StageAwaiting},
		{name: "half a header", behave: answered("HTTP/1.1 201 Created\r\nContent-Le"), stage: StageAwaiting},
		{name: "garbage", behave: answered("\x00\x01 not HTTP at all\r\n\r\n"), stage: StageAwaiting},
		{name: "truncated 201", behave: answered("HTTP/1.1 201 Created\r\nContent-Length: 40\r\n\r\n{\"sid\":"), status: 201, truncated: true},
		{name: "truncated chunks", behave: answered("HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n10\r\n{\"sid\":"), status: 201, truncated: true},
		{name: "hangs within the body", behave: func(c *rawConn) {
			c.readRequest()
			c.say("HTTP/1.1 201 Created\r\nContent-Length: 40\r\n\r\n{")
			c.awaitClose()
		}, wait: 300 * time.Millisecond, status: 201, truncated: true},
		{name: "301", behave: answered("HTTP/1.1 301 Moved\r\nLocation: /again\r\nContent-Length: 0\r\n\r\n"), status: 301},
		{name: "307 to itself", behave: answered("HTTP/1.1 307 Temporary Redirect\r\nLocation: /\r\nContent-Length: 0\r\n\r\n"), status: 307},
		{name: "308 to itself", behave: answered("HTTP/1.1 308 Permanent Redirect\r\nLocation: /\r\nContent-Length: 0\r\n\r\n"), status: 308},
		{name: "503, try again", behave: answered("HTTP/1.1 503 Unavailable\r\nRetry-After: 0\r\nContent-Length: 0\r\n\r\n"), status: 503},
		{name: "408 and close", behave: answered("HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n"), status: 408},
		{name: "hangs past the deadline", behave: func(c *rawConn) { c.readRequest(); c.awaitClose() }, wait: 200 * time.Millisecond, stage: StageAwaiting},
		{name: "a header that drips", behave: func(c *rawConn) {
			c.readRequest()
			for _, err := c.Write([]byte("HTTP/1.1 201 Created\r\n")); err == nil; _, err = c.Write([]byte("X: y\r\n")) {
				time.Sleep(10 * time.Millisecond) // the fault itself, not a wait for anything
			}
		}, wait: 200 * time.Millisecond, stage: StageAwaiting},
		{name: "a header too long", behave: answered("HTTP/1.1 201 Created\r\nX: " + strings.Repeat("y", maxHeader) + "\r\nContent-Length: 0\r\n\r\n"), stage: StageAwaiting},
		{name: "100 and then 201", behave: answered("HTTP/1.1 100 Continue\r\n\r\n" + created), status: 201},
		{name: "103 and then 201", behave: answered("HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" + created), status: 201},
		{name: "100 and then nothing", behave: answered("HTTP/1.1 100 Continue\r\n\r\n"), stage: StageAwaiting},
		{name: "100 without end", behave: answered(strings.Repeat("HTTP/1.1 100 Continue\r\n\r\n", 1<<12) + created), stage: StageAwaiting},
		{name: "101", behave: answered("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n"), status: 101},
		{name: "two answers at once", behave: answered(created + created), status: 201},
		{name: "huge body", behave: answered("HTTP/1.1 201 Created\r\nContent-Length: 1048576\r\n\r\n" + strings.Repeat("x", 1<<20)), status: 201, truncated: true},
		{name: "body without length or end", behave: answered("HTTP/1.1 201 Created\r\n\r\n" + strings.Repeat("x", 1<<20)), status: 201, truncated: true},
		{name: "HTTP/1.0", behave: answered("HTTP/1.0 201 Created\r\n\r\n{}"), status: 201},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			server := newRawServer(t, nil, row.behave)
			var observed []Result
			tr := NewTransport(Options{Carrier: "twilio", AllowLoopback: true, Observe: func(_ string, r Result, _ time.Duration) {
				observed = append(observed, r)
			}})
			wait := row.wait
			if wait == 0 {
				wait = patience
			}
			reply, answer := post(t, tr, "http://"+server.addr+"/", wait)
			server.stop()

			if n := len(server.requests); n != 1 {
				t.Errorf("%d requests reached the server", n)
			}
			if n := server.conns.Load(); n != 1 {
				t.Errorf("%d connections were made", n)
			}
			u, ok := answer.(Unknown)
			switch {
			case !ok:
				t.Fatalf("answer %#v", answer)
			case row.status == 0 && (reply != nil || u.Stage != row.stage):
				t.Errorf("reply %v, answer %#v; want no reply, stage %q", reply, u, row.stage)
			case row.status != 0 && (reply == nil || reply.Status != row.status || reply.Truncated != row.truncated):
				t.Errorf("reply %+v, answer %#v; want status %d, truncated %v", reply, u, row.status, row.truncated)
			}
			if reply != nil && len(reply.Body) > maxBody {
				t.Errorf("%d bytes of body", len(reply.Body))
			}
			if !slices.Equal(observed, []Result{ResultUnknown}) {
				t.Errorf("observed %v", observed)
			}
		})
	}
}

// A server that closes before it reads: whether the write or the read notices is up to the
// kernel, but nobody may take it for "not placed".
func TestCloseAfterAcceptIsUnknown(t *testing.T) {
	t.Parallel()
	server := newRawServer(t, nil, func(*rawConn) {})
	_, answer := post(t, NewTransport(Options{AllowLoopback: true}), "http://"+server.addr+"/", patience)
	server.stop()
	if u, ok := answer.(Unknown); !ok || u.Stage == StageAnswered || server.conns.Load() != 1 {
		t.Errorf("answer %#v after %d connections", answer, server.conns.Load())
	}
}

// A write that is stuck when the deadline comes may have been read in part.
func TestDeadlineWithinTheWrite(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	client, server := net.Pipe() // a write to a pipe waits for its reader, and nobody reads
	defer server.Close()
	_, answer := exchange(ctx, client, []byte("POST"), time.Now().Add(time.Hour))
	if u, ok := answer.(Unknown); !ok || u.Stage != StageWriting {
		t.Errorf("answer %#v", answer)
	}
}

// Each request has a connection of its own: a kept one that has just been closed by the
// other side is where net/http would send again.
func TestNoConnectionIsUsedTwice(t *testing.T) {
	t.Parallel()
	server := newRawServer(t, nil, func(c *rawConn) {
		for c.readRequest() {
			c.say("HTTP/1.1 201 Created\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\n{}")
		}
	})
	tr := NewTransport(Options{AllowLoopback: true})
	for range 3 {
		if reply, _ := post(t, tr, "http://"+server.addr+"/", patience); reply == nil || reply.Status != 201 {
			t.Fatalf("reply %v", reply)
		}
	}
	server.stop()
	if server.conns.Load() != 3 || len(server.requests) != 3 {
		t.Errorf("%d connections, %d requests", server.conns.Load(), len(server.requests))
	}
}

// The headers are exactly these: none that promises anybody the request may be repeated,
// none that asks for a compressed answer.
func TestHeadersSent(t *testing.T) {
	t.Parallel()
	server := newRawServer(t, nil, func(c *rawConn) { c.readRequest() })
	post(t, NewTransport(Options{AllowLoopback: true}), "http://"+server.addr+"/2010-04-01/x", patience)
	server.stop()
	got := server.requests[0]
	want := http.Header{
		"Accept": {"application/json"}, "Authorization": {"Basic eDp5"}, "User-Agent": {"chasephone"},
		"Content-Type": {"application/x-www-form-urlencoded"}, "Content-Length": {"17"}, "Connection": {"close"},
	}
	if fmt.Sprint(got.Header) != fmt.Sprint(want) {
		t.Errorf("headers %v\n   want %v", got.Header, want)
	}
	if got.Method != http.MethodPost || got.RequestURI != "/2010-04-01/x" || got.Host != server.addr || got.Proto != "HTTP/1.1" {
		t.Errorf("%s %s %s to %s", got.Method, got.RequestURI, got.Proto, got.Host)
	}
}

// HTTP/2 would send again after a GOAWAY. A server that prefers it does not get it.
func TestHTTP2IsNeverSpoken(t *testing.T) {
	t.Parallel()
	config, trusted := serverTLS(t)
	config.NextProtos = []string{"h2", "http/1.1"}
	var spoken string
	server := newRawServer(t, config, func(c *rawConn) {
		if c.readRequest() {
			spoken = c.Conn.(*tls.Conn).ConnectionState().NegotiatedProtocol
			c.say("HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\n{}")
		}
	})
	tr := NewTransport(Options{AllowLoopback: true, RootCAs: rootsOf(trusted)})
	reply, answer := post(t, tr, "https://"+server.addr+"/", patience)
	server.stop()
	if reply == nil || reply.Status != 201 || len(server.requests) != 1 || spoken != "http/1.1" {
		t.Errorf("reply %v, answer %#v, %d requests in %q", reply, answer, len(server.requests), spoken)
	}
}

func TestCancelledWhileAwaiting(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	server := newRawServer(t, nil, func(c *rawConn) { c.readRequest(); cancel(); c.awaitClose() })
	answer := NewTransport(Options{AllowLoopback: true}).Post(ctx, testRequest("http://"+server.addr+"/"), nil)
	if u, ok := answer.(Unknown); !ok || u.Stage != StageAwaiting {
		t.Errorf("answer %#v", answer)
	}
}

func TestReaderThatMakesNothingOfAReply(t *testing.T) {
	t.Parallel()
	server := newRawServer(t, nil, func(c *rawConn) { c.readRequest(); c.say("HTTP/1.1 201 Created\r\n\r\n") })
	answer := NewTransport(Options{AllowLoopback: true}).Post(t.Context(), testRequest("http://"+server.addr+"/"),
		func(Reply) Answer { return nil })
	if u, ok := answer.(Unknown); !ok || u.Stage != StageAnswered {
		t.Errorf("answer %#v", answer)
	}
}
