package sip

import (
	"context"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"chasephone/internal/carrier"
)

const challenge = `: Digest realm="trunk.example", nonce="abc123", algorithm=MD5, qop="auth"`

func withPassword(c *Config) { c.Username, c.Password = "chase", "s3cret" }

// One INVITE goes out, whatever comes back, and what is made of it is proven. Every row is one
// trunk's behaviour.
func TestOneInviteWhateverHappens(t *testing.T) {
	t.Parallel()
	final := func(status string) func(*side) {
		return func(c *side) {
			invite := c.await("INVITE")
			c.say(invite.reply("100 Trying", "") + invite.reply(status, "b"))
			c.awaitClose()
		}
	}
	const soon, late = 300 * time.Millisecond, 700 * time.Millisecond // a deadline, and well after it
	unknown := func(stage carrier.Stage, code string) carrier.Answer {
		return carrier.Unknown{Stage: stage, Code: code}
	}
	placed := func(status string) carrier.Answer {
		return carrier.Placed{CallID: callIDOf(testToken), Status: status}
	}
	notPlaced := func(blame carrier.Blame, code string) carrier.Answer {
		return carrier.NotPlaced{Blame: blame, Code: code}
	}
	refused := func(code string) carrier.Answer { return carrier.Refused{Code: code} }
	for _, row := range []struct {
		name    string
		behave  func(*side)
		change  func(*Config)
		wait    time.Duration  // 0: patience
		want    carrier.Answer // but for its text
		sent    string         // the methods that went out
		reports string
	}{
		{name: "rings, is answered, and we hang up", behave: func(c *side) {
			invite := c.await("INVITE")
			c.say(invite.reply("100 Trying", "") + invite.reply("180 Ringing", "b") + invite.reply("200 OK", "b"))
			c.answering(invite)
		}, want: placed("ringing"), sent: "INVITE ACK BYE", reports: "initiated ringing in-progress completed"},
		{name: "183 and then 200", behave: func(c *side) {
			invite := c.await("INVITE")
			c.say(invite.reply("183 Session Progress", "b") + invite.reply("200 OK", "b"))
			c.answering(invite)
		}, want: placed("ringing"), sent: "INVITE ACK BYE", reports: "initiated ringing in-progress completed"},
		{name: "200 at once", behave: func(c *side) {
			invite := c.await("INVITE")
			c.say(invite.reply("200 OK", "b"))
			c.answering(invite)
		}, want: placed("in-progress"), sent: "INVITE ACK BYE", reports: "initiated in-progress completed"},
		{name: "the other side hangs up", behave: func(c *side) {
			invite := c.await("INVITE")
			c.say(invite.reply("200 OK", "b"))
			c.await("ACK")
			c.say(invite.bye("b"))
			c.awaitClose()
		}, change: func(c *Config) { c.TalkFor = time.Minute }, want: placed("in-progress"), sent: "INVITE ACK", reports: "initiated in-progress completed"},
		{name: "another's BYE does not end it", behave: func(c *side) {
			invite := c.await("INVITE")
			c.say(invite.reply("200 OK", "b") + invite.bye("somebody-else"))
			c.answering(invite)
		}, want: placed("in-progress"), sent: "INVITE ACK BYE", reports: "initiated in-progress completed"},
		{name: "two answer", behave: func(c *side) {
			invite := c.await("INVITE")
			c.say(invite.reply("200 OK", "b") + invite.reply("200 OK", "c") + invite.reply("200 OK", "b") + invite.reply("200 OK", "c"))
			c.answering(invite)
		}, change: func(c *Config) { c.TalkFor = 500 * time.Millisecond }, want: placed("in-progress"), sent: "INVITE ACK ACK BYE ACK BYE", reports: "initiated in-progress completed"},
		{name: "rings and is busy", behave: func(c *side) {
			invite := c.await("INVITE")
			c.say(invite.reply("180 Ringing", "b") + invite.reply("486 Busy Here", "b"))
			c.awaitClose()
		}, want: placed("ringing"), sent: "INVITE ACK", reports: "initiated ringing busy"},
		{name: "rings and is asked who we are", behave: func(c *side) {
			invite := c.await("INVITE")
			c.say(invite.reply("180 Ringing", "b") + invite.reply("407 Proxy Authentication Required", "b", "Proxy-Authenticate"+challenge))
			c.awaitClose()
		}, change: withPassword, want: placed("ringing"), sent: "INVITE ACK", reports: "initiated ringing failed"},
		{name: "rings for too long", behave: func(c *side) {
			invite := c.await("INVITE")
			c.say(invite.reply("180 Ringing", "b") + invite.reply("180 Ringing", "b"))
			c.answering(invite)
		}, change: func(c *Config) { c.RingFor = 50 * time.Millisecond }, want: placed("ringing"), sent: "INVITE CANCEL ACK", reports: "initiated ringing CANCEL no-answer"},
		{name: "is answered as it is cancelled", behave: func(c *side) {
			invite := c.await("INVITE")
			c.say(invite.reply("180 Ringing", "b"))
			c.say(c.await("CANCEL").reply("200 OK", "b") + invite.reply("200 OK", "b"))
			c.answering(invite)
		}, change: func(c *Config) { c.RingFor, c.TalkFor = 50*time.Millisecond, time.Minute }, want: placed("ringing"), sent: "INVITE CANCEL ACK BYE", reports: "initiated ringing CANCEL in-progress completed"},
		{name: "rings and closes", behave: func(c *side) {
			c.say(c.await("INVITE").reply("180 Ringing", "b"))
		}, want: placed("ringing"), sent: "INVITE", reports: "initiated ringing CANCEL"},

		{name: "486", behave: final("486 Busy Here"), want: placed("busy"), sent: "INVITE ACK", reports: "initiated busy"},
		{name: "600", behave: final("600 Busy Everywhere"), want: placed("busy"), sent: "INVITE ACK", reports: "initiated busy"},
		{name: "603", behave: final("603 Decline"), want: placed("busy"), sent: "INVITE ACK", reports: "initiated busy"},
		{name: "480", behave: final("480 Temporarily Unavailable"), want: placed("no-answer"), sent: "INVITE ACK", reports: "initiated no-answer"},
		{name: "404", behave: final("404 Not Found"), want: refused("404"), sent: "INVITE ACK", reports: "failed"},
		{name: "484", behave: final("484 Address Incomplete"), want: refused("484"), sent: "INVITE ACK", reports: "failed"},
		{name: "604", behave: final("604 Does Not Exist Anywhere"), want: refused("604"), sent: "INVITE ACK", reports: "failed"},
		{name: "503", behave: final("503 Service Unavailable\r\nRetry-After: 0"), want: notPlaced(carrier.BlameLine, "503"), sent: "INVITE ACK", reports: "failed"},
		{name: "429", behave: final("429 Too Many"), want: notPlaced(carrier.BlameLine, "429"), sent: "INVITE ACK", reports: "failed"},
		{name: "403", behave: final("403 Forbidden"), want: notPlaced(carrier.BlameAccount, "403"), sent: "INVITE ACK", reports: "failed"},
		{name: "401 without a password", behave: final("401 Unauthorized\r\nWWW-Authenticate" + challenge), want: notPlaced(carrier.BlameAccount, "401"), sent: "INVITE ACK", reports: "failed"},
		{name: "407 without a password", behave: final("407 Proxy Authentication Required\r\nProxy-Authenticate" + challenge), want: notPlaced(carrier.BlameAccount, "407"), sent: "INVITE ACK", reports: "failed"},
		{name: "407 of an unknown kind", change: withPassword, behave: final("407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm=x"), want: notPlaced(carrier.BlameAccount, "407"), sent: "INVITE ACK", reports: "failed"},
		{name: "302", behave: final("302 Moved\r\nContact: <sip:+1@elsewhere.example>"), want: unknown(carrier.StageAnswered, "302"), sent: "INVITE ACK", reports: "failed"},
		{name: "400", behave: final("400 Bad Request"), want: unknown(carrier.StageAnswered, "400"), sent: "INVITE ACK", reports: "failed"},
		{name: "408", behave: final("408 Request Timeout"), want: unknown(carrier.StageAnswered, "408"), sent: "INVITE ACK", reports: "failed"},
		{name: "487", behave: final("487 Request Terminated"), want: unknown(carrier.StageAnswered, "487"), sent: "INVITE ACK", reports: "canceled"},
		{name: "488", behave: final("488 Not Acceptable Here"), want: unknown(carrier.StageAnswered, "488"), sent: "INVITE ACK", reports: "failed"},
		{name: "500", behave: final("500 Server Internal Error"), want: unknown(carrier.StageAnswered, "500"), sent: "INVITE ACK", reports: "failed"},
		{name: "504", behave: final("504 Server Time-out"), want: unknown(carrier.StageAnswered, "504"), sent: "INVITE ACK", reports: "failed"},
		{name: "606", behave: final("606 Not Acceptable"), want: unknown(carrier.StageAnswered, "606"), sent: "INVITE ACK", reports: "failed"},

		{name: "closes after the INVITE", behave: func(c *side) { c.await("INVITE") }, want: unknown(carrier.StageAwaiting, ""), sent: "INVITE"},
		{name: "resets after the INVITE", behave: func(c *side) { c.await("INVITE"); c.reset() }, want: unknown(carrier.StageAwaiting, ""), sent: "INVITE"},
		{name: "closes after 100", behave: func(c *side) { c.say(c.await("INVITE").reply("100 Trying", "")) }, want: unknown(carrier.StageAwaiting, ""), sent: "INVITE"},
		{name: "garbage", behave: func(c *side) { c.await("INVITE"); c.say("\x00\x01 not SIP\r\n\r\n"); c.awaitClose() }, want: unknown(carrier.StageAwaiting, ""), sent: "INVITE CANCEL"},
		{name: "HTTP", behave: func(c *side) { c.await("INVITE"); c.say("HTTP/1.1 200 OK\r\n\r\n"); c.awaitClose() }, want: unknown(carrier.StageAwaiting, ""), sent: "INVITE CANCEL"},
		{name: "half a 200", behave: func(c *side) {
			ok := c.await("INVITE").reply("200 OK", "b")
			c.say(ok[:len(ok)/2])
		}, want: unknown(carrier.StageAwaiting, ""), sent: "INVITE"},
		{name: "half a body", behave: func(c *side) {
			c.say(strings.Replace(c.await("INVITE").reply("200 OK", "b"), "Length: 0", "Length: 9", 1) + "v=0")
		}, want: unknown(carrier.StageAwaiting, ""), sent: "INVITE"},
		{name: "a header too long", behave: func(c *side) {
			c.await("INVITE")
			c.say("SIP/2.0 180 Ringing\r\nX: " + strings.Repeat("y", mostBytesOfMessage) + "\r\n\r\n")
			c.awaitClose()
		}, want: unknown(carrier.StageAwaiting, ""), sent: "INVITE CANCEL"},
		{name: "too many headers", behave: func(c *side) {
			c.await("INVITE")
			c.say("SIP/2.0 180 Ringing\r\n" + strings.Repeat("X: y\r\n", mostHeaders+1) + "\r\n")
			c.awaitClose()
		}, want: unknown(carrier.StageAwaiting, ""), sent: "INVITE CANCEL"},
		{name: "two lengths", behave: func(c *side) {
			c.say(c.await("INVITE").reply("200 OK", "b", "Content-Length: 5"))
			c.awaitClose()
		}, want: unknown(carrier.StageAwaiting, ""), sent: "INVITE CANCEL"},
		{name: "100 without end", behave: func(c *side) {
			c.say(strings.Repeat(c.await("INVITE").reply("100 Trying", ""), mostMessages+1))
			c.awaitClose()
		}, want: unknown(carrier.StageAwaiting, ""), sent: "INVITE CANCEL"},
		{name: "silence", behave: func(c *side) { c.await("INVITE"); c.awaitClose() }, wait: soon, want: unknown(carrier.StageAwaiting, ""), sent: "INVITE"},
		{name: "100 and then silence", behave: func(c *side) {
			invite := c.await("INVITE")
			c.say(invite.reply("100 Trying", ""))
			c.answering(invite)
		}, wait: soon, want: unknown(carrier.StageAwaiting, ""), sent: "INVITE CANCEL ACK", reports: "canceled"},
		{name: "100, and silence to the CANCEL too", behave: func(c *side) {
			c.say(c.await("INVITE").reply("100 Trying", ""))
			c.awaitClose()
		}, wait: soon, want: unknown(carrier.StageAwaiting, ""), sent: "INVITE CANCEL"},
		{name: "rings after the deadline", behave: func(c *side) {
			invite := c.await("INVITE")
			time.Sleep(late) // the fault itself, not a wait for anything
			c.say(invite.reply("180 Ringing", "b"))
			c.answering(invite)
		}, wait: soon, want: unknown(carrier.StageAwaiting, ""), sent: "INVITE CANCEL ACK", reports: "initiated ringing CANCEL no-answer"},
		{name: "is answered after the deadline", behave: func(c *side) {
			invite := c.await("INVITE")
			time.Sleep(late)
			c.say(invite.reply("200 OK", "b"))
			c.answering(invite)
		}, change: func(c *Config) { c.TalkFor = time.Minute }, wait: soon, want: unknown(carrier.StageAwaiting, ""), sent: "INVITE ACK BYE", reports: "initiated in-progress completed"},
		{name: "is refused after the deadline", behave: func(c *side) {
			invite := c.await("INVITE")
			time.Sleep(late)
			c.say(invite.reply("404 Not Found", "b"))
			c.awaitClose()
		}, wait: soon, want: unknown(carrier.StageAwaiting, ""), sent: "INVITE ACK", reports: "failed"},
		{name: "asks who we are after the deadline", change: withPassword, behave: func(c *side) {
			invite := c.await("INVITE")
			time.Sleep(late)
			c.say(invite.reply("401 Unauthorized", "b", "WWW-Authenticate"+challenge))
			c.awaitClose()
		}, wait: soon, want: unknown(carrier.StageAwaiting, ""), sent: "INVITE ACK", reports: "failed"},
		{name: "answers to somebody else", behave: func(c *side) {
			invite := c.await("INVITE")
			ok := invite.reply("200 OK", "b")
			for _, change := range [][2]string{
				{"Call-ID: ", "Call-ID: x"},
				{"branch=", "branch=x"},
				{"CSeq: 1", "CSeq: 2"},
				{" INVITE", " OPTIONS"},
				{"From: " + invite.header("From"), "From: <sip:a@b>;tag=x"},
				{"SIP/2.0 200", "SIP/2.0 999"},
				{"To: ", "X-To: "},
			} {
				if strings.Count(ok, change[0]) == 0 {
					panic(change[0])
				}
				c.say(strings.Replace(ok, change[0], change[1], 1))
			}
			c.say("OPTIONS sip:x@y SIP/2.0\r\nVia: SIP/2.0/TCP t;branch=z9hG4bK1\r\nFrom: <sip:a@b>;tag=1\r\nTo: <sip:c@d>\r\nCall-ID: 1\r\nCSeq: 1 OPTIONS\r\nContent-Length: 0\r\n\r\n")
			c.say(invite.reply("486 Busy Here", "b"))
			c.awaitClose()
		}, want: placed("busy"), sent: "INVITE ACK", reports: "initiated busy"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			server := newTrunkServer(t, nil, row.behave)
			var observed []carrier.Result
			a, reports := newCarrier(t, server.addr, carrier.Options{Observe: func(_ string, r carrier.Result, _ time.Duration) {
				observed = append(observed, r)
			}}, row.change)
			a.lastWord = 2 * time.Second
			wait := row.wait
			if wait == 0 {
				wait = patience
			}
			answer := a.Place(within(t, wait), testCall())
			over(t, a)
			server.stop()

			if got := withoutText(answer); got != row.want {
				t.Errorf("answer %#v", answer)
			}
			if got := strings.Join(server.methods(), " "); got != row.sent {
				t.Errorf("sent %s", got)
			}
			if server.conns != 1 {
				t.Errorf("%d connections were made", server.conns)
			}
			if got := strings.Join(reports.statuses(t), " "); got != row.reports {
				t.Errorf("reported %s", got)
			}
			if !slices.Equal(observed, []carrier.Result{carrier.ResultOf(answer)}) {
				t.Errorf("observed %v", observed)
			}
		})
	}
}

