package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"chasephone/config"
	"chasephone/internal/drain"
	"chasephone/internal/gates"
	"chasephone/internal/pgserver"
	"chasephone/internal/store"
	"chasephone/internal/telemetry"
	"chasephone/internal/tick"
	"chasephone/internal/tuning"
)

const (
	storeConns = 12
	riverConns = 8
	// stopTimeout is how long a stop waits for calls in progress to be answered and recorded.
	stopTimeout      = 3 * time.Minute
	riverStopTimeout = 75 * time.Second // above the longest slot's work
	leaveTimeout     = 3 * time.Second
)

type serveCmd struct {
	Embedded bool `help:"Bring a PostgreSQL of its own, under DATA_DIR."`
	Demo     bool `help:"Ring only a simulated telephone company, with sample follow-ups."`
}

// Run runs the daemon until ctx ends.
func (c serveCmd) Run(ctx context.Context, p process) error {
	environ := p.environ
	if c.Demo {
		environ = demoEnvironment(environ)
	}
	conf, err := config.Load(environ, config.Options{Embedded: c.Embedded, Demo: c.Demo})
	if err != nil {
		return err
	}
	log := telemetry.NewLogger(p.stderr, conf.Logging.Level, conf.Logging.Format)
	for _, warning := range conf.Warnings() {
		log.Warn(warning)
	}
	d := &daemon{conf: conf, environ: environ, log: log, id: uuid.NewString(), registry: telemetry.NewRegistry(buildVersion(), runtime.Version())}
	d.waiting.Store("it is not connected yet")
	if _, is := os.LookupEnv("GOGC"); !is {
		debug.SetGCPercent(tuning.GCPercent)
	}
	return d.run(ctx, c, p)
}

// daemon is one running chasephone.
type daemon struct {
	conf     config.Config
	environ  []string
	log      *slog.Logger
	id       string
	registry *prometheus.Registry
	db       atomic.Pointer[store.Store] // set once it is ready
	waiting  atomic.Value                // until then: what it waits for, a string
	front    front
	others   int // daemons whose limits differ, as last logged
}

func (d *daemon) run(ctx context.Context, c serveCmd, p process) error {
	health := telemetry.Health{Addr: d.conf.HTTP.MetricsAddr, Registry: d.registry, Ready: d.ready, Log: d.log}
	server, err := health.Listen(ctx)
	if err != nil {
		return err
	}
	public, err := telemetry.Endpoints{Variable: "HTTP_ADDR", Addr: d.conf.HTTP.Addr, Handler: &d.front, Log: d.log}.Listen(ctx)
	if err != nil {
		return err
	}
	if c.Demo && d.conf.HTTP.PublicURL == "" {
		d.conf.HTTP.PublicURL = "http://" + public.Addr() // the simulated company is on this machine
	}
	url := d.conf.Database.URL.Reveal()
	gone := make(<-chan struct{})
	if c.Embedded {
		pg, err := d.embedded(ctx)
		if err != nil {
			return err
		}
		defer func() {
			if err := pg.Stop(); err != nil {
				d.log.Error("stopping the embedded PostgreSQL", "err", err)
			}
		}()
		url, gone = pg.URL(), pg.Done()
		// So that commands find the database: DATABASE_URL_FILE names this file.
		if err := os.WriteFile(d.urlFile(), []byte(url+"\n"), 0o600); err != nil {
			return fmt.Errorf("writing where the database is: %w", err)
		}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-gone:
			cancel(errors.New("the embedded PostgreSQL ended by itself: see its log above"))
		case <-ctx.Done():
		}
	}()
	// What carriers say of the calls in progress is heard while those are awaited.
	hearing, deaf := context.WithCancel(context.WithoutCancel(ctx))
	defer deaf()
	served := make(chan error, 2)
	serve := func(ctx context.Context, one *telemetry.Server) {
		err := one.Run(ctx)
		if err != nil {
			cancel(err)
		}
		served <- err
	}
	go serve(ctx, server)
	go serve(hearing, public)
	err = d.serve(ctx, c, p, url, server.Addr(), public.Addr())
	cancel(nil)
	deaf()
	for range cap(served) {
		if failed := <-served; err == nil {
			err = failed
		}
	}
	if cause := context.Cause(ctx); err == nil && cause != nil && !errors.Is(cause, context.Canceled) {
		err = cause
	}
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		err = nil // told to stop while starting
	}
	d.log.Info("stopped")
	return err
}

// newToken is an attempt's, unguessable by its 62 random bits; and in the order of the attempts' making,
// which keeps the index of tokens warm: a wholly random one would touch a page that nothing else does.
func newToken() string { return uuid.Must(uuid.NewV7()).String() }

func (d *daemon) urlFile() string { return filepath.Join(d.conf.Database.Dir, "database-url") }

func (d *daemon) embedded(ctx context.Context) (*pgserver.Server, error) {
	dir, err := filepath.Abs(filepath.Join(d.conf.Database.Dir, "postgres"))
	if err != nil {
		return nil, fmt.Errorf("finding DATA_DIR %s: %w", d.conf.Database.Dir, err)
	}
	d.log.Info("starting the embedded PostgreSQL", "folder", dir)
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	return pgserver.Start(ctx, pgserver.Options{DataDir: dir, Log: d.log})
}

