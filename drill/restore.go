package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// scenario is a way in which a database comes back: as it was before, or with nothing lost.
type scenario struct {
	name    string
	forgets bool // attempts are lost: all ringing must be held
	twoOf   bool // there is a standby, and DATABASE_URL names both
	do      func(context.Context, *trial) error
}

func scenarios() []scenario {
	return []scenario{
		{"an older dump, in a new database of the same server", true, false, restoreAnew},
		{"an older dump over the database, in one transaction", true, false, restoreOver("--single-transaction")},
		{"an older dump over the database, piece by piece", true, false, restoreOver()},
		{"an older dump, in a new server at the same port", true, false, restoreElsewhere},
		{"the same, and the daemons remember nothing", true, false, restoreForgetful},
		{"failover to a synchronous standby, cleanly", false, true, failover(true, syscall.SIGINT)},
		{"failover to a synchronous standby, the primary killed", false, true, failover(true, syscall.SIGKILL)},
		{"failover to a standby that was behind", true, true, failover(false, syscall.SIGKILL)},
	}
}

// trial is one scenario under way.
type trial struct {
	*world
	out     io.Writer
	standby int // its port
	dump    string
}

const (
	trialPromises = 480
	dumpAt        = 100 // rings
	disasterAt    = 240 // rings
	trialsAtOnce  = 4   // they mostly wait
)

// drillRestore goes through all scenarios, or those whose numbers are given; each is told of when
// it is over.
func drillRestore(ctx context.Context, o options, out io.Writer) error {
	var (
		mu     sync.Mutex
		bad    []error
		trials sync.WaitGroup
		turns  = make(chan struct{}, trialsAtOnce)
	)
	for n, s := range scenarios() {
		if len(o.only) > 0 && !slices.Contains(o.only, strconv.Itoa(n+1)) {
			continue
		}
		turns <- struct{}{}
		trials.Go(func() {
			defer func() { <-turns }()
			var said bytes.Buffer
			own := o
			own.lot = n
			err := try(ctx, own, s, &said)
			mu.Lock()
			defer mu.Unlock()
			if ctx.Err() != nil {
				return
			}
			_, _ = fmt.Fprintf(out, "\n%d. %s\n%s", n+1, s.name, said.String())
			if err != nil {
				_, _ = fmt.Fprintf(out, "   NOT HELD: %v\n", err)
				bad = append(bad, fmt.Errorf("%s: %w", s.name, err))
				return
			}
			_, _ = fmt.Fprintln(out, "   held")
		})
	}
	trials.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return errors.Join(bad...)
}

// try is one scenario from its start to its end.
func try(ctx context.Context, o options, s scenario, out io.Writer) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	o.calm, o.twoHosts, o.daemons, o.tenants = true, s.twoOf, 3, 12
	w, err := newWorld(ctx, o, io.Discard)
	defer func() {
		w.end()
		if err != nil && ctx.Err() == nil {
			w.scratch.keep()
			_, _ = fmt.Fprintf(out, "   the logs are in %s\n", w.scratch.dir)
			return
		}
		w.scratch.remove()
	}()
	if err != nil {
		return err
	}
	t := &trial{world: w, out: out, standby: w.secondPort}
	var daemons sync.WaitGroup
	supervised, endDaemons := context.WithCancel(ctx)
	defer func() { endDaemons(); w.nursery.end(); daemons.Wait() }()
	if err := t.promiseAll(ctx); err != nil {
		return err
	}
	w.began = time.Now()
	for _, d := range w.daemons {
		daemons.Go(func() { d.supervise(supervised) })
	}
	if err := s.do(ctx, t); err != nil {
		return err
	}
	if s.forgets {
		err = t.isHeld(ctx)
	} else {
		err = t.goesOn(ctx)
	}
	if err == nil {
		err = t.comesToItsEnd(ctx)
	}
	if all, broken := w.trouble(); err == nil && len(all) > 0 {
		report(out, nil, all)
		err = errors.Join(found{len(all)}, broken)
	}
	return err
}

// untilDump rings some, dumps, and has those approved that wait for it: they ring after the dump.
func (t *trial) untilDump(ctx context.Context) (err error) {
	if err := t.rung(ctx, dumpAt); err != nil {
		return err
	}
	if t.dump, err = t.pg.dump(ctx); err != nil {
		return err
	}
	if err := t.decideAll(ctx); err != nil {
		return err
	}
	return t.rung(ctx, disasterAt)
}

