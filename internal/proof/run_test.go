package proof_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"chasephone/internal/carrier/sim"
	"chasephone/internal/desk"
)

// fault is what goes wrong at a point.
type fault string

const (
	none      fault = "nothing"
	kill      fault = "killed"       // the process dies
	breaks    fault = "broken"       // the connection breaks; after a commit its reply is lost
	pause     fault = "paused"       // the process stands still past its send_by, and goes on
	longPause fault = "paused long"  // so long that the server has ended its session
	gone      fault = "without base" // the database is gone for a while, for everybody
)

// variant is what the company answers, and when its webhooks come.
type variant struct {
	answer sim.Fault
	hooks  string
}

func (v variant) String() string { return v.answer.Name + ", " + v.hooks }

// hangs reports whether the answer is awaited to the end.
func (v variant) hangs() bool { return v.answer.Name == "hang" || v.answer.Name == "hang_silent" }

// want is what a follow-up must come to.
type want string

const (
	wantRung      want = "rung once" // or refused by the company and never rung
	wantMissed    want = "missed"
	wantDeclined  want = "declined"
	wantCancelled want = "cancelled"
	wantAny       want = "over" // there are several of its name
)

// promise is a row of a combination.
type promise struct {
	ref    string
	number string
	late   time.Duration
	asks   bool // it needs an approval
	want   want
}

// run is one combination being lived.
type run struct {
	w       *world
	story   *story
	variant variant
	armed   armed
	tenant  string
	caller  string // its line's number
	all     []*promise
	company *sim.Server
	victim  *machine
	second  *machine // a daemon, and its people, that nothing happens to

	mu    sync.Mutex
	found []string // violations

	rivals sync.WaitGroup
}

func (r *run) violation(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.found = append(r.found, fmt.Sprintf(format, args...))
}

func (r *run) String() string {
	return fmt.Sprintf("%s: %s at %q; the company: %s", r.story.name, r.armed.fault, r.armed.point, r.variant)
}

// live lives a combination, and reports whether its fault happened.
func (r *run) live() (happened bool) {
	r.begin()
	r.w.post.begin(r.variant.hooks, r.second)
	defer func() { _ = r.company.Close() }()
	r.story.prepare(r)
	v, err := newMachine(r.w, r.armed)
	if err != nil {
		r.w.t.Fatal(err)
	}
	r.victim = v
	r.w.post.bringTo(v)
	lived := make(chan struct{})
	go func() {
		defer close(lived)
		r.story.live(r, v)
	}()
	select {
	case <-lived:
	case on := <-r.w.stands:
		r.meanwhile(on)
		v.goOn()
		<-lived
	}
	v.close()
	select { // what stood still only after all that it was to do
	case <-r.w.stands:
	default:
	}
	r.recover()
	r.check()
	select {
	case <-v.happens:
		return true
	default:
		return r.armed.fault == none
	}
}

// begin makes a company, a tenant and its rows.
func (r *run) begin() {
	w := r.w
	w.tenants++
	r.tenant, r.caller = "t"+itoa(w.tenants), "+1212"+itoa(2000000+w.tenants)
	for _, p := range r.all {
		p.number = w.number()
	}
	watched := r.all[0].number
	w.watched.Store(&watched)
	rule := sim.Rule{To: watched, Next: 1, Fault: r.variant.answer.Name, Webhooks: sim.Silent}
	switch r.variant.hooks {
	case hooksBefore:
		rule.Webhooks = sim.Early
	case hooksAfter:
		rule.Webhooks = sim.Normal
	}
	if rule.Fault == "slow" {
		rule.Delay = 20 * time.Millisecond
	}
	r.company = w.company.begin(w.t, []sim.Rule{rule, {To: "*", Webhooks: sim.Silent}})
	w.company.check = r.asked
	r.second.armed.hurry = 0
	if r.variant.hangs() {
		r.second.armed.hurry = 300 * time.Millisecond
	}
	batch := &pgx.Batch{}
	batch.Queue(`insert into tenants (id) values ($1)`, r.tenant)
	batch.Queue(`insert into lines (tenant_id, name, carrier, caller_number) values ($1, 'default', 'twilio', $2)`, r.tenant, r.caller)
	for _, p := range r.all {
		batch.Queue(`insert into phone_followups (tenant_id, ref, phone_number, due_at, script, needs_approval) values ($1, $2, $3, clock_timestamp() - $4::interval, 'Hello', $5)`,
			r.tenant, p.ref, p.number, p.late, p.asks)
	}
	if err := w.sees.SendBatch(w.ctx, batch).Close(); err != nil {
		w.t.Fatalf("making the rows: %v", err)
	}
}

