package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"syscall"
	"time"
)

// found says that a rule did not hold.
type found struct{ n int }

func (f found) Error() string { return fmt.Sprintf("%d violation(s) found", f.n) }

// drill is one run: harm, then healing, then the checks.
func drill(ctx context.Context, o options, out io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	_, _ = fmt.Fprintf(out, "seed %d\n", o.seed)
	w, err := newWorld(ctx, o, out)
	defer func() {
		w.end()
		if w.keepAll {
			w.scratch.keep()
			_, _ = fmt.Fprintf(out, "the logs and the ring book are in %s\n", w.scratch.dir)
			return
		}
		w.scratch.remove()
	}()
	if err != nil {
		w.keepAll = true
		return err
	}
	err = w.drill(ctx, out)
	w.keepAll = w.keepAll || err != nil && ctx.Err() == nil && w.mutant == "" // a mutant's end is no surprise
	return err
}

func (w *world) drill(ctx context.Context, out io.Writer) error {
	var daemons sync.WaitGroup
	supervised, endDaemons := context.WithCancel(ctx)
	defer func() { endDaemons(); w.nursery.end(); daemons.Wait() }()
	for _, d := range w.daemons {
		daemons.Go(func() { d.supervise(supervised) })
	}
	w.began = time.Now()
	err := await(ctx, "all daemons serve", time.Minute, func() bool { all, _ := w.trouble(); return len(all) > 0 || w.allServe() })
	if all, _ := w.trouble(); err != nil || len(all) > 0 {
		report(out, nil, all)
		return errors.Join(err, errors.New("the daemons do not come to serve"))
	}
	w.began = time.Now()
	_, _ = fmt.Fprintf(out, "%d daemons serve; harm is done for %s\n", len(w.daemons), w.lasts)
	harm, endHarm := context.WithTimeout(ctx, w.lasts)
	defer endHarm()
	w.mu.Lock()
	w.troubled = endHarm // there is nothing more to find out
	w.mu.Unlock()
	w.harm(harm, out)

	lasted := time.Since(w.began)
	if all, err := w.trouble(); len(all) == 0 && err == nil && ctx.Err() == nil {
		_, _ = fmt.Fprintf(out, "%s  the faults end; everything is healed, and what is open is decided\n", w.at())
		if err := w.heal(ctx); err != nil {
			return err
		}
		if err := w.rest(ctx, out); err != nil {
			return err
		}
	}
	return w.judge(ctx, out, lasted)
}

func (w *world) at() string { return time.Since(w.began).Round(time.Second).String() }

func (w *world) allServe() bool {
	for _, d := range w.daemons {
		if !d.serves() {
			return false
		}
	}
	return true
}

// harm does all that goes on at once, until ctx ends.
func (w *world) harm(ctx context.Context, out io.Writer) {
	var all sync.WaitGroup
	all.Go(func() { (&faults{w: w, seed: w.seed}).run(ctx) })
	all.Go(func() { w.promise(ctx) })
	for n := range uint64(3) {
		p := personally(w, n)
		all.Go(func() { p.work(ctx, 1200*time.Millisecond) })
	}
	rash := personally(w, 9)
	all.Go(func() { rash.hurry(ctx) })
	stopper := personally(w, 10)
	all.Go(func() { stopper.stopNow(ctx, 5*time.Second) })
	all.Go(func() { w.watch(ctx, out) })
	all.Wait()
}

// promise inserts rows: many at the start, then a few every moment, for most of the time.
func (w *world) promise(ctx context.Context) {
	rnd := rand.New(rand.NewPCG(w.seed, 3))
	total := int(float64(w.perMinute) * w.lasts.Minutes())
	insert := func(n int, spread time.Duration) bool {
		some := make([]promise, n)
		for i := range some {
			some[i] = w.promises.invent(time.Now(), spread)
		}
		err := w.promises.say(ctx, w.db, some)
		if err != nil && ctx.Err() == nil {
			w.fail(err)
		}
		return err == nil
	}
	first := total / 4
	for done := 0; done < first; done += 20 {
		if !insert(20, 20*time.Second) {
			return
		}
	}
	const every = 500 * time.Millisecond
	share := float64(total-first) / (w.lasts.Seconds() * 0.85 / every.Seconds())
	owed := 0.0
	for end := w.began.Add(w.lasts * 85 / 100); time.Now().Before(end) && pause(ctx, every); {
		if owed += share; owed < 1 {
			continue
		}
		if !insert(int(owed), 5*time.Second) {
			return
		}
		owed -= float64(int(owed))
		if rnd.IntN(3) == 0 {
			switch refused, err := w.promises.repeat(ctx, w.db); {
			case err != nil:
				w.find(violation{Rule: "the same promise again is a duplicate", Says: err.Error()})
			case refused:
				w.count("promises repeated, and refused", 1)
			}
		}
	}
}

