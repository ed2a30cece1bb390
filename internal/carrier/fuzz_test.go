package carrier

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// Whatever answers, one request was written, whole; what came back is a bounded reply without our
// secret, or unknown: never a reason to send again.
func FuzzExchange(f *testing.F) {
	f.Add([]byte("HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\n{}"))
	f.Add([]byte("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 x\r\nA: b\r\n\r\nHTTP/1.0 429\r\n\r\n"))
	f.Add([]byte("HTTP/1.1 101 x\r\n\r\n"))
	f.Add([]byte("HTTP/1.1 200 x\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n"))
	f.Add([]byte("HTTP/1.1 200 x\r\nContent-Length: 99999999999\r\n\r\nhorse battery"))
	f.Add([]byte("HTTP/1.1 -01 x\r\n\r\n"))
	f.Add([]byte("HTTP/1.1 307 x\r\nLocation: /\r\nContent-Length: 0\r\n\r\n"))
	f.Add([]byte("\x16\x03\x01"))
	f.Add([]byte(strings.Repeat("HTTP/1.1 100 Continue\r\n\r\n", 3000)))
	transport := NewTransport(Options{})
	transport.Hide("horse battery")
	f.Fuzz(func(t *testing.T, said []byte) {
		ours, theirs := net.Pipe()
		heard := make(chan string, 1)
		go func() {
			request := make([]byte, 100)
			n, _ := theirs.Read(request)
			heard <- string(request[:n])
			_, _ = theirs.Write(said)
			_ = theirs.Close()
		}()
		reply, answer := exchange(context.Background(), ours, []byte("the request"), time.Now().Add(time.Minute))
		_ = ours.Close()
		if got := <-heard; got != "the request" {
			t.Errorf("sent %q", got)
		}
		body := transport.Hidden(string(reply.Body))
		switch a := answer.(type) {
		case nil:
			if len(reply.Body) > maxBody || reply.Status/100 == 1 && reply.Status != 101 || strings.Contains(body, "horse battery") {
				t.Errorf("%q is the reply %+v", said, reply)
			}
		case Unknown:
			if a.Stage == StageAnswered || a.Text == "" || !utf8.ValidString(a.Text) || reply.Status != 0 {
				t.Errorf("%q: %+v, %+v", said, a, reply)
			}
		default:
			t.Errorf("%q: %#v", said, answer)
		}
	})
}

// What the parts of a delivery are read with keeps to what can be stored.
func FuzzWords(f *testing.F) {
	for _, s := range []string{"", "\x00\xff\U0001f600", "+14155550123", "+1415555012345678", "2147483648", "-0", "Mon, 2 Jan 2006", "9999-12-31T23:59:59-23:59", "0000-01-01T00:00:00+00:01"} {
		f.Add(s, 3)
	}
	f.Fuzz(func(t *testing.T, s string, most int) {
		most = max(0, min(most, LongestText))
		if kept := Storable(s, most); !utf8.ValidString(kept) || strings.ContainsRune(kept, 0) || utf8.RuneCountInString(kept) > most {
			t.Errorf("Storable(%q) = %q", s, kept)
		}
		if n := Number(s); !n.IsZero() && (n.E164() != s || len(s) > 16) {
			t.Errorf("Number(%q) = %q", s, n.E164())
		}
		if n := Seconds(s); n < 0 || n > maxSeconds {
			t.Errorf("Seconds(%q) = %d", s, n)
		}
		for _, layout := range []string{time.RFC3339, time.RFC1123Z, time.RFC822Z} {
			if _, err := Instant(layout, s).MarshalJSON(); err != nil {
				t.Errorf("Instant(%q): %v", s, err)
			}
		}
		_ = CheckPublicURL(s) // it does not panic
		if u, err := (guard{}).url(s); err == nil && (u.Scheme != "https" || u.User != nil || u.Hostname() == "") {
			t.Errorf("credentials may go to %q", s)
		}
	})
}
