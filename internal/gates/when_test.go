package gates

import (
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"chasephone/internal/rules"
)

func TestWhen(t *testing.T) {
	t.Parallel()
	chain := Chain(everyLimit(t))
	night := func(c *Case) { c.Now = at("2026-10-06T05:00:00Z") } // 01:00 in New York
	for _, tt := range []struct {
		name   string
		change func(*Case)
		at     string // "" where it waits to the end
		kind   string
	}{
		{"now", func(*Case) {}, "2026-10-06T16:00:00Z", KindPass},
		{"in the morning", night, "2026-10-06T12:00:00Z", KindPass},
		{"in the morning, and it will be held", both(night, func(c *Case) { c.NeedsApproval = true }), "2026-10-06T05:00:00Z", KindHold},
		{"refused at night too", both(night, func(c *Case) { c.Script = "" }), "2026-10-06T05:00:00Z", KindRefuse},
		{"a cap until the evening, then the hours", both(
			called("2026-10-06T15:00:00Z", "2026-10-06T13:00:00Z", "2026-10-06T00:30:00Z"),
		), "2026-10-07T12:00:00Z", KindPass},
		{"the line is held for longer than the night", both(night, func(c *Case) { c.Line.HeldUntil = at("2026-10-06T13:30:00Z") }), "2026-10-06T13:30:00Z", KindPass},
		{"the line is held for less", both(night, func(c *Case) { c.Line.HeldUntil = at("2026-10-06T11:30:00Z") }), "2026-10-06T12:00:00Z", KindPass},
		{"another call, which ends", func(c *Case) {
			c.InCall = Known(&InCall{Since: c.Now, Ends: at("2026-10-06T16:52:00Z")})
		}, "2026-10-06T16:52:00Z", KindPass},
		{"another call that is being asked for, and ends then", func(c *Case) {
			c.InCall = Known(&InCall{Dialing: true, Since: c.Now, Ends: at("2026-10-06T16:52:00Z")})
		}, "2026-10-06T16:52:00Z", KindPass},
		{"another call without an end", func(c *Case) { c.InCall = Known(&InCall{}) }, "", ""},
		{"a busy line that frees", func(c *Case) {
			c.Line.Calls = Known(Spent{2, at("2026-10-06T16:07:30Z")})
		}, "2026-10-06T16:07:30Z", KindPass},
		{"the fleet's minute", func(c *Case) { c.FleetMinute = Known(Spent{10, at("2026-10-06T16:00:10Z")}) }, "2026-10-06T16:00:10Z", KindPass},
		{"not before the end", func(c *Case) { c.TenantDay = Known(Spent{100, at("2026-10-07T16:00:00.000001Z")}) }, "", ""},
		{"at the end", func(c *Case) { c.TenantDay = Known(Spent{100, at("2026-10-07T16:00:00Z")}) }, "2026-10-07T16:00:00Z", KindPass},
		{"a stopped line", func(c *Case) { c.Line.Stopped = true }, "", ""},
		{"what could not be loaded", func(c *Case) { c.OptOut = Unknown[*OptOut](errors.New("timeout")) }, "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := good()
			tt.change(&c)
			as := c
			now, _ := Judge(chain, c)
			got, r, ok := When(chain, c, good().Now.Add(24*time.Hour))
			switch {
			case !reflect.DeepEqual(c, as):
				t.Error("the case was changed")
			case tt.at == "" && (ok || !got.IsZero() || !reflect.DeepEqual(r, now)):
				t.Errorf("%s %+v, want that of now", got, r)
			case tt.at != "" && (!ok || !got.Equal(at(tt.at)) || r.Kind() != tt.kind):
				t.Errorf("%s %+v %t, want %s at %s", got, r, ok, tt.kind, tt.at)
			}
		})
	}
}

