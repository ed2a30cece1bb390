//go:build contract

package sip

import (
	"bytes"
	"crypto/tls"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"chasephone/internal/carrier"
)

// SIPp, a SIP stack that is not ours, plays the trunk by the scenarios in testdata. It exits with
// 0 only where the caller's messages were those, and in that order, that the scenario awaits.
func TestContractSIPp(t *testing.T) {
	t.Parallel()
	program, err := exec.LookPath("sipp")
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("SIPp is not here: run make contract")
		}
		t.Skip("SIPp is not here: make contract installs it")
	}
	placed := func(status string) carrier.Answer {
		return carrier.Placed{CallID: callIDOf(testToken), Status: status}
	}
	notPlaced := func(blame carrier.Blame, code string) carrier.Answer {
		return carrier.NotPlaced{Blame: blame, Code: code}
	}
	unknown := carrier.Unknown{Stage: carrier.StageAwaiting}
	shortRing := func(c *Config) { c.RingFor = 300 * time.Millisecond }
	for _, row := range []struct {
		name     string
		scenario string
		status   string // that the scenario answers with, where it leaves that open
		secure   bool
		change   func(*Config)
		wait     time.Duration  // 0: patience
		want     carrier.Answer // but for its text
		sent     string         // the requests, as SIPp logged them
		reports  string
		sound    bool // reached where SIPp's answer said
	}{
		{name: "answered", scenario: "answered", want: placed("ringing"), sent: "INVITE ACK BYE", reports: "initiated ringing in-progress completed", sound: true},
		{name: "answered, over TLS", scenario: "answered", secure: true, want: placed("ringing"), sent: "INVITE ACK BYE", reports: "initiated ringing in-progress completed", sound: true},
		{name: "the phone hangs up", scenario: "phone_hangs_up", change: func(c *Config) { c.TalkFor = time.Minute }, want: placed("in-progress"), sent: "INVITE ACK", reports: "initiated in-progress completed", sound: true},
		{name: "busy", scenario: "refused", status: "486 Busy Here", want: placed("busy"), sent: "INVITE ACK", reports: "initiated busy"},
		{name: "declined", scenario: "refused", status: "603 Decline", want: placed("busy"), sent: "INVITE ACK", reports: "initiated busy"},
		{name: "no such number", scenario: "refused", status: "404 Not Found", want: carrier.Refused{Code: "404"}, sent: "INVITE ACK", reports: "failed"},
		{name: "trunk overloaded", scenario: "refused", status: "503 Service Unavailable", want: notPlaced(carrier.BlameLine, "503"), sent: "INVITE ACK", reports: "failed"},
		{name: "rings for ever", scenario: "cancelled", status: "180 Ringing", change: shortRing, want: placed("ringing"), sent: "INVITE CANCEL ACK", reports: "initiated ringing CANCEL no-answer"},
		{name: "100 and then silence", scenario: "cancelled", status: "100 Trying", wait: 500 * time.Millisecond, want: unknown, sent: "INVITE CANCEL ACK", reports: "canceled"},
		{name: "silence", scenario: "silent", wait: 500 * time.Millisecond, want: unknown, sent: "INVITE"},
		{name: "asks who we are", scenario: "challenged", change: withPassword, want: placed("in-progress"), sent: "INVITE ACK INVITE ACK BYE", reports: "initiated in-progress completed"},
		{name: "asks who we are, a proxy", scenario: "challenged_by_proxy", change: withPassword, want: placed("in-progress"), sent: "INVITE ACK INVITE ACK BYE", reports: "initiated in-progress completed"},
		{name: "does not know us", scenario: "challenged", change: func(c *Config) { c.Username, c.Password = "chase", "wrong" }, want: notPlaced(carrier.BlameAccount, "403"), sent: "INVITE ACK INVITE ACK", reports: "failed"},
		{name: "asks who we are, and nobody told us", scenario: "refused", status: "407 Proxy Authentication Required", want: notPlaced(carrier.BlameAccount, "407"), sent: "INVITE ACK", reports: "failed"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			sound, err := net.ListenPacket("udp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer sound.Close()
			trunk := startSIPp(t, program, row.scenario, row.status, sound.LocalAddr())
			options, addr := carrier.Options{}, trunk.addr
			if row.secure {
				var config *tls.Config
				config, options.RootCAs = serverTLS(t)
				addr = endTLS(t, config, trunk.addr)
			}
			a, reports := newCarrier(t, addr, options, func(c *Config) {
				if row.secure {
					c.Trunk = "sips:" + addr
				}
				if row.change != nil {
					row.change(c)
				}
			})
			a.lastWord = 5 * time.Second // longer than the silent trunk is there
			wait := row.wait
			if wait == 0 {
				wait = patience
			}
			answer := a.Place(within(t, wait), testCall())
			over(t, a)
			trunk.done(t)

			if got := withoutText(answer); got != row.want {
				t.Errorf("answer %#v", answer)
			}
			if got := strings.Join(trunk.received(t), " "); got != row.sent {
				t.Errorf("sent %s", got)
			}
			if got := strings.Join(reports.statuses(t), " "); got != row.reports {
				t.Errorf("reported %s", got)
			}
			if row.scenario == "challenged_by_proxy" { // in the other SIPp checks it
				credentials := trunk.find(t, `(?m)^Proxy-Authorization: (.*?)\r?$`)
				if len(credentials) == 0 {
					t.Fatal("no credentials were sent")
				}
				checkDigest(t, credentials[0], "INVITE", "abc123")
			}
			if !row.sound {
				return
			}
			packet := make([]byte, 1500)
			_ = sound.SetReadDeadline(time.Now().Add(patience))
			if n, _, err := sound.ReadFrom(packet); n != 172 || packet[0] != 0x80 {
				t.Errorf("sound: %d bytes, %v", n, err)
			}
		})
	}
}

