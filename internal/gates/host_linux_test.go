package gates_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// hide lists, in the environment, the folders to hide from a test that was started again.
const hide = "CHASEPHONE_TEST_HIDE"

// A machine without any data of time zones judges like every other: the data is built in.
func TestRulingsWithoutZonesOnTheHost(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can hide the folders with the data of time zones")
	}
	// Where package time looks for the data, and where it might.
	folders := []string{"/usr/share/zoneinfo", "/usr/share/lib/zoneinfo", "/usr/lib/zoneinfo", "/usr/lib/locale/TZ", "/etc/zoneinfo"}
	if out, err := exec.CommandContext(t.Context(), "go", "env", "GOROOT").Output(); err == nil {
		folders = append(folders, filepath.Join(strings.TrimSpace(string(out)), "lib", "time"))
	}
	cmd := startAgain(t, "TestRulingsWithFoldersHidden", hide+"="+strings.Join(folders, ":"), "GOROOT="+t.TempDir())
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS} // only it sees the folders hidden
	out, err := cmd.CombinedOutput()
	text := string(out)
	switch {
	case err != nil && text == "":
		t.Skipf("this machine does not give a process file systems of its own: %v", err)
	case strings.Contains(text, cannotHide):
		t.Skip(text[strings.Index(text, cannotHide):])
	case err != nil:
		t.Fatalf("%v\n%s", err, text)
	}
	sameRulings(t, "without zones", text)
}

const cannotHide = "this machine does not let a folder be hidden: "

// TestRulingsWithFoldersHidden prints the rulings from a process that sees no data of time zones.
func TestRulingsWithFoldersHidden(t *testing.T) {
	folders := os.Getenv(hide)
	if folders == "" {
		t.Skip("TestRulingsWithoutZonesOnTheHost starts it")
	}
	// What is mounted from here on stays in this process's own view.
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		fmt.Println(cannotHide + err.Error())
		return
	}
	for folder := range strings.SplitSeq(folders, ":") {
		if _, err := os.Stat(folder); err != nil {
			continue // not there, so nothing is to be hidden
		}
		if err := syscall.Mount("none", folder, "tmpfs", 0, ""); err != nil {
			fmt.Println(cannotHide + err.Error())
			return
		}
		if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
			t.Fatalf("%s is not hidden: %v %v", folder, left, err)
		}
	}
	if _, err := time.LoadLocation("Europe/Paris"); err != nil {
		t.Fatal(err)
	}
	for _, one := range rulings(t) {
		fmt.Println(rulingPrefix + one)
	}
}
