package main

import (
	"context"
	"flag"
	"io"
	"os"
	"runtime/pprof"
)

// drainOnce drains one setting again and again, over the instant carrier.
func drainOnce(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("drain", flag.ContinueOnError)
	database := flags.String("database", "", "a `URL` of a PostgreSQL to measure on, instead of one of our own")
	profile := flags.String("profile", "", "a `file` to write the CPU profile of the last round to")
	rounds := flags.Int("rounds", leastRounds, "rounds")
	var s setting
	flags.IntVar(&s.tenants, "tenants", 10_000, "tenants")
	flags.IntVar(&s.perTick, "per-tick", 2, "due follow-ups of each, and the most in a slot")
	flags.IntVar(&s.slots, "slots", 1024, "DIAL_SLOTS")
	flags.IntVar(&s.drainers, "drainers", 2, "DRAINERS")
	if err := flags.Parse(args); err != nil {
		return err
	}
	srv, err := startServer(ctx, *database)
	if err != nil {
		return err
	}
	defer srv.close()
	c, err := newContestant(ctx, srv, kindInstant, s, &instant{})
	if err != nil {
		return err
	}
	defer c.close()
	for round := range *rounds {
		if *profile != "" && round == *rounds-1 {
			file, err := os.Create(*profile)
			if err != nil {
				return err
			}
			defer func() { _ = file.Close() }()
			if err := pprof.StartCPUProfile(file); err != nil {
				return err
			}
			defer pprof.StopCPUProfile()
		}
		one, err := measure(ctx, srv, c)
		if err != nil {
			return err
		}
		n := float64(one.Items)
		say(out, "%s: %.0f/s, %.3f statements, %.4f commits, %.0f B of WAL each\n", s, one.PerSecond(), float64(one.Statements)/n, float64(one.Commits)/n, float64(one.WAL)/n)
	}
	return nil
}
