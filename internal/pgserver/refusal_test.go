package pgserver

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func wantError(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want one with %q", parts)
	}
	t.Log(err)
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q does not say %q", err, part)
		}
	}
}

func TestDataThatCannotBeUsedIsRefusedAndKept(t *testing.T) {
	t.Parallel()
	dir := seeded(t)
	s := start(t, dir)
	exec1(t, s.URL(), "CREATE TABLE kept (n int); INSERT INTO kept VALUES (7)")
	must(t, s.Stop())

	for _, c := range []struct {
		name string
		path string
		text string // put in the file's place; empty: the file is missing
		says []string
	}{
		{"another version", "pgdata/PG_VERSION", "9999\n", []string{"made by PostgreSQL 9999", "nothing was changed", binariesVariable}},
		{"no version", "pgdata/PG_VERSION", "", []string{"PG_VERSION", "backup"}},
		{"no password", "password", "", []string{"password", "backup"}},
		{"another password", "password", "guessed\n", []string{"password in " + dir}},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(dir, c.path)
			before, err := os.ReadFile(path)
			must(t, err)
			must(t, os.Remove(path))
			if c.text != "" {
				must(t, os.WriteFile(path, []byte(c.text), 0o600))
			}
			_, err = Start(t.Context(), Options{DataDir: dir})
			wantError(t, err, c.says...)
			must(t, os.WriteFile(path, before, 0o600))
			must(t, os.Chown(path, ownerID(t, dir), -1))
		})
	}
	if got := queryInt(t, start(t, dir).URL(), "SELECT n FROM kept"); got != 7 {
		t.Errorf("n = %d, want 7", got)
	}
}

func ownerID(t *testing.T, path string) int {
	t.Helper()
	info, err := os.Stat(path)
	must(t, err)
	return ownerOf(info)
}

func TestNoBinaries(t *testing.T) {
	t.Parallel()
	_, err := Start(t.Context(), Options{DataDir: filepath.Join(openTempDir(t), "data"), Binaries: "/nowhere"})
	wantError(t, err, "/nowhere", "initdb")
}

func TestSomebodysFolderIsNotTaken(t *testing.T) {
	t.Parallel()
	dir := openTempDir(t)
	must(t, os.WriteFile(filepath.Join(dir, "PG_VERSION"), []byte("15\n"), 0o600))
	_, err := Start(t.Context(), Options{DataDir: dir})
	wantError(t, err, dir, "name another folder")
}

func TestRootsFullFolderIsNotGivenAway(t *testing.T) {
	t.Parallel()
	needRoot(t)
	dir := openTempDir(t)
	must(t, os.WriteFile(filepath.Join(dir, "letters"), nil, 0o600))
	_, err := Start(t.Context(), Options{DataDir: dir})
	wantError(t, err, dir, "letters", "empty")
	info, err := os.Stat(dir)
	must(t, err)
	if ownerOf(info) != 0 {
		t.Errorf("the folder was given to the user %d", ownerOf(info))
	}
}

func TestFolderThatTheUserCannotReach(t *testing.T) {
	t.Parallel()
	needRoot(t)
	home := filepath.Join(openTempDir(t), "home")
	must(t, os.Mkdir(home, 0o700))
	_, err := Start(t.Context(), Options{DataDir: filepath.Join(home, "chasephone", "data")})
	wantError(t, err, "may not enter "+home+":", "/var/lib/chasephone")
}

// The test is that of a process that is not root: everything that needs root's powers must
// not be asked for.
func TestNotAsRoot(t *testing.T) {
	t.Parallel()
	needRoot(t)
	parent := openTempDir(t)
	must(t, os.Chown(parent, 65534, 65534))
	nobody := &syscall.Credential{Uid: 65534, Gid: 65534}

	holder := hold(t, filepath.Join(parent, "data"), nobody)
	exec1(t, holder.says(t, "url"), "CREATE TABLE kept (n int); INSERT INTO kept VALUES (7)")
	must(t, holder.stdin.Close())
	holder.says(t, "stopped")

	// Root may come later; the data stays nobody's.
	if got := queryInt(t, start(t, filepath.Join(parent, "data")).URL(), "SELECT n FROM kept"); got != 7 {
		t.Errorf("n = %d, want 7", got)
	}

	closed := openTempDir(t)
	wantSaid := hold(t, filepath.Join(closed, "data"), nobody).says(t, "error")
	if !strings.Contains(wantSaid, "put the data folder elsewhere") {
		t.Errorf("for a folder that cannot be written it said %q", wantSaid)
	}
}

func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
}
