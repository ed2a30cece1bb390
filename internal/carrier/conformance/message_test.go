package conformance_test

import (
	"io"
	"strconv"
	"strings"
)

// message is one message as a far end heard it. HTTP's requests and SIP's have the same form: a
// line to start with, headers, a blank line and as many bytes as Content-Length says.
type message struct {
	start string
	lines []string // of the header
	body  string
	whole bool
}

// header is the first one by that name.
func (m *message) header(name string) string {
	for _, line := range m.lines {
		if n, v, _ := strings.Cut(line, ":"); strings.EqualFold(n, name) {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

// raw is the message as it came.
func (m *message) raw() string {
	return m.start + "\r\n" + strings.Join(m.lines, "\r\n") + "\r\n\r\n" + m.body
}

// head hears a message up to its blank line; nil where no message comes any more. It is counted
// from its first byte: half a request may ring a phone too.
func (c *conn) head() *message {
	if _, err := c.in.Peek(1); err != nil {
		return nil
	}
	m := &message{}
	c.server.count(m)
	var lines []string
	for {
		line, err := c.in.ReadString('\n')
		if err != nil {
			return nil
		}
		if line = strings.TrimRight(line, "\r\n"); line == "" {
			break
		}
		lines = append(lines, line)
	}
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	if len(lines) > 0 {
		m.start, m.lines = lines[0], lines[1:]
	}
	return m
}

// rest hears what follows the head, and reports whether all of it came.
func (c *conn) rest(m *message) bool {
	n, _ := strconv.Atoi(m.header("Content-Length"))
	body := make([]byte, n)
	if _, err := io.ReadFull(c.in, body); err != nil {
		return false
	}
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	m.body, m.whole = string(body), true
	return true
}

// hear hears one message to its end.
func (c *conn) hear() *message {
	m := c.head()
	if m == nil || !c.rest(m) {
		return nil
	}
	return m
}

// half hears the beginning of a message, and leaves the rest where it is.
func (c *conn) half() {
	some := make([]byte, 40)
	if n, _ := c.Read(some); n > 0 {
		c.server.count(&message{start: string(some[:n])})
	}
}

func (c *conn) say(text string) { _, _ = io.WriteString(c.Conn, text) }

// attend hears whatever still comes, to the end, and answers it as a far end that has taken a call.
func (c *conn) attend() {
	for m := c.hear(); m != nil; m = c.hear() {
		c.say(c.far.polite(m))
	}
}

// hush says nothing more and hears everything to the end. It lets go once Place has returned: a
// carrier whose calls go on would await a last word for longer than a test may take.
func (c *conn) hush() {
	over := make(chan struct{})
	defer close(over)
	c.server.handlers.Go(func() {
		select {
		case <-c.server.returned:
			c.hangUp()
		case <-over:
		}
	})
	for c.hear() != nil {
	}
}

// goes says nothing more at all, at once, and hears everything to the end: what is sent on a
// connection that was closed from there counts as well.
func (c *conn) goes() {
	c.hangUp()
	for c.hear() != nil {
	}
}
