//go:build !linux

package pgserver

import (
	"os/exec"
	"strconv"
	"strings"
)

// isPostgresIn says whether the process is a living PostgreSQL that was started on pgdata, by
// its command line: there is no /proc to ask.
func isPostgresIn(pid int, pgdata string) bool {
	line, err := exec.Command("ps", "-ww", "-o", "state=", "-o", "args=", "-p", strconv.Itoa(pid)).Output()
	if err != nil {
		return false
	}
	state, args, _ := strings.Cut(strings.TrimSpace(string(line)), " ")
	return !strings.HasPrefix(state, "Z") &&
		strings.Contains(args, "postgres ") && strings.Contains(args, " -D "+pgdata+" ")
}