// serve is the daemon once there is a database to talk to.
func (d *daemon) serve(ctx context.Context, c serveCmd, p process, url, metricsAddr, httpAddr string) error {
	db, err := d.connect(ctx, url, storeConns)
	if err != nil {
		return err
	}
	defer db.Close()
	if err := d.schema(ctx, db, c.Embedded || c.Demo); err != nil {
		return err
	}
	if err := d.patiently(ctx, func() error { return p.durable(ctx, db) }); err != nil {
		return err
	}
	var (
		accounts *accounts
		samples  *demo
	)
	err = d.patiently(ctx, func() (err error) {
		accounts, samples, err = d.carriers(ctx, c, db)
		return err
	})
	if err != nil {
		return err
	}
	if samples != nil {
		defer samples.stop()
	}
	db.With(store.Config{
		Daemon: d.id, Carriers: accounts.carriers, Unknowns: d.conf.Gates.LineUnknowns,
		Gates: gateOptions(d.conf), Settings: d.conf.Gates.Settings(), Defaults: defaults(d.conf), Log: d.log,
	})
	heard := newEvidence(db, accounts, d.registry, d.log)
	if err := d.patiently(ctx, func() error { return d.open(ctx, c, db, accounts, heard) }); err != nil {
		return err
	}
	if err := d.patiently(ctx, func() error { return d.remember(ctx, db, accounts) }); err != nil {
		return err
	}
	d.db.Store(db)

	collector := store.NewCollector(db, d.registry, telemetry.MaskText)
	drained := drain.New(drain.Config{
		Store: db, Carriers: accounts.carriers,
		Gates:    gates.Chain(gateOptions(d.conf)),
		NewToken: newToken, Identify: identify,
		Metrics: drain.NewMetrics(d.registry), Log: d.log,
	})
	riverDB, err := d.connect(ctx, url, riverConns)
	if err != nil {
		return err
	}
	defer riverDB.Close()
	client, err := tick.NewClient(tick.ClientConfig{
		ID:   d.id,
		Pool: riverDB.Pool, Pooled: riverDB.Pooled, Owner: riverDB.OwnsRiver(ctx), Fence: db, Drain: drained, Metrics: tick.NewMetrics(d.registry), Log: d.log,
		Bridge: heard.bridge, LookUp: heard.lookUp, Speak: heard.speak, Mask: telemetry.MaskText,
	})
	if err != nil {
		return err
	}
	db.FollowBy(store.Jobs{Bridge: tick.BridgeIn(client), Speak: tick.SpeakIn(client)})
	// River is stopped by us, in our order, and not by ctx.
	if err := client.Start(context.WithoutCancel(ctx)); err != nil {
		return fmt.Errorf("starting River: %w", err)
	}
	d.front.webhooks.Store(heard.handler)
	if samples != nil {
		if err := samples.add(ctx, db); err != nil {
			return err
		}
		environment := "DATABASE_URL=..."
		if c.Embedded {
			environment = "DATABASE_URL_FILE=" + d.urlFile()
		}
		samples.tell(p.stdout, metricsAddr, environment)
	}
	d.log.Info("serving", "version", buildVersion(), "daemon", d.id, "metrics", metricsAddr, "http", httpAddr, "pooled", db.Pooled)

	upkeep := make(chan struct{})
	go func() {
		defer close(upkeep)
		tick.Upkeep(ctx, d.log,
			tick.Step{Name: "sweep", Do: drained.Sweep},
			tick.Step{Name: "heartbeat", Do: func(ctx context.Context) error { return d.heartbeat(ctx, db, collector) }},
			tick.Step{Name: "tally", Do: db.Tally},
			tick.Step{Name: "gauges", Do: collector.Refresh},
			tick.Step{Name: "accounts", Do: heard.adopt},
			tick.Step{Name: "look-ups", Do: func(ctx context.Context) error { return tick.OfferLookUps(ctx, client, heard.due) }},
		)
	}()
	// Beside the others, so that nothing holds it up: see store.Look.
	looking := make(chan struct{})
	go func() {
		defer close(looking)
		tick.Upkeep(ctx, d.log, tick.Step{Name: "memory", Do: db.Look})
	}()
	// And this: whoever else bridges is waited for, and may hang.
	bridging := make(chan struct{})
	go func() {
		defer close(bridging)
		tick.Upkeep(ctx, d.log, tick.Step{Name: "bridge", Do: func(ctx context.Context) error { return tick.BridgeAll(ctx, heard.bridge) }})
	}()
	stopHalting := context.AfterFunc(ctx, drained.Halt)
	defer stopHalting()
	(&tick.Ticker{Fence: db, Client: client, Drain: drained, Log: d.log}).Run(ctx)

	// No new claims since ctx ended; calls in progress are awaited and recorded.
	d.log.Info("stopping: awaiting calls in progress")
	within(ctx, riverStopTimeout, func(ctx context.Context) {
		if err := client.Stop(ctx); err != nil {
			d.log.Error("stopping River", "err", err)
		}
	})
	within(ctx, stopTimeout, drained.Stop)
	heard.stop(ctx)
	<-upkeep
	<-bridging
	<-looking
	within(ctx, leaveTimeout, func(ctx context.Context) {
		if err := db.Leave(ctx); err != nil {
			d.log.Warn("leaving the list of live daemons", "err", err)
		}
	})
	return nil
}

// within does one step of a stop in a time of its own, although ctx has ended.
func within(ctx context.Context, limit time.Duration, do func(context.Context)) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	do(ctx)
}

func (d *daemon) heartbeat(ctx context.Context, db *store.Store, collector *store.Collector) error {
	n, err := db.Heartbeat(ctx, d.conf.Limits())
	if err != nil {
		return err
	}
	collector.Disagree(n)
	if n > 0 && n != d.others {
		d.log.Warn("daemons of this fleet have different limits in their environments: the newest start's are in force", "others", n)
	}
	d.others = n
	return nil
}

// ready says why this daemon cannot do its work.
func (d *daemon) ready(ctx context.Context) error {
	db := d.db.Load()
	if db == nil {
		return fmt.Errorf("starting: %v", d.waiting.Load())
	}
	return db.Usable(ctx)
}
