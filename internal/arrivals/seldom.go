package arrivals

import (
	"errors"
	"sync"
	"time"
)

const logAgain = time.Minute // at the earliest, about the same thing

// seldom lets one line a minute be logged about each thing, and counts what happens in
// between: whoever can make something happen must not be able to fill the disk with it.
type seldom struct {
	mu    sync.Mutex
	about map[string]*lately // by things of a closed set
}

type lately struct {
	logged time.Time
	since  int
}

// now reports whether to log, and how often the thing happened since the line before.
func (s *seldom) now(thing string, at time.Time) (others int, log bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l, known := s.about[thing]
	if known && at.Sub(l.logged) < logAgain {
		l.since++
		return 0, false
	}
	if s.about == nil {
		s.about = map[string]*lately{}
	}
	s.about[thing] = &lately{logged: at}
	if known {
		others = l.since
	}
	return others, true
}

// cause is an error as it may be logged. A database's own text can quote the words that it
// refuses, and with them what a person wrote; its code cannot.
func cause(err error) string {
	var coded interface{ SQLState() string }
	if errors.As(err, &coded) {
		return "the database's SQLSTATE " + coded.SQLState()
	}
	return err.Error()
}
