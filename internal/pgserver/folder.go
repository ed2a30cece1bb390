package pgserver

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// folder is DataDir and the account that owns it.
type folder struct {
	path  string // absolute
	owner account
}

func (f folder) pgdata() string       { return filepath.Join(f.path, "pgdata") }
func (f folder) passwordFile() string { return filepath.Join(f.path, "password") }

// openFolder makes the folder if it is not there and sees to it that it is its account's.
func openFolder(dataDir string) (folder, error) {
	if dataDir == "" {
		return folder{}, errors.New("start PostgreSQL: no data folder was given")
	}
	path, err := filepath.Abs(dataDir)
	if err != nil {
		return folder{}, fmt.Errorf("find the data folder %s: %w", dataDir, err)
	}
	f, err := prepare(path)
	if err != nil {
		return folder{}, withCure(fmt.Errorf("prepare the data folder %s: %w", path, err))
	}
	return f, nil
}

func prepare(path string) (folder, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return folder{}, err
	}
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return folder{}, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return folder{}, err
	}
	if !info.IsDir() {
		return folder{}, errors.New("it is a file: name a folder")
	}
	if _, err := os.Stat(filepath.Join(path, "PG_VERSION")); err == nil {
		return folder{}, errors.New("it is a data folder of PostgreSQL's own, made by somebody else: name another folder")
	}
	owner, err := accountFor(ownerOf(info))
	if err != nil {
		return folder{}, err
	}
	if ownerOf(info) == owner.uid {
		return folder{path: path, owner: owner}, nil
	}
	// We are root and so is the folder. One that we made a moment ago may be given away;
	// one with things in it may be somebody's, and is not ours to give.
	if err := mustBeEmpty(path); err != nil {
		return folder{}, err
	}
	if err := os.Chown(path, owner.uid, owner.gid); err != nil {
		return folder{}, err
	}
	return folder{path: path, owner: owner}, nil
}

func mustBeEmpty(path string) error {
	entries, err := os.ReadDir(path)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() != "lost+found" { // a freshly made file system has one
			return fmt.Errorf("it belongs to root and holds %s already: name a folder that is empty or not there, or, "+
				"if it is a PostgreSQL's that was put back, give it to that user (chown -R postgres %s)", e.Name(), path)
		}
	}
	return nil
}

// create opens a file of the folder for writing. A symbolic link is refused: the folder is
// another user's when we are root.
func (f folder) create(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	if f.owner.credential != nil {
		if err := file.Chown(f.owner.uid, f.owner.gid); err != nil {
			_ = file.Close()
			return nil, err
		}
	}
	return file, nil
}

// newPassword writes a random password and gives it. It is called before initdb only: the
// password of data that exists must not be lost.
func (f folder) newPassword() error {
	random := make([]byte, 24)
	rand.Read(random) // never fails, by its contract
	file, err := f.create(f.passwordFile())
	if err != nil {
		return fmt.Errorf("write the password: %w", err)
	}
	defer file.Close()
	if err := file.Truncate(0); err != nil {
		return fmt.Errorf("write the password: %w", err)
	}
	if _, err := file.WriteString(hex.EncodeToString(random) + "\n"); err != nil {
		return fmt.Errorf("write the password: %w", err)
	}
	if err := file.Sync(); err != nil {
		return fmt.Errorf("write the password: %w", err)
	}
	return nil
}

func (f folder) password() (string, error) {
	text, err := os.ReadFile(f.passwordFile())
	if err != nil {
		return "", fmt.Errorf("read the database's password (put it back from a backup of the folder): %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}

// remove deletes everything in the folder and the folder, the locks last: until then nobody
// else can have it.
func (f folder) remove() error {
	err := errors.Join(os.RemoveAll(f.pgdata()), os.RemoveAll(f.unfinished()))
	if err == nil {
		err = os.RemoveAll(f.path)
	}
	if err != nil {
		return fmt.Errorf("delete the data folder: %w", err)
	}
	return nil
}

func ownerOf(info fs.FileInfo) int {
	return int(info.Sys().(*syscall.Stat_t).Uid)
}
