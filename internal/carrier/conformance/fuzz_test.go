package conformance_test

import (
	"bufio"
	"bytes"
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"chasephone/internal/carrier"
)

// FuzzPlace: whatever bytes a far end answers with, and however it ends, it heard one request that
// may ring a phone; and that request is sent again by the carrier's documented word alone, which
// must have been said. {via} and the like stand for the headers of the request that is answered,
// so that what a trunk says is of this call.
func FuzzPlace(f *testing.F) {
	const head = "\r\nVia: {via}\r\nFrom: {from}\r\nTo: {to};tag=b\r\nCall-ID: {id}\r\nCSeq: 1 INVITE\r\nContent-Length: 0\r\n\r\n"
	const twilioNow = `{"code":20429,"message":"no +14155550123","more_info":"","status":429}`
	for end := range uint8(2) {
		f.Add(uint8(0), end, []byte(json(201, `{"sid":"`+twilioCall+`","status":"queued"}`)))
		f.Add(uint8(0), end, []byte(json(429, twilioNow)))
		f.Add(uint8(0), end, []byte(json(503, twilioNow)))
		f.Add(uint8(0), end, []byte("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 307 x\r\nLocation: /\r\nContent-Length: 9\r\n\r\n"))
		f.Add(uint8(0), end, []byte("HTTP/1.1 401 x\r\n\r\n"+`{"code":20003,"message":"x","status":401}`))
		f.Add(uint8(0), end, []byte("HTTP/2.0 429 x\r\n\r\n"))
		f.Add(uint8(0), end, []byte{})
		f.Add(uint8(1), end, []byte(json(200, `{"data":{"call_control_id":"`+telnyxCall+`"}}`)))
		f.Add(uint8(1), end, []byte(telnyxError(401, "10009", "\x00")))
		f.Add(uint8(1), end, []byte(telnyxError(408, "10011", "x")))
		f.Add(uint8(1), end, []byte("HTTP/1.1 429 x\r\nContent-Length: 5\r\n\r\n<"))
		f.Add(uint8(2), end, []byte("SIP/2.0 180 Ringing"+head+"SIP/2.0 200 OK"+head))
		f.Add(uint8(2), end, []byte("SIP/2.0 503 +14155550123"+head))
		f.Add(uint8(2), end, []byte("SIP/2.0 503 x"+strings.Replace(head, "{id}", "another", 1)))
		f.Add(uint8(2), end, []byte("SIP/2.0 401 x"+strings.Replace(head, "\r\n\r\n", "\r\nWWW-Authenticate: Digest realm=\"a\", nonce=\"b\"\r\n\r\n", 1)))
		f.Add(uint8(2), end, []byte("HTTP/1.1 429 x\r\n\r\n"))
	}
	all := subjects()
	all = []subject{all[0], all[2], all[3]} // without TLS, which says nothing more of bytes
	f.Fuzz(func(t *testing.T, which, end uint8, said []byte) {
		s := all[int(which)%len(all)]
		st := newStage(t, t, s, func(c *conn) {
			m := c.hear()
			if m == nil {
				return
			}
			c.say(strings.NewReplacer("{via}", m.header("Via"), "{from}", m.header("From"), "{to}", m.header("To"), "{id}", m.header("Call-ID")).Replace(string(said)))
			if end%2 == 0 {
				c.goes()
			} else {
				c.reset()
			}
		}, nil)
		st.open(st.server.addr)
		ctx, cancel := context.WithTimeout(t.Context(), soon)
		defer cancel()
		var answer carrier.Answer
		st.within(soon+slack, func() { answer = st.place(ctx, callOf("tok-en_1")) })
		requests, most := st.end(), 1
		if s.scheme == "sip:" && asksWho(said) { // which proves that the first rang nobody
			most = 2
		}
		if requests < 1 || requests > most || st.server.connections() != 1 {
			t.Errorf("%q: %d requests on %d connections", said, requests, st.server.connections())
		}
		if got, text := classOf(answer); !utf8.ValidString(text) || strings.ContainsRune(text, 0) || got == placed && !bytes.Contains(said, []byte("2")) {
			t.Errorf("%q: %#v", said, answer)
		}
		if p, ok := answer.(carrier.Placed); ok && s.scheme != "sip:" {
			if p.CallID == "" || len(p.CallID) > 200 {
				t.Errorf("%q: %#v", said, answer)
			}
		} else {
			checkAnswer(t, s, answer, st.server.calls())
		}
		if n, is := answer.(carrier.NotPlaced); is && !documented(s.name, n.Code, said) {
			t.Errorf("%s is asked again after %q: %#v", s.name, said, answer)
		}
	})
}

func asksWho(said []byte) bool {
	return bytes.Contains(said, []byte("SIP/2.0 401")) || bytes.Contains(said, []byte("SIP/2.0 407"))
}

// documented reports whether said holds an answer that the carrier documents as not processed,
// written down apart from the carriers' own tables.
func documented(name, code string, said []byte) bool {
	if strings.HasPrefix(name, "sip") {
		word := slices.Contains([]string{"401", "403", "407", "429", "503"}, code) && bytes.Contains(said, []byte("SIP/2.0 "+code))
		// Asked who we are, nothing more could be written.
		return word || asksWho(said) && (code == carrier.CodeConnectFailed || code == carrier.CodeSendByPassed)
	}
	in := bufio.NewReader(bytes.NewReader(said))
	status := 100
	for status/100 == 1 && status != 101 {
		r, err := http.ReadResponse(in, nil)
		if err != nil {
			return false
		}
		status = r.StatusCode
	}
	any4xx := status/100 == 4 && status != 408
	byCode := map[string]map[string]bool{
		"twilio": {"20429": any4xx, "10004": any4xx, "10001": any4xx, "20005": any4xx, "20003": status == 401 || status == 403, "21210": status == 400},
		"telnyx": {"10011": status == 429, "10009": status == 401, "10010": status == 403, "10039": status == 403, "10002": status == 422, "10016": status == 422},
	}
	return status == 429 || byCode[name][code]
}
