package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"chasephone/config"
	"chasephone/internal/carrier"
	"chasephone/internal/carrier/sip"
	"chasephone/internal/carrier/telnyx"
	"chasephone/internal/carrier/twilio"
	"chasephone/internal/drain"
	"chasephone/internal/phone"
	"chasephone/internal/store"
)

// connect waits for the database: one that is not up yet is no reason to give up.
func (d *daemon) connect(ctx context.Context, url string, conns int32) (db *store.Store, err error) {
	err = d.patiently(ctx, func() (err error) {
		db, err = store.Connect(ctx, url, conns)
		return err
	})
	return db, err
}

// patiently does a step of the start, again and again while the database is away.
func (d *daemon) patiently(ctx context.Context, step func() error) error {
	pause, told := 200*time.Millisecond, false
	for {
		err := step()
		if err == nil || !store.Unreachable(err) {
			return err
		}
		if !told {
			d.log.Warn("the database cannot be reached: waiting for it", "err", err)
			d.waiting.Store("waiting for the database, which cannot be reached")
			told = true
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return ctx.Err()
		}
		pause = min(2*pause, 2*time.Second)
	}
}

// schema brings the schema up where that is this daemon's to do, and else waits for it.
func (d *daemon) schema(ctx context.Context, db *store.Store, ours bool) error {
	if ours {
		applied, err := db.Migrate(ctx)
		if err != nil {
			return err
		}
		if len(applied) > 0 {
			d.log.Info("brought the schema up", "applied", len(applied))
		}
		return nil
	}
	told := ""
	for {
		err := db.MayServe(ctx)
		if err == nil {
			return nil
		}
		if told != err.Error() {
			d.log.Warn("waiting for a schema that can be used", "err", err)
			told = err.Error()
			d.waiting.Store(told)
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// carriers says what this daemon may call with, without any account yet: in a demonstration the
// simulator and nothing else.
func (d *daemon) carriers(ctx context.Context, c serveCmd, db *store.Store) (*accounts, *demo, error) {
	a := &accounts{
		environ: d.environ, publicURL: d.conf.HTTP.PublicURL, loopback: c.Demo || d.conf.Carriers.AllowLoopback,
		metrics: carrier.NewMetrics(d.registry, config.CarrierNames()...), log: d.log, carriers: &drain.Carriers{},
	}
	if !c.Demo {
		return a, nil, db.RefuseDemo(ctx)
	}
	if err := db.ClaimDemo(ctx); err != nil {
		return nil, nil, err
	}
	samples, err := startDemo(ctx, d.log)
	if err != nil {
		return nil, nil, err
	}
	d.conf.Carriers = samples.account()
	a.environ = nil // no account of a line's is called with
	return a, samples, nil
}

// open opens the accounts, puts this daemon's limits in force and gives the default tenant the
// line that the environment names.
func (d *daemon) open(ctx context.Context, c serveCmd, db *store.Store, a *accounts, heard *evidence) error {
	if err := a.put(d.conf.Carriers, ""); err != nil {
		return err
	}
	if !c.Demo {
		if err := heard.adopt(ctx); err != nil {
			return err
		}
	}
	switch {
	case len(a.carriers.Names()) == 0:
		d.log.Warn("no carrier is configured: every line is not ready")
	case a.publicURL == "":
		d.log.Warn("PUBLIC_URL is not set: no carrier reports by webhooks, and their records are asked instead")
	}
	host, _ := os.Hostname()
	name := fmt.Sprintf("daemon %s on %s (pid %d)", d.id, host, os.Getpid())
	before, err := db.SetLimits(ctx, d.conf.Limits(), name)
	if err != nil {
		return err
	}
	if now := d.conf.Limits(); before != now {
		d.log.Warn("limits changed: this daemon's environment is in force for the whole fleet", "before", fmt.Sprintf("%+v", before), "now", fmt.Sprintf("%+v", now))
	}
	if err := db.LookUpOlder(ctx); err != nil {
		return err
	}
	return d.ownLine(ctx, db, name+", by its environment")
}

// remember has this daemon compare what it has seen of its database with what that knows, and asks
// the carriers whether they have made calls that it does not know: what is remembered may have been
// restored together with the database, or be lost.
func (d *daemon) remember(ctx context.Context, db *store.Store, a *accounts) error {
	remembered, err := db.Remember(ctx, memory{d.conf.Database.Dir})
	if err != nil {
		return err
	}
	since, err := db.Newest(ctx)
	if err != nil {
		return err
	}
	if since.IsZero() {
		since = time.Now().Add(-d.conf.Limits().MaxLate)
	}
	d.waiting.Store("asking the carriers for calls that the database does not know")
	found, err := searchUnowned(ctx, db, a, since.Add(-time.Minute), false)
	if err != nil {
		return err
	}
	if !found.whole() && !remembered {
		d.log.Warn("nothing is remembered of this database in DATA_DIR, and the carriers could not be asked for every call that it may have forgotten", "not_answered", found.Unasked, "more", found.More)
	}
	if len(found.Calls) == 0 {
		return nil
	}
	return db.HoldUnowned(ctx, found.calls())
}

// ownLine is the line that a carrier's own caller number makes.
func (d *daemon) ownLine(ctx context.Context, db *store.Store, by string) error {
	for name, from := range map[string]phone.Number{
		twilio.Name: d.conf.Carriers.Twilio.From, telnyx.Name: d.conf.Carriers.Telnyx.From, sip.Name: d.conf.Carriers.SIP.From,
	} {
		if from.IsZero() {
			continue
		}
		changed, err := db.AddLine(ctx, store.Line{Tenant: "default", Name: "default", Carrier: name, Caller: from, By: by, OnlyCaller: true})
		if err != nil {
			return err
		}
		if changed {
			d.log.Info("the default tenant's line is set by the environment", "line", "default", "carrier", name, "caller", from)
		}
	}
	return nil
}