func restoreAnew(ctx context.Context, t *trial) error {
	if err := t.untilDump(ctx); err != nil {
		return err
	}
	if err := t.pg.bounce(ctx); err != nil {
		return err
	}
	if err := t.pg.replace(ctx); err != nil {
		return err
	}
	if err := t.lost(ctx); err != nil {
		return err
	}
	return t.pg.restore(ctx, t.dump, "--exit-on-error")
}

// restoreOver loads the dump over what is there, while the daemons run.
func restoreOver(how ...string) func(context.Context, *trial) error {
	return func(ctx context.Context, t *trial) error {
		if err := t.untilDump(ctx); err != nil {
			return err
		}
		if err := t.pg.bounce(ctx); err != nil {
			return err
		}
		// Until it is there, what was there before is rung on, and rightly.
		how = append(slices.Clone(how), "--clean", "--if-exists")
		err := t.pg.restore(ctx, t.dump, how...)
		var said *failed
		for try := 0; try < 10 && errors.As(err, &said) && strings.Contains(said.said, "deadlock detected") && len(how) > 2; try++ {
			t.tell("pg_restore gave way to a daemon, and is run again")
			err = t.pg.restore(ctx, t.dump, how...) // in one transaction: nothing was done
		}
		if errors.As(err, &said) && len(how) == 2 {
			t.tell("pg_restore went on over errors: %s", lastLines(said.said, 1)) // the daemons are in its way
			err = nil
		}
		return errors.Join(err, t.lost(ctx))
	}
}

// elsewhere puts another server in the place of the one that there was.
func (t *trial) elsewhere(ctx context.Context) error {
	t.pg.end(syscall.SIGQUIT)
	next, err := newCluster(ctx, t.nursery, t.scratch, t.pg.installation, "another", t.pg.port)
	if err != nil {
		return err
	}
	if err := next.setPassword(ctx, t.pg.password); err != nil {
		return err
	}
	t.pg = next
	if err := t.pg.replace(ctx); err != nil {
		return err
	}
	if err := t.lost(ctx); err != nil {
		return err
	}
	return t.pg.restore(ctx, t.dump, "--exit-on-error")
}

func restoreElsewhere(ctx context.Context, t *trial) error {
	if err := t.untilDump(ctx); err != nil {
		return err
	}
	return t.elsewhere(ctx)
}

// restoreForgetful is for daemons on new machines: only the carriers know what was rung.
func restoreForgetful(ctx context.Context, t *trial) error {
	if err := t.untilDump(ctx); err != nil {
		return err
	}
	for _, d := range t.daemons {
		d.rest(true)
		d.signal(syscall.SIGKILL)
		folder := t.scratch.in(d.name)
		if err := errors.Join(os.RemoveAll(folder), os.Mkdir(folder, 0o700)); err != nil {
			return fmt.Errorf("emptying a daemon's folder: %w", err)
		}
	}
	if err := t.elsewhere(ctx); err != nil {
		return err
	}
	for _, d := range t.daemons {
		d.rest(false)
	}
	return nil
}

// failover has a standby take over. One that nobody awaits loses what was committed while it was away.
func failover(awaited bool, end syscall.Signal) func(context.Context, *trial) error {
	return func(ctx context.Context, t *trial) error {
		standby, err := t.pg.standby(ctx, "standby", t.standby)
		if err != nil {
			return err
		}
		if awaited {
			if err := t.pg.awaits(ctx); err != nil {
				return err
			}
		}
		if err := t.rung(ctx, dumpAt); err != nil {
			return err
		}
		if !awaited {
			standby.end(syscall.SIGINT) // it hears of nothing from now on
		}
		if err := t.decideAll(ctx); err != nil {
			return err
		}
		if err := t.rung(ctx, disasterAt); err != nil {
			return err
		}
		t.pg.end(end)
		t.pg = standby
		if !awaited {
			if err := standby.start(ctx); err != nil {
				return err
			}
		}
		if err := standby.promote(ctx); err != nil {
			return err
		}
		return t.lost(ctx)
	}
}
