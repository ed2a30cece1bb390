package proof_test

import (
	"context"
	"slices"
	"time"

	"chasephone/internal/desk"
)

// recover puts things right, as the rest of a fleet and its people do: it goes on until every
// follow-up is over, or it is plain that one never will be.
func (r *run) recover() {
	r.rivals.Wait()
	s, ctx := r.second, context.Background()
	// Nobody comes twenty slots late: most need two or three.
	for round := range 20 {
		if round > 0 {
			r.w.age(r.tenant, time.Hour)
		}
		if r.story.name == "stop" {
			_, _, _ = s.store.at("resume").Resume(ctx, desk.Scope{Tenant: r.tenant}, "ann")
		}
		r.w.post.deliver(r.rang())
		if round > 0 && !r.insist(s.sweep) || r.w.unbridged() && !r.insist(s.bridge) {
			return
		}
		r.decide(s, "ann")
		r.settle(s, "settle", "ann")
		left := r.open()
		if len(left) == 0 || slices.ContainsFunc(left, func(o open) bool { return o.State == "due" }) && !r.insist(s.tick) {
			return
		}
	}
}

// insist does something until the database is there for it.
func (r *run) insist(do func() error) bool {
	var err error
	for began := time.Now(); time.Since(began) < 10*time.Second; time.Sleep(5 * time.Millisecond) {
		if err = do(); err == nil {
			return true
		}
	}
	r.violation("5: a daemon that nothing happened to cannot go on: %v", err)
	return false
}

func (m *machine) sweep() error { return m.drain.Sweep(context.Background()) }

// endSessions has the server end the machine's transactions, as it does after 20 s of silence.
func (m *machine) endSessions() {
	for _, w := range m.allWires() {
		if w.inTransaction() {
			_ = w.fail(errGone)
		}
	}
}

func (m *machine) inTransaction() bool {
	for _, w := range m.allWires() {
		if w.inTransaction() {
			return true
		}
	}
	return false
}

func (m *machine) allWires() []*wire {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := make([]*wire, 0, len(m.wires))
	for w := range m.wires {
		all = append(all, w)
	}
	return all
}
