package carrier

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strconv"
	"time"
)

// writePatience is how long one Write may take where nothing else bounds it sooner: a carrier
// that does not read must not hold a call for longer.
const writePatience = 5 * time.Second

// Signal is a request that may ring a phone, in a protocol that is not HTTP: SIP's INVITE.
type Signal struct {
	Host string // a name or an address
	Port uint16
	TLS  bool // without it the trunk is spoken to in the clear, public or not: who rings whom can be read on the way

	// Wire writes the request down, once there is a connection: such a request names the
	// addresses it goes from and to. An error says that nothing can be sent from here.
	Wire func(local, remote netip.AddrPort) ([]byte, error)

	SendBy time.Time // as Request's
}

// Conn is the connection a Signal went out on. What is written by Write must not be able to
// ring a phone; what is, goes by Begin.
type Conn interface {
	io.ReadWriteCloser
	LocalAddr() netip.AddrPort

	// Begin writes a request that may ring a phone, in one Write, where it is not too late.
	// nil: it was written. NotPlaced: nothing of it was. Unknown: some of it may have been.
	Begin(ctx context.Context, wire []byte, sendBy time.Time) Answer
}

// Signal makes a connection by the rules of Post's and writes the one request on it. The
// answer is nil where that was done; otherwise there is no Conn, and before the Write it is
// NotPlaced, from it on Unknown. What comes back is the caller's to read: closing too.
//
// A carrier that calls it tells Observe what came of the request.
func (t *Transport) Signal(ctx context.Context, s Signal) (Conn, Answer) {
	if _, err := t.guard.host(s.Host); err != nil {
		return nil, connectFailed(fmt.Errorf("the trunk's host %w", err))
	}
	dialed, answer := t.reach(ctx, endpoint{host: s.Host, port: strconv.Itoa(int(s.Port)), secure: s.TLS}, s.SendBy)
	if dialed == nil {
		return nil, answer
	}
	conn := &signalConn{Conn: dialed}
	wire, err := s.Wire(conn.LocalAddr(), addrPort(dialed.RemoteAddr()))
	if err != nil {
		answer = connectFailed(fmt.Errorf("writing down the request: %w", err))
	} else {
		answer = conn.Begin(ctx, wire, s.SendBy)
	}
	if answer != nil {
		_ = conn.Close()
		return nil, answer
	}
	return conn, nil
}

// Observe tells the metrics what is known of a request that was taken up at began.
func (t *Transport) Observe(began time.Time, answer Answer) {
	t.observe(t.carrier, ResultOf(answer), time.Since(began))
}

// CheckHost says why signals may not go to host, if they may not. Where its name leads is
// checked again at every connection.
func (t *Transport) CheckHost(host string) error {
	_, err := t.guard.host(host)
	return err
}

type signalConn struct{ net.Conn }

func (c *signalConn) Begin(ctx context.Context, wire []byte, sendBy time.Time) Answer {
	if answer := tooLate(ctx, sendBy); answer != nil {
		return answer
	}
	until := time.Now().Add(writePatience)
	if deadline, ok := ctx.Deadline(); ok && deadline.Before(until) {
		until = deadline
	}
	if err := c.SetWriteDeadline(until); err != nil {
		return connectFailed(err) // it is closed
	}
	if _, err := c.Conn.Write(wire); err != nil {
		return unknown(ctx, StageWriting, err)
	}
	return nil
}

// Write writes p, or fails within a few seconds.
func (c *signalConn) Write(p []byte) (int, error) {
	if err := c.SetWriteDeadline(time.Now().Add(writePatience)); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}

func (c *signalConn) LocalAddr() netip.AddrPort { return addrPort(c.Conn.LocalAddr()) }

// Packets is the socket that a call's sound goes out by.
type Packets interface {
	LocalAddr() netip.AddrPort
	// Send sends one packet to an address of the carrier's choosing, if the guard allows it.
	Send(p []byte, to netip.AddrPort) error
	Close() error
}

// Media opens a socket for the sound of a call whose signalling goes out from local.
func (t *Transport) Media(ctx context.Context, local netip.Addr) (Packets, error) {
	var config net.ListenConfig
	socket, err := config.ListenPacket(ctx, "udp", netip.AddrPortFrom(local, 0).String())
	if err != nil {
		return nil, fmt.Errorf("a socket for the sound: %w", err)
	}
	return &packets{socket: socket, guard: t.guard}, nil
}

type packets struct {
	socket net.PacketConn
	guard  guard
}

func (p *packets) LocalAddr() netip.AddrPort { return addrPort(p.socket.LocalAddr()) }

func (p *packets) Send(packet []byte, to netip.AddrPort) error {
	if err := p.guard.addr(to.Addr()); err != nil {
		return fmt.Errorf("where the sound should go %w", err)
	}
	_, err := p.socket.WriteTo(packet, net.UDPAddrFromAddrPort(to))
	return err
}

func (p *packets) Close() error { return p.socket.Close() }

// addrPort is the zero AddrPort for what is no address of TCP or UDP.
func addrPort(a net.Addr) netip.AddrPort {
	with, ok := a.(interface{ AddrPort() netip.AddrPort })
	if !ok {
		return netip.AddrPort{}
	}
	ap := with.AddrPort()
	return netip.AddrPortFrom(ap.Addr().Unmap(), ap.Port())
}
