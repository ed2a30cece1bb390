package sip

import (
	"net"
	"strings"
	"testing"
	"time"

	"chasephone/internal/carrier"
)

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
