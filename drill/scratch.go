package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// scratch is the folder in which everything of one drill is.
type scratch struct{ dir string }

// newScratch makes it. PostgreSQL may run as another user, who must be able to pass through.
func newScratch(name string) (scratch, error) {
	dir, err := os.MkdirTemp("", "chasephone-drill-"+name+"-")
	if err != nil {
		return scratch{}, fmt.Errorf("making a folder for the drill: %w", err)
	}
	s := scratch{dir}
	if err := errors.Join(os.Chmod(dir, 0o711), os.Mkdir(s.logs(), 0o700)); err != nil { //nolint:gosec // as said
		return s, fmt.Errorf("making a folder for the drill: %w", err)
	}
	return s, nil
}

func (s scratch) in(name string) string  { return filepath.Join(s.dir, name) }
func (s scratch) logs() string           { return s.in("logs") }
func (s scratch) log(name string) string { return filepath.Join(s.logs(), name+".log") }

// keep leaves the logs and the ring book, and removes what is large.
func (s scratch) keep() {
	entries, _ := os.ReadDir(s.dir)
	for _, e := range entries {
		if name := e.Name(); name == "logs" || strings.HasSuffix(name, ".jsonl") || strings.HasSuffix(name, ".txt") {
			continue
		}
		_ = os.RemoveAll(s.in(e.Name()))
	}
}

func (s scratch) remove() { _ = os.RemoveAll(s.dir) }

// freePort is a port below those that the system gives to outgoing connections: what listens on
// it goes away and comes back, and nobody must have taken it meanwhile. Trials that are under way
// together have lots of their own.
func freePort(ctx context.Context, rnd *rand.Rand, lot int) (int, error) {
	const first, all = 15000, 12000
	span := all / len(scenarios())
	for range 200 {
		port := first + lot*span + rnd.IntN(span)
		l, err := listen(ctx, port)
		if err == nil {
			_ = l.Close()
			return port, nil
		}
	}
	return 0, errors.New("no port is free")
}

func listen(ctx context.Context, port int) (net.Listener, error) {
	return new(net.ListenConfig).Listen(ctx, "tcp4", local(port))
}

func local(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

// repository is the folder of go.mod, upwards from where we are.
func repository() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("finding the repository: %w", err)
	}
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
	}
	return "", errors.New("run the drill within the repository: it builds chasephone")
}

func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
