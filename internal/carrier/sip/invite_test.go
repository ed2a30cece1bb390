package sip

import (
	"crypto/md5"
	"encoding/hex"
	"fmt"
	"net"
	"regexp"
	"strings"
	"testing"
	"time"

	"chasephone/internal/carrier"
	"chasephone/internal/phone"
)

// The requests are exactly these: what is random in them is named by what it is.
func TestRequestsAsTheyGoOut(t *testing.T) {
	t.Parallel()
	server := newTrunkServer(t, nil, func(c *side) {
		invite := c.await("INVITE")
		ok := invite.reply("200 OK", "b", "Record-Route: <sip:p1;lr>, <sip:p2;lr>", "Record-Route: \"a, b\" <sip:p3;lr;x=1,2>")
		c.say(strings.Replace(ok, "<sip:b@127.0.0.1:5060>", "\"B\" <sip:b@10.0.0.7:5070;ob>;expires=9", 1))
		c.answering(invite)
	})
	a, _ := newCarrier(t, server.addr, carrier.Options{}, func(c *Config) { c.Domain = "home.example" })
	a.Place(within(t, patience), testCall())
	over(t, a)
	server.stop()
	if len(server.got) != 3 {
		t.Fatalf("sent %v", server.methods())
	}
	invite, ack, bye := server.got[0], server.got[1], server.got[2]
	port := regexp.MustCompile(`127\.0\.0\.1:(\d+)`).FindStringSubmatch(invite.header("Via"))[1]
	tagged := regexp.MustCompile(`tag=\w{26}`)
	seen := map[string]bool{}
	plain := func(l *letter) string {
		branch := regexp.MustCompile(`branch=z9hG4bK(\w{26})`).FindStringSubmatch(l.header("Via"))
		if branch == nil || seen[branch[1]] {
			t.Errorf("branch %v of %s", branch, l.start)
		}
		seen[branch[1]] = true
		s := l.start + "\n" + strings.Join(l.lines, "\n") + "\n"
		s = strings.ReplaceAll(strings.ReplaceAll(s, branch[1], "BRANCH"), ":"+port, ":PORT")
		return tagged.ReplaceAllString(s, "tag=OURS")
	}
	want := `INVITE sip:+14155550123@home.example;user=phone SIP/2.0
Via: SIP/2.0/TCP 127.0.0.1:PORT;branch=z9hG4bKBRANCH
Max-Forwards: 70
From: <sip:+14155550100@home.example;user=phone>;tag=OURS
To: <sip:+14155550123@home.example;user=phone>
Call-ID: 3f2b6c1e-7f3e-4f7e-8d57-0123456789ab@chasephone.invalid
CSeq: 1 INVITE
User-Agent: chasephone
Contact: <sip:+14155550100@127.0.0.1:PORT;transport=tcp>
Allow: INVITE, ACK, CANCEL, BYE, OPTIONS
Content-Type: application/sdp
Content-Length: ` + fmt.Sprint(len(invite.body)) + "\n"
	if got := plain(invite); got != want {
		t.Errorf("INVITE\n%s\nwant\n%s", got, want)
	}
	for _, row := range []struct {
		l      *letter
		method string
		seq    int
	}{{ack, "ACK", 1}, {bye, "BYE", 2}} {
		want := row.method + ` sip:b@10.0.0.7:5070;ob SIP/2.0
Via: SIP/2.0/TCP 127.0.0.1:PORT;branch=z9hG4bKBRANCH
Max-Forwards: 70
From: <sip:+14155550100@home.example;user=phone>;tag=OURS
To: <sip:+14155550123@home.example;user=phone>;tag=b
Call-ID: 3f2b6c1e-7f3e-4f7e-8d57-0123456789ab@chasephone.invalid
CSeq: ` + fmt.Sprint(row.seq, " ", row.method) + `
User-Agent: chasephone
Route: "a, b" <sip:p3;lr;x=1,2>
Route: <sip:p2;lr>
Route: <sip:p1;lr>
Content-Length: 0
`
		if got := plain(row.l); got != want {
			t.Errorf("%s\n%s\nwant\n%s", row.method, got, want)
		}
	}
	sdp := regexp.MustCompile(`m=audio \d+ `).ReplaceAllString(strings.ReplaceAll(invite.body, "\r\n", "\n"), "m=audio RTP ")
	if sdp != `v=0
o=chasephone 1 1 IN IP4 127.0.0.1
s=-
c=IN IP4 127.0.0.1
t=0 0
m=audio RTP RTP/AVP 0 101
a=rtpmap:0 PCMU/8000
a=rtpmap:101 telephone-event/8000
a=fmtp:101 0-15
a=ptime:20
a=sendrecv
` {
		t.Errorf("offer\n%s", sdp)
	}
}

