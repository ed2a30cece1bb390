package sip

import (
	"crypto/md5"
	"encoding/hex"
	"regexp"
	"strings"
	"testing"
	"time"

	"chasephone/internal/carrier"
)

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
		order.SendBy = time.Now().Add(500 * time.Millisecond)
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
