package sip

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"chasephone/internal/carrier"
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
