// Command bench measures chasephone beside what its database can do, and beside others: see
// docs/performance.md. It is a module of its own, so that what it compares with is no dependency
// of the product.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"chasephone/internal/tuning"
)

const usage = `bench speed [-json FILE] [-for 9m] [-database URL]   everything that is drained in a second, beside others
bench scale [-json FILE] [-sizes N,N] [-database URL]  what a tick costs with ten thousand to ten million rows
bench drain [-tenants N] [-slots N] [-drainers N] [-rounds N] [-profile FILE]  one setting, for who tunes it
`

func main() {
	debug.SetGCPercent(tuning.GCPercent) // as the daemon does
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		if !errors.Is(err, flag.ErrHelp) {
			fmt.Fprintln(os.Stderr, "bench:", err)
		}
		stop()
		os.Exit(1) //nolint:gocritic // stop was called
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	commands := map[string]func(context.Context, []string, io.Writer) error{
		"speed": speed, "scale": scale, "drain": drainOnce,
		"telephones": func(ctx context.Context, _ []string, _ io.Writer) error { return beTelephones(ctx) },
	}
	if len(args) > 0 && commands[args[0]] != nil {
		return commands[args[0]](ctx, args[1:], out)
	}
	fmt.Fprint(os.Stderr, usage)
	return flag.ErrHelp
}
