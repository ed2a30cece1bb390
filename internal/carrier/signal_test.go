package carrier

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"
)

// signalTo sends one line to addr and says what was known then.
func signalTo(t *testing.T, tr *Transport, addr string, change func(*Signal)) (Conn, Answer) {
	t.Helper()
	ap := netip.MustParseAddrPort(addr)
	s := Signal{
		Host: ap.Addr().String(), Port: ap.Port(), SendBy: time.Now().Add(30 * time.Second),
		Wire: func(local, remote netip.AddrPort) ([]byte, error) {
			if !local.IsValid() || remote != ap {
				t.Errorf("from %s to %s", local, remote)
			}
			return []byte("INVITE\r\n"), nil
		},
	}
	if change != nil {
		change(&s)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	return tr.Signal(ctx, s)
}

// One request goes out, on a connection that then carries what both sides say.
func TestSignal(t *testing.T) {
	t.Parallel()
	config, trusted := serverTLS(t)
	config.NextProtos = []string{"http/1.1"}
	for name, config := range map[string]*tls.Config{"TCP": nil, "TLS": config} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got string
			server := newRawServer(t, config, func(c *rawConn) {
				line, _ := c.in.ReadString('\n')
				c.say("100\n")
				more, _ := c.in.ReadString('\n')
				got = line + more
			})
			tr := NewTransport(Options{AllowLoopback: true, RootCAs: rootsOf(trusted)})
			conn, answer := signalTo(t, tr, server.addr, func(s *Signal) { s.TLS = config != nil })
			if answer != nil {
				t.Fatalf("answer %#v", answer)
			}
			defer conn.Close()
			if line, err := bufio.NewReader(conn).ReadString('\n'); line != "100\n" {
				t.Errorf("read %q, %v", line, err)
			}
			if _, err := conn.Write([]byte("ACK\r\n")); err != nil {
				t.Error(err)
			}
			server.stop()
			if got != "INVITE\r\nACK\r\n" || server.conns.Load() != 1 {
				t.Errorf("%q on %d connections", got, server.conns.Load())
			}
		})
	}
}

// Where it may not go, or cannot be written down, or is too late once it is, nothing is sent.
func TestSignalProvenNothingSent(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		change func(*Signal)
		strict bool
		want   NotPlaced
	}{
		"private":         {func(s *Signal) { s.Host = "10.0.0.1" }, false, NotPlaced{Blame: BlameDaemon, Code: CodeConnectFailed}},
		"this machine":    {nil, true, NotPlaced{Blame: BlameDaemon, Code: CodeConnectFailed}},
		"no host":         {func(s *Signal) { s.Host = "" }, false, NotPlaced{Blame: BlameDaemon, Code: CodeConnectFailed}},
		"not written":     {func(s *Signal) { s.Wire = func(_, _ netip.AddrPort) ([]byte, error) { return nil, errors.New("no") } }, false, NotPlaced{Blame: BlameDaemon, Code: CodeConnectFailed}},
		"no TLS":          {func(s *Signal) { s.TLS = true }, false, NotPlaced{Blame: BlameDaemon, Code: CodeConnectFailed}},
		"send_by passed":  {func(s *Signal) { s.SendBy = time.Now() }, false, NotPlaced{Blame: BlameNobody, Code: CodeSendByPassed}},
		"send_by not set": {func(s *Signal) { s.SendBy = time.Time{} }, false, NotPlaced{Blame: BlameNobody, Code: CodeSendByPassed}},
		"passes while it is written down": {func(s *Signal) {
			s.SendBy = time.Now().Add(200 * time.Millisecond)
			s.Wire = func(_, _ netip.AddrPort) ([]byte, error) {
				time.Sleep(time.Until(s.SendBy)) // the fault itself
				return []byte("INVITE\r\n"), nil
			}
		}, false, NotPlaced{Blame: BlameNobody, Code: CodeSendByPassed}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := newRawServer(t, nil, func(c *rawConn) {
				if first, _ := c.in.Peek(1); len(first) == 1 && first[0] == 0x16 { // a handshake
					c.reset()
					return
				}
				c.awaitClose()
			})
			conn, answer := signalTo(t, NewTransport(Options{AllowLoopback: !row.strict}), server.addr, row.change)
			server.stop()
			got, ok := answer.(NotPlaced)
			if !ok || conn != nil || got.Text == "" {
				t.Fatalf("answer %#v", answer)
			}
			got.Text = ""
			if got != row.want {
				t.Errorf("answer %#v", got)
			}
			if name != "no TLS" && server.bytes.Load() != 0 {
				t.Errorf("%d bytes reached the server", server.bytes.Load())
			}
		})
	}
}

