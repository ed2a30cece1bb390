package gates

import (
	"errors"
	"slices"
	"testing"
	"time"
)

func TestCalledIn(t *testing.T) {
	contact := func(when, asked string, reasons ...string) func(*Case) {
		return func(c *Case) {
			c.CalledIn = Known(&CalledIn{At: at(when), Source: "desk"})
			if asked != "" {
				c.Approval = yes(*c, reasons...)
				c.Approval.Asked = at(asked)
			}
		}
	}
	held := func(code, when string) Verdict {
		return Hold{Grounds{code, map[string]string{"at": when, "source": "desk"}}}
	}
	testGate(t, calledIn(false), []gateTest{
		{"never", nil, Pass{}},
		{"before the promise", contact("2026-10-05T11:59:59Z", ""), Pass{}},
		{"with the promise", contact("2026-10-05T12:00:00Z", ""), Pass{}},
		{"since", contact("2026-10-05T14:00:00.5+02:00", ""), held(CodeCalledIn, "2026-10-05T12:00:00Z")},
		{"from a source that names the number", func(c *Case) {
			c.CalledIn = Known(&CalledIn{At: at("2026-10-06T10:00:00Z"), Source: "mail of 212-555-0123"})
		}, Hold{Grounds{CodeCalledIn, map[string]string{"at": "2026-10-06T10:00:00Z", "source": "mail of #"}}}},
		{"from nowhere", func(c *Case) {
			c.CalledIn = Known(&CalledIn{At: at("2026-10-06T10:00:00Z")})
		}, Hold{Grounds{CodeCalledIn, map[string]string{"at": "2026-10-06T10:00:00Z", "source": "an unnamed source"}}}},
		{"before an approval was asked for", contact("2026-10-06T10:00:00Z", "2026-10-06T11:00:00Z"), held(CodeCalledIn, "2026-10-06T10:00:00Z")},
		{"when it was asked for", contact("2026-10-06T10:00:00Z", "2026-10-06T10:00:00Z"), held(CodeCalledIn, "2026-10-06T10:00:00Z")},
		{"after the question, whenever it was answered", contact("2026-10-06T11:00:00Z", "2026-10-06T10:00:00Z"), held(CodeCalledInAgain, "2026-10-06T11:00:00Z")},
		{"before the question, and told of after it", func(c *Case) {
			contact("2026-10-06T10:00:00Z", "2026-10-06T11:00:00Z", CodeCalledIn)(c)
			c.CalledIn.Value.Known = at("2026-10-06T12:00:00Z")
		}, held(CodeCalledInAgain, "2026-10-06T10:00:00Z")},
		{"nobody promised it", func(c *Case) {
			contact("2026-10-06T10:00:00Z", "")(c)
			c.Promised = time.Time{}
		}, Pass{}},
		{"nobody promised it, nor looked", func(c *Case) { c.Promised, c.CalledIn = time.Time{}, Fact[*CalledIn]{} }, Pass{}},
		{"unknown", func(c *Case) { c.CalledIn = Unknown[*CalledIn](errors.New("timeout")) }, Wait{
			Grounds{CodeFactsUnavailable, map[string]string{"cause": "timeout"}}, at("2026-10-06T16:05:00Z"),
		}},
		{"never loaded", func(c *Case) { c.CalledIn = Fact[*CalledIn]{} }, notLoaded()},
		{"no number", noNumber, Pass{Grounds{Code: CodeNoNumber}}},
	})
}

func TestCalledInOff(t *testing.T) {
	testGate(t, calledIn(true), []gateTest{
		{"since", func(c *Case) { c.CalledIn = Known(&CalledIn{At: c.Now, Source: "desk"}) }, Pass{}},
		{"never loaded", func(c *Case) { c.CalledIn = Fact[*CalledIn]{} }, Pass{}},
	})
}

// Each contact is asked about once: an approval answers what came before it, and never what came after.
func TestEachContactIsAskedAboutOnce(t *testing.T) {
	t.Parallel()
	gs := []Gate{calledIn(false)}
	c := good()
	for i := range 4 {
		c.CalledIn = Known(&CalledIn{At: c.Now, Source: "desk"})
		r, _ := Judge(gs, c)
		if r.Kind() != KindHold {
			t.Fatalf("contact %d: %+v", i, r)
		}
		// As an approval is asked for: for what holds now, and for what the one before was.
		reasons := r.Holds
		if c.Approval != nil {
			reasons = append(slices.Clone(c.Approval.Reasons), reasons...)
		}
		c.Now = c.Now.Add(time.Minute)
		c.Approval = yes(c, reasons...)
		c.Approval.Asked = c.Now
		if r, _ = Judge(gs, c); r.Kind() != KindPass {
			t.Fatalf("contact %d, approved: %+v", i, r)
		}
		c.Now = c.Now.Add(time.Minute)
	}

	// The same where what was approved first was something else.
	c = good()
	c.Approval = yes(c, CodeApprovalRequired)
	c.CalledIn = Known(&CalledIn{At: c.Now, Source: "desk"})
	r, _ := Judge(gs, c)
	if !slices.Equal(r.Holds, []string{CodeCalledInAgain}) {
		t.Fatalf("%+v", r)
	}
	c.Approval = yes(c, CodeApprovalRequired, CodeCalledInAgain)
	c.Approval.Asked = c.Now
	if r, _ = Judge(gs, c); r.Kind() != KindPass {
		t.Errorf("%+v", r)
	}
}
