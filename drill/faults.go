package main

import (
	"context"
	"math/rand/v2"
	"sync"
	"syscall"
	"time"

	"chasephone/internal/carrier/sim"
)

// faults do harm until ctx ends, each kind in a rhythm of its own.
type faults struct {
	w    *world
	seed uint64
}

// run does harm until ctx ends, and returns when no more is done.
func (f *faults) run(ctx context.Context) {
	var all sync.WaitGroup
	for n, do := range []func(context.Context, *rand.Rand){
		f.killers, f.killers, f.cuts, f.cuts, f.stuck, f.pauses, f.database, f.network, f.carrier, f.rules, f.webhooks,
	} {
		rnd := rand.New(rand.NewPCG(f.seed, uint64(100+n)))
		all.Go(func() { do(ctx, rnd) })
	}
	all.Wait()
}

func (f *faults) some(rnd *rand.Rand) *daemon { return f.w.daemons[rnd.IntN(len(f.w.daemons))] }

// killers kill daemons: most of them at a moment that a trap was laid for, the others at any.
func (f *faults) killers(ctx context.Context, rnd *rand.Rand) {
	within := []moment{accepted, asked, ringing, ringing, ringing, answered, beforeCommit, afterCommit}
	for pause(ctx, somewhere(rnd, 200*time.Millisecond, 900*time.Millisecond)) {
		d := f.some(rnd)
		if !d.serves() {
			continue
		}
		switch n := rnd.IntN(100); {
		case n < 75:
			if !f.spring(ctx, d, trap{within[rnd.IntN(len(within))], kill}, 1500*time.Millisecond) {
				f.killNow(d) // it is idle, or busy with what other daemons left
			}
		case n < 92:
			f.killNow(d)
		default:
			f.terminate(d, rnd)
		}
	}
}

// killNow kills a daemon, whatever it does.
func (f *faults) killNow(d *daemon) {
	out := d.wire.out.Load()
	if !d.signal(syscall.SIGKILL) {
		return
	}
	f.w.count("kill -9 of a daemon", 1)
	if out > 0 {
		f.w.count("killed within a dial", 1)
	}
}

// spring lays a trap, and takes it away again where nothing comes by.
func (f *faults) spring(ctx context.Context, d *daemon, one trap, atMost time.Duration) bool {
	laid := d.traps.lay(one)
	struck := laid.within(ctx, atMost)
	d.traps.lift(laid)
	return struck
}

// terminate asks a daemon to stop, and sometimes loses patience.
func (f *faults) terminate(d *daemon, rnd *rand.Rand) {
	p, _, _ := d.running()
	if !d.signal(syscall.SIGTERM) {
		return
	}
	f.w.count("SIGTERM to a daemon", 1)
	if rnd.IntN(4) == 0 {
		time.AfterFunc(somewhere(rnd, 100*time.Millisecond, time.Second), func() { f.w.nursery.kill(p, syscall.SIGTERM) })
	}
}

// cuts break connections at the worst moments, and let requests get stuck.
func (f *faults) cuts(ctx context.Context, rnd *rand.Rand) {
	at := []moment{beforeCommit, beforeCommit, afterCommit, anyCommit, asked, ringing, answered, stuck}
	for pause(ctx, somewhere(rnd, 200*time.Millisecond, 1500*time.Millisecond)) {
		f.spring(ctx, f.some(rnd), trap{at[rnd.IntN(len(at))], cut}, 2*time.Second)
	}
}

// stuck lets requests get stuck on their way, while the daemon learns that its connection broke.
func (f *faults) stuck(ctx context.Context, rnd *rand.Rand) {
	for pause(ctx, somewhere(rnd, 500*time.Millisecond, 2*time.Second)) {
		f.spring(ctx, f.some(rnd), trap{stuck, cut}, 2*time.Second)
	}
}

// pauses stop a daemon where it has an attempt that it has not sent, and at any other moment,
// for longer than the attempt may be sent.
func (f *faults) pauses(ctx context.Context, rnd *rand.Rand) {
	for pause(ctx, somewhere(rnd, 5*time.Second, 11*time.Second)) {
		d := f.some(rnd)
		if rnd.IntN(3) > 0 {
			f.spring(ctx, d, trap{[]moment{afterCommit, accepted, ringing}[rnd.IntN(3)], stop}, 3*time.Second)
			continue
		}
		d.pauseFor(somewhere(rnd, shortPause, longestPause))
	}
}

