package pgserver

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// installed lays programs that say they are of the version into dir.
func installed(t *testing.T, dir, version string) string {
	t.Helper()
	must(t, os.MkdirAll(dir, 0o755))
	for _, name := range []string{"initdb", "postgres"} {
		script := fmt.Sprintf("#!/bin/sh\necho '%s (PostgreSQL) %s (Debian %s-1)'\n", name, version, version)
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(script), 0o755))
	}
	return dir
}

func TestTheFirstBinariesThatCanReadTheDataAreTaken(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	clients := filepath.Join(home, "clients") // psql only
	must(t, os.Mkdir(clients, 0o755))
	dirs := []string{
		clients,
		installed(t, filepath.Join(home, "18"), "18beta1"),
		installed(t, filepath.Join(home, "15"), "15.18"),
	}
	for _, c := range []struct{ data, wantDir, wantVersion string }{
		{"", "18", "18beta1"},
		{"15", "15", "15.18"},
	} {
		got, err := choose(t.Context(), dirs, c.data)
		must(t, err)
		if filepath.Base(got.dir) != c.wantDir || got.version != c.wantVersion {
			t.Errorf("for data of version %q: %+v, want %s of %s", c.data, got, c.wantVersion, c.wantDir)
		}
	}
	_, err := choose(t.Context(), dirs, "9.6")
	wantError(t, err, "made by PostgreSQL 9.6", "version 18beta1")
	_, err = choose(t.Context(), dirs[:1], "")
	wantError(t, err, "make postgres", binariesVariable, "DATABASE_URL")
}

func TestBinariesThatWereAskedFor(t *testing.T) {
	dir := installed(t, filepath.Join(t.TempDir(), "bin"), "17.2")
	for _, asked := range []string{dir, filepath.Dir(dir)} {
		t.Setenv(binariesVariable, asked)
		got, err := findBinaries(t.Context(), "", "")
		must(t, err)
		if got.dir != dir || got.major != "17" {
			t.Errorf("asked for %s, got %+v", asked, got)
		}
	}
	// No other is looked for, even if the one asked for cannot be used.
	_, err := findBinaries(t.Context(), "", "15")
	wantError(t, err, "made by PostgreSQL 15", dir)
	t.Setenv(binariesVariable, t.TempDir())
	_, err = findBinaries(t.Context(), "", "")
	wantError(t, err, "initdb and postgres")
}

func TestToolsOfTheCheckout(t *testing.T) {
	checkout, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	must(t, os.WriteFile(filepath.Join(checkout, "go.mod"), nil, 0o644))
	dir := installed(t, filepath.Join(checkout, ".tools", "postgres", "bin"), "18.4")
	inside := filepath.Join(checkout, "internal", "pgtest")
	must(t, os.MkdirAll(inside, 0o755))
	t.Chdir(inside)

	if got := toolFolders(); !slices.Contains(got, dir) {
		t.Errorf("toolFolders() = %v, want %s in it", got, dir)
	}
	must(t, os.Chmod(filepath.Join(dir, "postgres"), 0o777))
	if got := toolFolders(); slices.Contains(got, dir) {
		t.Errorf("toolFolders() = %v, though anybody could have written the program there", got)
	}
}
