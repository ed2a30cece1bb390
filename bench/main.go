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

const usage = `bench speed [-json FILE] [-for 9m] [-rounds N] [-database URL]  everything that is drained in a second, beside others
bench scale [-json FILE] [-sizes N,N] [-database URL]  what a tick costs with ten thousand to ten million rows
bench drain [-tenants N] [-slots N] [-drainers N] [-rounds N] [-profile FILE]  one setting, for who tunes it
`

func main() {
	debug.SetGCPercent(tuning.GCPercent) // as the daemon does
	// Whatever ends it must let it delete what it made: that nobody reads its output any more, too.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE)
	context.AfterFunc(ctx, stop) // who interrupts twice is not kept waiting
	err := run(ctx, os.Args[1:], os.Stdout)
	switch {
	case err == nil:
		return
	case ctx.Err() != nil:
		fmt.Fprintln(os.Stderr, "bench: interrupted; what it had made is deleted")
	case !errors.Is(err, flag.ErrHelp):
		fmt.Fprintln(os.Stderr, "bench:", err)
	}
	os.Exit(1)
}

func run(ctx context.Context, args []string, out io.Writer) error {
	commands := map[string]func(context.Context, []string, io.Writer) error{
		"speed": speed, "scale": scale, "drain": drainOnce, "telephones": beTelephones,
	}
	if len(args) > 0 && commands[args[0]] != nil {
		return commands[args[0]](ctx, args[1:], out)
	}
	fmt.Fprint(os.Stderr, usage)
	return flag.ErrHelp
}
