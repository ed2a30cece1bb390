package followup_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"chasephone/internal/followup"
)

// R4: exactly the greatest lateness is still allowed; one microsecond more is not.
func TestLate(t *testing.T) {
	t.Parallel()
	due := time.Date(2026, 3, 4, 10, 0, 0, 0, time.UTC)
	for _, test := range []struct {
		now  time.Time
		late bool
	}{
		{due, false},
		{due.Add(-time.Hour), false},
		{due.Add(24 * time.Hour), false},
		{due.Add(24*time.Hour + time.Microsecond), true},
	} {
		if got := followup.Late(test.now, due, 24*time.Hour); got != test.late {
			t.Errorf("at %s late is %t", test.now, got)
		}
	}
}

// R1: slots cut time without a gap, whatever their length, before 1970 too.
func TestSlotAt(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		now := time.Unix(rapid.Int64Range(-1e9, 4e9).Draw(t, "s"), rapid.Int64Range(0, 999_999_999).Draw(t, "ns"))
		tick := time.Duration(rapid.Int64Range(1, 3600).Draw(t, "tick")) * time.Second
		slot := followup.SlotAt(now, tick)
		if slot.After(now) || !now.Before(slot.Add(tick)) {
			t.Fatalf("%s is not in the slot that begins at %s", now, slot)
		}
		if again := followup.SlotAt(slot, tick); !again.Equal(slot) {
			t.Fatalf("a slot's start %s is in slot %s", slot, again)
		}
	})
}

// R4, R7: no request begins after send_by, which the greatest lateness bounds.
func TestDeadlines(t *testing.T) {
	t.Parallel()
	limits := followup.DefaultLimits()
	rapid.Check(t, func(t *rapid.T) {
		due := time.Date(2026, 3, 4, 10, 0, 0, 0, time.UTC)
		begin := due.Add(time.Duration(rapid.Int64Range(0, int64(25*time.Hour)).Draw(t, "late")))
		sendBy, answerBy, ok := followup.Deadlines(begin, due, limits)
		if ok == followup.Late(begin, due, limits.MaxLate) {
			t.Fatalf("begin %s: ok is %t", begin, ok)
		}
		if !ok {
			return
		}
		if sendBy.Before(begin) || sendBy.After(due.Add(limits.MaxLate)) || answerBy.Sub(sendBy) != limits.DialTimeout {
			t.Fatalf("begin %s, send_by %s, answer_by %s", begin, sendBy, answerBy)
		}
	})
}

// Every live state says how it is left, and no final one is.
func TestTransitions(t *testing.T) {
	t.Parallel()
	leaves := map[followup.State]int{}
	for _, tr := range followup.Transitions() {
		leaves[tr.From]++
		if tr.From.Final() {
			t.Errorf("%s is final and goes to %s", tr.From, tr.To)
		}
	}
	for _, s := range followup.States() {
		if !s.Final() && leaves[s] == 0 {
			t.Errorf("%s has no way out", s)
		}
	}
}
