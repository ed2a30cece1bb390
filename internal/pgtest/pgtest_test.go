package pgtest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

func TestEveryTestHasADatabaseOfItsOwn(t *testing.T) {
	t.Parallel()
	var migrated atomic.Int32
	things := Migration{
		Hash: func() (string, error) { return t.Name(), nil },
		Up: func(ctx context.Context, url string) error {
			migrated.Add(1)
			conn, err := pgx.Connect(ctx, url)
			if err != nil {
				return err
			}
			defer conn.Close(ctx)
			_, err = conn.Exec(ctx, "CREATE TABLE things (n int PRIMARY KEY)")
			return err
		},
	}
	t.Run("all at once", func(t *testing.T) {
		for i := range 6 {
			t.Run(fmt.Sprint(i), func(t *testing.T) {
				t.Parallel()
				began := time.Now()
				pool := newPool(t, newDatabase(t, things))
				t.Logf("a database: %v", time.Since(began).Round(time.Millisecond))
				if _, err := pool.Exec(t.Context(), "INSERT INTO things VALUES (1)"); err != nil {
					t.Error(err)
				}
			})
		}
	})
	if n := migrated.Load(); n != 1 {
		t.Errorf("migrated %d times, want once", n)
	}
}

func TestPoolTellsTheAddressForOtherProcesses(t *testing.T) {
	t.Parallel()
	pool := New(t)
	conn, err := pgx.Connect(t.Context(), pool.Config().ConnString())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	var super bool
	if err := conn.QueryRow(t.Context(), "SELECT rolsuper FROM pg_roles WHERE rolname = current_user").Scan(&super); err != nil {
		t.Fatal(err)
	}
	if super {
		t.Error("the tests run as a superuser, which would hide a missing right")
	}
}

// failing is a test that failed, whose cleanups the real test runs.
type failing struct {
	testing.TB
	cleanups []func()
}

func (f *failing) Failed() bool     { return true }
func (f *failing) Cleanup(c func()) { f.cleanups = append(f.cleanups, c) }

func TestDatabaseOfAFailedTestIsDropped(t *testing.T) {
	t.Parallel()
	f := &failing{TB: t}
	url := URL(f)
	left, err := pgx.Connect(t.Context(), url) // as a process that the test forgot
	if err != nil {
		t.Fatal(err)
	}
	defer left.Close(t.Context())
	for i := len(f.cleanups) - 1; i >= 0; i-- {
		f.cleanups[i]()
	}
	if _, err := pgx.Connect(t.Context(), url); err == nil || !strings.Contains(err.Error(), "3D000") { // no such database
		t.Errorf("connect after the end of the test: %v, want that the database is gone", err)
	}
}

const holdVariable = "PGTEST_HOLD"

// TestHold is no test: it is what the test binary does that is killed.
func TestHold(t *testing.T) {
	if os.Getenv(holdVariable) == "" {
		t.Skip("runs in a process of its own, for another test")
	}
	fmt.Println("url:", URL(t))
	s, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println("admin:", s.admin.Config().ConnString())
	if os.Getenv(holdVariable) == "for ever" {
		select {}
	}
}

func TestKilledTestBinaryLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	temp, err := os.MkdirTemp("", "pgtest-test-")
	if err == nil {
		err = os.Chmod(temp, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(temp) })

	killed, said := binary(t, temp, "for ever")
	began := time.Now()
	url := said("url")
	t.Logf("a database from nothing: %v", time.Since(began).Round(time.Millisecond))
	if err := killed.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = killed.Wait()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		conn, err := pgx.Connect(t.Context(), url)
		if err == nil {
			_ = conn.Close(t.Context())
		} else if strings.Contains(err.Error(), "refused") {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the server still lives (%v)", err)
		}
	}

	next, said := binary(t, temp, "for ever")
	began = time.Now()
	said("url")
	t.Logf("a database in a slot that is there: %v", time.Since(began).Round(time.Millisecond))
	admin, err := pgx.Connect(t.Context(), said("admin"))
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close(t.Context())
	var left int
	if err := admin.QueryRow(t.Context(), "SELECT count(*) FROM pg_database WHERE datname LIKE '%\\_of\\_%'").Scan(&left); err != nil {
		t.Fatal(err)
	}
	if left != 1 {
		t.Errorf("the next binary sees %d databases of tests, want its own only", left)
	}
	_ = next.Process.Kill()
	_ = next.Wait()
}

// binary runs this test binary once more, with its servers in temp.
func binary(t *testing.T, temp, hold string) (*exec.Cmd, func(kind string) string) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestHold$")
	cmd.Env = append(os.Environ(), holdVariable+"="+hold, "TMPDIR="+temp, "DATABASE_URL=")
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	lines := bufio.NewScanner(out)
	return cmd, func(kind string) string {
		t.Helper()
		for lines.Scan() {
			if text, ok := strings.CutPrefix(lines.Text(), kind+": "); ok {
				return text
			}
		}
		t.Fatalf("the other test binary ended without saying %s", kind)
		return ""
	}
}

func TestServersFolderMustBeOurs(t *testing.T) {
	t.Parallel()
	link := t.TempDir() + "/link"
	if err := os.Symlink(t.TempDir(), link); err != nil {
		t.Fatal(err)
	}
	if err := makeHome(link); err == nil || errors.Is(err, os.ErrExist) {
		t.Errorf("a link in its place: %v, want a refusal", err)
	}
}

// A given server need not be a superuser's.
func TestGivenServer(t *testing.T) {
	t.Parallel()
	ours, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	if ours.run == "" {
		t.Skip("makes a role, which the server of DATABASE_URL may not allow")
	}
	_, err = ours.admin.Exec(t.Context(), `CREATE ROLE "limited role" LOGIN CREATEDB PASSWORD 'a/b?c@d'`)
	if err != nil && !strings.Contains(err.Error(), "already exists") { // by a run that was killed
		t.Fatal(err)
	}
	address := *ours.address
	address.User = url.UserPassword("limited role", "a/b?c@d")
	given, err := connect(t.Context(), address.String())
	if err != nil {
		t.Fatal(err)
	}
	defer given.admin.Close()

	m := Migration{
		Hash: func() (string, error) { return t.Name(), nil },
		Up:   func(context.Context, string) error { return nil },
	}
	template, err := given.template(t.Context(), m)
	if err != nil {
		t.Fatal(err)
	}
	database, err := given.copyOf(t.Context(), template)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(t.Context(), given.url(database))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if err := given.drop(t.Context(), database); err != nil {
		t.Error(err)
	}
	if _, err := connect(t.Context(), "host=localhost user=me"); err == nil {
		t.Error("an address that is no URL was taken")
	}
}
