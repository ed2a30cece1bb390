package main

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"
)

// stops are the times in which nothing may have been begun: from the moment at which a person's
// stop, or hold, had returned, to the one at which it was lifted.
type stops struct {
	mu  sync.Mutex
	all []stopped
}

// stopped is one of them. Tenant and line are "" where all are meant.
type stopped struct {
	what         string
	tenant, line string
	from, to     time.Time
}

func (s *stops) add(one stopped) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, one)
}

func (s *stops) list() []stopped {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]stopped(nil), s.all...)
}

// stopAndResume stops something for a moment. What was stopped is resumed whatever happens.
func (p *people) stopAndResume(ctx context.Context) {
	tenant := p.w.tenants[p.rnd.IntN(len(p.w.tenants))]
	one, undo := stopped{what: "stop", tenant: tenant}, "resume"
	args := []string{"stop", "--tenant", tenant}
	lift := []string{undo, "--tenant", tenant}
	switch n := p.rnd.IntN(10); {
	case n < 4:
		one.tenant, args, lift = "", []string{"stop"}, []string{undo}
	case n < 6:
		one.line = "default"
		args, lift = append(args, "--line", "default"), append(lift, "--line", "default")
	case n < 8:
		one.what, one.line = "line hold", "default"
		args = []string{"line", "hold", "default", "--tenant", tenant}
		lift = []string{"line", "release", "default", "--tenant", tenant}
	}
	_, ok := p.did(ctx, args...)
	one.from = time.Now()
	if ok {
		pause(ctx, time.Duration(500+p.rnd.IntN(2500))*time.Millisecond)
		one.to = time.Now()
		p.stopsAre(one)
	}
	for !p.lifted(ctx, lift) && pause(ctx, 300*time.Millisecond) {
	}
}

func (p *people) stopsAre(one stopped) { p.w.stops.add(one) }

func (p *people) lifted(ctx context.Context, lift []string) bool {
	_, ok := p.did(ctx, lift...)
	return ok
}

// stopNow and then stops and resumes until ctx ends.
func (p *people) stopNow(ctx context.Context, every time.Duration) {
	for pause(ctx, every/2+time.Duration(p.rnd.Int64N(int64(every)))) {
		p.stopAndResume(p.w.ctx) // to its end: nothing is left stopped
	}
}

// somewhere is a random point of a span.
func somewhere(rnd *rand.Rand, from, to time.Duration) time.Duration {
	return from + time.Duration(rnd.Int64N(int64(to-from)+1))
}
