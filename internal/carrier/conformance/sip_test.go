package conformance_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"chasephone/internal/carrier"
	"chasephone/internal/carrier/sip"
	"chasephone/internal/drain"
)

const sipSecret = "secret-of-the-trunk"

func newSIP(t *testing.T, trunk string, tr *carrier.Transport) drain.Carrier {
	t.Helper()
	a, err := sip.New(sip.Config{Trunk: trunk, Username: "chase", Password: sipSecret, TalkFor: 60 * time.Millisecond}, tr)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// farTrunk speaks as a SIP trunk does. It does not ask who calls: what follows then is SIP's own.
type farTrunk struct{}

func (farTrunk) secrets() []string { return []string{sipSecret} }

// mayRing is true of everything but what ends or acknowledges a call, and answers.
func (farTrunk) mayRing(m *message) bool {
	for _, harmless := range []string{"ACK ", "BYE ", "CANCEL ", "SIP/2.0 "} {
		if strings.HasPrefix(m.start, harmless) {
			return false
		}
	}
	return true
}

func (farTrunk) tokens(m *message) []string {
	id, _, _ := strings.Cut(m.header("Call-ID"), "@")
	token, _ := url.QueryUnescape(id)
	return []string{token}
}

func (farTrunk) named(m *message) string { return m.header("Call-ID") }

// reply is an answer to a request, with a tag of ours and more header lines.
func reply(m *message, status string, more ...string) string {
	to := m.header("To")
	if !strings.Contains(to, ";tag=") {
		to += ";tag=b"
	}
	lines := append([]string{
		"SIP/2.0 " + status, "Via: " + m.header("Via"), "From: " + m.header("From"), "To: " + to,
		"Call-ID: " + m.header("Call-ID"), "CSeq: " + m.header("CSeq"),
	}, more...)
	return strings.Join(lines, "\r\n") + "\r\nContent-Length: 0\r\n\r\n"
}

func (farTrunk) placed(m *message) string {
	return reply(m, "200 OK", "Contact: <sip:b@127.0.0.1:5060>")
}

func (f farTrunk) placedAs(m *message, id string) string {
	return strings.Replace(f.placed(m), m.header("Call-ID"), id, 1)
}

func (f farTrunk) placedAsNobody(m *message) string {
	return strings.Replace(f.placed(m), "Call-ID: "+m.header("Call-ID")+"\r\n", "", 1)
}

func (farTrunk) refused(m *message, text string) string  { return reply(m, "404 "+text) }
func (farTrunk) notNow(m *message, text string) string   { return reply(m, "503 "+text) }
func (farTrunk) ourFault(m *message, text string) string { return reply(m, "403 "+text) }

func (farTrunk) status(m *message, code int) string {
	return reply(m, fmt.Sprintf("%d about %s", code, m.header("To")))
}

func (farTrunk) redirect(m *message, code int, elsewhere string) string {
	return reply(m, fmt.Sprint(code, " Moved"), "Contact: <"+elsewhere+">")
}

func (farTrunk) provisional(m *message) string { return reply(m, "100 Trying") }
func (farTrunk) rings(m *message) string       { return reply(m, "180 Ringing") }

// polite takes every farewell, and gives a call that is cancelled its last word.
func (farTrunk) polite(m *message) string {
	switch {
	case strings.HasPrefix(m.start, "BYE "):
		return reply(m, "200 OK")
	case strings.HasPrefix(m.start, "CANCEL "):
		return reply(m, "200 OK") + strings.Replace(reply(m, "487 Request Terminated"), " CANCEL\r\n", " INVITE\r\n", 1)
	}
	return ""
}
