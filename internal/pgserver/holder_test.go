package pgserver

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

const holdVariable = "PGSERVER_TEST_HOLD"

// TestHold is no test: it is what another process does that holds a server. It stops the
// server and ends when its standard input does.
func TestHold(t *testing.T) {
	dir := os.Getenv(holdVariable)
	if dir == "" {
		t.Skip("runs in a process of its own, for other tests")
	}
	s, err := Start(t.Context(), Options{DataDir: dir, FsyncOff: true})
	if err != nil {
		fmt.Println("error:", err)
		return
	}
	fmt.Println("url:", s.URL())
	_, _ = io.Copy(io.Discard, os.Stdin)
	if err := s.Stop(); err != nil {
		fmt.Println("error:", err)
		return
	}
	fmt.Println("stopped:", dir)
}

// holding is another process that holds, or tried to hold, a server.
type holding struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	out   *bufio.Scanner
}

// hold starts a process that starts a server on dir; as is the user it runs as, nil for ours.
func hold(t *testing.T, dir string, as *syscall.Credential) *holding {
	t.Helper()
	program := os.Args[0]
	if as != nil {
		program = copyOfTestBinary(t)
	}
	cmd := exec.Command(program, "-test.run=^TestHold$")
	cmd.Dir = "/"
	cmd.Env = append(os.Environ(), holdVariable+"="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: as}
	stdin, err := cmd.StdinPipe()
	must(t, err)
	stdout, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return &holding{cmd: cmd, stdin: stdin, out: bufio.NewScanner(stdout)}
}

// says reads what the process says next and wants it to be of the given kind.
func (h *holding) says(t *testing.T, kind string) string {
	t.Helper()
	for h.out.Scan() {
		if got, text, ok := strings.Cut(h.out.Text(), ": "); ok {
			if got != kind {
				t.Fatalf("the other process said %q, want %s", h.out.Text(), kind)
			}
			return text
		}
	}
	t.Fatalf("the other process ended without saying %s", kind)
	return ""
}

func (h *holding) kill(t *testing.T) {
	t.Helper()
	must(t, h.cmd.Process.Kill())
	_ = h.cmd.Wait()
}

// copyOfTestBinary is a copy that other users can reach; go test builds in a folder of ours.
func copyOfTestBinary(t *testing.T) string {
	t.Helper()
	from, err := os.Open(os.Args[0])
	must(t, err)
	defer from.Close()
	path := filepath.Join(openTempDir(t), "pgserver.test")
	to, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o755)
	must(t, err)
	_, err = io.Copy(to, from)
	must(t, err)
	must(t, to.Close())
	return path
}

// openTempDir is a temporary folder that everybody can enter, which t.TempDir is not.
func openTempDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "pgserver-test-")
	must(t, err)
	must(t, os.Chmod(dir, 0o755))
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// start starts a server and stops it at the end of the test.
func start(t *testing.T, dir string) *Server {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	s, err := Start(ctx, Options{DataDir: dir, FsyncOff: true})
	must(t, err)
	t.Cleanup(func() { _ = s.Stop() })
	return s
}

// serverProcesses are the living processes that work in the server's data folder.
func serverProcesses(t *testing.T, dir string) (pids []int) {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	must(t, err)
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil && isPostgresIn(pid, filepath.Join(dir, "pgdata")) {
			pids = append(pids, pid)
		}
	}
	return pids
}

func eventually(t *testing.T, what string, within time.Duration, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(within); !holds(); time.Sleep(pollEvery) {
		if time.Now().After(deadline) {
			t.Fatalf("after %v still not so: %s", within, what)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
