package pgserver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// postmaster is what PostgreSQL writes about itself into postmaster.pid, a line each.
type postmaster struct {
	pid   int
	port  int
	ready bool // it takes connections; the file may be a dead server's
}

func readPostmaster(pgdata string) (postmaster, bool) {
	text, err := os.ReadFile(filepath.Join(pgdata, "postmaster.pid"))
	if err != nil {
		return postmaster{}, false
	}
	lines := strings.Split(string(text), "\n")
	pid, err := strconv.Atoi(strings.TrimSpace(lines[0]))
	if err != nil || pid <= 1 {
		return postmaster{}, false
	}
	p := postmaster{pid: pid}
	if len(lines) > 3 {
		p.port, _ = strconv.Atoi(strings.TrimSpace(lines[3]))
	}
	p.ready = len(lines) > 7 && strings.TrimSpace(lines[7]) == "ready"
	return p, true
}

// stopOrphan stops a PostgreSQL that works in pgdata and that nobody holds any more, if there
// is one. The caller has the folder's locks, so nobody else's server can be there.
func stopOrphan(ctx context.Context, pgdata string, log *slog.Logger) error {
	p, ok := readPostmaster(pgdata)
	if !ok {
		return nil
	}
	// First a handle, then the look, then the signal: a number may pass to another process
	// in between, a handle does not.
	process, err := os.FindProcess(p.pid)
	if err != nil {
		return nil
	}
	defer func() { _ = process.Release() }()
	if !isPostgresIn(p.pid, pgdata) {
		return nil
	}
	log.Warn("stopping a PostgreSQL that was left behind", "pid", p.pid)
	for _, step := range []struct {
		signal syscall.Signal
		wait   time.Duration
	}{
		{syscall.SIGINT, 15 * time.Second}, // fast: sessions are cut, what is committed is written out
		{syscall.SIGQUIT, 5 * time.Second}, // at once: the next start reads the log again, nothing is lost
	} {
		if err := process.Signal(step.signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
			return fmt.Errorf("stop the PostgreSQL that was left behind (process %d): %w", p.pid, err)
		}
		for deadline := time.Now().Add(step.wait); time.Now().Before(deadline); {
			if !isPostgresIn(p.pid, pgdata) {
				return nil
			}
			if err := pause(ctx, pollEvery); err != nil {
				return fmt.Errorf("wait for the PostgreSQL that was left behind (process %d) to stop: %w", p.pid, err)
			}
		}
	}
	return fmt.Errorf("the PostgreSQL that was left behind (process %d) does not stop: end it (kill -QUIT %d) and start again", p.pid, p.pid)
}

// noProcess is a process number that no system gives.
const noProcess = 999999999

// disown takes the number out of a postmaster.pid that a server left which was killed. By now
// the number may be another process's, and PostgreSQL would refuse to start for as long as
// that one lives. The rest of the file stays: by it PostgreSQL makes sure that no session of
// the dead server is left. The caller has the folder's locks and has called stopOrphan.
func (f folder) disown() error {
	// A Root, because the folder is another user's when we are root: no link leads out of it.
	root, err := os.OpenRoot(f.path)
	if err != nil {
		return fmt.Errorf("open the data folder: %w", err)
	}
	defer root.Close()
	const name = "pgdata/postmaster.pid"
	text, err := root.ReadFile(name)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read what the last server left: %w", err)
	}
	_, rest, _ := strings.Cut(string(text), "\n")
	if err := root.WriteFile(name, fmt.Appendf(nil, "%d\n%s", noProcess, rest), 0o600); err != nil {
		return fmt.Errorf("mark what the last server left: %w", err)
	}
	return nil
}
