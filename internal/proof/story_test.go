package proof_test

import (
	"context"
	"net/url"
	"time"

	"chasephone/internal/desk"
)

// story is what a machine does while something goes wrong with it.
type story struct {
	name string
	rows []promise
	// prepare is what happened before.
	prepare func(*run)
	// live is what it does. Whatever fails, it goes on with the next, as a daemon does.
	live func(*run, *machine)
	// rival is what another person does, while a decision of the victim's stands still.
	rival func(*run, *machine)
}

func nothing(*run) {}

// stories lists them. Together they come by every act that moves a follow-up.
func stories() []*story {
	return []*story{
		{
			name: "tick", prepare: nothing,
			rows: []promise{
				{ref: "watched", late: 3 * time.Hour, want: wantRung},
				{ref: "neighbour", late: 2 * time.Hour, want: wantRung},
				{ref: "next slot's", late: time.Hour, want: wantRung},
				{ref: "late", late: 25 * time.Hour, want: wantMissed},
			},
			live: func(r *run, m *machine) {
				_ = m.tick()
				r.hear(m)
			},
		},
		{
			name: "orphan",
			rows: []promise{
				{ref: "watched", late: 3 * time.Hour, want: wantRung},
				{ref: "neighbour", late: 2 * time.Hour, want: wantRung},
			},
			prepare: orphaned,
			live: func(r *run, m *machine) {
				r.w.age(r.tenant, 10*time.Second)
				_ = m.sweep()
				r.settle(m, "hasty", "ann") // a person who does not wait for the quarantine
				r.hear(m)
				r.w.age(r.tenant, time.Hour)
				r.settle(m, "settle", "ann")
			},
			rival: func(r *run, m *machine) { r.settle(m, "settle", "bob") },
		},
		{
			name: "forged", prepare: orphaned,
			rows: []promise{{ref: "watched", late: 3 * time.Hour, want: wantRung}},
			live: func(r *run, m *machine) {
				r.w.age(r.tenant, 10*time.Second)
				_ = m.sweep()
				r.forge()
				_ = m.bridge()
			},
		},
		{
			name: "desk",
			rows: []promise{
				{ref: "approved", late: 3 * time.Hour, asks: true, want: wantRung},
				{ref: "declined", late: 2 * time.Hour, asks: true, want: wantDeclined},
				{ref: "cancelled", late: -15 * time.Hour, want: wantCancelled},
			},
			prepare: func(r *run) { _ = r.second.tick() },
			live:    func(r *run, m *machine) { r.decide(m, "ann") },
			rival:   func(r *run, m *machine) { r.decide(m, "bob") },
		},
		{
			name: "stop", prepare: func(r *run) { _ = r.second.drain.Prepare(context.Background()) },
			rows: []promise{
				{ref: "watched", late: 3 * time.Hour, want: wantRung},
				{ref: "neighbour", late: 2 * time.Hour, want: wantRung},
			},
			live: stopped,
		},
	}
}

// hear delivers the webhooks that are to come after the reply, and has them bridged.
func (r *run) hear(m *machine) {
	r.w.post.deliver(r.rang())
	if r.w.unbridged() {
		_ = m.bridge()
	}
}

// orphaned has a daemon die with the request of the call that is watched at the company, and
// nobody knowing what came of it.
func orphaned(r *run) {
	m, err := newMachine(r.w, armed{point: "dial/request taken", fault: kill})
	if err != nil {
		r.w.t.Fatal(err)
	}
	r.w.post.bringTo(m)
	_ = m.drain.Prepare(r.w.ctx)
	_ = m.drain.Slot(r.w.ctx, 1) // one at a time, and it dies with the first
	m.store.idle()
	m.close()
}

// forge delivers what somebody else has written, about an attempt that did not ring and about none.
func (r *run) forge() {
	var token string
	err := r.w.sees.QueryRow(r.w.ctx, `select token::text from attempts where tenant_id = $1 order by created_at limit 1`, r.tenant).Scan(&token)
	if err != nil || r.rang() {
		return
	}
	about := func(to, sid string) url.Values {
		return url.Values{
			"AccountSid": {accountSID}, "CallSid": {sid}, "CallStatus": {"completed"}, "Direction": {"outbound-api"},
			"To": {to}, "From": {r.caller}, "Timestamp": {time.Now().UTC().Format("Mon, 02 Jan 2006 15:04:05 +0000")},
		}
	}
	for _, l := range []letter{
		r.w.post.write("status/"+token, "not the account's token", about(r.all[0].number, callSID(10*r.w.people+1))),
		r.w.post.write("status/"+token, authToken, about(r.w.number(), callSID(10*r.w.people+2))),                                  // another call than the attempt's
		r.w.post.write("status/018f0000-0000-7000-8000-000000000000", authToken, about(r.all[0].number, callSID(10*r.w.people+3))), // of no attempt
	} {
		r.w.post.bring(l)
	}
}

// decide is a person at the desk, who knows what he wants and says so until it is done.
func (r *run) decide(m *machine, by string) {
	ctx := context.Background()
	for _, o := range r.open() {
		name := desk.Name{Text: o.ID}
		switch {
		case o.Ref == "approved" && o.State == "awaiting_approval":
			_, _ = m.store.at("approve").Approve(ctx, name, by, "")
		case o.Ref == "declined" && o.State == "awaiting_approval":
			_, _ = m.store.at("decline").Decline(ctx, name, by, "")
		case o.Ref == "cancelled":
			_, _ = m.store.at("cancel").Cancel(ctx, name, by, "")
		}
	}
}

// stopped stops the tenant, has another daemon look for work, and lifts the stop again.
func stopped(r *run, m *machine) {
	ctx, scope := context.Background(), desk.Scope{Tenant: r.tenant}
	var err error
	again(func() error { _, err = m.store.at("stop").Stop(ctx, scope, "ann"); return err })
	if err == nil {
		before := r.attempts()
		_ = r.second.tick()
		if n := r.attempts() - before; n > 0 {
			r.violation("R14: %d attempts were committed after a stop had returned", n)
		}
	}
	again(func() error { _, _, err := m.store.at("resume").Resume(ctx, scope, "ann"); return err })
}

func (r *run) attempts() (n int) {
	if err := r.w.sees.QueryRow(r.w.ctx, `select count(*) from attempts where tenant_id = $1`, r.tenant).Scan(&n); err != nil {
		r.w.t.Errorf("counting attempts: %v", err)
	}
	return n
}
