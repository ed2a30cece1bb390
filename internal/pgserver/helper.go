package pgserver

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"time"
)

//go:embed leash.sh
var leashScript string

// stopPatience is how long a stop may take before the server is asked less politely. A fast
// shutdown writes out what memory holds, which takes time on a slow disk.
const stopPatience = time.Minute

// helper is the shell that runs leash.sh, with the server below it.
type helper struct {
	leash  *os.File // the writing end; nothing is ever written
	said   *serverLog
	log    *slog.Logger
	pgdata string

	done   chan struct{}
	ending error // read it once done is closed
}

// startHelper starts the server. Once done is closed, the server has ended.
func (l launcher) startHelper(port int) (*helper, error) {
	leashEnd, leash, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("make the server's leash: %w", err)
	}
	defer leashEnd.Close()

	h := &helper{
		leash: leash, said: &serverLog{to: l.log}, log: l.log, pgdata: l.folder.pgdata(),
		done: make(chan struct{}),
	}
	args := append([]string{"-c", leashScript, "leash.sh"}, l.postgres(port)...)
	cmd := l.folder.owner.command(context.Background(), l.folder.path, "/bin/sh", args...)
	cmd.Stdout, cmd.Stderr = h.said, h.said
	cmd.ExtraFiles = []*os.File{l.claim.helper, leashEnd} // fd 3 and 4
	if err := cmd.Start(); err != nil {
		_ = leash.Close()
		return nil, fmt.Errorf("run /bin/sh as the user %s: %w", l.folder.owner.name, err)
	}
	go h.watch(cmd)
	return h, nil
}

// watch waits for the end. If it was the shell that was killed, the server goes on below
// nobody: then it is stopped here, because its end could no longer be noticed.
func (h *helper) watch(cmd *exec.Cmd) {
	defer close(h.done)
	err := cmd.Wait()
	_ = h.leash.Close()
	if errors.Is(err, exec.ErrWaitDelay) {
		err = nil // the server outlived the shell; what follows sees to it
	}
	if err != nil {
		err = fmt.Errorf("PostgreSQL ended with %w: %s", err, h.said.tail())
	}
	h.ending = errors.Join(err, stopOrphan(context.Background(), h.pgdata, h.log))
}

func (h *helper) hasEnded() bool {
	select {
	case <-h.done:
		return true
	default:
		return false
	}
}

// stop lets the leash go and waits for the end.
func (h *helper) stop() error {
	_ = h.leash.Close()
	timer := time.NewTimer(stopPatience)
	defer timer.Stop()
	select {
	case <-h.done:
		return h.ending
	case <-timer.C:
	}
	err := stopOrphan(context.Background(), h.pgdata, h.log)
	if err != nil {
		return fmt.Errorf("stop PostgreSQL, which had %s for it: %w", stopPatience, err)
	}
	<-h.done
	return h.ending
}