// A CANCEL and the ACK of a refusal belong to the INVITE's own transaction.
func TestCancelIsOfTheSameTransaction(t *testing.T) {
	t.Parallel()
	server := newTrunkServer(t, nil, func(c *side) {
		invite := c.await("INVITE")
		c.say(invite.reply("180 Ringing", "b"))
		c.answering(invite)
	})
	a, _ := newCarrier(t, server.addr, carrier.Options{}, func(c *Config) { c.RingFor = 20 * time.Millisecond })
	a.Place(within(t, patience), testCall())
	over(t, a)
	server.stop()
	if len(server.got) != 3 {
		t.Fatalf("sent %v", server.methods())
	}
	invite := server.got[0]
	for i, want := range map[int]struct{ method, to string }{1: {"CANCEL", invite.header("To")}, 2: {"ACK", invite.header("To") + ";tag=b"}} {
		l := server.got[i]
		if l.method != want.method || l.header("CSeq") != "1 "+want.method || l.header("To") != want.to ||
			strings.TrimPrefix(l.start, want.method) != strings.TrimPrefix(invite.start, "INVITE") {
			t.Errorf("%s: %+v", want.method, l)
		}
		for _, same := range []string{"Via", "From", "Call-ID"} {
			if l.header(same) != invite.header(same) {
				t.Errorf("%s has %s %q, the INVITE %q", want.method, same, l.header(same), invite.header(same))
			}
		}
	}
}

// A trunk that asks who we are is told once, in a second INVITE of the same call; what follows
// in the call is told too.
func TestDigest(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ status, asks, answers string }{
		{"401 Unauthorized", "WWW-Authenticate", "Authorization"},
		{"407 Proxy Authentication Required", "Proxy-Authenticate", "Proxy-Authorization"},
	} {
		t.Run(row.status, func(t *testing.T) {
			t.Parallel()
			server := newTrunkServer(t, nil, func(c *side) {
				c.say(c.await("INVITE").reply(row.status, "a", row.asks+": Basic realm=x", row.asks+challenge))
				invite := c.await("INVITE")
				c.say(invite.reply("180 Ringing", "b") + invite.reply("200 OK", "b"))
				c.say(c.await("BYE").reply(row.status, "b", row.asks+strings.Replace(challenge, "abc123", "new", 1)))
				c.answering(invite)
			})
			a, reports := newCarrier(t, server.addr, carrier.Options{}, withPassword)
			answer := a.Place(within(t, patience), testCall())
			over(t, a)
			server.stop()
			if answer != (carrier.Placed{CallID: callIDOf(testToken), Status: "ringing"}) {
				t.Errorf("answer %#v", answer)
			}
			if got := strings.Join(server.methods(), " "); got != "INVITE ACK INVITE ACK BYE BYE" {
				t.Fatalf("sent %s", got)
			}
			first, second := server.got[0], server.got[2]
			if second.header("Call-ID") != first.header("Call-ID") || second.header("From") != first.header("From") ||
				second.header("Via") == first.header("Via") || second.header("CSeq") != "2 INVITE" ||
				first.header(row.answers) != "" || second.body != first.body || server.got[1].header("Via") != first.header("Via") {
				t.Errorf("first %+v\nACK %+v\nsecond %+v", first, server.got[1], second)
			}
			for i, nonce := range map[int]string{2: "abc123", 3: "abc123", 4: "abc123", 5: "new"} {
				l := server.got[i]
				method := l.method
				if method == "ACK" {
					method = "INVITE" // it has its INVITE's
				}
				checkDigest(t, l.header(row.answers), method, nonce)
			}
			if got := strings.Join(reports.statuses(t), " "); got != "initiated ringing in-progress completed" {
				t.Errorf("reported %s", got)
			}
		})
	}
}

// checkDigest works the response out again (RFC 2617).
func checkDigest(t *testing.T, header, method, nonce string) {
	t.Helper()
	field := func(name string) string {
		m := regexp.MustCompile(`(?:^Digest |, )` + name + `="?([^",]*)`).FindStringSubmatch(header)
		if m == nil {
			t.Errorf("%s: %q has no %s", method, header, name)
			return ""
		}
		return m[1]
	}
	sum := func(s string) string { h := md5.Sum([]byte(s)); return hex.EncodeToString(h[:]) }
	want := sum(strings.Join([]string{
		sum("chase:trunk.example:s3cret"), nonce, field("nc"), field("cnonce"), "auth", sum(method + ":" + field("uri")),
	}, ":"))
	if field("response") != want || field("nonce") != nonce || field("username") != "chase" || strings.Contains(header, "s3cret") {
		t.Errorf("%s: %q, want response %s", method, header, want)
	}
}

