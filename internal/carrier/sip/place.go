package sip

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"chasephone/internal/carrier"
)

// Codes of answers that are ours: such a call would never be one, so no request is made.
const (
	codeNoNumber       = "number_missing"
	codeNoCallerNumber = "caller_number_missing"
	codeBadExtension   = "extension_invalid"
)

// Name is "sip".
func (a *Carrier) Name() string { return Name }

// Fits is always true: a trunk does not speak the script. Whoever answers hears the sound.
func (a *Carrier) Fits(string) bool { return true }

// CallsPerSecond is how fast the trunk takes a line's calls; 0 is no pacing.
func (a *Carrier) CallsPerSecond() float64 { return a.config.CallsPerSecond }

// Place sends one INVITE for call.To, and says what is known when the phone rings, when the
// trunk has given its last word, or when ctx ends; call.SendBy bounds the beginning. Two are
// sent only where the trunk answers the first by asking who we are, which proves that it rang
// nobody. The call then goes on by itself until it is over or the Carrier is closed. Neither
// call.Script nor call.URL is used.
func (a *Carrier) Place(ctx context.Context, order carrier.Call) carrier.Answer {
	if answer := refuse(order); answer != nil {
		return answer
	}
	if !a.begin() {
		return carrier.NotPlaced{Blame: carrier.BlameNobody, Code: carrier.CodeShutDown, Text: "stopped before the request was begun"}
	}
	began := time.Now()
	answer := a.place(ctx, order)
	a.transport.Observe(began, answer)
	return answer
}

func (a *Carrier) place(ctx context.Context, order carrier.Call) carrier.Answer {
	stop := func() {}
	if _, ok := ctx.Deadline(); !ok {
		ctx, stop = context.WithTimeout(ctx, time.Minute)
	}
	c, answer := a.dial(ctx, order)
	if answer != nil {
		stop()
		a.running.Done()
		return answer
	}
	go func() {
		defer a.running.Done()
		defer stop()
		c.run(ctx)
	}()
	return <-c.answer
}

// dial makes the connection, opens the socket for the sound and sends the INVITE.
func (a *Carrier) dial(ctx context.Context, order carrier.Call) (*call, carrier.Answer) {
	c := &call{
		by: a, order: order, answer: make(chan carrier.Answer, 1), over: make(chan struct{}),
		letters: letters{
			protocol: a.trunk.protocol(), domain: a.config.Domain,
			from: order.From.E164(), to: order.To.E164(),
			callID: callIDOf(order.Token), fromTag: rand.Text(),
		},
	}
	conn, answer := a.transport.Signal(ctx, carrier.Signal{
		Host: a.trunk.host, Port: a.trunk.port, TLS: a.trunk.tls, SendBy: order.SendBy,
		Wire: func(local, _ netip.AddrPort) ([]byte, error) {
			media, err := a.transport.Media(ctx, local.Addr())
			if err != nil {
				return nil, err
			}
			if !local.IsValid() {
				return nil, errors.Join(errors.New("the connection has no address"), media.Close())
			}
			c.media, c.local, c.sdp = media, local, offer(media.LocalAddr())
			c.invite = c.newInvite(1)
			return []byte(c.invite.String()), nil
		},
	})
	if answer != nil {
		if c.media != nil {
			_ = c.media.Close()
		}
		return nil, answer
	}
	c.conn = conn
	c.diary = newDiary(order.Token, step{CallID: c.callID, From: c.from, To: c.to, Direction: "outbound"}, a.config.Report)
	return c, nil
}

// refuse is the answer to a call that cannot be one.
func refuse(order carrier.Call) carrier.Answer {
	const mostKeys = 28
	switch {
	case order.To.IsZero():
		return carrier.Refused{Code: codeNoNumber, Text: "there is no number to call"}
	case order.From.IsZero():
		return carrier.NotPlaced{Blame: carrier.BlameAccount, Code: codeNoCallerNumber, Text: "the line has no caller number"}
	case order.Extension == "":
		return nil
	case len(order.Extension) > mostKeys, strings.Trim(order.Extension, "w") == "", strings.Trim(order.Extension, keysInOrder+"w") != "":
		return carrier.Refused{Code: codeBadExtension, Text: "the extension cannot be sent as keys"}
	}
	return nil
}

// begin counts a call that may go on, unless the Carrier is closed.
func (a *Carrier) begin() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return false
	}
	a.running.Add(1)
	return true
}

// Close takes no more calls and hangs up on every one that goes on: it cancels what rings and
// ends what was answered. It returns when all are over, or with an error when ctx ends first.
func (a *Carrier) Close(ctx context.Context) error {
	a.mu.Lock()
	if !a.closed {
		a.closed = true
		close(a.halt)
	}
	a.mu.Unlock()
	over := make(chan struct{})
	go func() {
		a.running.Wait()
		close(over)
	}()
	select {
	case <-over:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("hanging up on the trunk's calls: %w", ctx.Err())
	}
}
