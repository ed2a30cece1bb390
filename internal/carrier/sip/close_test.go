package sip

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"chasephone/internal/carrier"
	"chasephone/internal/phone"
)

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
