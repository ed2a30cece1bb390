package sip

import (
	"bytes"
	"context"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	sipgo "github.com/emiago/sipgo/sip"

	"chasephone/internal/carrier"
)

// wire is a connection whose other side has said everything and gone.
type wire struct {
	in   *bytes.Reader
	sent bytes.Buffer
}

func (w *wire) Read(p []byte) (int, error)  { return w.in.Read(p) }
func (w *wire) Write(p []byte) (int, error) { return w.sent.Write(p) }
func (w *wire) Close() error                { return nil }
func (w *wire) LocalAddr() netip.AddrPort   { return netip.MustParseAddrPort("192.0.2.1:5060") }
func (w *wire) Begin(_ context.Context, p []byte, _ time.Time) carrier.Answer {
	_, _ = w.sent.Write(p)
	return nil
}

type noSound struct{}

func (noSound) LocalAddr() netip.AddrPort         { return netip.MustParseAddrPort("192.0.2.1:4000") }
func (noSound) Send([]byte, netip.AddrPort) error { return nil }
func (noSound) Close() error                      { return nil }

// Whatever a trunk says, nothing panics, Place has one answer, every message that goes out is a
// whole one, and there is no second INVITE but to a challenge. {x} stands for the header of the
// request that is answered, so that what comes is of this call.
func FuzzTrunk(f *testing.F) {
	const head = "\r\nVia: {via}\r\nFrom: {from}\r\nTo: {to};tag=b\r\nCall-ID: {id}\r\nCSeq: 1 INVITE\r\n"
	const end = "Content-Length: 0\r\n\r\n"
	f.Add("SIP/2.0 180 Ringing" + head + end + "SIP/2.0 200 OK" + head + "Contact: <sip:b@x>\r\nRecord-Route: <sip:p;lr>, \"a\r\n" + end)
	f.Add("SIP/2.0 401 Unauthorized" + head + "WWW-Authenticate" + challenge + "\r\n" + end + "SIP/2.0 200 OK" + strings.Replace(head, "1 I", "2 I", 1) + end)
	f.Add("SIP/2.0 407 x" + head + "Proxy-Authenticate: Digest realm=\"\\\"\", nonce=\"\u2028\", qop=\"auth-int\", algorithm=SHA-256, userhash=true\r\n" + end)
	f.Add("SIP/2.0 200 OK" + head + "m: *\r\nl: 46\r\n\r\nv=0\r\nc=IN IP4 127.0.0.1\r\nm=audio 9 RTP/AVP 0 96\r\n" + "SIP/2.0 200 OK" + strings.Replace(head, "tag=b", "tag=c", 1) + end)
	f.Add("BYE sip:x@y SIP/2.0\r\nv: SIP/2.0/TCP a, SIP/2.0/TCP b;branch=x\r\nf: {to};tag=b\r\nt: {from}\r\ni: {id}\r\nCSeq: 1 BYE\r\n" + end)
	for _, code := range []string{"199", "300", "403", "408", "429", "480", "484", "500", "503", "603", "699", "999"} {
		f.Add("SIP/2.0 " + code + " \x00\xff +14155550123" + head + end)
	}
	f.Add("SIP/2.0 486" + head + end + "\r\n\r\nSIP/2.0 486 \r\n folded: x\r\n\r\n")
	f.Fuzz(func(t *testing.T, said string) {
		a, err := New(Config{Trunk: "sip:93.184.216.34", Username: "u", Password: "p", TalkFor: time.Millisecond}, carrier.NewTransport(carrier.Options{}))
		if err != nil {
			t.Fatal(err)
		}
		a.lastWord = time.Millisecond
		w := &wire{}
		var told []carrier.Delivery // to be read once run has returned
		c := &call{
			by: a, order: testCall(), conn: w, media: noSound{}, answer: make(chan carrier.Answer, 1), over: make(chan struct{}),
			letters: letters{protocol: "TCP", local: w.LocalAddr(), domain: "home.example", from: "+1", to: "+2", callID: "id", fromTag: "ours"},
			diary:   newDiary("x", step{CallID: "id"}, func(d carrier.Delivery) { told = append(told, d) }),
		}
		c.invite = c.newInvite(1)
		w.in = bytes.NewReader([]byte(strings.NewReplacer("{via}", c.invite.Via().Value(), "{from}", c.invite.From().Value(),
			"{to}", raw(c.invite, "To"), "{id}", c.callID).Replace(said)))
		c.run(t.Context())
		answer := <-c.answer
		if answer == nil || len(c.answer) > 0 {
			t.Errorf("answer %#v", answer)
		}
		checkAnswer(t, said, answer)
		for _, d := range told {
			r, err := Read(d)
			if err != nil || r.Kind != carrier.KindCall || r.ID != c.callID || r.Status != "" && r.Status.Rank() == 0 {
				t.Errorf("told %q, which reads %+v, %v", d.Body, r, err)
			}
			for name, value := range r.Fields {
				if !storable(value) || utf8.RuneCountInString(value) > carrier.LongestField {
					t.Errorf("%s is %q", name, value)
				}
			}
		}
		stream, parser := newFrames(&w.sent), newParser()
		var methods []sipgo.RequestMethod
		for {
			frame, err := stream.next()
			if err != nil {
				break
			}
			switch m := parse(parser, frame).(type) {
			case nil:
				t.Errorf("sent %q", frame)
			case *sipgo.Request:
				methods = append(methods, m.Method)
			}
		}
		if w.sent.Len() > 0 {
			t.Errorf("%q is left of what was sent", w.sent.String())
		}
		if slices.Contains(methods, sipgo.INVITE) && (methods[0] != sipgo.ACK || methods[1] != sipgo.INVITE || slices.Contains(methods[2:], sipgo.INVITE)) {
			t.Errorf("sent %v", methods)
		}
	})
}

