package pgserver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"
)

// account is the system user that PostgreSQL's programs run as.
type account struct {
	name       string
	uid, gid   int
	credential *syscall.Credential // nil: they run as we do
}

// accountFor chooses the account for a folder that belongs to the user folderOwner.
func accountFor(folderOwner int) (account, error) {
	switch us := os.Geteuid(); {
	case us != 0 && folderOwner == us:
		return account{name: userName(us), uid: us, gid: os.Getegid()}, nil
	case us != 0:
		return account{}, fmt.Errorf("it belongs to the user %s and this process runs as %s: run it as that user, or name another folder",
			userName(folderOwner), userName(us))
	case folderOwner != 0:
		u, err := user.LookupId(strconv.Itoa(folderOwner))
		if err != nil {
			// A container may know the number only; a group of the same number is the custom.
			return switchTo(userName(folderOwner), folderOwner, folderOwner), nil //nolint:nilerr // as said
		}
		return fromUser(u)
	}
	for _, name := range []string{"postgres", "nobody"} {
		if u, err := user.Lookup(name); err == nil {
			return fromUser(u)
		}
	}
	return account{}, errors.New("PostgreSQL refuses to run as root, and there is neither a user postgres nor a user nobody: " +
		"make one (useradd --system postgres) or run as another user")
}

func fromUser(u *user.User) (account, error) {
	uid, err := strconv.Atoi(u.Uid)
	if err != nil {
		return account{}, fmt.Errorf("read the user id of %s: %w", u.Username, err)
	}
	gid, err := strconv.Atoi(u.Gid)
	if err != nil {
		return account{}, fmt.Errorf("read the group id of %s: %w", u.Username, err)
	}
	return switchTo(u.Username, uid, gid), nil
}

func switchTo(name string, uid, gid int) account {
	return account{name: name, uid: uid, gid: gid, credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
}

func userName(uid int) string {
	if u, err := user.LookupId(strconv.Itoa(uid)); err == nil {
		return u.Username
	}
	return "number " + strconv.Itoa(uid)
}

// command makes a command that runs as the account, in a session of its own so that Ctrl-C
// does not reach it, and knows nothing of our environment, which holds secrets.
func (a account) command(ctx context.Context, dir, program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = dir
	cmd.Env = []string{"LC_ALL=C", "TZ=UTC", "PATH=/usr/local/bin:/usr/bin:/bin"}
	if path, ok := os.LookupEnv("LD_LIBRARY_PATH"); ok {
		cmd.Env = append(cmd.Env, "LD_LIBRARY_PATH="+path)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Credential: a.credential}
	cmd.WaitDelay = 2 * time.Second // a grandchild may hold the output open
	return cmd
}

// mustReach makes sure that the account can enter the data folder and run the binaries. We
// ask by trying, as the account: permissions are more than mode bits.
func (a account) mustReach(ctx context.Context, dataDir, binDir string) error {
	if a.credential == nil {
		return nil
	}
	onTheWay := append(ancestors(dataDir), ancestors(filepath.Join(binDir, "postgres"))...)
	const firstClosed = `for path do [ -x "$path" ] || { printf %s "$path"; exit 1; }; done`
	cmd := a.command(ctx, "/", "/bin/sh", append([]string{"-c", firstClosed, "sh"}, onTheWay...)...)
	var closed bytes.Buffer
	cmd.Stdout = &closed
	err := cmd.Run()
	if err == nil {
		return nil
	}
	if closed.Len() == 0 {
		return fmt.Errorf("run a shell as the user %s: %w", a.name, err)
	}
	where := closed.String()
	if slices.Contains(ancestors(dataDir), where) {
		return fmt.Errorf("started by root, PostgreSQL runs as the user %s, who may not enter %s: "+
			"put the data folder elsewhere, below /var/lib/chasephone for instance, or let others pass (chmod o+x %s)", a.name, where, where)
	}
	return fmt.Errorf("started by root, PostgreSQL runs as the user %s, who has no way through %s to its binaries: "+
		"set %s to a copy that everybody may run, or let others pass (chmod o+x %s)", a.name, where, binariesVariable, where)
}

// ancestors are the path's folders from the root down, and the path.
func ancestors(path string) []string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	var all []string
	for ; path != filepath.Dir(path); path = filepath.Dir(path) {
		all = append(all, path)
	}
	slices.Reverse(all)
	return all
}
