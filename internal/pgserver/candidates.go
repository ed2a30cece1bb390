package pgserver

import (
	"cmp"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
)

// candidates are the folders where PostgreSQL's programs may be, the best first.
func candidates(ctx context.Context) []string {
	var dirs []string
	if dir, err := output(ctx, "pg_config", "--bindir"); err == nil && dir != "" {
		dirs = append(dirs, dir)
	}
	for _, pattern := range []string{
		"/usr/lib/postgresql/*/bin",          // Debian, Ubuntu
		"/usr/pgsql-*/bin",                   // the PostgreSQL project's own packages for Red Hat
		"/opt/homebrew/opt/postgresql@*/bin", // Homebrew on Apple's processors
		"/usr/local/opt/postgresql@*/bin",    // Homebrew on Intel
		"/home/linuxbrew/.linuxbrew/opt/postgresql@*/bin",
	} {
		dirs = append(dirs, newestFirst(pattern)...)
	}
	if program, err := exec.LookPath("postgres"); err == nil {
		if real, err := filepath.EvalSymlinks(program); err == nil {
			dirs = append(dirs, filepath.Dir(real))
		}
	}
	return append(dirs, toolFolders()...)
}

func newestFirst(pattern string) []string {
	dirs, err := filepath.Glob(pattern)
	if err != nil {
		return nil
	}
	number := regexp.MustCompile(`\d+`)
	major := func(dir string) int {
		n, _ := strconv.Atoi(number.FindString(dir))
		return n
	}
	slices.SortFunc(dirs, func(a, b string) int { return cmp.Compare(major(b), major(a)) })
	return dirs
}

// toolFolders are the .tools/postgres/bin of the checkout we are in (the nearest folder
// upwards with a go.mod) and of the folder of our own executable or the one above it.
// One that somebody else could have written to is left out: we may be root.
func toolFolders() []string {
	var homes []string
	if dir, err := os.Getwd(); err == nil {
		for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
			if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
				homes = append(homes, dir)
				break
			}
		}
	}
	if program, err := os.Executable(); err == nil {
		homes = append(homes, filepath.Dir(program), filepath.Dir(filepath.Dir(program)))
	}
	var dirs []string
	for _, home := range homes {
		dir := filepath.Join(home, ".tools", "postgres", "bin")
		if isOnlyOurs(dir) && isOnlyOurs(filepath.Join(dir, "postgres")) {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

func isOnlyOurs(path string) bool {
	info, err := os.Stat(path)
	if err != nil || info.Mode()&0o022 != 0 {
		return false
	}
	owner := ownerOf(info)
	return owner == 0 || owner == os.Geteuid()
}