// asked is called with every request before the company has it.
func (r *run) asked(token, to string) {
	var inTime, frozen bool
	err := r.w.sees.QueryRow(r.w.ctx, `
		select clock_timestamp() <= f.due_at + l.max_late + l.dial_timeout, f.e164 = $2
		from attempts a join phone_followups f on f.id = a.followup_id cross join fleet x join limits l on l.id = x.limits_id
		where a.token::text = $1`, token, to).Scan(&inTime, &frozen)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		r.violation("1: a request went out and no attempt of it is committed")
	case err != nil:
		r.w.t.Errorf("looking for the attempt of a request: %v", err)
	case !inTime:
		r.violation("3: a request went out later than the greatest lateness")
	case !frozen:
		r.violation("1: a request went out to another number than its attempt's")
	}
}

// meanwhile is what others do while the victim stands still on that connection.
func (r *run) meanwhile(*wire) {
	v, s := r.victim, r.second
	v.sendsNoMore()
	if r.armed.fault == longPause {
		v.endSessions()
	}
	if v.inTransaction() {
		// It holds locks. Whoever does not wait for them goes on; a person does wait.
		_ = s.sweep()
		_ = s.tick()
		r.rival()
		return
	}
	r.w.age(r.tenant, 10*time.Second)
	_ = s.sweep()
	r.w.post.deliver(r.rang())
	_ = s.bridge()
	r.w.age(r.tenant, time.Hour)
	r.settle(s, "settle", "ann")
	_ = s.tick()
}

// rival is another person, who decides the same while the victim's transaction stands still. It
// waits until he has decided, or waits for the victim's lock.
func (r *run) rival() {
	if r.story.rival == nil {
		return
	}
	decided := make(chan struct{})
	r.rivals.Go(func() {
		defer close(decided)
		r.story.rival(r, r.second)
	})
	for {
		select {
		case <-decided:
			return
		case <-time.After(time.Millisecond):
		}
		var waits bool
		err := r.w.sees.QueryRow(r.w.ctx, `select exists (select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock')`).Scan(&waits)
		if err != nil {
			r.w.t.Errorf("asking who waits: %v", err)
			return
		}
		if waits {
			return
		}
	}
}

// rang reports whether the call that is watched rang.
func (r *run) rang() bool {
	return r.company.Rings().ByTo[r.all[0].number].Rings > 0
}

// open is a follow-up that is not over.
type open struct {
	ID, Ref, State, Token string
	Attempt               int
}

func (r *run) open() []open {
	rows, err := r.w.sees.Query(r.w.ctx, `
		select f.id::text, f.ref, f.state, coalesce(a.token::text, ''), coalesce(f.attempt_no, 0)
		from phone_followups f left join attempts a on a.followup_id = f.id and a.no = f.attempt_no
		where f.tenant_id = $1 and f.state in ('due', 'awaiting_approval', 'dialing', 'uncertain') order by f.id`, r.tenant)
	if err != nil {
		r.w.t.Errorf("reading what is open: %v", err)
		return nil
	}
	all, err := pgx.CollectRows(rows, pgx.RowToStructByPos[open])
	if err != nil {
		r.w.t.Errorf("reading what is open: %v", err)
	}
	return all
}

// settle has a person decide what is uncertain, honestly: by the company's own ring book.
func (r *run) settle(m *machine, as, by string) {
	d, ctx := m.store.at(as), context.Background()
	book := r.company.Rings().ByToken
	for _, o := range r.open() {
		if o.State != "uncertain" {
			continue
		}
		name := desk.Name{Text: o.ID}
		if book[o.Token].Rings > 0 {
			_, _ = d.Rang(ctx, name, by, o.Attempt, "")
		} else {
			_, _ = d.DidNotRing(ctx, name, by, desk.Silence{Attempt: o.Attempt, Despite: true})
		}
	}
}
