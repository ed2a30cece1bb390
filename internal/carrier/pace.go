package carrier

import (
	"context"
	"sync"
	"time"
)

// Pacer spaces the calls of one account, so that the carrier rings them when it is asked
// instead of queueing them, up to a day. It knows only this process's calls.
type Pacer struct {
	gap time.Duration

	mu   sync.Mutex
	next time.Time // the first instant that is free
}

// NewPacer allows perSecond calls a second, evenly spaced; 0 or less is no pacing.
func NewPacer(perSecond float64) *Pacer {
	p := &Pacer{}
	if perSecond > 0 {
		p.gap = time.Duration(min(float64(time.Second)/perSecond, float64(24*time.Hour)))
	}
	return p
}

// Wait returns nil when the call's turn has come, and otherwise a NotPlaced that is nobody's
// fault: at once, and without taking a turn, when the turn would not come before sendBy, and
// when ctx ends while waiting for it.
func (p *Pacer) Wait(ctx context.Context, sendBy time.Time) Answer {
	if answer := tooLate(ctx, sendBy); answer != nil {
		return answer
	}
	wait, ok := p.turn(time.Now(), sendBy)
	if !ok {
		return NotPlaced{Blame: BlameNobody, Code: CodeSendByPassed, Text: "its turn among the line's calls comes too late"}
	}
	if wait <= 0 {
		return nil
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	return tooLate(ctx, sendBy)
}

// turn takes the next free instant before sendBy and says how far it is.
func (p *Pacer) turn(now, sendBy time.Time) (time.Duration, bool) {
	if p.gap == 0 {
		return 0, true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	at := now
	if p.next.After(now) {
		at = p.next
	}
	if !at.Before(sendBy) {
		return 0, false
	}
	p.next = at.Add(p.gap)
	return at.Sub(now), true
}
