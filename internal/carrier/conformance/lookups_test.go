package conformance_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"chasephone/internal/carrier"
	"chasephone/internal/phone"
)

// keeps is a far end that can be asked about the calls there were.
type keeps interface {
	wrong(status int, text string) string // its own word
	id() string                           // of a call
	none() string                         // the body of a list of no calls
}

// question asks, and reports whether anything was made of the answer.
type question func(context.Context) (something bool, err error)

// questionsOf are all that a carrier can be asked, or told of a call that there is.
func questionsOf(a any, id string) map[string]question {
	all := map[string]question{}
	if a, ok := a.(interface {
		Find(ctx context.Context, s carrier.Sought) (carrier.Found, error)
	}); ok {
		all["Find"] = func(ctx context.Context) (bool, error) {
			found, err := a.Find(ctx, carrier.Sought{
				Token: "tok-en_1", To: phone.FromE164(number), From: phone.FromE164("+14155550100"), Since: time.Now().Add(-time.Minute),
			})
			return len(found.Records) > 0 || found.Cut, err
		}
	}
	if a, ok := a.(interface {
		Fetch(ctx context.Context, id string) ([]byte, error)
	}); ok {
		all["Fetch"] = func(ctx context.Context) (bool, error) { raw, err := a.Fetch(ctx, id); return raw != nil, err }
	}
	if a, ok := a.(interface {
		Cancel(ctx context.Context, id string) error
	}); ok {
		all["Cancel"] = func(ctx context.Context) (bool, error) { return false, a.Cancel(ctx, id) }
	}
	if a, ok := a.(interface {
		Speak(ctx context.Context, id, script, commandID string) error
	}); ok {
		all["Speak"] = func(ctx context.Context) (bool, error) { return false, a.Speak(ctx, id, "Hello", "tok-en_1") }
	}
	return all
}

// asked is what a far end does when it is asked.
type asked struct {
	name string
	does func(*conn)
	wait time.Duration // 0: patience
}

func askedRows() []asked {
	says := func(answer string) func(*conn) { return answered(text(answer)) }
	rows := []asked{
		{name: "empty", does: says(json(200, ""))},
		{name: "null", does: says(json(200, "null"))},
		{name: "an empty object", does: says(json(200, "{}"))},
		{name: "an empty array", does: says(json(200, "[]"))},
		{name: "a page to log in on", does: says(page(200, "text/html", "<html>Who are you?</html>"))},
		{name: "no content", does: answered(func(c *conn, m *message) string { return c.far.status(m, 204) })},
		{name: "truncated", does: func(c *conn) {
			if m := c.hear(); m != nil {
				none := json(200, c.far.(keeps).none())
				c.say(none[:len(none)-1])
			}
			c.goes()
		}},
		{name: "less than it promised", does: func(c *conn) {
			if m := c.hear(); m != nil {
				c.say(promising(json(200, c.far.(keeps).none())))
			}
			c.goes()
		}},
		{name: "huge", does: answered(func(c *conn, _ *message) string {
			none := c.far.(keeps).none()
			return json(200, none[:len(none)-1]+`,"x":"`+strings.Repeat("x", 1<<20)+`"}`)
		})},
		{name: "garbage that quotes what it was shown", does: silenced(func(c *conn, m *message) string { return "HTTP/1.1 401 No\r\n" + quote(c, m) + "\r\n\r\n" })},
		{name: "silent", does: silenced(text("")), wait: soon},
		{name: "not yet, without end", does: func(c *conn) { c.flood(0) }},
		{name: "closes", does: func(c *conn) { c.hear(); c.goes() }},
		{name: "resets", does: func(c *conn) { c.hear(); c.reset() }},
	}
	for _, code := range []int{201, 202, 203, 302, 404, 500} { // with a list of none: only a 200 is an answer
		rows = append(rows, asked{name: fmt.Sprint(code, ", and none"), does: answered(func(c *conn, _ *message) string {
			return json(code, c.far.(keeps).none())
		})})
	}
	for _, code := range []int{401, 403, 404, 429, 500, 503} {
		rows = append(rows, asked{name: fmt.Sprint(code), does: answered(func(c *conn, m *message) string {
			return c.far.(keeps).wrong(code, "no, not "+quote(c, m))
		})})
	}
	for _, code := range []int{401, 404, 408, 500, 502, 503} {
		rows = append(rows, asked{name: fmt.Sprint(code, ", a page"), does: answered(func(c *conn, m *message) string { return c.far.status(m, code) })})
	}
	for _, code := range []int{301, 302, 303, 307, 308} {
		rows = append(rows, asked{name: fmt.Sprint(code, ", elsewhere"), does: answered(func(c *conn, m *message) string {
			return c.far.redirect(m, code, c.server.elsewhere)
		})})
	}
	return rows
}

// What is no answer is an error, and never "there was no call". A question is asked once, and is
// none that could place a call.
func TestLookUps(t *testing.T) {
	t.Parallel()
	config, roots := certificate()
	asking := 0
	for _, s := range subjects() {
		if a := s.open(t, s.scheme+"127.0.0.1:1", carrier.NewTransport(carrier.Options{AllowLoopback: true})); len(questionsOf(a, "")) == 0 {
			continue
		}
		if _, ok := s.far.(keeps); !ok {
			t.Fatalf("%s can be asked what nobody here can answer", s.name)
		}
		asking++
		for _, r := range askedRows() {
			t.Run(s.name+": "+r.name, func(sub *testing.T) {
				sub.Parallel()
				st := newStage(t, sub, s, r.does, func(st *stage) {
					if s.secure {
						st.config, st.options.RootCAs = config, roots
					}
				})
				r.run(st)
			})
		}
	}
	if asking == 0 {
		t.Error("no carrier can be asked anything")
	}
}

func (r asked) run(st *stage) {
	t := st.t
	st.open(st.server.addr)
	questions := questionsOf(st.carrier, st.subject.far.(keeps).id())
	wait := r.wait
	if wait == 0 {
		wait = patience
	}
	for _, name := range slices.Sorted(maps.Keys(questions)) {
		ctx, cancel := context.WithTimeout(t.Context(), wait)
		var something bool
		var err error
		st.within(wait+slack, func() {
			marked(ctx, st.label, func(ctx context.Context) { something, err = questions[name](ctx) })
		})
		cancel()
		var asking *carrier.AskError
		if !errors.As(err, &asking) || something {
			t.Errorf("%s: %v, made something of it: %v", name, err, something)
			continue
		}
		for _, secret := range append(st.subject.far.secrets(), "4155550123", "4155550100") {
			if strings.Contains(err.Error(), secret) {
				t.Errorf("%s: %q is in the error %v", name, secret, err)
			}
		}
	}
	st.over(0)
	if heard, connections := len(st.server.heard), st.server.connections(); heard != len(questions) || connections != len(questions) {
		t.Errorf("%d questions were asked %d times on %d connections", len(questions), heard, connections)
	}
	if n := st.elsewhere.connections(); n != 0 {
		t.Errorf("%d connections were made elsewhere", n)
	}
}

// An honest "there is none" is no error: the rows above fail for what they are named for.
func TestNoneIsNoError(t *testing.T) {
	t.Parallel()
	for _, s := range subjects() {
		f, ok := s.far.(keeps)
		if !ok || s.secure {
			continue
		}
		st := newStage(t, t, s, answered(text(json(200, f.none()))), nil)
		st.open(st.server.addr)
		something, err := questionsOf(st.carrier, f.id())["Find"](t.Context())
		if something || err != nil {
			t.Errorf("%s: %v, %v", s.name, something, err)
		}
		st.over(0)
	}
}