// At the instant that When gives the gates say what it says, and at none that lies on the way
// there do they say anything but wait.
func TestWhenIsWhenNoGateWaits(t *testing.T) {
	t.Parallel()
	few, many := law(t, usHours), law(t, strict)
	rapid.Check(t, func(t *rapid.T) {
		c, chain := anyCase(t), Chain(anyOptions(t, nil, few, many))
		end := c.Now.Add(time.Duration(rapid.IntRange(0, 48).Draw(t, "hours")) * time.Hour)
		when, r, ok := When(chain, c, end)
		now, _ := Judge(chain, c)
		if !ok {
			if now.Kind() != KindWait || !reflect.DeepEqual(r, now) || !when.IsZero() {
				t.Fatalf("never, and %+v, but now it is %+v", r, now)
			}
			return
		}
		if when.Before(c.Now) || when.After(end) || r.Kind() == KindWait {
			t.Fatalf("%s: %+v", when, r)
		}
		dialing := c.InCall.Value != nil && c.InCall.Value.Dialing
		if now.Kind() != KindWait != when.Equal(c.Now) {
			t.Fatalf("%s, and now %+v", when, now)
		}
		for i := range 20 { // on the way there
			on := c
			on.Now = c.Now.Add(when.Sub(c.Now) * time.Duration(i) / 20)
			if r, _ := Judge(chain, on); on.Now.Before(when) && r.Kind() != KindWait && !dialing {
				t.Fatalf("%s, but at %s it is %+v", when, on.Now, r)
			}
		}
		if dialing {
			placed := *c.InCall.Value
			if placed.Dialing = when.Equal(c.Now); !placed.Dialing {
				c.InCall.Value = &placed
			}
		}
		c.Now = when
		if then, _ := Judge(chain, c); !reflect.DeepEqual(then, r) {
			t.Fatalf("at %s %+v, but it is %+v", when, r, then)
		}
	})
}

// By brute force: of hours, caps and gaps it is the first minute at which all of them pass.
func TestWhenIsTheFirstMinute(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := good()
		c.Now = c.Now.Add(time.Duration(rapid.IntRange(0, 7*24*60).Draw(t, "minutes")) * time.Minute)
		hours := drawHours(t, "hours", c.Now)
		most := rapid.IntRange(1, 3).Draw(t, "cap")
		talkGap := time.Duration(rapid.IntRange(1, 60).Draw(t, "after a talk, hours")) * time.Hour
		text := fmt.Sprintf("{rules: [{places: US, %s, caps: {24h: %d}, after_talk: %s, source: made up, dated: 2025-11-01}]}", hours.text, most, talkGap)
		set, err := rules.Parse([]byte(text), time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		o := Options{Rules: set, MinGap: time.Duration(rapid.IntRange(0, 300).Draw(t, "gap, minutes")) * time.Minute}
		var calls Calls
		ago := time.Duration(0)
		for range rapid.IntRange(0, 5).Draw(t, "calls") {
			ago += time.Duration(rapid.IntRange(0, 600).Draw(t, "minutes before")) * time.Minute
			calls.At = append(calls.At, c.Now.Add(-ago))
		}
		if len(calls.At) > 0 && rapid.Bool().Draw(t, "talked") {
			calls.Talked = calls.At[len(calls.At)-1]
		}
		c.Calls = Known(calls)
		loc, err := time.LoadLocation("America/New_York")
		if err != nil {
			t.Fatal(err)
		}

		allowed := func(u time.Time) bool {
			count := 0
			for _, call := range calls.At {
				if u.Sub(call) < 24*time.Hour {
					count++
				}
				if u.Sub(call) < o.MinGap {
					return false
				}
			}
			talked := !calls.Talked.IsZero() && u.Sub(calls.Talked) < talkGap
			return count < most && !talked && hours.open(u.In(loc))
		}
		end := c.Now.Add(72 * time.Hour)
		want := c.Now
		for !allowed(want) && !want.After(end) {
			want = want.Add(time.Minute)
		}
		got, r, ok := When([]Gate{callingHours(set, false), caps(set, o.Caps), gap(set, o.MinGap)}, c, end)
		switch {
		case r.Kind() == KindHold: // no hour within eight days
		case ok != !want.After(end), ok && !got.Equal(want):
			t.Fatalf("%s (%t) %+v, want %s", got, ok, r, want)
		}
	})
}
