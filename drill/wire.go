package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// wire is a daemon's way to its carrier. It passes each request on as it came, and strikes on the way.
type wire struct {
	port   int
	to     string
	traps  *traps
	strike func(act)
	out    atomic.Int32 // calls that the carrier is being asked for

	mu  sync.Mutex
	rnd *rand.Rand
	l   net.Listener // nil: connections are refused
}

// open takes connections; shut refuses them.
func (w *wire) open(ctx context.Context) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.l != nil {
		return nil
	}
	l, err := listen(ctx, w.port)
	if err != nil {
		return err
	}
	w.l = l
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go w.carry(ctx, conn)
		}
	}()
	return nil
}

func (w *wire) shut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.l != nil {
		_ = w.l.Close()
		w.l = nil
	}
}

// struck does what a trap says; true ends the connection.
func (w *wire) struck(at moment) bool {
	do, ok := w.traps.take(at)
	if !ok {
		return false
	}
	w.strike(do)
	return do != stop
}

// stuckFor is how long a request stays on its way that the daemon has given up. It is well
// under what nobody may say "it did not ring" for, so what is said then is true.
func (w *wire) stuckFor() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return longestStuck/2 + time.Duration(w.rnd.Int64N(int64(longestStuck/2)))
}

func (w *wire) carry(ctx context.Context, daemon net.Conn) {
	defer daemon.Close()
	var request bytes.Buffer
	r, err := http.ReadRequest(bufio.NewReader(io.TeeReader(daemon, &request)))
	if err != nil {
		return
	}
	calls := r.Method == http.MethodPost
	if calls {
		w.out.Add(1)
		defer w.out.Add(-1)
		if w.struck(accepted) {
			return
		}
	}
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return
	}
	if calls {
		if w.struck(asked) {
			return
		}
		if do, ok := w.traps.take(stuck); ok {
			// The daemon learns nothing, and the carrier rings all the same.
			raw := bytes.Clone(request.Bytes())
			go func() {
				if pause(ctx, w.stuckFor()) {
					w.ask(ctx, raw)
				}
			}()
			w.strike(do)
			return
		}
	}
	carrier, err := new(net.Dialer).DialContext(ctx, "tcp4", w.to)
	if err != nil {
		reset(daemon)
		return
	}
	defer carrier.Close()
	if _, err := carrier.Write(request.Bytes()); err != nil {
		reset(daemon)
		return
	}
	if calls {
		// The latency of every answer is longer than that.
		timer := time.AfterFunc(latency/2, func() {
			if w.struck(ringing) {
				_ = daemon.Close()
				_ = carrier.Close()
			}
		})
		defer timer.Stop()
	}
	go func() { // whoever gives up is not waited for
		_, _ = io.Copy(io.Discard, daemon)
		_ = carrier.Close()
	}()
	buf := make([]byte, 32<<10)
	for first := true; ; first = false {
		n, err := carrier.Read(buf)
		if first && calls && n > 0 && w.struck(answered) {
			return
		}
		if _, failed := daemon.Write(buf[:n]); failed != nil {
			return
		}
		switch {
		case err == io.EOF: //nolint:errorlint // a connection's end is just that
			return
		case err != nil:
			reset(daemon)
			return
		}
	}
}

// ask sends a request and takes no interest in the answer.
func (w *wire) ask(ctx context.Context, request []byte) {
	carrier, err := new(net.Dialer).DialContext(ctx, "tcp4", w.to)
	if err != nil {
		return
	}
	defer carrier.Close()
	if _, err := carrier.Write(request); err != nil {
		return
	}
	_ = carrier.SetReadDeadline(time.Now().Add(latency + 5*time.Second))
	_, _ = io.Copy(io.Discard, carrier)
}

// reset closes a connection as one that broke.
func reset(conn net.Conn) {
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}
