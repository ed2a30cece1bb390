package proof_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"regexp"
	"time"

	"chasephone/internal/desk"
	"chasephone/internal/followup"
	"chasephone/internal/lookup"
	"chasephone/internal/phone"
	"chasephone/internal/store"
)

// late is a row that only has to be there.
var late = []promise{{ref: "late", late: 25 * time.Hour, want: wantMissed}}

// scenes are the stories again, and beside them whatever else writes: each step is said again by
// its caller, as in production, until it is done.
func scenes() []*story {
	return []*story{
		{
			name: "holds", prepare: nothing, rows: []promise{
				{ref: "approved", late: 3 * time.Hour, asks: true, want: wantRung},
				{ref: "closes", late: 25 * time.Hour, asks: true, want: wantMissed},
			},
			live: func(r *run, m *machine) {
				again(m.tick)
				again(m.tick)
				r.decide(m, "ann")
			},
		},
		{
			name: "unfit", prepare: nothing, rows: []promise{{ref: "watched", late: 3 * time.Hour, want: wantRung}},
			live: func(_ *run, m *machine) {
				_ = m.line.Close() // nobody answers at the company's address
				again(m.tick)
			},
		},
		{
			name: "paced", rows: []promise{{ref: "watched", late: 3 * time.Hour, want: wantRung}},
			prepare: func(r *run) {
				r.w.exec(`update lines set calls_per_second = 100 where tenant_id = $1`, r.tenant)
			},
			live: func(_ *run, m *machine) { again(m.tick) },
		},
		{
			name: "moved", prepare: nothing, rows: []promise{{ref: "watched", late: -3 * time.Hour, want: wantAny}},
			live: func(r *run, m *machine) {
				due := time.Now().Add(-time.Hour).Truncate(time.Second)
				again(func() error {
					_, err := m.store.at("reschedule").Reschedule(context.Background(), desk.Name{Text: r.id()}, "ann", due)
					return err
				})
			},
		},
		{name: "lists", prepare: nothing, rows: late, live: lists},
		{name: "lines", prepare: nothing, rows: late, live: lines},
		{name: "upkeep", prepare: nothing, rows: late, live: upkeep},
		{name: "intake", prepare: nothing, rows: late, live: intake},
		{
			name: "looked up", prepare: func(r *run) { _ = r.second.tick() }, rows: []promise{{ref: "watched", late: 3 * time.Hour, want: wantRung}},
			live: lookedUp,
		},
		{
			name: "named later", prepare: orphaned, rows: []promise{{ref: "watched", late: 3 * time.Hour, want: wantRung}},
			live: func(r *run, m *machine) { // a person says that it rang, and then the company names the call
				r.w.age(r.tenant, 2*time.Hour)
				again(m.sweep)
				again(func() error { r.settle(m, "settle", "ann"); return nil })
				r.hear(m)
				again(m.bridge)
			},
		},
		{
			name: "poisoned", prepare: nothing, rows: []promise{
				{ref: "poison", late: 3 * time.Hour, want: wantRung},
				{ref: "bad intake", late: 2 * time.Hour, want: wantRung},
			},
			live: func(r *run, m *machine) {
				r.w.poison(true)
				again(m.tick)
				r.w.poison(false)
			},
		},
		{
			name: "texts", prepare: nothing, rows: late,
			live: func(r *run, m *machine) { // somebody writes to us
				form := url.Values{"AccountSid": {accountSID}, "From": {r.w.number()}, "To": {r.caller}, "Body": {"Hello"}, "MessageSid": {"SM" + callSID(r.w.people)[2:]}, "SmsStatus": {"received"}}
				l := r.w.post.write("message", authToken, form)
				again(func() error {
					if code := r.w.post.bring(l); code != 200 {
						return errors.New("not taken")
					}
					return nil
				})
				r.w.poison(true)
				again(m.bridge)
				r.w.poison(false)
				l = r.w.post.write("message", authToken, form)
				r.w.post.bring(l)
				again(m.bridge)
			},
		},
	}
}

// again is a caller who does not give up, unless he is told that it cannot be.
func again(do func() error) {
	for range 5 {
		err := do()
		var refused *desk.Refusal
		if err == nil || errors.As(err, &refused) {
			return
		}
	}
}

func lists(r *run, m *machine) {
	ctx, n := context.Background(), phone.FromE164(r.w.number())
	out := store.OptOut{Number: n, Tenant: r.tenant, By: "ann"}
	again(func() error { _, err := m.db.AddOptOut(ctx, out); return err })
	again(func() error { _, _, err := m.db.RemoveOptOut(ctx, n, r.tenant, "ann"); return err })
	yes := store.Consent{Number: n, Tenant: r.tenant, Purpose: "requested", By: "ann"}
	again(func() error { _, _, err := m.db.AddConsent(ctx, yes); return err })
	again(func() error { _, _, err := m.db.RemoveConsent(ctx, yes); return err })
	call := store.OtherCall{Tenant: r.tenant, Number: n, Direction: store.CallOut, BeganAt: time.Now().Add(-time.Hour).Truncate(time.Second), Source: "desk", By: "ann", Once: true}
	again(func() error { _, err := m.db.ReportCall(ctx, call); return err })
	call.Talked = true
	again(func() error { _, err := m.db.ReportCall(ctx, call); return err })
	id := r.tenant + "x"
	again(func() error {
		_, err := m.db.AddTenant(ctx, id, store.TenantSettings{DefaultLine: "default", Approval: "row"}, "ann")
		return err
	})
	again(func() error {
		_, _, err := m.db.SetTenant(ctx, id, "ann", func(t *store.TenantSettings) { t.Region = "DE" })
		return err
	})
}