// The second INVITE too is bounded by SendBy; and a trunk that does not like it has had its turn.
func TestSecondChallenge(t *testing.T) {
	t.Parallel()
	asks := func(l *letter) string { return l.reply("401 Unauthorized", "a", "WWW-Authenticate"+challenge) }
	t.Run("again", func(t *testing.T) {
		t.Parallel()
		server := newTrunkServer(t, nil, func(c *side) {
			c.say(asks(c.await("INVITE")))
			c.say(asks(c.await("INVITE")))
			c.awaitClose()
		})
		a, _ := newCarrier(t, server.addr, carrier.Options{}, withPassword)
		answer := withoutText(a.Place(within(t, patience), testCall()))
		over(t, a)
		server.stop()
		if answer != (carrier.NotPlaced{Blame: carrier.BlameAccount, Code: "401"}) || server.count("INVITE") != 2 {
			t.Errorf("answer %#v, sent %v", answer, server.methods())
		}
	})
	t.Run("too late", func(t *testing.T) {
		t.Parallel()
		order := testCall()
		order.SendBy = time.Now().Add(200 * time.Millisecond)
		server := newTrunkServer(t, nil, func(c *side) {
			invite := c.await("INVITE")
			time.Sleep(time.Until(order.SendBy)) // the fault itself
			c.say(asks(invite))
			c.awaitClose()
		})
		a, reports := newCarrier(t, server.addr, carrier.Options{}, withPassword)
		answer := withoutText(a.Place(within(t, patience), order))
		over(t, a)
		server.stop()
		want := carrier.NotPlaced{Blame: carrier.BlameNobody, Code: carrier.CodeSendByPassed}
		if answer != want || strings.Join(server.methods(), " ") != "INVITE ACK" || len(reports.all) != 0 {
			t.Errorf("answer %#v, sent %v", answer, server.methods())
		}
	})
}

// Over TLS everything is the same.
func TestOverTLS(t *testing.T) {
	t.Parallel()
	config, roots := serverTLS(t)
	server := newTrunkServer(t, config, func(c *side) {
		invite := c.await("INVITE")
		c.say(invite.reply("180 Ringing", "b") + invite.reply("200 OK", "b"))
		c.answering(invite)
	})
	a, _ := newCarrier(t, server.addr, carrier.Options{RootCAs: roots}, func(c *Config) { c.Trunk = "sips:" + server.addr })
	answer := a.Place(within(t, patience), testCall())
	over(t, a)
	server.stop()
	if answer != (carrier.Placed{CallID: callIDOf(testToken), Status: "ringing"}) || strings.Join(server.methods(), " ") != "INVITE ACK BYE" {
		t.Fatalf("answer %#v, sent %v", answer, server.methods())
	}
	if invite := server.got[0]; !strings.HasPrefix(invite.header("Via"), "SIP/2.0/TLS ") || !strings.Contains(invite.header("Contact"), ";transport=tls") {
		t.Errorf("INVITE %+v", invite)
	}
}

// heard is a telephone's ear: what came by RTP.
type heard struct {
	sound []byte // in order, without gaps
	keys  string
}

// listenOn reads packets until there are enough, or for too long.
func listenOn(t *testing.T, socket net.PacketConn, enough func(heard) bool) heard {
	t.Helper()
	_ = socket.SetReadDeadline(time.Now().Add(patience))
	var h heard
	var last uint16
	lastKey := uint32(0)
	buf := make([]byte, 2048)
	for nth := 0; !enough(h); nth++ {
		n, _, err := socket.ReadFrom(buf)
		if err != nil {
			t.Fatalf("after %d packets: %v", nth, err)
		}
		p := buf[:n]
		sequence := uint16(p[2])<<8 | uint16(p[3])
		stamp := uint32(p[4])<<24 | uint32(p[5])<<16 | uint32(p[6])<<8 | uint32(p[7])
		if p[0] != 0x80 || nth > 0 && sequence != last+1 || (nth == 0) != (p[1] == 0x80) && p[1]&0x7f == 0 {
			t.Fatalf("packet %d begins % x", nth, p[:12])
		}
		last = sequence
		switch payload := p[12:]; {
		case p[1]&0x7f == 0 && len(payload) == 160:
			h.sound = append(h.sound, payload...)
		case p[1]&0x7f == 96 && len(payload) == 4:
			if stamp != lastKey {
				h.keys += keysInOrder[payload[0] : payload[0]+1]
			}
			lastKey = stamp
		default:
			t.Fatalf("packet %d is % x", nth, p)
		}
	}
	return h
}

