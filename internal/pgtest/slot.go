package pgtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"chasephone/internal/pgserver"
)

// startInFreeSlot starts a server on the first data folder that no other test binary has.
func startInFreeSlot(ctx context.Context) (*pgserver.Server, error) {
	home := filepath.Join(os.TempDir(), "chasephone-pgtest-"+strconv.Itoa(os.Geteuid()))
	if err := makeHome(home); err != nil {
		return nil, fmt.Errorf("make the folder of the tests' servers: %w", err)
	}
	for slot := 0; ; slot++ {
		o := pgserver.Options{DataDir: filepath.Join(home, strconv.Itoa(slot)), FsyncOff: true}
		s, err := pgserver.Start(ctx, o)
		if err == nil {
			return s, nil
		}
		if !errors.Is(err, pgserver.ErrInUse) {
			// The data is worth nothing, so it is simply made anew: it may be of another
			// PostgreSQL, or the machine may have crashed.
			s, err = startAnew(ctx, o, err)
		}
		if !errors.Is(err, pgserver.ErrInUse) {
			return s, err
		}
	}
}

func startAnew(ctx context.Context, o pgserver.Options, why error) (*pgserver.Server, error) {
	if err := pgserver.Discard(ctx, o.DataDir); err != nil {
		return nil, errors.Join(why, err)
	}
	return pgserver.Start(ctx, o)
}

// makeHome makes a folder that PostgreSQL's user can pass if we are root, and makes sure that
// it is ours: in a folder for everybody somebody else may have been there first.
func makeHome(home string) error {
	if err := os.Mkdir(home, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	info, err := os.Lstat(home)
	if err != nil {
		return err
	}
	if !info.IsDir() || int(info.Sys().(*syscall.Stat_t).Uid) != os.Geteuid() {
		return fmt.Errorf("%s is somebody else's: remove it, or set TMPDIR to a folder of your own", home)
	}
	return nil
}
