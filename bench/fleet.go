package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"chasephone/internal/carrier/twilio"
	"chasephone/internal/store"
)

// fleet is real daemons side by side on one database, each with its own dial slots, over a carrier
// that takes 100 ms: waiting for it is what bounds them.
type fleet struct {
	daemons, drainers, tenants int

	srv     *server
	program string
	phones  *telephones
	url     string // of the database
	running []*fleetDaemon
	worked  int // daemons that made attempts in the newest round
}

const (
	fleetSlots     = 64
	fleetAnswersIn = 100 * time.Millisecond
	// fleetTick is long enough for one slot to hold all of a round: further drainers join at its begin.
	fleetTick = 10 * time.Second
	// fleetStart is the time that starting the daemons may take.
	fleetStart = 4 * time.Second
)

func newFleet(ctx context.Context, srv *server, program string, phones *telephones, daemons, drainers, tenants int) (*fleet, error) {
	f := &fleet{daemons: daemons, drainers: drainers, tenants: tenants, srv: srv, program: program, phones: phones}
	var err error
	f.url, err = srv.migrated(ctx, f.database())
	return f, err
}

func (f *fleet) subject() subject {
	return subject{fmt.Sprintf("%s, %s a call, drainers: %d", f.kind(), fleetAnswersIn, f.drainers), f.kind(), fleetSlots}
}

func (f *fleet) kind() string {
	if f.daemons == 1 {
		return kindOne
	}
	return kindFleet
}

func (f *fleet) database() string { return ours + "fleet_" + strconv.Itoa(f.daemons) }

// with does something with our own connections to the database, which are closed again.
func (f *fleet) with(ctx context.Context, do func(*product) error) error {
	p, err := newProduct(ctx, f.url, setting{f.tenants, 2, fleetSlots, f.drainers}, nil)
	if err != nil {
		return err
	}
	defer p.db.Close()
	p.account = twilio.Name // the one that their environment names
	return do(p)
}

// prepare puts in what is due and starts the daemons, in a slot that is passed already: they begin together, with
// the next.
func (f *fleet) prepare(ctx context.Context) error {
	f.close() // of a round that failed
	return f.with(ctx, func(p *product) error {
		if err := p.prepare(ctx); err != nil {
			return err
		}
		if _, err := p.db.SetLimits(ctx, p.limits(fleetTick), "bench"); err != nil {
			return err
		}
		at, err := passSlot(ctx, p.db)
		if err != nil {
			return err
		}
		for range f.daemons {
			if err := f.start(ctx); err != nil {
				return err
			}
		}
		for _, d := range f.running {
			if err := d.serves(ctx); err != nil {
				return err
			}
		}
		if slot, err := p.db.Offer(ctx); err != nil || !slot.At.Equal(at) {
			return errors.Join(err, fmt.Errorf("starting %d daemons took more than %s on this machine: nothing can be said of them", f.daemons, fleetStart))
		}
		return nil
	})
}

// passSlot passes the fence of a slot of which there is enough left, so that nothing is drained in it.
func passSlot(ctx context.Context, db *store.Store) (time.Time, error) {
	for {
		slot, err := db.Offer(ctx)
		if err != nil {
			return time.Time{}, err
		}
		if slot.Left > fleetStart {
			_, _, err := db.Pass(ctx, slot.At)
			return slot.At, err
		}
		if err := sleep(ctx, slot.Left); err != nil {
			return time.Time{}, err
		}
	}
}

// run waits until all is settled. What it took is told by the attempts: from the first that was made.
func (f *fleet) run(ctx context.Context) (items int, took time.Duration, err error) {
	err = f.with(ctx, func(p *product) error {
		var left bool
		var seconds float64
		for end := time.Now().Add(2 * fleetTick); ; {
			err := p.db.Pool.QueryRow(ctx, `
				select exists (select from phone_followups where state in ('due', 'dialing')),
				  coalesce((select extract(epoch from max(outcome_at) - min(created_at)) from attempts), 0)::float8,
				  (select count(distinct daemon_id) from attempts)`).Scan(&left, &seconds, &f.worked)
			if err != nil {
				return err
			}
			if !left {
				break
			}
			if time.Now().After(end) {
				return fmt.Errorf("%d follow-ups are not settled two slots after they were due; the daemons say:\n%s", p.items(), f.said())
			}
			if err := sleep(ctx, 100*time.Millisecond); err != nil {
				return err
			}
		}
		items, took = p.items(), time.Duration(seconds*float64(time.Second))
		return nil
	})
	f.close()
	return items, took, err
}

func (f *fleet) verify(ctx context.Context) error {
	return f.with(ctx, func(p *product) error { return p.verify(ctx) })
}

func (f *fleet) counted() (statements, commits int64) { return unknown, unknown }

func (f *fleet) daemonsAtWork() int { return f.worked }

func (f *fleet) close() {
	for _, d := range f.running {
		d.stop()
	}
	f.running = nil
}

func (f *fleet) said() string {
	var all strings.Builder
	for _, d := range f.running {
		all.WriteString(d.said())
	}
	return all.String()
}

// fleetDaemon is one daemon, in a process of its own.
type fleetDaemon struct {
	process *exec.Cmd
	home    string
}

func (f *fleet) start(ctx context.Context) error {
	home, err := os.MkdirTemp("", "chasephone-bench-fleet-")
	if err != nil {
		return err
	}
	d := &fleetDaemon{exec.CommandContext(ctx, f.program, "serve"), home}
	f.running = append(f.running, d)
	d.process.Env = append(append(os.Environ(), f.phones.environment()...),
		"DATABASE_URL="+f.url, "METRICS_ADDR=127.0.0.1:0", "HTTP_ADDR=127.0.0.1:0", "DATA_DIR="+home, "GATE_CALLING_HOURS=off",
		"PHONE_FOLLOWUP_TICK="+fleetTick.String(), "PHONE_FOLLOWUP_PER_TICK=2", "PHONE_FOLLOWUP_DIAL_SLOTS="+strconv.Itoa(fleetSlots),
		"PHONE_FOLLOWUP_DRAINERS="+strconv.Itoa(f.drainers))
	log, err := os.Create(filepath.Join(home, "log"))
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	d.process.Stderr = log
	return d.process.Start()
}

// serves waits until it does.
func (d *fleetDaemon) serves(ctx context.Context) error {
	for end := time.Now().Add(fleetStart); !strings.Contains(d.said(), "msg=serving"); {
		if time.Now().After(end) {
			return fmt.Errorf("a daemon does not serve; it says:\n%s", d.said())
		}
		if err := sleep(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

// said is the end of its log.
func (d *fleetDaemon) said() string {
	b, _ := os.ReadFile(filepath.Join(d.home, "log"))
	return string(b[max(0, len(b)-2000):])
}

func (d *fleetDaemon) stop() {
	if d.process.Process != nil {
		_ = d.process.Process.Signal(os.Interrupt)
		_ = d.process.Wait()
	}
	_ = os.RemoveAll(d.home)
}
