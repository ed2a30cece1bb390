package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/uuid"

	"chasephone/internal/store"
)

// memory keeps in DATA_DIR what this daemon has seen of its database, a file for each fleet.
// Daemons that share the folder share it.
type memory struct{ dir string }

func (m memory) file(fleet string) string { return filepath.Join(m.dir, "seen-"+fleet+".json") }

// Recall is store.Memory's.
func (m memory) Recall(fleet string) (seen store.Seen, is bool, err error) {
	text, err := os.ReadFile(m.file(fleet))
	if errors.Is(err, fs.ErrNotExist) {
		return seen, false, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &seen)
	}
	if err == nil && seen.Fleet != fleet {
		err = errors.New("it is another fleet's")
	}
	for _, id := range append([]string{seen.Own, seen.Newest}, seen.Released...) {
		if id != "" && err == nil {
			_, err = uuid.Parse(id)
		}
	}
	if err != nil {
		return store.Seen{}, false, fmt.Errorf("reading %s: %w", m.file(fleet), err)
	}
	return seen, true, nil
}

// Keep is store.Memory's. What is there is whole at every moment.
func (m memory) Keep(seen store.Seen) error {
	text, err := json.Marshal(seen)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(m.dir, 0o755); err != nil { // PostgreSQL's own account passes through it where it is embedded
		return err
	}
	next, err := os.CreateTemp(m.dir, "seen-*.next")
	if err != nil {
		return err
	}
	_, err = next.Write(append(text, '\n'))
	if closing := next.Close(); err == nil {
		err = closing
	}
	if err == nil {
		err = os.Rename(next.Name(), m.file(seen.Fleet))
	}
	if err != nil {
		_ = os.Remove(next.Name())
	}
	return err
}
