package pgserver

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

const seedVariable = "PGSERVER_TEST_SEED"

// TestMain has initdb run once for most of the tests: a copy of its folder costs a third.
func TestMain(m *testing.M) {
	if os.Getenv(holdVariable) != "" {
		os.Exit(m.Run())
	}
	dir, err := os.MkdirTemp("", "pgserver-seed-")
	if err == nil {
		err = makeSeed(dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "make the data that the tests start from:", err)
		os.Exit(1)
	}
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

func makeSeed(dir string) error {
	if err := os.Chmod(dir, 0o755); err != nil {
		return err
	}
	seed := filepath.Join(dir, "data")
	s, err := Start(context.Background(), Options{DataDir: seed, FsyncOff: true})
	if err != nil {
		return err
	}
	if err := s.Stop(); err != nil {
		return err
	}
	return os.Setenv(seedVariable, seed)
}

// seeded is a data folder with a database in it.
func seeded(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(openTempDir(t), "data")
	if out, err := exec.Command("cp", "-a", os.Getenv(seedVariable), dir).CombinedOutput(); err != nil {
		t.Fatalf("copy the seed: %v: %s", err, out)
	}
	return dir
}
