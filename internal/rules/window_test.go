package rules

import (
	"testing"
	"time"
)

func TestWindows(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{
		"", "08:00", "08:00-", "-21:00", "08:00-08:00", "00:00-00:00", "24:00-24:00", "21:00-08:00", "08:00-24:01",
		"25:00-26:00", "8-21", "08:00-21:60", "08:00–21:00", "08:00-21:00-22:00", "always", "08:00:30-21:00", "+8:00-21:00",
	} {
		if w, err := ParseWindow(bad); err == nil {
			t.Errorf("%q is the window %s", bad, w)
		}
	}
	for _, good := range []string{"08:00-21:00", "00:00-24:00", "09:30-20:15", "00:00-00:01", "23:59-24:00"} {
		if w, err := ParseWindow(good); err != nil || w.String() != good {
			t.Errorf("%q is %s, %v", good, w, err)
		}
	}
	for _, bad := range [][2]time.Duration{{0, 0}, {-time.Hour, time.Hour}, {time.Hour, 25 * time.Hour}, {time.Second, time.Hour}} {
		if w, err := NewWindow(bad[0], bad[1]); err == nil {
			t.Errorf("%v is the window %s", bad, w)
		}
	}
	if w := (Window{}); w.contains(0) {
		t.Error("the zero window is open")
	}
}
