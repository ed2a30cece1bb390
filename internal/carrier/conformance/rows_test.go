package conformance_test

import (
	"crypto/tls"
	"fmt"
	"io"
	"strings"
	"time"

	"chasephone/internal/carrier"
)

// row is one thing that a far end does, and what has to come of it.
type row struct {
	name   string
	does   func(*conn)
	want   class
	says   string // a part of the answer's text
	unsent bool   // no request may be heard: not one byte

	secure  bool              // only over TLS
	plain   bool              // the far end speaks none, whatever is asked of it
	tls     func(*tls.Config) // changes the far end's
	strange bool              // its certificate is not trusted
	refuses bool              // nobody listens
	wall    bool              // connecting takes for ever

	wait    time.Duration // ctx's deadline; 0: patience; below 0: passed before
	sendBy  time.Duration // 0: later than all else; below 0: passed before
	cancel  time.Duration // when ctx is cancelled; 0: never; below 0: before
	connect time.Duration // how long connecting may take; 0: as the transport has it
	by      time.Duration // when Place must have returned; 0: by ctx's deadline
}

const (
	number = "+14155550123"
	masked = "+*********23"

	ages = time.Minute // not a case's concern
	blip = 100 * time.Millisecond
)

// answered is a far end that hears a request, says something and goes on as one that has a call.
func answered(say func(*conn, *message) string) func(*conn) {
	return func(c *conn) {
		if m := c.hear(); m != nil {
			c.say(say(c, m))
		}
		c.attend()
	}
}

// silenced is one that says no more after that, whatever is said to it.
func silenced(say func(*conn, *message) string) func(*conn) {
	return func(c *conn) {
		if m := c.hear(); m != nil {
			c.say(say(c, m))
		}
		c.hush()
	}
}

// cut is one that says a part of its answer to be and closes.
func cut(part func(whole string) string) func(*conn) {
	return func(c *conn) {
		if m := c.hear(); m != nil {
			c.say(part(c.far.placed(m)))
		}
		c.goes()
	}
}

// quote is what nobody may read in an answer.
func quote(c *conn, m *message) string {
	return m.header("Authorization") + " or " + strings.Join(c.far.secrets(), " or ") + " from " + number
}

// promising is an answer that says that more would come.
func promising(answer string) string {
	return strings.Replace(answer, "Content-Length: ", "Content-Length: 9", 1)
}

func text(s string) func(*conn, *message) string {
	return func(*conn, *message) string { return s }
}

func placedAnswer(c *conn, m *message) string { return c.far.placed(m) }

// rows are what goes wrong, and right, once there is a connection.
func rows() []row {
	all := []row{
		{name: "placed", does: answered(placedAnswer), want: placed},
		{name: "placed, just before the deadline", wait: 2 * soon, want: placed, does: answered(func(c *conn, m *message) string {
			time.Sleep(soon) // the fault itself, not a wait for anything
			return c.far.placed(m)
		})},
		{name: "placed, but not yet", want: placed, does: answered(func(c *conn, m *message) string {
			return strings.Repeat(c.far.provisional(m), 3) + c.far.placed(m)
		})},
		{name: "refused", want: refused, says: masked, does: answered(func(c *conn, m *message) string { return c.far.refused(m, "there is no "+number) })},
		{name: "not now", want: line, says: masked, does: answered(func(c *conn, m *message) string { return c.far.notNow(m, "too many for "+number) })},
		{name: "our credentials", want: account, says: masked, does: answered(func(c *conn, m *message) string { return c.far.ourFault(m, "not by "+number) })},
		{name: "our credentials, and quotes what it was shown", want: account, does: answered(func(c *conn, m *message) string {
			return c.far.ourFault(m, "who is "+quote(c, m))
		})},
		{name: "refused, and quotes what it was shown", want: refused, does: answered(func(c *conn, m *message) string {
			return c.far.refused(m, "not for "+quote(c, m))
		})},
		{name: "garbage that quotes what it was shown", want: unknown, does: silenced(func(c *conn, m *message) string {
			return "HTTP/1.1 401 No\r\n" + quote(c, m) + "\r\n\r\n"
		})},

		{name: "takes it and closes", does: func(c *conn) { c.hear(); c.goes() }, want: unknown},
		{name: "takes it and resets", does: func(c *conn) { c.hear(); c.reset() }, want: unknown},
		{name: "takes half of it and closes", does: func(c *conn) { c.half() }, want: unknown},
		{name: "takes half of it and resets", does: func(c *conn) { c.half(); c.reset() }, want: unknown},
		{name: "takes it and is silent", does: silenced(text("")), wait: soon, want: unknown},
		{name: "takes it, says so, and is silent", wait: soon, want: unknown, does: silenced(func(c *conn, m *message) string { return c.far.provisional(m) })},
		{name: "takes it, says so, and closes", want: unknown, does: func(c *conn) {
			if m := c.hear(); m != nil {
				c.say(c.far.provisional(m))
			}
			c.goes()
		}},

		{name: "says a quarter of its answer", does: cut(func(s string) string { return s[:len(s)/4] }), want: unknown},
		{name: "says half of its answer", does: cut(func(s string) string { return s[:len(s)/2] }), want: unknown},
		{name: "says nearly all of its answer", does: cut(func(s string) string { return s[:len(s)-1] }), want: unknown},
		{name: "says less than it promised", does: cut(promising), want: unknown},
		{name: "garbage", does: silenced(text("\x00\x01 nothing that anybody speaks to " + number + "\r\n\r\n")), wait: soon, want: unknown},
		{name: "GOAWAY, as HTTP/2 has it", does: silenced(text(goAway)), wait: soon, want: unknown},
		{name: "echoes", wait: soon, want: unknown, does: func(c *conn) {
			for m := c.hear(); m != nil; m = c.hear() {
				c.say(m.raw())
			}
		}},

		{name: "not yet, without end", does: func(c *conn) { c.flood(0) }, want: unknown},
		{name: "not yet, not yet, and so on", does: func(c *conn) { c.flood(20 * time.Millisecond) }, wait: soon, want: unknown},
		{name: "placed without an id", wait: soon, want: unknown, does: silenced(func(c *conn, m *message) string { return c.far.placedAsNobody(m) })},
		{name: "placed by an id that is none", wait: soon, want: unknown, does: silenced(func(c *conn, m *message) string { return c.far.placedAs(m, "x/../y") })},
		{name: "placed, twice", want: placed, does: answered(func(c *conn, m *message) string { return c.far.placed(m) + c.far.placed(m) })},
		{name: "placed, and then refused", want: placed, does: answered(func(c *conn, m *message) string { return c.far.placed(m) + c.far.refused(m, "no") })},
		{name: "placed, before it has heard all", want: placed, does: func(c *conn) {
			if m := c.head(); m != nil {
				c.say(c.far.placed(m))
				c.rest(m)
			}
			c.attend()
		}},
		{name: "speaks before it has heard a word", wait: soon, want: mayHaveRung, does: func(c *conn) {
			c.say(c.far.placed(&message{}))
			c.hush()
		}},
		{name: "503 once it rings", want: mayHaveRung, does: answered(func(c *conn, m *message) string { return c.far.rings(m) + c.far.status(m, 503) })},
		{name: "cancelled after the write", want: unknown, by: blip, does: func(c *conn) {
			c.hear()
			c.server.cancel()
			c.hush()
		}},
	}
	for _, code := range []int{400, 402, 408, 409, 410, 487, 488, 500, 501, 502, 504, 511} {
		all = append(all, row{name: fmt.Sprint(code), want: unknown, does: answered(func(c *conn, m *message) string { return c.far.status(m, code) })})
	}
	for _, code := range []int{300, 301, 302, 303, 305, 307, 308} {
		all = append(all, row{name: fmt.Sprint(code, ", elsewhere"), want: unknown, does: answered(func(c *conn, m *message) string {
			return c.far.redirect(m, code, c.server.elsewhere)
		})})
	}
	return all
}

