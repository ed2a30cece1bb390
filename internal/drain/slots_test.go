package drain

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// However many wait, no more have a slot than there are, and whoever came first has it first; fewer and
// more slots hold at once.
func TestDialSlots(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s dialSlots
		s.resize(2)
		var order []int
		now, most := 0, 0
		var mu sync.Mutex
		count := func(by, i int) {
			mu.Lock()
			defer mu.Unlock()
			if now += by; by > 0 {
				order = append(order, i)
			}
			most = max(most, now)
		}
		for i := range 10 {
			time.Sleep(time.Millisecond) // in the bubble's time: they come one after the other
			go func() {
				if !s.take(t.Context(), nil) {
					t.Error("none was given")
				}
				count(1, i)
				time.Sleep(time.Second)
				count(-1, i)
				s.give()
			}()
		}
		time.Sleep(500 * time.Millisecond)
		s.resize(3)
		time.Sleep(time.Hour)
		mu.Lock()
		defer mu.Unlock()
		if most != 3 || len(order) != 10 || s.givenBack() != 10 {
			t.Errorf("%d at once, %v, %d given back", most, order, s.givenBack())
		}
		for i, n := range order {
			if i != n {
				t.Errorf("not in the order in which they came: %v", order)
				break
			}
		}
	})
}

// Who gives up waiting leaves no slot behind, also where it is handed over that very moment.
func TestDialSlotGivenUp(t *testing.T) {
	t.Parallel()
	for range 200 {
		var s dialSlots
		s.resize(1)
		if !s.take(t.Context(), nil) {
			t.Fatal("there was one")
		}
		ctx, cancel := context.WithCancel(t.Context())
		halt := make(chan struct{})
		took := make(chan bool)
		for _, stop := range []<-chan struct{}{nil, halt} {
			go func() { took <- s.take(ctx, stop) }()
		}
		given := make(chan struct{})
		go func() { s.give(); close(given) }()
		go cancel()
		close(halt)
		for range 2 {
			if <-took {
				s.give()
			}
		}
		<-given
		if !s.take(t.Context(), nil) {
			t.Fatal("the slot is lost")
		}
		if len(s.queue) != 0 {
			t.Fatalf("%d wait", len(s.queue))
		}
	}
}
