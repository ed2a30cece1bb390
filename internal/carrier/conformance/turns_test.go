package conformance_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"chasephone/internal/carrier"
)

// turn is a carrier that is asked for several calls, and a far end that offers to keep connections.
type turn struct {
	name  string
	does  func(*conn)
	calls int
	once  bool    // all at the same time
	want  []class // in their order; the last one is of all that follow
}

func turns() []turn {
	return []turn{
		{name: "one after the other", does: answered(placedAnswer), calls: 3, want: []class{placed}},
		{name: "ten at once", does: answered(placedAnswer), calls: 10, once: true, want: []class{placed}},
		{name: "ten at once, and none is answered", does: func(c *conn) { c.hear(); c.goes() }, calls: 10, once: true, want: []class{unknown}},

		// Where a client that keeps connections sends again by itself: what it sent on a kept one is
		// lost, or was perhaps never read.
		{name: "what was kept is closed", calls: 2, want: []class{placed}, does: func(c *conn) {
			if m := c.hear(); m != nil {
				c.say(c.far.placed(m))
			}
			c.goes()
		}},
		{name: "the second is heard and closed", calls: 2, want: []class{placed, unknown}, does: func(c *conn) {
			for m := c.hear(); m != nil; m = c.hear() {
				switch {
				case !c.far.mayRing(m):
					c.say(c.far.polite(m))
				case len(c.server.calls()) == 1:
					c.say(c.far.placed(m))
				default:
					c.goes()
				}
			}
		}},
		{name: "the second is reset", calls: 2, want: []class{placed, unknown}, does: func(c *conn) {
			for m := c.hear(); m != nil; m = c.hear() {
				switch {
				case !c.far.mayRing(m):
					c.say(c.far.polite(m))
				case len(c.server.calls()) == 1:
					c.say(c.far.placed(m))
				default:
					c.reset()
				}
			}
		}},
		{name: "GOAWAY after the first", calls: 2, want: []class{placed}, does: answered(func(c *conn, m *message) string { return c.far.placed(m) + goAway })},
	}
}

// Each call has its own request, on a connection of its own, and its own name in it.
func TestTurns(t *testing.T) {
	t.Parallel()
	config, roots := certificate()
	for _, s := range subjects() {
		for _, r := range turns() {
			t.Run(s.name+": "+r.name, func(sub *testing.T) {
				sub.Parallel()
				st := newStage(t, sub, s, r.does, func(st *stage) {
					if s.secure {
						st.config, st.options.RootCAs = config.Clone(), roots
						st.config.NextProtos = []string{"h2", "http/1.1"}
					}
				})
				r.run(st)
			})
		}
	}
}

func (r turn) run(st *stage) {
	t := st.t
	st.open(st.server.addr)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	answers := make([]carrier.Answer, r.calls)
	var together sync.WaitGroup
	for i := range answers {
		place := func() { answers[i] = st.place(ctx, callOf(tokenOf(i))) }
		if r.once {
			together.Go(place)
		} else {
			place()
		}
	}
	together.Wait()
	st.over(r.calls)

	for i, answer := range answers {
		if got, _ := classOf(answer); !got.is(r.want[min(i, len(r.want)-1)]) {
			t.Errorf("call %d: %#v", i, answer)
		}
	}
	var named []string
	for _, m := range st.server.calls() {
		all := slices.Compact(st.subject.far.tokens(m))
		if len(all) != 1 {
			t.Errorf("one request names %q", all)
		}
		named = append(named, all[0])
	}
	slices.Sort(named)
	for i := range answers {
		if i >= len(named) || named[i] != tokenOf(i) {
			t.Errorf("the requests name %q", named)
			break
		}
	}
}

func tokenOf(i int) string { return fmt.Sprintf("tok-en_%d/é &", i) }