// database lets PostgreSQL fall, and starts it where it was.
func (f *faults) database(ctx context.Context, rnd *rand.Rand) {
	for pause(ctx, somewhere(rnd, 9*time.Second, 20*time.Second)) {
		how := syscall.SIGQUIT
		if rnd.IntN(3) == 0 {
			how = syscall.SIGKILL
		}
		f.w.pg.end(how)
		f.w.count("PostgreSQL restarted at once", 1)
		if err := f.w.pg.start(f.w.ctx); err != nil {
			f.w.fail(err)
			return
		}
	}
}

// network takes the way to the database, or to the carrier, from one daemon for a while.
func (f *faults) network(ctx context.Context, rnd *rand.Rand) {
	for pause(ctx, somewhere(rnd, 4*time.Second, 10*time.Second)) {
		d := f.some(rnd)
		switch rnd.IntN(3) {
		case 0:
			f.w.count("the way to the database frozen", 1)
			d.db.frozen.Store(true)
			pause(ctx, somewhere(rnd, 2*time.Second, 9*time.Second))
			if rnd.IntN(2) == 0 {
				d.db.cutAll()
			}
			d.db.frozen.Store(false)
		case 1:
			f.w.count("the way to the database cut", 1)
			d.db.cutAll()
		default:
			f.w.count("connections to the carrier refused", 1)
			d.wire.shut()
			pause(ctx, somewhere(rnd, time.Second, 4*time.Second))
			if err := d.wire.open(f.w.ctx); err != nil {
				f.w.fail(err)
			}
		}
	}
}

// carrier refuses, sleeps, or falls and comes back.
func (f *faults) carrier(ctx context.Context, rnd *rand.Rand) {
	for pause(ctx, somewhere(rnd, 7*time.Second, 15*time.Second)) {
		switch n := rnd.IntN(10); {
		case n < 5:
			f.w.count("the carrier refused connections", 1)
			_ = f.w.company.refuse(ctx, somewhere(rnd, 500*time.Millisecond, 3*time.Second)) // or it is asleep
		case n < 7:
			f.w.count("the carrier slept", 1)
			f.w.company.signal(syscall.SIGSTOP)
			pause(f.w.ctx, somewhere(rnd, longestSleep/2, longestSleep))
			f.w.company.signal(syscall.SIGCONT)
		default:
			f.w.count("the carrier restarted", 1)
			f.w.company.signal(syscall.SIGKILL)
			if err := f.w.company.start(f.w.ctx); err != nil {
				f.w.fail(err)
				return
			}
		}
	}
}

// rules have the carrier treat the next calls otherwise than their numbers say.
func (f *faults) rules(ctx context.Context, rnd *rand.Rand) {
	busy := []string{"http_429", "page_429", "busy_line", "credentials", "page_401", "caller_number", "inactive"}
	ways := []sim.Webhooks{sim.Early, sim.Late, sim.Doubled, sim.Reversed, sim.Silent}
	ends := []string{"busy", "no-answer", "failed", "completed"}
	for pause(ctx, somewhere(rnd, 500*time.Millisecond, 2*time.Second)) {
		r := sim.Rule{To: "*", Next: 1 + rnd.IntN(4)}
		switch rnd.IntN(4) {
		case 0:
			r.Fault, r.Next = busy[rnd.IntN(len(busy))], 1
		case 1:
			r.Fault = ringsFaults[rnd.IntN(len(ringsFaults))]
		default:
			r.Webhooks, r.Final = ways[rnd.IntN(len(ways))], ends[rnd.IntN(len(ends))]
		}
		if f.w.company.rule(ctx, r) == nil {
			f.w.count("rules for the carrier", 1)
		}
	}
}

// ringsFaults lose the answer of calls that ring.
var ringsFaults = []string{"drop_reply", "reset", "hang", "half_201", "ring_500", "ring_503", "garbage"} //nolint:gochecknoglobals // a constant

// webhooks come in floods: genuine ones once more, and forged ones.
func (f *faults) webhooks(ctx context.Context, rnd *rand.Rand) {
	for pause(ctx, somewhere(rnd, 3*time.Second, 6*time.Second)) {
		f.w.hooks.again(ctx, 20+rnd.IntN(60))
		var token string
		if f.w.db.QueryRow(ctx, `select token::text from attempts order by created_at desc limit 1 offset $1`, rnd.IntN(30)).Scan(&token) == nil {
			f.w.hooks.forge(ctx, token)
		}
	}
}
