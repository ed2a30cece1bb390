package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// dbWire is a daemon's way to its database. It understands as much of PostgreSQL's protocol as
// it takes to see a commit go by, and strikes just before one, or just after.
type dbWire struct {
	to     string
	traps  *traps
	strike func(act) // does the act to the daemon, and returns when it is done

	frozen atomic.Bool // nothing passes: the network is gone, and nobody is told
	mu     sync.Mutex
	conns  map[net.Conn]bool
}

func (w *dbWire) serve(ctx context.Context, l net.Listener) {
	context.AfterFunc(ctx, func() { _ = l.Close(); w.cutAll() })
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		go w.carry(ctx, conn)
	}
}

func (w *dbWire) hold(c net.Conn, open bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if open {
		w.conns[c] = true
		return
	}
	delete(w.conns, c)
}

// cutAll closes every connection.
func (w *dbWire) cutAll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for c := range w.conns {
		_ = c.Close()
	}
}

func (w *dbWire) carry(ctx context.Context, daemon net.Conn) {
	defer daemon.Close()
	server, err := new(net.Dialer).DialContext(ctx, "tcp4", w.to)
	if err != nil {
		return
	}
	defer server.Close()
	w.hold(daemon, true)
	defer w.hold(daemon, false)
	deaf := &atomic.Bool{} // what the server says is not passed on any more
	go func() {
		defer daemon.Close()
		defer server.Close()
		buf := make([]byte, 32<<10)
		for {
			n, err := server.Read(buf)
			w.thaw(ctx)
			if !deaf.Load() {
				if _, failed := daemon.Write(buf[:n]); failed != nil {
					return
				}
			}
			if err != nil {
				return
			}
		}
	}()
	_ = w.toServer(ctx, bufio.NewReaderSize(daemon, 32<<10), server, deaf)
}

// thaw waits until the wire is not frozen.
func (w *dbWire) thaw(ctx context.Context) {
	for w.frozen.Load() && pause(ctx, 50*time.Millisecond) {
	}
}

var errCut = errors.New("the connection is cut")

const (
	headSize    = 5       // of a message: its type, and its length without that
	longest     = 1 << 26 // of a message that we believe in
	worthALook  = 64 << 10
	settleAfter = 150 * time.Millisecond // by then a commit on this machine is over
)

// toServer passes the daemon's messages on, one by one.
func (w *dbWire) toServer(ctx context.Context, from *bufio.Reader, to io.Writer, deaf *atomic.Bool) error {
	// The first message has no type: its length, then all of it.
	var first [4]byte
	if _, err := io.ReadFull(from, first[:]); err != nil {
		return err
	}
	if _, err := to.Write(first[:]); err != nil {
		return err
	}
	if _, err := io.CopyN(to, from, int64(binary.BigEndian.Uint32(first[:]))-4); err != nil {
		return err
	}
	seen := newSeen()
	for {
		head := make([]byte, headSize)
		if _, err := io.ReadFull(from, head); err != nil {
			return err
		}
		size := int64(binary.BigEndian.Uint32(head[1:])) - 4
		if size < 0 || size > longest {
			return errCut
		}
		body := make([]byte, size)
		if _, err := io.ReadFull(from, body); err != nil {
			return err
		}
		w.thaw(ctx)
		commits, claims := seen.message(head[0], body)
		if commits {
			if err := w.commit(claims, append(head, body...), to, deaf); err != nil {
				return err
			}
			continue
		}
		if _, err := to.Write(append(head, body...)); err != nil {
			return err
		}
	}
}

// commit passes a commit on, or does not.
func (w *dbWire) commit(claims bool, message []byte, to io.Writer, deaf *atomic.Bool) error {
	if claims {
		if do, ok := w.traps.take(beforeCommit); ok {
			w.strike(do)
			if do != stop {
				return errCut
			}
		}
		if do, ok := w.traps.take(afterCommit); ok {
			deaf.Store(do != stop) // what is paused hears of it when it goes on
			if _, err := to.Write(message); err != nil {
				return err
			}
			if do == stop {
				w.strike(do)
				return nil
			}
			time.Sleep(settleAfter)
			w.strike(do)
			return errCut
		}
	} else if do, ok := w.traps.take(anyCommit); ok {
		deaf.Store(true)
		_, _ = to.Write(message)
		time.Sleep(settleAfter)
		w.strike(do)
		return errCut
	}
	_, err := to.Write(message)
	return err
}

// seen is what one connection has sent.
type seen struct {
	claiming map[string]bool // prepared statements that insert attempts
	claim    bool            // the transaction under way did
}

func newSeen() *seen { return &seen{claiming: map[string]bool{}} }

// message looks at one of the daemon's messages: does it commit, and does that commit attempts?
func (s *seen) message(kind byte, body []byte) (commits, claims bool) {
	switch kind {
	case 'P': // parse: a name, then the statement
		name, rest, _ := bytes.Cut(body, []byte{0})
		s.claiming[string(name)] = bytes.Contains(rest[:min(len(rest), worthALook)], []byte("insert into attempts"))
	case 'B': // bind: a portal's name, then the statement's
		_, rest, _ := bytes.Cut(body, []byte{0})
		name, _, _ := bytes.Cut(rest, []byte{0})
		s.claim = s.claim || s.claiming[string(name)]
	case 'Q':
		text := bytes.TrimRight(body, "\x00")
		if bytes.EqualFold(text, []byte("commit")) {
			commits, claims = true, s.claim
			s.claim = false
		}
		if bytes.HasPrefix(bytes.ToLower(text), []byte("rollback")) {
			s.claim = false
		}
	}
	return commits, claims
}
