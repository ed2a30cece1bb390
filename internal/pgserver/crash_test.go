package pgserver

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// parentOf is the parent of a process: of the server, the shell that runs leash.sh.
func parentOf(t *testing.T, pid int) int {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	must(t, err)
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	parent, err := strconv.Atoi(fields[1])
	must(t, err)
	return parent
}

func TestKilledParentLeavesNoServer(t *testing.T) {
	t.Parallel()
	needProc(t)
	dir := seeded(t)
	holder := hold(t, dir, nil)
	exec1(t, holder.says(t, "url"), "CREATE TABLE kept (n int); INSERT INTO kept VALUES (7)")
	if len(serverProcesses(t, dir)) == 0 {
		t.Fatal("no server process is seen while it runs")
	}

	// Ctrl-C in a terminal goes to the whole foreground process group, and must not reach it.
	p, _ := readPostmaster(filepath.Join(dir, "pgdata"))
	theirs, err := syscall.Getpgid(p.pid)
	must(t, err)
	if ours, err := syscall.Getpgid(holder.cmd.Process.Pid); err != nil || ours == theirs {
		t.Errorf("the server is in the process group %d of its starter (%v)", ours, err)
	}

	began := time.Now()
	holder.kill(t)
	eventually(t, "no PostgreSQL is left", 5*time.Second, func() bool { return len(serverProcesses(t, dir)) == 0 })
	t.Logf("gone after %v", time.Since(began).Round(time.Millisecond))
	if _, left := readPostmaster(filepath.Join(dir, "pgdata")); left {
		t.Error("the server did not stop cleanly: postmaster.pid is still there")
	}
}

// A supervisor starts the next process at once, while the last one's server still stops.
func TestStartRightAfterParentWasKilled(t *testing.T) {
	t.Parallel()
	dir := seeded(t)
	holder := hold(t, dir, nil)
	exec1(t, holder.says(t, "url"), "CREATE TABLE kept (n int); INSERT INTO kept VALUES (7)")
	f, err := openFolder(dir)
	must(t, err)
	holder.kill(t)
	claimed, err := f.claim(t.Context())
	must(t, err)
	if left := serverProcesses(t, dir); len(left) > 0 {
		t.Errorf("the folder was given while the processes %v of the last server were in it", left)
	}
	claimed.release()
	s := start(t, dir)
	if got := queryInt(t, s.URL(), "SELECT n FROM kept"); got != 7 {
		t.Errorf("n = %d, want 7", got)
	}
}

func TestOrphanIsStoppedByTheNextStart(t *testing.T) {
	t.Parallel()
	needProc(t)
	dir := seeded(t)
	holder := hold(t, dir, nil)
	url := holder.says(t, "url")
	exec1(t, url, "CREATE TABLE kept (n int); INSERT INTO kept VALUES (7)")
	orphan, ok := readPostmaster(filepath.Join(dir, "pgdata"))
	if !ok {
		t.Fatal("no postmaster.pid")
	}
	// The shell and its watcher are killed before the process, so nobody stops the server.
	shell := parentOf(t, orphan.pid)
	must(t, syscall.Kill(holder.cmd.Process.Pid, syscall.SIGSTOP))
	for _, pid := range append(childrenOf(t, shell, orphan.pid), shell) {
		must(t, syscall.Kill(pid, syscall.SIGKILL))
	}
	holder.kill(t)
	if queryInt(t, url, "SELECT 1") != 1 {
		t.Fatal("the orphan does not live; the test is wrong")
	}

	s := start(t, dir)
	if got := queryInt(t, s.URL(), "SELECT n FROM kept"); got != 7 {
		t.Errorf("n = %d, want 7", got)
	}
	if isPostgresIn(orphan.pid, filepath.Join(dir, "pgdata")) {
		t.Error("the orphan still runs")
	}
}

// Everything is killed at once, as at the end of a container: PostgreSQL recovers.
func TestStartAfterEverythingWasKilled(t *testing.T) {
	t.Parallel()
	needProc(t)
	dir := seeded(t)
	holder := hold(t, dir, nil)
	exec1(t, holder.says(t, "url"), "CREATE TABLE kept (n int); INSERT INTO kept VALUES (7)")
	p, ok := readPostmaster(filepath.Join(dir, "pgdata"))
	if !ok {
		t.Fatal("no postmaster.pid")
	}
	shell := parentOf(t, p.pid)
	must(t, syscall.Kill(-shell, syscall.SIGKILL)) // its whole process group: shell, watcher, postmaster
	holder.kill(t)

	// Since then the server's number has gone to another process of the same user.
	f, err := openFolder(dir)
	must(t, err)
	other := f.owner.command(t.Context(), "/", "/bin/sleep", "60")
	must(t, other.Start())
	t.Cleanup(func() { _ = other.Process.Kill(); _ = other.Wait() })
	left := filepath.Join(f.pgdata(), "postmaster.pid")
	text, err := os.ReadFile(left)
	must(t, err)
	_, rest, _ := strings.Cut(string(text), "\n")
	must(t, os.WriteFile(left, fmt.Appendf(nil, "%d\n%s", other.Process.Pid, rest), 0o600))

	s := start(t, dir)
	if got := queryInt(t, s.URL(), "SELECT n FROM kept"); got != 7 {
		t.Errorf("n = %d, want 7", got)
	}
}

// A process that is killed while it makes the data leaves an initdb that goes on for a moment.
func TestStartAfterInitdbWasInterrupted(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(openTempDir(t), "data")
	holder := hold(t, dir, nil)
	eventually(t, "initdb is at work", 30*time.Second, func() bool {
		_, err := os.Stat(filepath.Join(dir, "pgdata.unfinished", "PG_VERSION"))
		return err == nil
	})
	holder.kill(t)
	if _, err := os.Stat(filepath.Join(dir, "pgdata")); err == nil {
		t.Log("initdb was faster than this test, which has shown nothing")
	}
	start(t, dir)
}

// The shell alone is killed: the server could no longer be watched, so it is stopped and
// Done says so.
func TestKilledShellEndsTheServer(t *testing.T) {
	t.Parallel()
	needProc(t)
	dir := seeded(t)
	s := start(t, dir)
	p, ok := readPostmaster(filepath.Join(dir, "pgdata"))
	if !ok {
		t.Fatal("no postmaster.pid")
	}
	must(t, syscall.Kill(parentOf(t, p.pid), syscall.SIGKILL))
	select {
	case <-s.Done():
	case <-time.After(10 * time.Second):
		t.Fatal("Done stays open after the shell was killed")
	}
	if left := serverProcesses(t, dir); len(left) > 0 {
		t.Errorf("processes left: %v", left)
	}
}

// childrenOf are the children of the shell but the server.
func childrenOf(t *testing.T, shell, server int) (pids []int) {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	must(t, err)
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == server {
			continue
		}
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			continue // it ended meanwhile
		}
		fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		if fields[1] == strconv.Itoa(shell) {
			pids = append(pids, pid)
		}
	}
	return pids
}

func needProc(t *testing.T) {
	t.Helper()
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("looks at processes through /proc")
	}
}
