package main

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"chasephone/internal/carrier/sim"
	"chasephone/internal/desk"
	"chasephone/internal/telemetry"
)

type carrierSimCmd struct {
	Addr         string        `default:"127.0.0.1:8081" help:"Where to listen." placeholder:"HOST:PORT"`
	RingBook     string        `help:"File that every request is written to before it is answered (default: memory)." placeholder:"FILE"`
	Fault        []string      `help:"A fault by number: NUMBER=FAULT, an ending of one, or * for all; see --faults." placeholder:"TO=FAULT" sep:"none"`
	Latency      time.Duration `help:"How long every answer takes."`
	StatusDelay  time.Duration `help:"Time between the status webhooks of a call." default:"200ms"`
	PlainNumbers bool          `help:"Give the ending of a number no meaning."`
	Faults       bool          `help:"List the faults, with the endings of numbers that ask for them, and leave."`
}

func (c carrierSimCmd) Run(ctx context.Context, p process) error {
	if c.Faults {
		for _, f := range sim.Faults() {
			_, _ = fmt.Fprintf(p.stdout, "%-14s %-5s rings=%-5t %s\n", f.Name, f.Ending, f.Rings, f.Says)
		}
		return nil
	}
	rules := make([]sim.Rule, 0, len(c.Fault))
	for _, text := range c.Fault {
		rule, err := sim.ParseRule(text)
		if err != nil {
			return &desk.Misuse{Says: err.Error()}
		}
		rules = append(rules, rule)
	}
	company, err := sim.New(sim.Options{
		Book: c.RingBook, Rules: rules, Latency: c.Latency, StatusDelay: c.StatusDelay, PlainNumbers: c.PlainNumbers,
		Log: telemetry.NewLogger(p.stderr, slog.LevelInfo, "text"),
	})
	if err != nil {
		return err
	}
	err = company.Run(ctx, c.Addr)
	if closing := company.Close(); err == nil {
		err = closing
	}
	return err
}
