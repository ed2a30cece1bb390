package telemetry

import (
	"net"
	"net/http"
	"slices"
	"sync"
)

// conns bounds how many connections a server has at once. One more has the one closed that has been
// idle for longest; where none is, it waits until the time-outs have ended one.
type conns struct {
	net.Listener
	slots  chan struct{}
	closed chan struct{}
	close  sync.Once

	mu      sync.Mutex
	idle    []*conn // the longest first
	waiting bool    // somebody is, for one to become idle
}

func bound(listener net.Listener, most int) *conns {
	return &conns{Listener: listener, slots: make(chan struct{}, most), closed: make(chan struct{})}
}

// Accept returns the next connection, once there is room for it.
func (l *conns) Accept() (net.Conn, error) {
	next, err := l.Listener.Accept()
	if err != nil {
		return nil, err //nolint:wrapcheck // a listener's errors are told by their types
	}
	select {
	case l.slots <- struct{}{}:
		return &conn{Conn: next, of: l}, nil
	default:
	}
	l.makeRoom()
	select {
	case l.slots <- struct{}{}:
	case <-l.closed:
		_ = next.Close()
		return nil, net.ErrClosed
	}
	l.mu.Lock()
	l.waiting = false
	l.mu.Unlock()
	return &conn{Conn: next, of: l}, nil
}

// Close ends a wait, too.
func (l *conns) Close() error {
	l.close.Do(func() { close(l.closed) })
	return l.Listener.Close() //nolint:wrapcheck // as Accept
}

func (l *conns) makeRoom() {
	l.mu.Lock()
	l.waiting = len(l.idle) == 0
	var oldest *conn
	if !l.waiting {
		oldest, l.idle = l.idle[0], l.idle[1:]
	}
	l.mu.Unlock()
	if oldest != nil {
		_ = oldest.Close()
	}
}

// state is an http.Server's ConnState: it tells which connections are idle.
func (l *conns) state(c net.Conn, now http.ConnState) {
	one, ours := c.(*conn)
	if !ours {
		return
	}
	l.mu.Lock()
	l.idle = slices.DeleteFunc(l.idle, func(other *conn) bool { return other == one })
	room := now == http.StateIdle && l.waiting
	if now == http.StateIdle && !room {
		l.idle = append(l.idle, one)
	}
	l.mu.Unlock()
	if room {
		_ = one.Close()
	}
}

// conn gives its place back when it is closed.
type conn struct {
	net.Conn
	of     *conns
	closed sync.Once
}

// Close closes it, once.
func (c *conn) Close() error {
	err := c.Conn.Close()
	c.closed.Do(func() { <-c.of.slots })
	return err //nolint:wrapcheck // as Accept
}