// checkAnswer: a call is sent again by a trunk's documented word alone, which it must have said.
func checkAnswer(t *testing.T, said string, answer carrier.Answer) {
	t.Helper()
	within := func(code string, codes ...string) bool {
		return slices.Contains(codes, code) && strings.Contains(said, "SIP/2.0 "+code)
	}
	switch a := answer.(type) {
	case carrier.Placed:
		if a.CallID != "id" || carrier.Status(a.Status).Rank() == 0 || !strings.Contains(said, "SIP/2.0 ") {
			t.Errorf("%q: %#v", said, a)
		}
	case carrier.Refused:
		if !within(a.Code, "404", "484", "604") || !storable(a.Text) {
			t.Errorf("%q: %#v", said, a)
		}
	case carrier.NotPlaced:
		if !within(a.Code, "401", "403", "407", "429", "503") || !storable(a.Text) {
			t.Errorf("%q: %#v", said, a)
		}
	case carrier.Unknown:
		if a.Stage != carrier.StageAwaiting && a.Stage != carrier.StageAnswered || !storable(a.Text) {
			t.Errorf("%q: %#v", said, a)
		}
	}
}

func storable(s string) bool { return utf8.ValidString(s) && !strings.ContainsRune(s, 0) }

// Every message that can be read can be answered, and what is read of it goes back on one line.
func FuzzMessage(f *testing.F) {
	const rest = "Via: SIP/2.0/TCP [::1]:5060 ;branch=z, SIP/2.0/TCP b\r\nFrom: \"a\\\"\" <sip:a@b;x?y=z>;tag=1\r\nTo: sip:b;tag=2\r\ni: 1\r\nCSeq: 1 INVITE\r\n"
	f.Add([]byte("SIP/2.0 200 OK\r\n" + rest + "Contact: \"x, y\" <sips:b@[::1]:5;lr?a=b>, *\r\nRecord-Route: <sip:a>,<sip:b>\r\n\r\n"))
	f.Add([]byte("INVITE sip:x:y@z;a=b?c SIP/2.0\r\n" + rest + "WWW-Authenticate: Digest a=b\r\n , c\r\n\r\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		frame, err := newFrames(bytes.NewReader(data)).next()
		if err != nil {
			return
		}
		l := letters{protocol: "TCP", callID: "id"}
		var sent sipgo.Message
		switch m := parse(newParser(), frame).(type) {
		case *sipgo.Request:
			sent = reply(m, 200, "OK")
		case *sipgo.Response:
			_, _ = Config{}.answerChallenge(m, nil)
			_ = classify(m, "id")
			d := dialogOf(l.newInvite(1), m)
			sent = l.newBye(d, 2)
		default:
			return
		}
		written, err := newFrames(strings.NewReader(sent.String())).next()
		if err != nil || string(written) != sent.String() {
			t.Errorf("%q is answered by %q: %v", data, sent.String(), err)
		}
	})
}

func FuzzAnswer(f *testing.F) {
	f.Add([]byte("v=0\r\nc=IN IP4 127.0.0.1\r\nm=audio 9 RTP/AVP 0 96\r\na=rtpmap:96 telephone-event/8000\r\n"))
	f.Fuzz(func(t *testing.T, sdp []byte) {
		if a := readAnswer(sdp); a.to.IsValid() != (a.to.Port() != 0) || !a.to.IsValid() && a.keys != 0 {
			t.Errorf("%+v", a)
		}
	})
}

func TestReadAnswer(t *testing.T) {
	t.Parallel()
	for sdp, want := range map[string]struct {
		to   string
		keys byte
	}{
		"v=0\nc=IN IP4 192.0.2.9\nm=audio 4000 RTP/AVP 0 101\na=rtpmap:101 telephone-event/8000\n":         {"192.0.2.9:4000", 101},
		"v=0\r\nc=IN IP4 192.0.2.9\r\nm=audio 4000 RTP/AVP 8 0\r\nc=IN IP4 192.0.2.10\r\n":                 {"192.0.2.10:4000", 0},
		"c=IN IP4 192.0.2.9\r\nm=video 5000 RTP/AVP 0\r\nc=IN IP4 192.0.2.8\r\nm=audio 4000 RTP/AVP 0\r\n": {"192.0.2.9:4000", 0},
		"c=IN IP4 192.0.2.9\r\nm=audio 4000 RTP/AVP 0\r\nm=audio 4002 RTP/AVP 0\r\nc=IN IP4 192.0.2.8\r\n": {"192.0.2.9:4000", 0},
		"c=IN IP6 2001:db8::1\r\nm=audio 4000 RTP/AVP 0\r\n":                                               {"[2001:db8::1]:4000", 0},
		"c=IN IP4 host.example\r\nm=audio 4000 RTP/AVP 0\r\n":                                              {},
		"c=IN IP4 192.0.2.9\r\nm=audio 0 RTP/AVP 0\r\n":                                                    {},
		"c=IN IP4 192.0.2.9\r\nm=audio 4000 RTP/AVP 8\r\na=rtpmap:101 telephone-event/8000\r\n":            {},
		"c=IN IP4 192.0.2.9\r\nm=audio 4000 RTP/SAVP 0\r\n":                                                {},
		"": {},
	} {
		got := readAnswer([]byte(sdp))
		to := ""
		if got.to.IsValid() {
			to = got.to.String()
		}
		if to != want.to || got.keys != want.keys {
			t.Errorf("%q: %+v", sdp, got)
		}
	}
}
