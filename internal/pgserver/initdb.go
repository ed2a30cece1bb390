package pgserver

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// unfinished is where initdb works. The name changes when it is done, so that a start that
// was interrupted is told from data.
func (f folder) unfinished() string { return filepath.Join(f.path, "pgdata.unfinished") }

// initdb makes the data. It inherits helperLock: if we are killed meanwhile, the next start
// waits for it to end before it begins again.
func (f folder) initdb(ctx context.Context, bin binaries, helperLock *os.File, fsyncOff bool) error {
	if err := os.RemoveAll(f.unfinished()); err != nil {
		return fmt.Errorf("clear away an interrupted initdb: %w", err)
	}
	if err := f.newPassword(); err != nil {
		return err
	}
	args := []string{
		"--pgdata=" + f.unfinished(),
		"--username=" + userOfDatabase,
		"--pwfile=" + f.passwordFile(),
		"--auth=scram-sha-256",
		"--encoding=UTF8",
		"--locale=C", // the one locale that is the same on every machine
		"--data-checksums",
	}
	if fsyncOff {
		args = append(args, "--no-sync")
	}
	cmd := f.owner.command(ctx, f.path, filepath.Join(bin.dir, "initdb"), args...)
	cmd.ExtraFiles = []*os.File{helperLock}
	if said, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("make the data with %s: %w: %s", cmd.Path, err, lastLines(string(said), 6))
	}
	if err := os.Rename(f.unfinished(), f.pgdata()); err != nil {
		return fmt.Errorf("put the new data in its place: %w", err)
	}
	if fsyncOff {
		return nil
	}
	return syncFolder(f.path)
}

// syncFolder puts a change of names on disk.
func syncFolder(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("write the data folder to disk: %w", err)
	}
	defer dir.Close()
	if err := dir.Sync(); err != nil {
		return fmt.Errorf("write the data folder to disk: %w", err)
	}
	return nil
}

func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "; ")
}
