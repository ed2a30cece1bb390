package sim

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"time"
)

// Entry is one request to place a call, as the ring book has it: whatever became of its
// answer. Numbers are in the clear, for the book is the company's own.
type Entry struct {
	At         time.Time `json:"at"`
	Request    int       `json:"request"` // 1, 2, 3 …, over all requests to place a call
	Rang       bool      `json:"rang"`
	Fault      string    `json:"fault,omitempty"`
	Token      string    `json:"token,omitempty"` // the last part of the status callback's path
	To         string    `json:"to"`
	From       string    `json:"from"`
	SID        string    `json:"sid,omitempty"` // of a call that rang
	Account    string    `json:"account,omitempty"`
	Say        string    `json:"say,omitempty"` // the words, out of the TwiML
	URL        string    `json:"url,omitempty"` // that speaks instead
	SendDigits string    `json:"send_digits,omitempty"`
}

// Tally counts requests, and how many of them made a phone ring.
type Tally struct {
	Requests int `json:"requests"`
	Rings    int `json:"rings"`
}

// Rings is the ring book, counted.
type Rings struct {
	Tally
	ByTo    map[string]Tally `json:"by_to"`
	ByToken map[string]Tally `json:"by_token"` // of requests that carried one
	Entries []Entry          `json:"entries"`
}

func (r *Rings) add(e Entry) {
	count := func(t Tally) Tally {
		t.Requests++
		if e.Rang {
			t.Rings++
		}
		return t
	}
	r.Tally = count(r.Tally)
	r.ByTo[e.To] = count(r.ByTo[e.To])
	if e.Token != "" {
		r.ByToken[e.Token] = count(r.ByToken[e.Token])
	}
	r.Entries = append(r.Entries, e)
}

// ReadBook counts a ring book's file, also while it is being written. A last line without
// its end is left out: its request was not answered.
func ReadBook(path string) (Rings, error) {
	f, err := os.Open(path)
	if err != nil {
		return Rings{}, fmt.Errorf("ring book: %w", err)
	}
	defer func() { _ = f.Close() }()
	r, _, err := readBook(f)
	return r, err
}

// readBook also says how many bytes are whole lines.
func readBook(f io.Reader) (Rings, int64, error) {
	r := Rings{ByTo: map[string]Tally{}, ByToken: map[string]Tally{}, Entries: []Entry{}}
	in := bufio.NewReader(f)
	for whole := int64(0); ; {
		line, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return r, whole, nil
		}
		if err != nil {
			return r, whole, fmt.Errorf("ring book: %w", err)
		}
		var e Entry
		if err := json.Unmarshal(line, &e); err != nil {
			return r, whole, fmt.Errorf("ring book, line %d: %w", len(r.Entries)+1, err)
		}
		r.add(e)
		whole += int64(len(line))
	}
}

// book is the ring book being written.
type book struct {
	sync bool

	mu    sync.Mutex
	file  *os.File // nil: in memory
	count Rings
}

func openBook(path string, sync bool) (*book, error) {
	empty, _, _ := readBook(bytes.NewReader(nil))
	b := &book{sync: sync, count: empty}
	if path == "" {
		return b, nil
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("ring book: %w", err)
	}
	var whole int64
	if b.count, whole, err = readBook(f); err == nil {
		err = errors.Join(f.Truncate(whole), seekTo(f, whole)) // a torn last line was never answered
	}
	if err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("ring book %s: %w", path, err)
	}
	b.file = f
	return b, nil
}

func seekTo(f *os.File, at int64) error {
	_, err := f.Seek(at, io.SeekStart)
	return err
}

// write numbers e and puts it into the book; when it returns nil, e is there for good.
func (b *book) write(e *Entry) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	e.Request = b.count.Requests + 1
	if b.file != nil {
		line, err := json.Marshal(e)
		if err == nil {
			_, err = b.file.Write(append(line, '\n'))
		}
		if err == nil && b.sync {
			err = b.file.Sync()
		}
		if err != nil {
			return fmt.Errorf("ring book: %w", err)
		}
	}
	b.count.add(*e)
	return nil
}

// rings is a copy that no later entry changes.
func (b *book) rings() Rings {
	b.mu.Lock()
	defer b.mu.Unlock()
	r := Rings{Tally: b.count.Tally, ByTo: map[string]Tally{}, ByToken: map[string]Tally{}}
	for k, v := range b.count.ByTo {
		r.ByTo[k] = v
	}
	for k, v := range b.count.ByToken {
		r.ByToken[k] = v
	}
	r.Entries = append([]Entry{}, b.count.Entries...)
	return r
}

func (b *book) close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.file == nil {
		return nil
	}
	if err := b.file.Close(); err != nil && !errors.Is(err, fs.ErrClosed) {
		return fmt.Errorf("ring book: %w", err)
	}
	return nil
}
