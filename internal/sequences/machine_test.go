package sequences_test

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"pgregory.net/rapid"

	"chasephone/internal/carrier"
	"chasephone/internal/desk"
	"chasephone/internal/followup"
	"chasephone/internal/gates"
)

const (
	region       = "US"
	account      = "twilio" // whose webhooks carry the token
	callerNumber = "+12125550123"
	defaultLine  = "default"
	breaker      = 3
	mostRows     = 10 // follow-ups that are inserted in one sequence
)

// epoch is when every sequence begins.
//
//nolint:gochecknoglobals // a constant
var epoch = time.Date(2026, 11, 2, 10, 0, 30, 0, time.UTC)

type officeTenant struct {
	name   string
	policy gates.Policy
	lines  []string
}

// office are the tenants of every sequence.
func office() []officeTenant {
	return []officeTenant{
		{"alder", gates.PolicyRow, []string{defaultLine, "second"}},
		{"birch", gates.PolicyRow, []string{defaultLine}},
		{"cedar", gates.PolicyAlways, []string{defaultLine}},
	}
}

// machine works one sequence, in every world alike. The first is the reference.
type machine struct {
	worlds []*world
	fail   func(format string, args ...any)
	now    time.Time
	lying  bool // the telephone company may say of a call that rings that it was not placed
	refs   int
	moved  int // reschedulings
	stops  map[desk.Scope]bool

	calls map[string]*call // what is so, by the attempt's token
	seen  bool             // nothing was done since rows were read
	rows  []*followUp      // the reference's
	lines []lineRow
	ids   []map[string]string // of follow-ups by key, in each world
	ended map[string]ending
	known map[string]bool // tokens of attempts that were there after the step before
}

// call is a request as the telephone company has it.
type call struct {
	token   string
	number  string
	process int
	waiting bool           // for an answer
	said    carrier.Answer // nil: nothing was heard from it by the process that asked
	rung    bool
	told    bool // the company has said that it has the call
	over    bool // the company has told its end
	erred   bool // a person said that it did not ring, and it had
	excused bool // that, or the company's own word that there is no such call, was believed: another may ring

	until time.Time // the company rings no later: a person may say from then on that it did not
}

func (c *call) id() string { return "CA" + strings.ReplaceAll(c.token, "-", "") }

// denied is that the company has said that there is no such call.
func (c *call) denied() bool {
	switch c.said.(type) {
	case carrier.Refused, carrier.NotPlaced:
		return true
	}
	return false
}

func newMachine(fail func(string, ...any), worlds ...*world) *machine {
	return &machine{
		worlds: worlds, fail: fail, now: epoch,
		calls: map[string]*call{}, ended: map[string]ending{}, known: map[string]bool{}, stops: map[desk.Scope]bool{},
	}
}

// run works a sequence to its end: everything that was promised is over.
func (m *machine) run(t *rapid.T) {
	m.lying = rapid.IntRange(0, 3).Draw(t, "lying company") == 3
	for range rapid.IntRange(1, 4).Draw(t, "at first") {
		m.insert(t)
	}
	t.Repeat(m.actions())
	m.finish()
}

// actions are what can happen, the commoner under several names.
func (m *machine) actions() map[string]func(*rapid.T) {
	all := map[string]func(*rapid.T){"": func(*rapid.T) { m.look() }}
	for name, a := range map[string]struct {
		weight int
		do     func(*rapid.T)
	}{
		"insert": {1, m.insert}, "tick": {1, m.tick}, "tick in the next slot": {3, m.tickLater}, "fruitless slot": {3, m.fruitless},
		"answer": {3, m.answer}, "ring": {3, m.ring}, "webhook": {2, m.webhook}, "crash": {1, m.crash}, "sweep": {1, m.sweep},
		"approve": {1, m.approve}, "settle": {3, m.settle}, "decide": {1, m.decide}, "reschedule": {1, m.reschedule},
		"wait": {1, m.wait}, "brink": {2, m.brink}, "stop": {1, m.stop}, "line": {1, m.line},
	} {
		for i := range a.weight {
			all[name+strings.Repeat(" again", i)] = a.do
		}
	}
	return all
}

const tickLength = time.Minute // of followup.DefaultLimits

// close ends what runs in the worlds.
func (m *machine) close() {
	for _, w := range m.worlds {
		for i := range w.fleet {
			w.crash(i)
		}
	}
}

// each does the same in every world.
func (m *machine) each(do func(i int, w *world) error) {
	m.seen = false
	for i, w := range m.worlds {
		if err := do(i, w); err != nil {
			m.fail("world %d: %v", i, err)
		}
	}
}

// look reads what every world shows, and checks it.
func (m *machine) look() {
	if m.seen {
		m.check()
		return
	}
	var want string
	m.ids = m.ids[:0]
	m.each(func(i int, w *world) error {
		rows, lines, err := w.read()
		if err != nil {
			return err
		}
		ids := make(map[string]string, len(rows))
		for _, f := range rows {
			ids[f.key()] = f.ID
		}
		m.ids = append(m.ids, ids)
		if i == 0 {
			m.rows, m.lines = rows, lines
		}
		if len(m.worlds) == 1 {
			return nil
		}
		got := picture(rows, lines)
		if i == 0 {
			want = got
		} else if got != want {
			m.fail("the stores differ\n%s", difference(want, got))
		}
		return nil
	})
	m.seen = true
	m.check()
}

// clock moves time on in every world, which changes nothing by itself.
func (m *machine) clock(to time.Time) {
	seen := m.seen
	m.now = to
	m.each(func(_ int, w *world) error { return w.setClock(to) })
	m.seen = seen
}

