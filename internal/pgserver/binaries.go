package pgserver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

const binariesVariable = "CHASEPHONE_POSTGRES_BIN"

// binaries are PostgreSQL's programs, all in one folder.
type binaries struct {
	dir     string
	version string // 15.18
	major   string // 15
}

// findBinaries finds PostgreSQL's programs. It takes, in this order,
//
//	the folder that was asked for            and no other, if one was
//	$CHASEPHONE_POSTGRES_BIN                 and no other, if it is set
//	what pg_config names
//	/usr/lib/postgresql/NN/bin, /usr/pgsql-NN/bin, Homebrew's, the newest first
//	the folder of the postgres in $PATH
//	.tools/postgres/bin                      where scripts/postgres.sh puts them; see toolFolders
//
// and, if there is data already (major is not empty), the first that can read it.
func findBinaries(ctx context.Context, asked, major string) (binaries, error) {
	if asked == "" {
		asked = os.Getenv(binariesVariable)
	}
	if asked != "" {
		found, err := probe(ctx, asked)
		if err != nil {
			return binaries{}, err
		}
		return found, mustRead(found, major)
	}
	return choose(ctx, candidates(ctx), major)
}

func choose(ctx context.Context, dirs []string, major string) (binaries, error) {
	var first binaries
	for _, dir := range dirs {
		found, err := probe(ctx, dir)
		if err != nil {
			continue // half an installation, clients only for instance
		}
		if major == "" || found.major == major {
			return found, nil
		}
		if first.dir == "" {
			first = found
		}
	}
	if err := ctx.Err(); err != nil {
		return binaries{}, fmt.Errorf("look for PostgreSQL: %w", err)
	}
	if first.dir == "" {
		return binaries{}, errors.New("no PostgreSQL is installed here: run `make postgres`, or install it and set " +
			binariesVariable + " to the folder of initdb and postgres, or bring a server (DATABASE_URL)")
	}
	return binaries{}, mustRead(first, major)
}

// mustRead makes sure that the binaries are of the major version that made the data.
func mustRead(b binaries, major string) error {
	if major == "" || b.major == major {
		return nil
	}
	return fmt.Errorf("the data was made by PostgreSQL %s and the binaries in %s are version %s, which cannot read it; nothing was changed: "+
		"install PostgreSQL %s beside it (or set %s to it), or move the data with pg_dump or pg_upgrade",
		major, b.dir, b.version, major, binariesVariable)
}

// dataMajor is the major version that made the data, or empty if there is none yet.
func (f folder) dataMajor() (string, error) {
	text, err := os.ReadFile(filepath.Join(f.pgdata(), "PG_VERSION"))
	if err == nil {
		return strings.TrimSpace(string(text)), nil
	}
	// pgdata gets its name only once initdb has finished, so one without a version is damaged.
	if _, statErr := os.Lstat(f.pgdata()); errors.Is(statErr, os.ErrNotExist) {
		return "", nil
	}
	return "", fmt.Errorf("read which PostgreSQL made the data (restore the folder from a backup, or move it away): %w", err)
}

// probe looks for the programs in dir or dir/bin.
func probe(ctx context.Context, dir string) (binaries, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return binaries{}, fmt.Errorf("look for PostgreSQL in %s: %w", dir, err)
	}
	if !hasPrograms(dir) {
		if !hasPrograms(filepath.Join(dir, "bin")) {
			return binaries{}, fmt.Errorf("look for PostgreSQL: neither %s nor its bin holds initdb and postgres", dir)
		}
		dir = filepath.Join(dir, "bin")
	}
	program := filepath.Join(dir, "postgres")
	line, err := output(ctx, program, "--version") // postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)
	if err != nil {
		return binaries{}, fmt.Errorf("ask %s for its version: %w", program, err)
	}
	_, version, _ := strings.Cut(line, ") ")
	version, _, _ = strings.Cut(version, " ")
	major := version[:len(version)-len(strings.TrimLeft(version, "0123456789"))]
	if major == "" {
		return binaries{}, fmt.Errorf("ask %s for its version: it said %q", program, line)
	}
	return binaries{dir: dir, version: version, major: major}, nil
}

func hasPrograms(dir string) bool {
	for _, name := range []string{"initdb", "postgres"} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil || !info.Mode().IsRegular() || info.Mode()&0o111 == 0 {
			return false
		}
	}
	return true
}

func output(ctx context.Context, program string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	text, err := exec.CommandContext(ctx, program, args...).Output()
	return strings.TrimSpace(string(text)), err
}
