package carrier

import (
	"context"
	"testing"
	"time"
)

func TestPacerTurns(t *testing.T) {
	t.Parallel()
	start := time.Now()
	by := start.Add(3 * time.Second)
	p := NewPacer(1)
	for i, step := range []struct {
		now  time.Duration // since start
		wait time.Duration
		ok   bool
	}{
		{0, 0, true},
		{0, time.Second, true},
		{500 * time.Millisecond, 1500 * time.Millisecond, true},
		{time.Second, 0, false}, // its turn would be at send_by
		{time.Second, 0, false}, // and the one before took none
		{2999 * time.Millisecond, 0, false},
	} {
		wait, ok := p.turn(start.Add(step.now), by)
		if wait != step.wait || ok != step.ok {
			t.Errorf("step %d: %v, %v; want %v, %v", i, wait, ok, step.wait, step.ok)
		}
	}
	if wait, ok := p.turn(start.Add(time.Minute), start.Add(time.Hour)); wait != 0 || !ok {
		t.Errorf("after a pause: %v, %v", wait, ok) // no credit was saved up, no debt either
	}
}

func TestPacerWait(t *testing.T) {
	t.Parallel()
	p := NewPacer(20)
	start := time.Now()
	for range 3 {
		if answer := p.Wait(t.Context(), start.Add(time.Minute)); answer != nil {
			t.Fatalf("answer %#v", answer)
		}
	}
	if took := time.Since(start); took < 100*time.Millisecond {
		t.Errorf("three calls at 20 a second took %v", took)
	}
}

func TestPacerGivesUp(t *testing.T) {
	t.Parallel()
	p := NewPacer(0.001)
	if answer := p.Wait(t.Context(), time.Now().Add(time.Minute)); answer != nil {
		t.Fatalf("first: %#v", answer)
	}
	if got, ok := p.Wait(t.Context(), time.Now().Add(time.Minute)).(NotPlaced); !ok || got.Code != CodeSendByPassed || got.Blame != BlameNobody {
		t.Errorf("too late a turn: %#v", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(20*time.Millisecond, cancel)
	if got, ok := p.Wait(ctx, time.Now().Add(time.Hour)).(NotPlaced); !ok || got.Code != CodeShutDown {
		t.Errorf("cancelled: %#v", got)
	}
}

func TestNoPacing(t *testing.T) {
	t.Parallel()
	p := NewPacer(0)
	for range 1000 {
		if answer := p.Wait(t.Context(), time.Now().Add(time.Minute)); answer != nil {
			t.Fatalf("answer %#v", answer)
		}
	}
}
