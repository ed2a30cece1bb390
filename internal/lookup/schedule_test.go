package lookup

import (
	"testing"
	"time"

	"chasephone/internal/carrier"
)

// An uncertain attempt is asked about until its carrier's queue is empty, a placed one until it
// has an end; and at the instant from which a queued one is to be cancelled.
func TestAgain(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	const day = 24 * time.Hour
	for name, row := range map[string]struct {
		a    Attempt
		want time.Duration // from now; -1: never
	}{
		"uncertain, at first":             {Attempt{AnswerBy: now}, 30 * time.Second},
		"uncertain, later":                {Attempt{AnswerBy: now.Add(-time.Hour), Looks: 4}, 30 * time.Minute},
		"uncertain, much later":           {Attempt{AnswerBy: now.Add(-20 * time.Hour), Looks: 900}, time.Hour},
		"uncertain, the queue just empty": {Attempt{AnswerBy: now.Add(-day - slack + time.Minute), Looks: 30}, time.Hour}, // once more after that
		"uncertain, the queue empty":      {Attempt{AnswerBy: now.Add(-day - slack - time.Second), Looks: 30}, -1},
		"placed":                          {Attempt{Placed: true, LateAt: now.Add(day)}, 30 * time.Second},
		"placed, over":                    {Attempt{Placed: true, LateAt: now.Add(day), Status: carrier.StatusBusy}, -1},
		"placed, late before the next":    {Attempt{Placed: true, LateAt: now.Add(time.Minute), Looks: 9}, time.Minute + time.Second},
		"placed, late":                    {Attempt{Placed: true, LateAt: now.Add(-time.Minute), Looks: 9}, time.Hour},
		"placed, without an end":          {Attempt{Placed: true, LateAt: now.Add(-endless - time.Second), Looks: 9}, -1},
	} {
		row.a.Now = now
		got := row.a.again(day)
		if want := now.Add(row.want); row.want >= 0 && !got.Equal(want) || row.want < 0 && !got.IsZero() {
			t.Errorf("%s: %v, want %v", name, got, row.want)
		}
	}
}
