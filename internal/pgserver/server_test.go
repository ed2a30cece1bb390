package pgserver

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

func exec1(t *testing.T, url, sql string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	must(t, err)
	defer conn.Close(t.Context())
	_, err = conn.Exec(t.Context(), sql)
	must(t, err)
}

func queryInt(t *testing.T, url, sql string) (n int) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	must(t, err)
	defer conn.Close(t.Context())
	must(t, conn.QueryRow(t.Context(), sql).Scan(&n))
	return n
}

func TestDataIsFoundAgain(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(openTempDir(t), "data")

	began := time.Now()
	s := start(t, dir)
	t.Logf("cold start: %v", time.Since(began).Round(time.Millisecond))
	exec1(t, s.URL(), "CREATE TABLE kept (n int); INSERT INTO kept VALUES (41), (1)")
	began = time.Now()
	must(t, s.Stop())
	t.Logf("stop: %v", time.Since(began).Round(time.Millisecond))
	must(t, s.Stop())
	select {
	case <-s.Done():
	default:
		t.Error("Stop returned and Done is open")
	}
	if left := serverProcesses(t, dir); len(left) > 0 {
		t.Errorf("processes left after Stop: %v", left)
	}

	began = time.Now()
	s = start(t, dir)
	t.Logf("warm start: %v", time.Since(began).Round(time.Millisecond))
	if got := queryInt(t, s.URL(), "SELECT sum(n) FROM kept"); got != 42 {
		t.Errorf("sum = %d, want 42", got)
	}
}

func TestFolderAndServerAreClosedToOthers(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(openTempDir(t), "data")
	s := start(t, dir)

	for path, want := range map[string]os.FileMode{dir: 0o700, filepath.Join(dir, "password"): 0o600, filepath.Join(dir, "owner.lock"): 0o600} {
		info, err := os.Stat(path)
		must(t, err)
		if got := info.Mode().Perm(); got != want {
			t.Errorf("mode of %s = %o, want %o", path, got, want)
		}
	}
	config, err := pgx.ParseConfig(s.URL())
	must(t, err)
	config.Password = "guessed"
	if _, err := pgx.ConnectConfig(t.Context(), config); err == nil {
		t.Error("a wrong password was taken")
	}
	exec1(t, s.URL(), `DO $$ BEGIN
		ASSERT current_setting('listen_addresses') = '127.0.0.1';
		ASSERT current_setting('unix_socket_directories') = '';
		ASSERT (SELECT rolpassword LIKE 'SCRAM-SHA-256$%' FROM pg_authid WHERE rolname = current_user);
	END $$`)
}

func TestSecondStartIsRefused(t *testing.T) {
	t.Parallel()
	dir := seeded(t)
	s := start(t, dir)

	refused := func(err error) {
		t.Helper()
		if !errors.Is(err, ErrInUse) {
			t.Fatalf("err = %v, want ErrInUse", err)
		}
		if want := "process " + strconv.Itoa(os.Getpid()); !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not name the %s", err, want)
		}
	}
	_, err := Start(t.Context(), Options{DataDir: dir})
	refused(err)
	refused(Discard(t.Context(), dir))

	other := hold(t, dir, nil)
	if text := other.says(t, "error"); !strings.HasPrefix(text, ErrInUse.Error()) {
		t.Errorf("another process got %q", text)
	}
	if queryInt(t, s.URL(), "SELECT 1") != 1 {
		t.Error("the first server does not answer any more")
	}
	must(t, s.Stop())
	must(t, Discard(t.Context(), dir))
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("stat after Discard: %v, want that it is gone", err)
	}
}

func TestDoneTellsThatTheServerDied(t *testing.T) {
	t.Parallel()
	dir := seeded(t)
	s := start(t, dir)
	p, ok := readPostmaster(filepath.Join(dir, "pgdata"))
	if !ok {
		t.Fatal("no postmaster.pid")
	}
	must(t, syscall.Kill(p.pid, syscall.SIGKILL))
	select {
	case <-s.Done():
	case <-time.After(10 * time.Second):
		t.Fatal("Done stays open after the server was killed")
	}
	if err := s.Stop(); err == nil {
		t.Error("Stop of a server that died gave no error")
	}
	// At once: the sessions of the dead server may still be there.
	start(t, dir)
}
