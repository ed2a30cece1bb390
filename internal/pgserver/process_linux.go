package pgserver

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// isPostgresIn says whether the process is a living PostgreSQL that works in pgdata: a
// server makes its data folder its working directory. A process that may not be looked at
// is not one that we started.
func isPostgresIn(pid int, pgdata string) bool {
	program, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	if err != nil {
		return false
	}
	// A binary replaced by an upgrade is shown with a remark.
	if filepath.Base(strings.TrimSuffix(program, " (deleted)")) != "postgres" {
		return false
	}
	works, err := os.Stat(fmt.Sprintf("/proc/%d/cwd", pid))
	if err != nil {
		return false
	}
	ours, err := os.Stat(pgdata)
	return err == nil && os.SameFile(works, ours)
}