func (m *machine) insert(t *rapid.T) {
	if m.refs >= mostRows {
		t.Skip("enough")
	}
	m.refs++
	f := followUp{
		ID: numbered(3, m.refs), Ref: "r" + string(rune('a'+m.refs-1)), Script: "Hello",
		Tenant:        rapid.SampledFrom([]string{"alder", "birch", "alder", "cedar"}).Draw(t, "tenant"),
		Number:        rapid.SampledFrom([]string{"+14152000001", "(415) 200-0001", "415-200-0002", "+14152000003", "+14152000004", "+14152000005", "+14152000006"}).Draw(t, "number"),
		DueAt:         m.now.Add(rapid.SampledFrom([]time.Duration{0, -time.Minute, -time.Hour, -20 * time.Hour, time.Second, time.Minute, 2 * time.Hour}).Draw(t, "due")),
		NeedsApproval: rapid.IntRange(0, 3).Draw(t, "needs approval") == 3,
		Line:          rapid.SampledFrom([]string{"", "", "", "second"}).Draw(t, "line"),
	}
	switch rapid.IntRange(0, 15).Draw(t, "odd") {
	case 9:
		f.Number = rapid.SampledFrom([]string{"911", "12", "+442071838750", ""}).Draw(t, "odd number")
	case 10:
		f.Tenant = "nobody"
	case 11:
		f.Line = "nosuch"
	case 12, 13:
		f.DueAt = m.now.Add(rapid.SampledFrom([]time.Duration{
			25 * time.Hour, -23*time.Hour - 59*time.Minute, -24*time.Hour + 3*time.Second, -24 * time.Hour, -24*time.Hour - time.Microsecond, -25 * time.Hour,
		}).Draw(t, "odd time"))
	}
	m.each(func(_ int, w *world) error { return w.insert(f) })
}

// tick has one of the processes work a slot, which may go wrong.
func (m *machine) tick(t *rapid.T) {
	i := rapid.IntRange(0, len(m.worlds[0].fleet)-1).Draw(t, "process")
	f := rapid.SampledFrom([]fault{none, none, none, none, none, none, dies, lostAfter, lostWith}).Draw(t, "fault")
	m.tickBy(i, f)
}

func (m *machine) tickLater(t *rapid.T) {
	m.clock(followup.SlotAt(m.now, tickLength).Add(tickLength))
	m.tick(t)
}

// fruitless is a slot of whose calls nothing is heard, and what persons say of it once they may.
func (m *machine) fruitless(t *rapid.T) {
	m.clock(followup.SlotAt(m.now, tickLength).Add(tickLength))
	m.tickBy(0, none)
	switch rapid.IntRange(0, 3).Draw(t, "why") {
	case 0:
		m.kill(0)
	case 1: // they are asleep, process and company
	default:
		for _, c := range m.callsWhere(func(c *call) bool { return c.waiting && c.process == 0 }) {
			m.reply(c, carrier.Unknown{Stage: carrier.StageAwaiting}, false)
		}
	}
	m.clock(m.now.Add(followup.DefaultLimits().Quarantine + 16*time.Second))
	m.sweepBy(1)
	for _, f := range m.rowsWhere(func(f *followUp) bool { return f.State == followup.Uncertain }) {
		m.say(f, "ann", rapid.IntRange(0, 5).Draw(t, "errs") == 3, false, false)
	}
}

func (m *machine) tickBy(i int, f fault) {
	var died bool
	m.each(func(_ int, w *world) (err error) {
		died, err = w.tick(i, f)
		return err
	})
	m.look()
	m.requests(i)
	m.noneLate()
	if died {
		m.kill(i)
	}
}

// requests takes up those that came since, which must be the same in every world.
func (m *machine) requests(process int) {
	want := m.worlds[0].phones.requests()
	for _, w := range m.worlds[1:] {
		if got := w.phones.requests(); !slices.Equal(want, got) {
			m.fail("requests differ: %v, and %v over PostgreSQL", want, got)
		}
	}
	for _, f := range m.rows {
		for _, a := range f.Attempts {
			if _, asked := slices.BinarySearch(want, a.Token); !asked || m.calls[a.Token] != nil {
				continue
			}
			m.checkOpen(f, a)
			if late := m.now.Sub(f.DueAt); late > followup.DefaultLimits().MaxLate+followup.DefaultLimits().DialTimeout {
				m.fail("%s is rung %s after it was due", f.key(), late)
			}
			m.calls[a.Token] = &call{
				token: a.Token, number: cmp.Or(f.identity.Number.E164(), f.Number), process: process, waiting: true,
				until: a.AnswerBy.Add(followup.DefaultLimits().Quarantine),
			}
		}
	}
}

func (m *machine) crash(t *rapid.T) {
	m.kill(rapid.IntRange(0, len(m.worlds[0].fleet)-1).Draw(t, "process"))
}

// kill ends a process, and begins another in its place.
func (m *machine) kill(i int) {
	m.each(func(_ int, w *world) error {
		w.crash(i)
		w.start(i)
		return nil
	})
	for _, c := range m.calls {
		if c.process == i {
			c.waiting = false
		}
	}
}

func (m *machine) sweep(t *rapid.T) {
	m.sweepBy(rapid.IntRange(0, len(m.worlds[0].fleet)-1).Draw(t, "process"))
}

func (m *machine) sweepBy(i int) {
	m.each(func(_ int, w *world) error { return w.fleet[i].drain.Sweep(ctx) })
	m.look()
	for _, f := range m.rows {
		if a := f.newest(); f.State == followup.Dialing && a.AnswerBy.Before(m.now.Add(-3*time.Second)) {
			m.fail("%s is dialing since %s, and a sweep leaves it", f.key(), instant(a.Created))
		}
	}
}