// Whoever answers hears the sound, after the keys of the extension.
func TestSoundIsHeard(t *testing.T) {
	t.Parallel()
	ear, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ear.Close()
	_, port, _ := net.SplitHostPort(ear.LocalAddr().String())
	server := newTrunkServer(t, nil, func(c *side) {
		invite := c.await("INVITE")
		c.say(invite.reply("200 OK", "b", "Content-Type: application/sdp",
			"v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\nm=audio "+port+" RTP/AVP 0 96\r\na=rtpmap:96 telephone-event/8000\r\n"))
		c.answering(invite)
	})
	path, sound := writeSound(t, 50)
	a, reports := newCarrier(t, server.addr, carrier.Options{}, func(c *Config) { c.Sound = path })
	order := testCall()
	order.Extension = "4w*7"
	answer := a.Place(within(t, patience), order)
	silentPackets := beforeKeys + 3*betweenKeys + halfASecond
	h := listenOn(t, ear, func(h heard) bool { return len(h.sound) >= silentPackets*perPacket+len(sound) })
	over(t, a)
	if answer != (carrier.Placed{CallID: callIDOf(testToken), Status: "in-progress"}) {
		t.Errorf("answer %#v", answer)
	}
	if h.keys != "4*7" {
		t.Errorf("keys %q", h.keys)
	}
	if got := h.sound[silentPackets*perPacket:]; string(got) != string(sound) {
		t.Error("the sound is another")
	}
	report, err := Read(reports.all[len(reports.all)-1])
	if err != nil || report.Status != carrier.StatusCompleted || report.Seconds < 2 || report.Seconds > 60 {
		t.Errorf("%+v, %v", report, err)
	}
}

// Sound goes where the guard allows and nowhere else; the call is one all the same.
func TestSoundGoesNowhereElse(t *testing.T) {
	t.Parallel()
	for _, sdp := range []string{
		"v=0\r\nc=IN IP4 10.0.0.1\r\nm=audio 4000 RTP/AVP 0\r\n", "v=0\r\nc=IN IP4 127.0.0.1\r\nm=audio 4000 RTP/AVP 8\r\n", "v=0\r\n",
	} {
		server := newTrunkServer(t, nil, func(c *side) {
			invite := c.await("INVITE")
			c.say(invite.reply("200 OK", "b", sdp))
			c.answering(invite)
		})
		a, _ := newCarrier(t, server.addr, carrier.Options{}, nil)
		a.Place(within(t, patience), testCall())
		over(t, a)
		server.stop()
		if got := strings.Join(server.methods(), " "); got != "INVITE ACK BYE" {
			t.Errorf("%q: sent %s", sdp, got)
		}
	}
}

// Close hangs up on what rings and on what was answered, and waits for it.
func TestCloseHangsUp(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ name, status, sent, reports string }{
		{"ringing", "180 Ringing", "INVITE CANCEL ACK", "initiated ringing CANCEL canceled"},
		{"answered", "200 OK", "INVITE ACK BYE", "initiated in-progress completed"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			server := newTrunkServer(t, nil, func(c *side) {
				invite := c.await("INVITE")
				c.say(invite.reply(row.status, "b"))
				c.answering(invite)
			})
			a, reports := newCarrier(t, server.addr, carrier.Options{}, func(c *Config) { c.TalkFor = time.Minute })
			if answer, ok := a.Place(within(t, patience), testCall()).(carrier.Placed); !ok {
				t.Errorf("answer %#v", answer)
			}
			if err := a.Close(within(t, patience)); err != nil {
				t.Fatal(err)
			}
			server.stop()
			if got := strings.Join(server.methods(), " "); got != row.sent {
				t.Errorf("sent %s", got)
			}
			if got := strings.Join(reports.statuses(t), " "); got != row.reports {
				t.Errorf("reported %s", got)
			}
		})
	}
}

// Close waits no longer than it is told to.
func TestCloseEnds(t *testing.T) {
	t.Parallel()
	server := newTrunkServer(t, nil, func(c *side) { c.say(c.await("INVITE").reply("180 Ringing", "b")); c.awaitClose() })
	a, _ := newCarrier(t, server.addr, carrier.Options{}, nil)
	a.lastWord = time.Second
	a.Place(within(t, patience), testCall())
	if err := a.Close(within(t, 20*time.Millisecond)); err == nil {
		t.Error("closed, and a call goes on")
	}
	over(t, a)
}

// Numbers show in no text that is logged; they do in what is stored.
func TestNumbersAreMasked(t *testing.T) {
	t.Parallel()
	server := newTrunkServer(t, nil, func(c *side) {
		c.say(c.await("INVITE").reply("500 no route to +14155550123", "b"))
		c.awaitClose()
	})
	a, reports := newCarrier(t, server.addr, carrier.Options{}, nil)
	answer := a.Place(within(t, patience), testCall())
	over(t, a)
	report, _ := Read(reports.all[0])
	if strings.Contains(fmt.Sprint(answer), "4155550123") || strings.Contains(report.Fields["reason"], "4155550123") ||
		report.Fields["to"] != "+14155550123" || report.Them != phone.FromE164("+14155550123") {
		t.Errorf("answer %v, fields %v", answer, report.Fields)
	}
}