// watch looks all the while for what must never be, so that it is found soon.
func (w *world) watch(ctx context.Context, out io.Writer) {
	said := time.Now()
	for every := 2 * time.Second; pause(ctx, every); {
		began := time.Now()
		f, err := w.look(ctx)
		if err != nil {
			continue // the database is being restarted
		}
		w.find(f.always()...)
		every = max(2*time.Second, 10*time.Since(began))
		if time.Since(said) > 15*time.Second {
			said = time.Now()
			w.mu.Lock()
			kills, falls := w.counts["kill -9 of a daemon"], w.counts["PostgreSQL restarted at once"]
			w.mu.Unlock()
			_, _ = fmt.Fprintf(out, "%s  %d promises, %d requests to the carrier, %d kills, PostgreSQL fell %d times\n", w.at(), len(f.followups), len(f.rings.all), kills, falls)
		}
	}
}

// look reads everything there is.
func (w *world) look(ctx context.Context) (*facts, error) {
	stops, said := w.stops.list(), w.promises.all() // before the tables
	f, err := look(ctx, w.db, w.company.book)
	if err != nil {
		return nil, err
	}
	f.stops, f.said = stops, said
	return f, nil
}

// heal ends every fault.
func (w *world) heal(ctx context.Context) error {
	w.hooks.heal()
	for _, d := range w.daemons {
		d.traps.lift(nil)
		d.db.frozen.Store(false)
		d.signal(syscall.SIGCONT)
		if err := d.wire.open(ctx); err != nil {
			return fmt.Errorf("opening the way to the carrier: %w", err)
		}
	}
	if err := w.company.heal(ctx); err != nil {
		return err
	}
	if err := await(ctx, "all daemons serve again", time.Minute, w.allServe); err != nil {
		return err
	}
	// What a person still holds, and what the last faults have taught the lines, is over.
	p := personally(w, 20)
	_, _ = p.did(ctx, "resume")
	return nil
}

// patience is how long nothing more may come to its end after the faults, and longest in all.
const (
	patience     = time.Minute
	longestRest  = 15 * time.Minute
	restSayEvery = 20 * time.Second
)

// rest has persons decide whatever can be decided until nothing is open any more. What is left
// when nothing moves is for the checks.
func (w *world) rest(ctx context.Context, out io.Writer) error {
	began := time.Now()
	fewest, moved, said := -1, began, began
	for time.Since(moved) < patience && time.Since(began) < longestRest {
		if err := w.finish(ctx); err != nil {
			return err
		}
		f, err := w.look(ctx)
		if err != nil {
			return err
		}
		open := len(f.nothingStuck())
		switch {
		case len(f.always()) > 0:
			return nil
		case open == 0 && f.quiet():
			_, _ = fmt.Fprintf(out, "%s  nothing is open any more\n", w.at())
			return nil
		case fewest < 0 || open < fewest:
			fewest, moved = open, time.Now()
		}
		if time.Since(said) > restSayEvery {
			said = time.Now()
			_, _ = fmt.Fprintf(out, "%s  %d are open\n", w.at(), open)
		}
		if !pause(ctx, time.Second) {
			return context.Cause(ctx)
		}
	}
	return nil
}

// quiet says that no attempt is out.
func (f *facts) quiet() bool {
	for _, a := range f.attempts {
		if a.outcome == "" {
			return false
		}
	}
	return true
}

// judge checks everything, prints the figures, and says what did not hold.
func (w *world) judge(ctx context.Context, out io.Writer, lasted time.Duration) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err := await(ctx, "the database answers", time.Minute, func() bool { return w.db.Ping(ctx) == nil }); err != nil {
		return err
	}
	f, err := w.look(ctx)
	if err != nil {
		return err
	}
	all, broken := w.trouble()
	early := len(all) > 0 || broken != nil
	if !early {
		all = append(all, f.always()...)
		all = append(all, f.atRest()...)
		all = append(all, w.metricsAgree(ctx, f)...)
	}
	inLog, lines, err := inLogs(w.logFiles(), w.promises.numbers())
	if err != nil {
		broken = errors.Join(broken, err)
	}
	all = append(all, inLog...)
	w.count("lines of log looked through", lines)
	short := printFigures(out, w.figures(f, lasted))
	if len(all) > 0 {
		report(out, f, all)
		if !w.foundAt.IsZero() {
			_, _ = fmt.Fprintf(out, "\nfound %s after the harm began\n", w.foundAt.Sub(w.began).Round(100*time.Millisecond))
		}
		return errors.Join(found{len(all)}, broken)
	}
	if broken != nil {
		return broken
	}
	return short
}
