package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"chasephone/internal/carrier/sim"
	"chasephone/internal/mutants"
)

var start = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func after(s float64) time.Time { return start.Add(time.Duration(s * float64(time.Second))) }

// good is a world in which everything held: one was rung, one did not ring and was rung again, and
// one was never rung.
func good() *facts {
	f := &facts{
		now: after(100), followups: map[string]*followUp{}, attempts: map[string]*attempt{}, said: map[string]promise{},
		rings:  rings{byToken: map[string][]sim.Entry{}},
		places: []place{{"default", after(1), 2}},
	}
	add := func(of *followUp, states ...string) {
		of.tenant, of.ref, of.due, of.number, of.version = "default", of.id, start, "+1415200000"+of.id, len(states)-1
		for i, to := range states[1:] {
			of.events = append(of.events, event{version: i + 1, from: states[i], to: to})
		}
		of.state = states[len(states)-1]
		f.followups[of.id] = of
		f.said[of.key()] = promise{tenant: of.tenant, ref: of.ref, due: of.due, number: of.number}
	}
	try := func(id string, no int, token, outcome string, rang bool) {
		a := &attempt{
			followUp: id, no: no, token: token, tenant: "default", line: "default", outcome: outcome,
			created: after(1), committed: after(1.1), sendBy: after(6), answers: after(8),
		}
		f.attempts[token] = a
		f.followups[id].attempts = append(f.followups[id].attempts, a)
		e := sim.Entry{At: after(2), Request: len(f.rings.all) + 1, Rang: rang, Token: token}
		if rang {
			e.SID = "CA" + token
		}
		f.rings.all = append(f.rings.all, e)
		f.rings.byToken[token] = append(f.rings.byToken[token], e)
	}
	add(&followUp{id: "1", callID: "CAone", needsApproval: true, approved: []time.Time{start}}, "due", "awaiting_approval", "due", "dialing", "call_placed")
	try("1", 1, "one", "placed", true)
	add(&followUp{id: "2", callID: "CAthree"}, "due", "dialing", "uncertain", "due", "dialing", "call_placed")
	try("2", 1, "two", "did_not_ring", false)
	try("2", 2, "three", "placed", true)
	add(&followUp{id: "3"}, "due", "cancelled")
	return f
}

// again has the ring book show one more request for an attempt.
func (f *facts) again(token string, rang bool, at time.Time) {
	e := sim.Entry{At: at, Request: len(f.rings.all) + 1, Rang: rang, Token: token, SID: "CAmore"}
	f.rings.all = append(f.rings.all, e)
	f.rings.byToken[token] = append(f.rings.byToken[token], e)
}

