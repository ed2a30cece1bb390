package arrivals

import (
	"errors"
	"fmt"
	"testing"
	"time"
)

func TestSeldom(t *testing.T) {
	t.Parallel()
	var s seldom
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for i, one := range []struct {
		thing  string
		after  time.Duration
		others int
		log    bool
	}{
		{"a", 0, 0, true},
		{"a", 0, 0, false},
		{"b", time.Second, 0, true},
		{"a", time.Minute - 1, 0, false},
		{"a", time.Minute, 2, true},
		{"a", time.Minute + 1, 0, false},
		{"a", 2 * time.Minute, 1, true},
		{"a", 9 * time.Minute, 0, true},
	} {
		if others, log := s.now(one.thing, at.Add(one.after)); others != one.others || log != one.log {
			t.Errorf("%d: %d, %t", i, others, log)
		}
	}
}

type coded struct{ error }

func (coded) SQLState() string { return "23514" }

func TestCauseQuotesNothing(t *testing.T) {
	t.Parallel()
	err := fmt.Errorf("keeping: %w", &RowError{coded{errors.New("a person's words")}})
	if got := cause(err); got != "the database's SQLSTATE 23514" {
		t.Error(got)
	}
	if got := cause(errors.New("no connection")); got != "no connection" {
		t.Error(got)
	}
}
