package pgserver

import (
	"errors"
	"fmt"
	"strings"
)

// curedError is an error that says already what to do.
type curedError struct{ error }

func (e curedError) Unwrap() error { return e.error }

// withCure adds what to do to an error of the disk. It reads the text, because PostgreSQL's
// programs answer in text; theirs and ours use the system's words, in English.
func withCure(err error) error {
	if _, done := errors.AsType[curedError](err); done {
		return err
	}
	text := strings.ToLower(err.Error())
	for _, c := range []struct{ sign, cure string }{
		{"no space left on device", "the disk is full: free some space, or put the data folder on another disk"},
		{"disk quota exceeded", "the disk quota is used up: free some space, or put the data folder elsewhere"},
		{"read-only file system", "the disk can only be read: put the data folder where it can be written"},
		{"permission denied", "run it as a user who may write there, or put the data folder elsewhere"},
	} {
		if strings.Contains(text, c.sign) {
			return curedError{fmt.Errorf("%w (%s)", err, c.cure)}
		}
	}
	return err
}