func lines(r *run, m *machine) {
	ctx := context.Background()
	again(func() error {
		_, err := m.db.AddLine(ctx, store.Line{Tenant: r.tenant, Name: "second", Carrier: "twilio/ACME", Caller: phone.FromE164("+12125550124"), By: "ann"})
		return err
	})
	again(func() error { return m.db.HoldLine(ctx, r.tenant, "second", "ann", nil) })
	again(func() error { _, err := m.db.ReleaseLine(ctx, r.tenant, "second", "ann"); return err })
	again(func() error { _, err := m.db.WakeAccount(ctx, "twilio/ACME"); return err })
	for _, scope := range []desk.Scope{{}, {Tenant: r.tenant}, {Tenant: r.tenant, Line: "second"}} {
		again(func() error { _, err := m.store.at("stop").Stop(ctx, scope, "ann"); return err })
		again(func() error { _, _, err := m.store.at("resume").Resume(ctx, scope, "ann"); return err })
	}
}

func upkeep(r *run, m *machine) {
	ctx := context.Background()
	limits, err := r.w.second.db.Limits(ctx)
	if err != nil {
		r.w.t.Errorf("reading the limits: %v", err)
	}
	again(func() error { _, err := m.db.Heartbeat(ctx, limits); return err })
	again(func() error { return m.db.Tally(ctx) })
	again(func() error { _, _, err := m.db.Pass(ctx, followup.SlotAt(time.Now(), limits.Tick)); return err })
	changed := limits
	changed.RetryAfter += time.Minute
	again(func() error { _, err := m.db.SetLimits(ctx, changed, "ann"); return err })
	again(func() error { _, err := m.db.SetLimits(ctx, limits, "ann"); return err })
	again(func() error { return m.db.HoldUnowned(ctx, 1) })
	again(func() error { _, err := m.db.Release(ctx, "ann", ""); return err })
	again(func() error { return m.db.LookUpOlder(ctx) })
	r.w.exec(`update fleet set demo = true`)
	again(func() error { return m.db.ClaimDemo(ctx) })
	r.w.exec(`update fleet set demo = false`)
	again(func() error { return m.db.Leave(ctx) })
}

func intake(r *run, m *machine) {
	ctx := context.Background()
	again(func() error {
		_, _, err := m.db.Add(ctx, store.NewFollowUp{Tenant: r.tenant, Ref: "added", DueAt: time.Now().Add(-26 * time.Hour).Truncate(time.Second), Number: r.w.number(), Purpose: "requested", Script: "Hello"}, phone.Parse)
		return err
	})
	r.w.exec(`insert into phone_followups (tenant_id, ref, phone_number, due_at, script) values ($1, 'never', $2, 'infinity', 'Hello')`, r.tenant, r.w.number())
	again(m.tick)
}

// lookedUp asks the company what became of a call, and of one that waits in its queue too long.
func lookedUp(r *run, m *machine) {
	ctx := context.Background()
	due := func() {
		_, err := r.w.sees.Exec(ctx, `update attempts set look_at = clock_timestamp() - interval '1 second' where tenant_id = $1`, r.tenant)
		if err != nil {
			r.w.t.Errorf("having it looked up: %v", err)
		}
	}
	l := lookup.Lookups{Store: m.db, Carrier: func(string) (lookup.Carrier, bool) { return queued{m.twilio}, true }, Read: reader, Log: slog.New(slog.DiscardHandler)}
	r.w.age(r.tenant, 30*time.Hour)
	due()
	again(func() error {
		return l.Do(ctx, lookup.Ref{FollowUp: r.id(), No: 1})
	})
	again(m.bridge)
}

// queued is an account whose every call waits in the company's queue.
type queued struct{ lookup.Carrier }

func (queued) Cancel(context.Context, string) error { return nil }

var anyStatus = regexp.MustCompile(`"status":"[a-z-]+"`)

func (q queued) Fetch(ctx context.Context, id string) ([]byte, error) {
	body, err := q.Carrier.Fetch(ctx, id)
	return anyStatus.ReplaceAll(body, []byte(`"status":"queued"`)), err
}

func callSID(n int) string { return fmt.Sprintf("CA%032x", n) }

// id is the follow-up that a combination is about.
func (r *run) id() (id string) {
	if err := r.w.sees.QueryRow(r.w.ctx, `select id::text from phone_followups where tenant_id = $1 and ref = $2 order by created_at limit 1`, r.tenant, r.all[0].ref).Scan(&id); err != nil {
		r.w.t.Errorf("looking for %s: %v", r.all[0].ref, err)
	}
	return id
}

// poisons makes rows of certain names fail whatever statement they are in, while it is asked to.
func (w *world) poisons() {
	w.t.Helper()
	w.exec(`create table proof_poison (on_ boolean)`)
	w.exec(`create function proof_poison() returns trigger language plpgsql as $$ begin
		if exists (select from proof_poison) then raise exception using errcode = '22012', message = 'poison'; end if; return new; end $$`)
	w.exec(`create trigger proof_poison before insert on attempts for each row execute function proof_poison()`)
	w.exec(`create trigger proof_poison before insert on messages for each row execute function proof_poison()`)
	w.exec(`create trigger proof_poison before update on phone_followups for each row when (new.ready and not old.ready and new.ref = 'bad intake') execute function proof_poison()`)
}

func (w *world) poison(on bool) {
	sql := `delete from proof_poison`
	if on {
		sql = `insert into proof_poison values (true)`
	}
	if _, err := w.sees.Exec(w.ctx, sql); err != nil {
		w.t.Errorf("poisoning: %v", err)
	}
}
