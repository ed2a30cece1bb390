package carrier

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"time"
)

// endpoint is where a connection goes.
type endpoint struct {
	host, port string
	secure     bool     // by TLS
	protocols  []string // that are spoken over TLS
}

func (t *Transport) connect(ctx context.Context, target *url.URL, sendBy time.Time) (net.Conn, Answer) {
	e := endpoint{host: target.Hostname(), port: target.Port(), secure: target.Scheme == "https"}
	e.protocols = []string{"http/1.1"} // HTTP/2 sends again after a GOAWAY
	switch {
	case e.port != "":
	case e.secure:
		e.port = "443"
	default:
		e.port = "80"
	}
	return t.reach(ctx, e, sendBy)
}

// reach obtains the request's own connection, TLS included. Without one nothing was
// sent, and the answer says why; whatever is written before is the handshake's.
func (t *Transport) reach(ctx context.Context, target endpoint, sendBy time.Time) (net.Conn, Answer) {
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
	var late net.Error
	if errors.As(err, &late) && late.Timeout() {
		<-patience.Done() // the socket's deadline is the context's, and can be a moment ahead of it
	}
	if dialing.Err() != nil { // cut short by something other than the connection's slowness
		if answer := tooLate(ctx, sendBy); answer != nil {
			return nil, answer
		}
	}
	return nil, connectFailed(err)
}

func (t *Transport) dial(ctx context.Context, target endpoint) (net.Conn, error) {
	conn, err := t.dialer.DialContext(ctx, "tcp", net.JoinHostPort(target.host, target.port))
	if err != nil || !target.secure {
		return conn, err
	}
	secure := tls.Client(conn, &tls.Config{
		ServerName: target.host,
		RootCAs:    t.roots,
		MinVersion: tls.VersionTLS12,
		NextProtos: target.protocols,
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
