// Command chasephone keeps a business's promises to call people back.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() { os.Exit(start(process{})) }

// start runs the program as the operating system started it. What else a process has is as given.
func start(p process) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	p.args, p.environ = os.Args[1:], os.Environ()
	p.stdin, p.stdout, p.stderr = os.Stdin, os.Stdout, os.Stderr
	return run(ctx, p)
}