// goAway are two frames: SETTINGS, and a GOAWAY that says that no request was taken up.
const goAway = "\x00\x00\x00\x04\x00\x00\x00\x00\x00" + "\x00\x00\x08\x07\x00\x00\x00\x00\x00" + "\x00\x00\x00\x00\x00\x00\x00\x00\r\n\r\n"

// flood says for ever, or until Place has returned, that it is not yet the answer.
func (c *conn) flood(pause time.Duration) {
	if m := c.hear(); m != nil {
		c.server.handlers.Go(func() {
			defer c.hangUp()
			for wrote := error(nil); wrote == nil; time.Sleep(pause) { // the fault itself
				select {
				case <-c.server.returned:
					return
				default:
				}
				_, wrote = io.WriteString(c.Conn, c.far.provisional(m))
			}
		})
	}
	for c.hear() != nil {
	}
}

// unsentRows are what keeps a request from being begun.
func unsentRows() []row {
	const (
		nobody = class("not placed: " + carrier.BlameNobody)
		daemon = class("not placed: " + carrier.BlameDaemon)
	)
	mute := func(c *conn) { _, _ = io.Copy(io.Discard, c.below) } // until the carrier goes
	rows := []row{
		{name: "nobody listens", refuses: true, want: daemon},
		{name: "cannot be reached", wall: true, connect: blip, by: blip, want: daemon},
		{name: "send_by passed before", sendBy: -time.Nanosecond, by: blip, want: nobody},
		{name: "send_by passes while it connects", wall: true, sendBy: blip, by: blip, want: nobody},
		{name: "the deadline passed before", wait: -time.Second, by: blip, want: nobody},
		{name: "the deadline passes while it connects", wall: true, wait: blip, want: nobody},
		{name: "cancelled before", cancel: -1, by: blip, want: nobody},
		{name: "cancelled while it connects", wall: true, cancel: blip, by: blip, want: nobody},

		{name: "never speaks TLS", secure: true, plain: true, does: mute, connect: blip, by: blip, want: daemon},
		{name: "speaks something else than TLS", secure: true, plain: true, want: daemon, does: func(c *conn) {
			c.say(c.far.placed(&message{}))
			mute(c)
		}},
		{name: "resets the handshake", secure: true, plain: true, does: func(c *conn) { c.reset() }, want: daemon},
		{name: "a certificate that is not trusted", secure: true, strange: true, want: daemon},
		{name: "TLS that is too old", secure: true, want: daemon, tls: func(c *tls.Config) {
			c.MinVersion, c.MaxVersion = tls.VersionTLS10, tls.VersionTLS11
		}},
		{name: "send_by passes in the handshake", secure: true, plain: true, does: mute, sendBy: blip, by: blip, want: nobody},
		{name: "the deadline passes in the handshake", secure: true, plain: true, does: mute, wait: blip, want: nobody},
		{name: "cancelled in the handshake", secure: true, plain: true, does: mute, cancel: blip, by: blip, want: nobody},
	}
	for i := range rows {
		rows[i].unsent = true
		if rows[i].does == nil {
			rows[i].does = answered(placedAnswer)
		}
	}
	return rows
}