// Every rule is broken once, and is the one that says so.
func TestEveryRuleIsHeldToTheRingBook(t *testing.T) {
	t.Parallel()
	if bad := append(good().always(), good().atRest()...); len(bad) > 0 {
		t.Fatalf("a world in which all held: %+v", bad)
	}
	for _, row := range []struct {
		name  string
		spoil func(*facts)
		rule  string
	}{
		{"a request replayed", func(f *facts) { f.again("one", false, after(3)) }, "an attempt is one request"},
		{"an attempt rings twice", func(f *facts) { f.again("one", true, after(3)) }, "no attempt rings twice"},
		{"two attempts ring", func(f *facts) { f.again("two", true, after(3)) }, "no promise rings twice"},
		{"a ring of nobody's", func(f *facts) { f.again("none", true, after(3)) }, "no ring without an attempt"},
		{"rung before the commit", func(f *facts) { f.attempts["one"].committed = after(2.5) }, "the attempt comes first"},
		{"sent at the last moment", func(f *facts) { f.followups["1"].due = after(6).Add(-maxLate) }, ""},
		{"sent too late", func(f *facts) { f.followups["1"].due = start.Add(-maxLate) }, "nothing is sent too late"},
		{"rung too late", func(f *facts) {
			f.followups["1"].due = start.Add(-maxLate - time.Minute)
			f.attempts["one"].sendBy = start.Add(-time.Minute)
		}, "nothing rings too late"},
		{"three in a slot", func(f *facts) { f.places[0].taken = 3 }, "two per tenant and slot"},
		{"a row missing", func(f *facts) { f.followups["2"].events = slices.Delete(f.followups["2"].events, 1, 2) }, "the ledger is whole"},
		{"a last row missing", func(f *facts) { f.followups["2"].events = f.followups["2"].events[:4] }, "the ledger is whole"},
		{"approved afterwards", func(f *facts) { f.followups["1"].approved[0] = after(1.05) }, "approval comes first"},
		{"never approved", func(f *facts) { f.followups["1"].approved = nil }, "approval comes first"},
		{"committed while stopped", func(f *facts) { f.stops = []stopped{{what: "stop", tenant: "default", from: after(1), to: after(2)}} }, "stopped is stopped"},
		{"placed, and did not ring", func(f *facts) { f.rings.byToken["one"][0].Rang = false }, "states are true"},
		{"another's call", func(f *facts) { f.followups["1"].callID = "CAthree" }, "states are true"},
		{"cancelled, and rang", func(f *facts) { f.followups["1"].state = "cancelled" }, "states are true"},
		{"not placed, and rang", func(f *facts) { f.attempts["one"].outcome = "not_placed" }, "attempts are true"},
		{"uncertain at the end", func(f *facts) { f.followups["3"].state = "uncertain" }, "nothing is stuck"},
		{"due, and could go", func(f *facts) { f.followups["3"].state = "due" }, "nothing is stuck"},
		{"waits for another call", func(f *facts) {
			of := f.followups["3"]
			of.state, of.reason, of.nextTry, of.events, of.version = "due", "in_a_call", after(200), nil, 0
		}, ""},
		{"dropped", func(f *facts) { delete(f.followups, "3") }, "nothing is dropped"},
		{"invented", func(f *facts) { delete(f.said, f.followups["3"].key()) }, "nothing is invented"},
		{"changed", func(f *facts) { f.followups["3"].number = "+14152000009" }, "a promise is frozen"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			f := good()
			row.spoil(f)
			bad := append(f.always(), f.atRest()...)
			said := slices.ContainsFunc(bad, func(v violation) bool { return v.Rule == row.rule })
			if row.rule != "" && !said {
				t.Errorf("not found; found %+v", bad)
			}
			if row.rule == "" && slices.ContainsFunc(bad, func(v violation) bool { return v.Rule == "nothing is sent too late" || v.Rule == "nothing is stuck" }) {
				t.Errorf("found %+v", bad)
			}
		})
	}
}

// Stops bind the tenant and line that they name, and no other.
func TestStopsAreOfSomebody(t *testing.T) {
	t.Parallel()
	for _, s := range []stopped{{tenant: "another"}, {tenant: "default", line: "second"}} {
		f := good()
		s.from, s.to = after(1), after(2)
		f.stops = []stopped{s}
		if bad := f.stopsHeld(); len(bad) > 0 {
			t.Errorf("%+v: %+v", s, bad)
		}
	}
}

// What the drill holds up reaches the carrier before a person may say that it did not ring.
func TestTheDrillIsFair(t *testing.T) {
	t.Parallel()
	opens := sendWindow + dialTimeout + quarantine
	if held := sendWindow + longestStuck + longestSleep; held+2*time.Second > opens {
		t.Errorf("a request may be held up for %s, and %s is the bound", held, opens)
	}
	if held := sendWindow + longestPause; held+2*time.Second > opens {
		t.Errorf("a daemon may send after %s, and %s is the bound", held, opens)
	}
	if shortPause <= sendWindow {
		t.Error("a pause does not outlast send_by")
	}
}

