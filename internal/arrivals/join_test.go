package arrivals

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"chasephone/internal/carrier"
	"chasephone/internal/phone"
)

// anyMessage is what some arrival could say of one call.
func anyMessage(t *rapid.T, label string) Message {
	numbers := []string{"", "+14155550123", "+14155550124"}
	epoch := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	k := Kept{Tenant: "t", Account: "twilio", ReceivedAt: epoch.Add(time.Duration(rapid.IntRange(0, 50).Draw(t, label+" received")) * time.Second)}
	r := carrier.Report{
		ID: "CA1", Kind: carrier.KindCall,
		Direction: rapid.SampledFrom([]string{carrier.DirectionOut, carrier.DirectionIn}).Draw(t, label+" direction"),
		Status:    rapid.SampledFrom(append(carrier.Statuses(), "")).Draw(t, label+" status"),
		Token:     rapid.SampledFrom([]string{"", "a"}).Draw(t, label+" token"),
		Us:        phone.FromE164(rapid.SampledFrom(numbers).Draw(t, label+" us")),
		Them:      phone.FromE164(rapid.SampledFrom(numbers).Draw(t, label+" them")),
		Seconds:   rapid.IntRange(0, 3).Draw(t, label+" seconds"),
		Text:      rapid.SampledFrom([]string{"", "x", "y"}).Draw(t, label+" text"),
	}
	if rapid.Bool().Draw(t, label+" timed") {
		r.At = epoch.Add(time.Duration(rapid.IntRange(0, 50).Draw(t, label+" at")) * time.Second)
	}
	return message(k, r)
}

// R12: late, early, doubled and out-of-order arrivals all end the same.
func TestJoinDoesNotMindOrderOrRepetition(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := anyMessage(t, "a"), anyMessage(t, "b"), anyMessage(t, "c")
		same := func(law string, x, y Message) {
			if !reflect.DeepEqual(x, y) {
				t.Fatalf("%s:\n%+v\n%+v", law, x, y)
			}
		}
		same("commutative", Join(a, b), Join(b, a))
		same("associative", Join(Join(a, b), c), Join(a, Join(b, c)))
		same("idempotent", Join(a, a), a)
		same("said again later", Join(Join(a, b), a), Join(a, b))
	})
}

// R12: a final status never moves back, and two of them are a conflict.
func TestJoinOfStatuses(t *testing.T) {
	t.Parallel()
	status := func(s carrier.Status) Message {
		return message(Kept{}, carrier.Report{ID: "x", Kind: carrier.KindCall, Status: s})
	}
	for _, row := range []struct {
		a, b, want carrier.Status
		conflict   bool
		dialed     bool
	}{
		{carrier.StatusRinging, carrier.StatusQueued, carrier.StatusRinging, false, true},
		{carrier.StatusCompleted, carrier.StatusInProgress, carrier.StatusCompleted, false, true},
		{carrier.StatusBusy, carrier.StatusRinging, carrier.StatusBusy, false, true},
		{carrier.StatusFailed, carrier.StatusFailed, carrier.StatusFailed, false, false},
		{carrier.StatusFailed, carrier.StatusInitiated, carrier.StatusFailed, false, true},
		{carrier.StatusCanceled, carrier.StatusFailed, carrier.StatusFailed, true, false},
		{carrier.StatusCompleted, carrier.StatusNoAnswer, carrier.StatusCompleted, true, true},
		{"", carrier.StatusQueued, carrier.StatusQueued, false, true},
		{"hovering", "", "", false, true},
	} {
		a := row.a
		if a.Rank() == 0 {
			a = "" // what no reader lets through
		}
		m := Join(status(a), status(row.b))
		if m.Status != row.want || m.Conflict() != row.conflict || (len(m.Dialed) > 0) != row.dialed {
			t.Errorf("%s and %s: %s, conflict %v, dialed %v", row.a, row.b, m.Status, m.Conflict(), m.Dialed)
		}
	}
}

// One arrival that cannot be read costs its neighbours nothing (invariant 10).
func TestFoldGoesAroundWhatCannotBeRead(t *testing.T) {
	t.Parallel()
	read := func(d carrier.Delivery) (carrier.Report, error) {
		switch string(d.Body) {
		case "bad":
			return carrier.Report{}, fmt.Errorf("broken")
		case "panic":
			panic("no such field")
		case "news":
			return carrier.Report{}, nil
		}
		return carrier.Report{ID: string(d.Body), Kind: carrier.KindCall, Direction: carrier.DirectionOut, Status: carrier.StatusQueued}, nil
	}
	set := []Kept{
		{ID: 1, Tenant: "t", Body: []byte("bad")},
		{ID: 2, Tenant: "t", Body: []byte("panic")},
		{ID: 3, Tenant: "t", Body: []byte("news")},
		{ID: 4, Body: []byte("foreign")},
		{ID: 5, Tenant: "t", Body: []byte("CA1")},
		{ID: 6, Tenant: "t", Body: []byte("CA1")},
		{ID: 7, Tenant: "u", Body: []byte("CA1")},
	}
	f := Fold(read, set)
	if len(f.Messages) != 2 || len(f.Problems) != 4 {
		t.Errorf("%+v", f)
	}
	for id := int64(1); id <= 4; id++ {
		if f.Problems[id] == "" {
			t.Errorf("arrival %d has no problem", id)
		}
	}
}