// A public name that leads to a private address gets no connection.
func TestSignalToPrivateAddress(t *testing.T) {
	t.Parallel()
	tr := NewTransport(Options{})
	tr.dialer.Resolver = fakeDNS([4]byte{10, 1, 2, 3})
	_, answer := signalTo(t, tr, "127.0.0.1:5060", func(s *Signal) { s.Host = "trunk.example" })
	if got, ok := answer.(NotPlaced); !ok || got.Code != CodeConnectFailed || !strings.Contains(got.Text, "where the carrier's name leads") {
		t.Errorf("answer %#v", answer)
	}
}

// Once connected, what may ring is still not begun too late; and from its one Write on nobody knows.
func TestBegin(t *testing.T) {
	t.Parallel()
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for name, row := range map[string]struct {
		ctx    context.Context
		sendBy time.Time
		want   Answer
		writes int
	}{
		"send_by passed": {t.Context(), time.Now(), NotPlaced{Blame: BlameNobody, Code: CodeSendByPassed}, 0},
		"cancelled":      {cancelled, time.Now().Add(time.Hour), NotPlaced{Blame: BlameNobody, Code: CodeShutDown}, 0},
		"write fails":    {t.Context(), time.Now().Add(time.Hour), Unknown{Stage: StageWriting}, 1},
	} {
		counter := &writeCounter{}
		answer := (&signalConn{counter}).Begin(row.ctx, []byte("INVITE"), row.sendBy)
		switch got := answer.(type) {
		case NotPlaced:
			got.Text = ""
			answer = got
		case Unknown:
			got.Text = ""
			answer = got
		}
		if answer != row.want || counter.writes != row.writes {
			t.Errorf("%s: %#v after %d writes", name, answer, counter.writes)
		}
	}
}

func (c *writeCounter) SetWriteDeadline(time.Time) error { return nil }

// A write that is stuck when the deadline comes may have been read in part.
func TestDeadlineWithinBegin(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	client, server := net.Pipe() // a write to a pipe waits for its reader, and nobody reads
	defer server.Close()
	if got, ok := (&signalConn{client}).Begin(ctx, []byte("INVITE"), time.Now().Add(time.Hour)).(Unknown); !ok || got.Stage != StageWriting {
		t.Errorf("answer %#v", got)
	}
}

func TestCheckHost(t *testing.T) {
	t.Parallel()
	strict, loose := NewTransport(Options{}), NewTransport(Options{AllowLoopback: true})
	for host, allowed := range map[string][2]bool{
		"trunk.example.com": {true, true}, "93.184.216.34": {true, true}, "2606:2800:220:1::1": {true, true},
		"localhost": {false, true}, "127.0.0.1": {false, true}, "::1": {false, true},
		"192.168.1.1": {false, true}, "169.254.1.1": {false, false}, "": {false, false},
	} {
		for i, tr := range []*Transport{strict, loose} {
			if err := tr.CheckHost(host); (err == nil) != allowed[i] {
				t.Errorf("%q, loopback %v: %v", host, i == 1, err)
			}
		}
	}
}

// Sound goes to an address that the guard allows, and to no other.
func TestMedia(t *testing.T) {
	t.Parallel()
	ear, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ear.Close()
	to := netip.MustParseAddrPort(ear.LocalAddr().String())
	media, err := NewTransport(Options{AllowLoopback: true}).Media(t.Context(), netip.MustParseAddr("127.0.0.1"))
	if err != nil {
		t.Fatal(err)
	}
	defer media.Close()
	if err := media.Send([]byte("sound"), to); err != nil {
		t.Fatal(err)
	}
	_ = ear.SetReadDeadline(time.Now().Add(patience))
	buf := make([]byte, 16)
	n, from, err := ear.ReadFrom(buf)
	if err != nil || string(buf[:n]) != "sound" || from.String() != media.LocalAddr().String() {
		t.Errorf("%q from %v, not %v: %v", buf[:n], from, media.LocalAddr(), err)
	}
	for _, other := range []string{"169.254.1.1:4000", "0.0.0.0:4000", "255.255.255.255:4000", "224.0.0.1:4000"} {
		if err := media.Send([]byte("sound"), netip.MustParseAddrPort(other)); err == nil || !strings.Contains(err.Error(), "not a public address") {
			t.Errorf("%s: %v", other, err)
		}
	}
	strict, err := NewTransport(Options{}).Media(t.Context(), netip.MustParseAddr("127.0.0.1"))
	if err != nil {
		t.Fatal(err)
	}
	defer strict.Close()
	if err := strict.Send([]byte("sound"), to); !errors.Is(err, errThisMachine) {
		t.Errorf("to this machine: %v", err)
	}
}
