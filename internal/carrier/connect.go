package carrier

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/url"
	"time"
)

// connect obtains the request's own connection, TLS included. Without one nothing was
// sent, and the answer says why; whatever is written before is the handshake's.
func (t *Transport) connect(ctx context.Context, target *url.URL, sendBy time.Time) (net.Conn, Answer) {
	if answer := tooLate(ctx, sendBy); answer != nil {
		return nil, answer
	}
	dialing, cancel := context.WithDeadline(ctx, sendBy)
	defer cancel()
	patience, cancel := context.WithTimeout(dialing, t.connectTimeout)
	defer cancel()
	conn, err := t.dial(patience, target)
	if err == nil {
		return conn, nil
	}
	if dialing.Err() != nil { // cut short by something other than the connection's slowness
		if answer := tooLate(ctx, sendBy); answer != nil {
			return nil, answer
		}
	}
	return nil, connectFailed(err)
}

func (t *Transport) dial(ctx context.Context, target *url.URL) (net.Conn, error) {
	port := target.Port()
	switch {
	case port != "":
	case target.Scheme == "https":
		port = "443"
	default:
		port = "80"
	}
	conn, err := t.dialer.DialContext(ctx, "tcp", net.JoinHostPort(target.Hostname(), port))
	if err != nil || target.Scheme == "http" {
		return conn, err
	}
	secure := tls.Client(conn, &tls.Config{
		ServerName: target.Hostname(),
		RootCAs:    t.roots,
		MinVersion: tls.VersionTLS12,
		NextProtos: []string{"http/1.1"}, // HTTP/2 sends again after a GOAWAY
	})
	if err := secure.HandshakeContext(ctx); err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("TLS handshake: %w", err)
	}
	return secure, nil
}

// tooLate is the proof that a request was not begun, or nil where it still may be.
func tooLate(ctx context.Context, sendBy time.Time) Answer {
	if ctx.Err() == context.Canceled {
		return NotPlaced{Blame: BlameNobody, Code: CodeShutDown, Text: "stopped before the request was begun"}
	}
	now := time.Now()
	if ctx.Err() != nil || !now.Before(sendBy) || !now.Round(0).Before(sendBy.Round(0)) {
		return NotPlaced{Blame: BlameNobody, Code: CodeSendByPassed, Text: "too late to begin the request"}
	}
	return nil
}

func connectFailed(err error) Answer {
	return NotPlaced{Blame: BlameDaemon, Code: CodeConnectFailed, Text: CleanText(err.Error())}
}
