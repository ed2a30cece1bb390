package main

import (
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// A daemon's own two servers give up whoever is slow or sends too much, and go on answering others.
func TestFleetSlowSenders(t *testing.T) {
	f := newFleet(t, "PUBLIC_URL="+companyURL)
	d := f.daemon()
	_, rest, _ := strings.Cut(d.log.String(), "metrics=")
	metricsAddr, _, _ := strings.Cut(rest, " ")
	webhook := "POST /webhooks/twilio/status HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-www-form-urlencoded\r\n"
	var all sync.WaitGroup
	for _, addr := range []string{metricsAddr, strings.TrimPrefix(d.public(t), "http://")} {
		for _, c := range []struct {
			name, say string
			drips     bool
			hears     string        // on HTTP_ADDR
			within    time.Duration // on a machine that is busy with else, some more
		}{
			{"nothing", "", false, "", 15 * time.Second},
			{"a slow header", "GET /metrics HTTP/1.1\r\nHost: x\r\nX-Slow: ", true, "", 15 * time.Second},
			{"a slow body", webhook + "Content-Length: 60000\r\n\r\n", true, "", 20 * time.Second},
			{"a slow chunk", webhook + "Transfer-Encoding: chunked\r\n\r\nffff\r\n", true, "", 20 * time.Second},
			{"a long header", "GET /metrics HTTP/1.1\r\nHost: x\r\nX-Long: " + strings.Repeat("x", 21<<10) + "\r\n\r\n", false, "431 ", 15 * time.Second},
			{"a long body", webhook + "Content-Length: 10000000\r\n\r\n" + strings.Repeat("x", 70<<10), false, "413 ", 20 * time.Second},
		} {
			for range 8 { // each many times at once
				all.Go(func() {
					conn, err := net.Dial("tcp", addr)
					if err != nil {
						t.Error(err)
						return
					}
					defer func() { _ = conn.Close() }()
					go func() {
						_, _ = io.WriteString(conn, c.say)
						for c.drips {
							time.Sleep(100 * time.Millisecond)
							if _, err := io.WriteString(conn, "x"); err != nil {
								return
							}
						}
					}()
					_ = conn.SetReadDeadline(time.Now().Add(c.within + 30*time.Second))
					began := time.Now()
					said, err := io.ReadAll(conn)
					if slow, is := errors.AsType[net.Error](err); is && slow.Timeout() {
						t.Errorf("%s, %s: not given up in %v", addr, c.name, time.Since(began))
					}
					if addr != metricsAddr && !strings.Contains(string(said), c.hears) {
						t.Errorf("%s, %s: it said %q, want %q", addr, c.name, said, c.hears)
					}
				})
			}
		}
	}
	for range 20 { // meanwhile
		if code := tell(t, d.public(t), "/webhooks/twilio/status", nil, "Zm9yZ2Vk"); code != http.StatusForbidden {
			t.Errorf("a webhook is answered %d", code)
		}
		d.metrics(t)
	}
	all.Wait()
}