// sipp is one SIPp that takes one call.
type sipp struct {
	addr     string
	cmd      *exec.Cmd
	exited   chan struct{} // closed; then err is there
	err      error
	messages string // the path of its log
	out      bytes.Buffer
}

// startSIPp returns when SIPp listens. SIPp can choose no port itself: another is tried where
// somebody took it meanwhile.
func startSIPp(t *testing.T, program, scenario, status string, sound net.Addr) *sipp {
	t.Helper()
	template, err := os.ReadFile("testdata/" + scenario + ".xml")
	if err != nil {
		t.Fatal(err)
	}
	_, soundPort, _ := net.SplitHostPort(sound.String())
	script := strings.NewReplacer("{status}", status, "{sound}", soundPort).Replace(string(template))
	var s *sipp
	for range 5 {
		free, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		s = &sipp{addr: free.Addr().String(), exited: make(chan struct{})}
		free.Close()
		_, port, _ := net.SplitHostPort(s.addr)
		dir := t.TempDir()
		s.messages = filepath.Join(dir, "messages")
		if err := os.WriteFile(filepath.Join(dir, "scenario.xml"), []byte(script), 0o600); err != nil {
			t.Fatal(err)
		}
		s.cmd = exec.Command(program, "-sf", "scenario.xml", "-t", "t1", "-i", "127.0.0.1", "-ci", "127.0.0.1", "-mi", "127.0.0.1", "-p", port,
			"-m", "1", "-nostdin", "-timeout", "20s", "-timeout_error",
			"-trace_msg", "-message_file", s.messages, "-trace_err", "-error_file", filepath.Join(dir, "errors"))
		s.cmd.Dir, s.cmd.Stdout, s.cmd.Stderr = dir, &s.out, &s.out
		if err := s.cmd.Start(); err != nil {
			t.Fatal(err)
		}
		go func() {
			s.err = s.cmd.Wait()
			close(s.exited)
		}()
		t.Cleanup(func() {
			_ = s.cmd.Process.Kill()
			<-s.exited
		})
		if s.listens() {
			return s
		}
	}
	<-s.exited
	t.Fatalf("SIPp does not listen: %v\n%s", s.err, s.out.String())
	return nil
}

// listens waits until SIPp takes connections; false where it never will.
func (s *sipp) listens() bool {
	for {
		conn, err := net.Dial("tcp", s.addr)
		if err == nil {
			conn.Close()
			return true
		}
		select {
		case <-s.exited:
			return false
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// done waits for SIPp's own verdict on the call.
func (s *sipp) done(t *testing.T) {
	t.Helper()
	<-s.exited // it has a timeout
	if s.err != nil {
		screen := s.out.String()
		faults, _ := os.ReadFile(filepath.Join(filepath.Dir(s.messages), "errors"))
		log, _ := os.ReadFile(s.messages)
		t.Errorf("SIPp: %v\n%s\n%s\n%s", s.err, screen[max(0, len(screen)-2000):], faults, log)
	}
}

// received lists the requests in SIPp's log.
func (s *sipp) received(t *testing.T) []string {
	t.Helper()
	return s.find(t, `message received \[\d+\] bytes ?:\s+([A-Z]+) sips?:`)
}

// find lists what pattern's group matches in SIPp's log.
func (s *sipp) find(t *testing.T, pattern string) []string {
	t.Helper()
	log, err := os.ReadFile(s.messages)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, m := range regexp.MustCompile(pattern).FindAllSubmatch(log, -1) {
		all = append(all, string(m[1]))
	}
	return all
}

// endTLS speaks TLS for SIPp, which Debian builds without it.
func endTLS(t *testing.T, config *tls.Config, to string) string {
	t.Helper()
	listener, err := tls.Listen("tcp", "127.0.0.1:0", config)
	if err != nil {
		t.Fatal(err)
	}
	var relays sync.WaitGroup
	relays.Go(func() {
		for {
			caller, err := listener.Accept()
			if err != nil {
				return
			}
			trunk, err := net.Dial("tcp", to)
			if err != nil {
				caller.Close()
				continue
			}
			relays.Go(func() { _, _ = io.Copy(caller, trunk); caller.Close() })
			relays.Go(func() { _, _ = io.Copy(trunk, caller); trunk.Close() })
		}
	})
	t.Cleanup(func() {
		listener.Close()
		relays.Wait()
	})
	return listener.Addr().String()
}
