package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"
)

// longestFile bounds what is read of a NAME_FILE, in bytes.
const longestFile = 64 << 10

// readFile reads a value from a file. Newlines at its end are not part of the value. A file
// with nothing in it is an error: it was named for a reason, and its content is missing.
func readFile(path string) (string, error) {
	content, err := readBytes(path, longestFile)
	if err != nil {
		return "", err
	}
	value := strings.TrimRight(string(content), "\r\n")
	if value == "" {
		return "", errors.New("it is empty")
	}
	return value, nil
}

// readBytes reads a file that has at most so many bytes.
func readBytes(path string, longest int64) ([]byte, error) {
	// Not blocking: a pipe that nobody writes to must not hang the start without a word.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, withoutPath(err)
	}
	defer func() { _ = f.Close() }() // opened for reading, so nothing can be lost
	content, err := io.ReadAll(io.LimitReader(f, longest+1))
	if err != nil {
		return nil, withoutPath(err)
	}
	if int64(len(content)) > longest {
		return nil, fmt.Errorf("it is longer than %d bytes", longest)
	}
	return content, nil
}

// withoutPath is an error of the file system without the path, which may be a secret that
// was put where its file's name belongs.
func withoutPath(err error) error {
	if pathError, ok := errors.AsType[*fs.PathError](err); ok {
		return pathError.Err
	}
	return err
}
