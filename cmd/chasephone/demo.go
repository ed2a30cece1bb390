package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"strings"
	"time"

	"chasephone/config"
	"chasephone/internal/carrier/sim"
	"chasephone/internal/carrier/twilio"
	"chasephone/internal/desk"
	"chasephone/internal/phone"
	"chasephone/internal/store"
)

// demo is the real daemon with a telephone company that rings nobody: the carrier's code
// and the HTTP between them are the real ones.
type demo struct {
	company *sim.Server
	url     string
	cancel  context.CancelFunc
	served  chan error
	log     *slog.Logger
}

const (
	demoSID    = "AC00000000000000000000000000000000"
	demoToken  = "demonstration"
	demoCaller = "+12125550100"
)

// demoEnvironment makes slots short where the environment says nothing else.
func demoEnvironment(environ []string) []string {
	environ = append([]string(nil), environ...)
	given := map[string]bool{}
	for _, pair := range environ {
		name, _, _ := strings.Cut(pair, "=")
		given[name] = true
	}
	dir := "data"
	if os.Geteuid() == 0 {
		dir = "/var/lib/chasephone/demo" // PostgreSQL's own account must be able to enter it
	}
	for _, pair := range []string{"PHONE_FOLLOWUP_TICK=3s", "DATA_DIR=" + dir} {
		if name, _, _ := strings.Cut(pair, "="); !given[name] && !given[name+"_FILE"] {
			environ = append(environ, pair)
		}
	}
	return environ
}

// startDemo starts the simulated telephone company on a free port of this machine.
func startDemo(ctx context.Context, log *slog.Logger) (*demo, error) {
	company, err := sim.New(sim.Options{Log: log.With("component", "carrier-sim"), Accounts: map[string]string{demoSID: demoToken}})
	if err != nil {
		return nil, err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listening for the simulated telephone company: %w", err)
	}
	// It outlives ctx, which ends before the calls in progress do.
	serving, cancel := context.WithCancel(context.WithoutCancel(ctx))
	d := &demo{company: company, url: "http://" + listener.Addr().String(), cancel: cancel, served: make(chan error, 1), log: log}
	go func() { d.served <- company.Serve(serving, listener) }()
	return d, nil
}

func (d *demo) stop() {
	d.cancel()
	if err := <-d.served; err != nil {
		d.log.Error("the simulated telephone company", "err", err)
	}
	if err := d.company.Close(); err != nil {
		d.log.Error("closing the simulated telephone company", "err", err)
	}
}

// account is the only one that a demonstration has.
func (d *demo) account() config.Carriers {
	return config.Carriers{AllowLoopback: true, Twilio: config.Twilio{AccountSID: demoSID, AuthToken: config.NewSecret(demoToken), BaseURL: d.url}}
}

// sample is a follow-up that comes to one particular outcome.
type sample struct {
	outcome  string
	late     time.Duration
	fault    string // of the simulated telephone company
	line     string
	approval bool
	optedOut bool
	cancel   bool
}

func samples() []sample {
	return []sample{
		{outcome: "placed", late: 9 * time.Minute},
		{outcome: "approval", late: 8 * time.Minute, approval: true},
		{outcome: "refused", late: 7 * time.Minute, optedOut: true},
		{outcome: "lost-reply", late: 390 * time.Second, fault: "drop_reply"}, // it rings, and the webhook says so
		{outcome: "uncertain", late: 6 * time.Minute, fault: "drop_request"},  // nobody will ever say
		{outcome: "not-ready", late: 5 * time.Minute, fault: "http_429", line: "busy"},
		{outcome: "missed", late: 25 * time.Hour},
		{outcome: "cancelled", late: -time.Hour, cancel: true},
	}
}

// add puts in one follow-up for every outcome. Every start adds its own: with other numbers,
// because one person is not rung again while the call of a minute ago has no end.
func (d *demo) add(ctx context.Context, db *store.Store) error {
	caller, _ := phone.Parse(demoCaller, "US")
	for _, name := range []string{"default", "busy"} {
		line := store.Line{Tenant: "default", Name: name, Carrier: twilio.Name, Caller: caller.Number, By: "demo"}
		if _, err := db.AddLine(ctx, line); err != nil {
			return err
		}
	}
	now := time.Now().UTC().Truncate(time.Second)
	for i, s := range samples() {
		// Endings below 1000 ask the simulated company for faults by themselves.
		number, problem := phone.Parse(fmt.Sprintf("+1415555%04d", 1000+(now.Unix()*int64(len(samples()))+int64(i))%9000), "US")
		if problem != "" {
			return fmt.Errorf("the sample number for %s is no number: %s", s.outcome, problem)
		}
		if err := d.one(ctx, db, s, now, number.Number); err != nil {
			return fmt.Errorf("adding the sample for %s: %w", s.outcome, err)
		}
	}
	return nil
}

func (d *demo) one(ctx context.Context, db *store.Store, s sample, now time.Time, number phone.Number) error {
	if s.fault != "" {
		if err := d.company.AddRule(sim.Rule{To: number.E164(), Fault: s.fault}); err != nil {
			return err
		}
	}
	if s.optedOut {
		if _, err := db.AddOptOut(ctx, store.OptOut{Number: number, Source: "sample", By: "demo"}); err != nil {
			return err
		}
	}
	id, _, err := db.Add(ctx, store.NewFollowUp{
		Tenant: "default", Ref: "sample-" + s.outcome, DueAt: now.Add(-s.late), Number: number.E164(), ContactName: "Sample",
		TimeZone: awake(now), Purpose: "requested", Script: "Hello, this is the call back that you asked for.",
		NeedsApproval: s.approval, Line: s.line,
	}, identify)
	if err != nil || !s.cancel {
		return err
	}
	_, err = desk.Desk{Store: db}.Cancel(ctx, desk.Name{Text: id}, "demo", "a sample")
	return err
}

// awake is a zone in which it is about noon: whoever lives there may be called now.
func awake(now time.Time) string {
	offset := 12 - now.Hour()
	if offset < 0 {
		return fmt.Sprintf("Etc/GMT+%d", -offset) // these names have the sign the other way round
	}
	return fmt.Sprintf("Etc/GMT-%d", offset)
}

// tell says where to look.
func (d *demo) tell(out io.Writer, metricsAddr, environment string) {
	_, _ = fmt.Fprintf(out, `
chasephone is running with a simulated telephone company: nobody is rung.

  metrics          http://%[1]s/metrics
  health           http://%[1]s/readyz
  who was "rung"   %[2]s/sim/rings
  follow-ups       %[3]s bin/chasephone list
  one's story      %[3]s bin/chasephone show sample-uncertain

Ctrl-C stops it.

`, metricsAddr, d.url, environment)
}
