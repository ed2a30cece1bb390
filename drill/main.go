// Command drill is the chaos drill: it runs several real daemons over a real PostgreSQL against
// the simulated telephone company, does them all the harm it can think of, and then holds the
// tables to the ring book.
//
//	go run ./drill                       three minutes of harm
//	go run ./drill -for 60m -seed 7      longer, and as an earlier one
//	go run ./drill -mutant NAME          a chasephone that lacks a guard: it must fail
//	go run ./drill -mutants              some of those, one after the other: each must fail
//	go run ./drill -restore              restored backups and failovers
//
// Exit codes: 0 all held, 1 the drill itself failed, 2 wrong usage, 3 a violation was found. (go
// run turns every other code than 0 into 1: build it to tell them apart.)
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// options are what a drill is asked for.
type options struct {
	lasts     time.Duration
	seed      uint64
	mutant    string
	daemons   int
	tenants   int
	perMinute int
	race      bool
	keepAll   bool
	calm      bool     // no harm is done by itself, and daemons go straight to the database
	twoHosts  bool     // DATABASE_URL names a second port
	only      []string // mutants
	root      string   // of the repository
	lot       int      // of ports
}

const (
	exitHeld     = 0
	exitFailed   = 1
	exitMisuse   = 2
	exitViolated = 3
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	code := run(ctx, os.Args[1:], os.Stdout)
	stop()
	os.Exit(code)
}

func run(ctx context.Context, args []string, out io.Writer) int {
	var o options
	flags := flag.NewFlagSet("drill", flag.ContinueOnError)
	flags.DurationVar(&o.lasts, "for", 0, "how long harm is done (default: 3m, of each of several mutants 45s)")
	flags.Uint64Var(&o.seed, "seed", 0, "what chance begins with (default: another every time)")
	flags.StringVar(&o.mutant, "mutant", "", "drill a chasephone without one guard, see internal/mutants")
	flags.IntVar(&o.daemons, "daemons", 4, "daemons")
	flags.IntVar(&o.tenants, "tenants", 28, "tenants")
	flags.IntVar(&o.perMinute, "promises", 900, "promises in a minute")
	flags.BoolVar(&o.race, "race", true, "build the daemons with the race detector")
	flags.BoolVar(&o.keepAll, "keep", false, "keep the logs also where all held")
	mutants := flags.Bool("mutants", false, "drill mutants (those named behind, or a dozen), each of which must be found out")
	restore := flags.Bool("restore", false, "restored backups and failovers instead (all, or those whose numbers are behind)")
	if err := flags.Parse(args); err != nil || flags.NArg() > 0 && !*mutants && !*restore {
		return exitMisuse
	}
	o.only = flags.Args()
	if o.lasts == 0 {
		if o.lasts = 3 * time.Minute; *mutants {
			o.lasts = mutantsLast
		}
	}
	if o.seed == 0 {
		o.seed = uint64(rand.Uint32())
	}
	var err error
	if o.root, err = repository(); err == nil {
		switch {
		case *mutants:
			err = drillMutants(ctx, o, out)
		case *restore:
			err = drillRestore(ctx, o, out)
		default:
			err = drill(ctx, o, out)
		}
	}
	return verdict(out, err, o)
}

// verdict prints how it ended.
func verdict(out io.Writer, err error, o options) int {
	var violated found
	switch {
	case err == nil:
		_, _ = fmt.Fprintf(out, "\nEverything held (seed %d).\n", o.seed)
		return exitHeld
	case errors.As(err, &violated):
		_, _ = fmt.Fprintf(out, "\nFAILED: %v (seed %d)\n", err, o.seed)
		return exitViolated
	}
	_, _ = fmt.Fprintf(out, "\nthe drill could not be held: %v (seed %d)\n", err, o.seed)
	return exitFailed
}
