package drain

import (
	"context"
	"slices"
	"sync"
)

// dialSlots are how many requests may be under way at once. Who comes first has a slot first. The
// zero dialSlots has none.
type dialSlots struct {
	mu    sync.Mutex
	most  int
	taken int
	given int             // how often one was given back
	queue []chan struct{} // closed for whom it is: the slot is theirs
}

// resize says how many there are.
func (s *dialSlots) resize(most int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.most = most
	s.hand()
}

// take waits for a slot; false: ctx has ended, or halt is closed, and there is none. Whoever has one gives it back.
func (s *dialSlots) take(ctx context.Context, halt <-chan struct{}) bool {
	mine := make(chan struct{})
	s.mu.Lock()
	s.queue = append(s.queue, mine)
	s.hand()
	s.mu.Unlock()
	select {
	case <-mine:
		return true
	default:
	}
	select {
	case <-mine:
		return true
	case <-ctx.Done():
	case <-halt:
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	at := slices.Index(s.queue, mine)
	if at < 0 { // it was handed over this very moment
		return true
	}
	s.queue = slices.Delete(s.queue, at, at+1)
	return false
}

// give gives a slot back.
func (s *dialSlots) give() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taken--
	s.given++
	s.hand()
}

// givenBack is how often one was given back, ever.
func (s *dialSlots) givenBack() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.given
}

// hand gives slots that are free to who waits the longest; under mu.
func (s *dialSlots) hand() {
	for s.taken < s.most && len(s.queue) > 0 {
		close(s.queue[0])
		s.queue = s.queue[1:]
		s.taken++
	}
}
