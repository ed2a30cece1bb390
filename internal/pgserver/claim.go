package pgserver

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// ErrInUse says that a living process has the data folder. The error that wraps it says which.
var ErrInUse = errors.New("the data folder is in use")

// helperPatience is how long what a dead process left behind may take to finish.
const helperPatience = 15 * time.Second

// pollEvery is the step in which conditions are awaited that nothing announces.
const pollEvery = 10 * time.Millisecond

// claim is the right to the folder. The locks are flock's: the kernel lets them go when the
// last process that has the file open ends.
type claim struct {
	owner  *os.File // not inherited: this process lives
	helper *os.File // inherited by leash.sh and initdb: one of them still works in the folder

	once sync.Once
}

func (f folder) claim(ctx context.Context) (*claim, error) {
	owner, err := f.lockOwner()
	if err != nil {
		return nil, err
	}
	helper, err := f.lockHelper(ctx)
	if err != nil {
		_ = owner.Close()
		return nil, err
	}
	return &claim{owner: owner, helper: helper}, nil
}

// release gives the folder up. Safe to call again.
func (c *claim) release() {
	c.once.Do(func() {
		_ = c.helper.Close()
		// Unlocked, not only closed: a child that this process is just starting has its files
		// until it is another program, and would keep the folder for as long.
		_ = flock(c.owner, syscall.LOCK_UN)
		_ = c.owner.Close()
	})
}

func (f folder) lockOwner() (*os.File, error) {
	path := filepath.Join(f.path, "owner.lock")
	file, err := f.create(path)
	if err != nil {
		return nil, withCure(fmt.Errorf("lock the data folder: %w", err))
	}
	if err := tryLock(file); err != nil {
		defer file.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, inUse(f.path, holder(path))
		}
		return nil, fmt.Errorf("lock the data folder %s (is it on a local disk?): %w", f.path, err)
	}
	// Discard may have deleted the folder between our opening the file and our locking it.
	if !isStillAt(file, path) {
		_ = file.Close()
		return nil, inUse(f.path, "a process that is deleting it")
	}
	// The number is for people; whether it can be written decides nothing.
	_ = file.Truncate(0)
	_, _ = fmt.Fprintf(file, "%d\n", os.Getpid())
	return file, nil
}

func (f folder) lockHelper(ctx context.Context) (*os.File, error) {
	file, err := f.create(filepath.Join(f.path, "helper.lock"))
	if err != nil {
		return nil, withCure(fmt.Errorf("lock the data folder: %w", err))
	}
	deadline := time.Now().Add(helperPatience)
	for {
		err := tryLock(file)
		if err == nil {
			return file, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			_ = file.Close()
			return nil, fmt.Errorf("lock the data folder %s (is it on a local disk?): %w", f.path, err)
		}
		if time.Now().After(deadline) {
			_ = file.Close()
			who := "the PostgreSQL that a process which is gone left behind; it is still stopping"
			if p, ok := readPostmaster(f.pgdata()); ok {
				who = fmt.Sprintf("process %d, %s", p.pid, who)
			}
			return nil, inUse(f.path, who)
		}
		if err := pause(ctx, pollEvery); err != nil {
			_ = file.Close()
			return nil, fmt.Errorf("wait for the last PostgreSQL on %s to stop: %w", f.path, err)
		}
	}
}

func inUse(path, who string) error {
	return fmt.Errorf("%w: %s is held by %s: stop that one first, or give this one a data folder of its own", ErrInUse, path, who)
}

func holder(path string) string {
	text, err := os.ReadFile(path)
	pid := strings.TrimSpace(string(text))
	if err != nil || pid == "" {
		return "another process"
	}
	return "process " + pid
}

func tryLock(file *os.File) error { return flock(file, syscall.LOCK_EX|syscall.LOCK_NB) }

func flock(file *os.File, how int) error {
	for {
		// Through SyscallConn, because Fd would make the file a blocking one.
		conn, err := file.SyscallConn()
		if err != nil {
			return err
		}
		var locked error
		if err := conn.Control(func(fd uintptr) { locked = syscall.Flock(int(fd), how) }); err != nil {
			return err
		}
		if !errors.Is(locked, syscall.EINTR) {
			return locked
		}
	}
}

func isStillAt(file *os.File, path string) bool {
	ours, err := file.Stat()
	if err != nil {
		return false
	}
	there, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false
	}
	return err == nil && os.SameFile(ours, there)
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}
