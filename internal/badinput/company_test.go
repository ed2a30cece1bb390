package badinput_test

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
)

// company is the far end of both carriers, on a raw socket. It keeps its own ring book, and says to
// some numbers what makes no sense.
type company struct {
	addr     string
	nonsense map[string]string // by number; "" hangs up

	mu    sync.Mutex
	rings map[string]int // requests, by number
}

func newCompany(t *testing.T, nonsense map[string]string) *company {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &company{addr: listener.Addr().String(), nonsense: nonsense, rings: map[string]int{}}
	var open sync.WaitGroup
	t.Cleanup(func() { listener.Close(); open.Wait() })
	open.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			open.Go(func() { c.serve(conn) })
		}
	})
	return c
}

func (c *company) serve(conn net.Conn) {
	defer conn.Close()
	r, err := http.ReadRequest(bufio.NewReader(conn))
	if err != nil {
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	form, _ := url.ParseQuery(string(body))
	number := form.Get("To")
	answer := page(201, fmt.Sprintf(`{"sid":%q,"status":"queued"}`, twilioCall(number)))
	if strings.HasPrefix(r.URL.Path, "/v2/") {
		var said struct{ To string }
		_ = json.Unmarshal(body, &said)
		number = said.To
		answer = page(200, fmt.Sprintf(`{"data":{"call_control_id":%q}}`, telnyxCall(number)))
	}
	c.mu.Lock()
	c.rings[number]++
	c.mu.Unlock()
	if said, is := c.nonsense[number]; is {
		answer = said
	}
	_, _ = io.WriteString(conn, answer)
}

func (c *company) book() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := map[string]int{}
	for number, n := range c.rings {
		all[number] = n
	}
	return all
}

// twilioCall and telnyxCall are the ids of the call to a number, which they do not show.
func twilioCall(number string) string { return "CA" + digest(number) }
func telnyxCall(number string) string { return "v3:" + digest(number) }

func digest(number string) string {
	sum := sha256.Sum256([]byte(number))
	return hex.EncodeToString(sum[:16])
}

func page(status int, body string) string {
	return fmt.Sprintf("HTTP/1.1 %d So\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", status, len(body), body)
}

// nonsenseOf is the n-th answer that makes no sense, or not the sense that it seems to.
func nonsenseOf(g generator, n int, number string) string {
	id, other := twilioCall(number), twilioCall("+14150000000")
	all := []string{
		"",
		"\x00\xff\x16\x03\x01" + g.bytes(200),
		"SIP/2.0 200 OK\r\n\r\n",
		"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
		"HTTP/1.1 201 Created\r\nContent-Length: 999\r\n\r\n" + `{"sid":"` + id + `"`,
		"HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n",
		"HTTP/1.1 100 Continue\r\n\r\n",
		"HTTP/1.1 999 x\r\n\r\n",
		"HTTP/1.1 307 x\r\nLocation: /2010-04-01/Accounts/x/Calls.json\r\nContent-Length: 0\r\n\r\n",
		"HTTP/1.1 200 OK\r\n" + strings.Repeat("X: "+g.bytes(0)+strings.Repeat("y", 1000)+"\r\n", 80) + "\r\n",
		page(201, `{"sid":["`+id+`"],"status":"queued"}`),
		page(201, `{"sid":"`+id+`\u0000","status":"queued"}`),
		page(201, strings.Repeat("[", 5000)),
		page(201, `{"sid":"`+strings.Repeat("A", 100_000)+`"}`),
		page(200, `{"data":{"call_control_id":"../../etc/passwd"}}`),
		page(200, `{"data":{"call_control_id":7},"errors":{}}`),
		page(400, `{"code":1e400,"message":"x","status":400}`),
		page(400, `{"code":21211,"message":"\u0000\ud800 `+number+`","status":400}`),
		page(400, `{"code":20429,"message":"`+strings.Repeat("x", 2000)+`","status":400}`),
		page(408, `{"code":20429,"message":"x","status":408}`),
		page(422, `{"errors":[{"code":"10002","title":"\u0000","detail":"`+number+`"}]}`),
		page(422, `{"errors":[{"code":"10002","title":"No"},{"code":"zzz","title":"No"}]}`),
		page(401, `{"code":20003,"message":"\u001b[2J","status":401}`),
		page(403, `{"errors":[{"code":"10010","title":"`+strings.Repeat("é", 600)+`"}]}`),
		page(429, "\xff\xfe<html>"+g.bytes(100)),
		page(500, `{"code":21211,"message":"x","status":400}`),
		page(503, "down"),
		page(201, `{"sid":"`+other+`","status":"queued"}`), // the same id for many calls
		page(200, `{"data":{"call_control_id":"v3:the-same-id-for-many-calls"}}`),
		page(201, g.bytes(500)),
	}
	return all[n%len(all)]
}