func withoutText(a carrier.Answer) carrier.Answer {
	switch a := a.(type) {
	case carrier.Refused:
		a.Text = ""
		return a
	case carrier.NotPlaced:
		a.Text = ""
		return a
	case carrier.Unknown:
		a.Text = ""
		return a
	}
	return a
}

// Without a connection, or too late, nothing is sent: the trunk has seen no byte of a request.
func TestProvenNothingSent(t *testing.T) {
	t.Parallel()
	config, _ := serverTLS(t)
	silent := func(c *side) { _, _ = io.Copy(io.Discard, c.below) }
	for _, row := range []struct {
		name   string
		behave func(*side)
		tls    bool // spoken by both
		secure bool // asked for
		sendBy time.Duration
		wait   time.Duration
		cancel time.Duration // below 0: before
		closed bool
		blame  carrier.Blame
		code   string
	}{
		{name: "certificate not trusted", tls: true, secure: true, blame: carrier.BlameDaemon, code: carrier.CodeConnectFailed},
		{name: "not TLS at all", secure: true, behave: func(c *side) { c.say("SIP/2.0 200 OK\r\n\r\n"); c.reset() }, blame: carrier.BlameDaemon, code: carrier.CodeConnectFailed},
		{name: "silent in the handshake", secure: true, behave: silent, blame: carrier.BlameDaemon, code: carrier.CodeConnectFailed},
		{name: "send_by passed before", sendBy: -time.Nanosecond, blame: carrier.BlameNobody, code: carrier.CodeSendByPassed},
		{name: "send_by passes while connecting", secure: true, behave: silent, sendBy: 50 * time.Millisecond, blame: carrier.BlameNobody, code: carrier.CodeSendByPassed},
		{name: "deadline passed before", wait: -time.Second, blame: carrier.BlameNobody, code: carrier.CodeSendByPassed},
		{name: "cancelled before", cancel: -1, blame: carrier.BlameNobody, code: carrier.CodeShutDown},
		{name: "cancelled while connecting", secure: true, behave: silent, cancel: 50 * time.Millisecond, blame: carrier.BlameNobody, code: carrier.CodeShutDown},
		{name: "closed", closed: true, blame: carrier.BlameNobody, code: carrier.CodeShutDown},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			behave := row.behave
			if behave == nil {
				behave = func(c *side) { c.awaitClose() }
			}
			spoken := config
			if !row.tls {
				spoken = nil
			}
			server := newTrunkServer(t, spoken, behave)
			a, reports := newCarrier(t, server.addr, carrier.Options{ConnectTimeout: 200 * time.Millisecond}, func(c *Config) {
				if row.secure {
					c.Trunk = "sips:" + server.addr
				}
			})
			wait := row.wait
			if wait == 0 {
				wait = patience
			}
			ctx, cancel := context.WithTimeout(t.Context(), wait)
			defer cancel()
			switch {
			case row.cancel < 0:
				cancel()
			case row.cancel > 0:
				time.AfterFunc(row.cancel, cancel)
			}
			if row.closed {
				if err := a.Close(ctx); err != nil {
					t.Fatal(err)
				}
			}
			order := testCall()
			if row.sendBy != 0 {
				order.SendBy = time.Now().Add(row.sendBy)
			}
			answer := a.Place(ctx, order)
			over(t, a)
			server.stop()
			got, ok := answer.(carrier.NotPlaced)
			if !ok || got.Blame != row.blame || got.Code != row.code || got.Text == "" {
				t.Errorf("answer %#v", answer)
			}
			if len(server.got) != 0 || len(reports.all) != 0 {
				t.Errorf("%d messages reached the server, %d steps were told", len(server.got), len(reports.all))
			}
		})
	}
}

// What cannot be a call is no request.
func TestNoSuchCall(t *testing.T) {
	t.Parallel()
	a, _ := newCarrier(t, "127.0.0.1:1", carrier.Options{}, nil)
	for name, change := range map[string]func(*carrier.Call){
		codeNoNumber:       func(c *carrier.Call) { c.To = carrier.Call{}.To },
		codeNoCallerNumber: func(c *carrier.Call) { c.From = carrier.Call{}.From },
		codeBadExtension:   func(c *carrier.Call) { c.Extension = "12a" },
	} {
		order := testCall()
		change(&order)
		var code string
		switch got := a.Place(t.Context(), order).(type) {
		case carrier.Refused:
			code = got.Code
		case carrier.NotPlaced:
			code = got.Code
		}
		if code != name {
			t.Errorf("%s: code %q", name, code)
		}
	}
}