func TestLogsAreLookedThrough(t *testing.T) {
	t.Parallel()
	numbers := map[string]bool{"4152001234": true}
	for line, want := range map[string]string{
		"to=+*********34":                      "",
		"to=+14152001234":                      "telephone number",
		"call (415) 200-1234 now":              "telephone number",
		"415-200-1234":                         "telephone number",
		"id=94152001234 next":                  "telephone number",
		"at 2026-11-30T21:04:57.485Z 41520012": "",
		"panic: it":                            "panic and no race",
		"WARNING: DATA RACE":                   "panic and no race",
	} {
		if got := amiss(line, numbers); got != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
}

func TestTotalsAreRead(t *testing.T) {
	t.Parallel()
	has := totals("# HELP x\nchasephone_outcomes_total{outcome=\"call_placed\"} 1200\nchasephone_outcomes_total{outcome=\"missed\"} 0\n")
	if !sameTotals(has, map[string]int{"call_placed": 1200}) || sameTotals(has, map[string]int{"call_placed": 1200, "refused": 1}) {
		t.Errorf("%v", has)
	}
}

// said is one of PostgreSQL's messages.
func said(kind byte, body string) []byte {
	head := make([]byte, 5)
	head[0] = kind
	binary.BigEndian.PutUint32(head[1:], uint32(len(body)+4))
	return append(head, body...)
}

// The wire knows a claim's commit from any other, and strikes where it is told to.
func TestCommitsAreSeen(t *testing.T) {
	t.Parallel()
	stream := slices.Concat(
		[]byte{0, 0, 0, 8, 1, 2, 3, 4}, // the first message
		said('P', "s1\x00with x as (insert into attempts values (1)) select\x00"),
		said('P', "s2\x00select 1\x00"),
		said('Q', "begin\x00"), said('B', "\x00s2\x00"), said('Q', "commit\x00"),
		said('Q', "begin\x00"), said('B', "\x00s1\x00"), said('Q', "rollback\x00"), said('Q', "commit\x00"),
		said('Q', "begin\x00"), said('B', "\x00s1\x00"), said('Q', "commit\x00"),
	)
	var struck []trap
	w := &dbWire{traps: &traps{count: func(one trap) { struck = append(struck, one) }}, strike: func(act) {}}
	w.traps.lay(trap{beforeCommit, cut})
	var passed bytes.Buffer
	err := w.toServer(context.Background(), bufio.NewReader(bytes.NewReader(stream)), &passed, &atomic.Bool{})
	if !errors.Is(err, errCut) || len(struck) != 1 || struck[0].at != beforeCommit {
		t.Errorf("%v, struck %v", err, struck)
	}
	if want := len(stream) - len(said('Q', "commit\x00")); passed.Len() != want {
		t.Errorf("%d bytes passed, want %d: all but the claim's commit", passed.Len(), want)
	}
	passed.Reset()
	if err := w.toServer(context.Background(), bufio.NewReader(bytes.NewReader(stream)), &passed, &atomic.Bool{}); !errors.Is(err, io.EOF) || !bytes.Equal(passed.Bytes(), stream) {
		t.Errorf("without a trap: %v, %d of %d bytes", err, passed.Len(), len(stream))
	}
}

func TestPromisesAreOfEveryKind(t *testing.T) {
	t.Parallel()
	p := newPromises([]string{"default", "t03"}, rand.New(rand.NewPCG(1, 1)))
	seen := map[string]bool{}
	now := time.Now()
	for range 3000 {
		one := p.invent(now, 5*time.Second)
		if seen[one.key()] {
			t.Fatalf("twice: %s", one.key())
		}
		seen[one.key()] = true
		seen[fmt.Sprintf("approval %t forever %t late %t line %t", one.approval, one.forever, now.Sub(one.due) > maxLate, one.line != nil)] = true
	}
	for _, kind := range []string{"approval true forever false late false line false", "approval false forever true late false line false", "approval false forever false late true line false", "approval false forever false late false line true"} {
		if !seen[kind] {
			t.Errorf("none with %s", kind)
		}
	}
	if len(p.paired) == 0 {
		t.Error("no number has two promises")
	}
}

func TestFloors(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	if err := printFigures(&out, []figure{{"rings", 10, 9}, {"others", 0, 0}}); err != nil {
		t.Error(err)
	}
	if err := printFigures(&out, []figure{{"rings", 8, 9}}); err == nil || !strings.Contains(err.Error(), "rings: 8") {
		t.Errorf("%v", err)
	}
}

// The mutants that are drilled unless others are named are there.
func TestMutantsAreThere(t *testing.T) {
	t.Parallel()
	for _, name := range foundOut() {
		if _, ok := mutants.Named(name); !ok {
			t.Errorf("there is no mutant %s", name)
		}
	}
}

// A mutant's drill in a line.
func TestOutcomeOfAMutant(t *testing.T) {
	t.Parallel()
	if got := outcome(exitViolated, "x\nVIOLATED: a\nVIOLATED: b\nfound 3s after\n"); got != "violated: a; 3s after" {
		t.Errorf("%q", got)
	}
	if got := outcome(exitHeld, "held"); !strings.HasPrefix(got, "NOT FOUND OUT") {
		t.Errorf("%q", got)
	}
}

// The exit code tells a violation from a drill that could not be held.
func TestVerdict(t *testing.T) {
	t.Parallel()
	for err, want := range map[error]int{nil: exitHeld, found{2}: exitViolated, io.EOF: exitFailed} {
		if got := verdict(io.Discard, err, options{}); got != want {
			t.Errorf("%v: %d", err, got)
		}
	}
}
