package sequences_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"chasephone/internal/carrier"
)

// company is a telephone company that answers a request when it is told to. It calls with nothing
// else than the attempts' tokens.
type company struct {
	committed func(token string) (bool, error)
	came      chan struct{}

	mu    sync.Mutex
	asked map[string]int                   // requests, by token
	open  map[string]chan<- carrier.Answer // those that wait for an answer
	wrong []string
}

// patience bounds every wait for something that is under way: it never passes where all is well.
const patience = 30 * time.Second

func newCompany(committed func(string) (bool, error)) *company {
	return &company{committed: committed, came: make(chan struct{}, 1000), asked: map[string]int{}, open: map[string]chan<- carrier.Answer{}}
}

func (c *company) Name() string            { return account }
func (c *company) Fits(string) bool        { return true }
func (c *company) CallsPerSecond() float64 { return 0 }

// Place takes a request, and returns once the sequence says what it is answered with.
func (c *company) Place(_ context.Context, call carrier.Call) carrier.Answer {
	is, err := c.committed(call.Token)
	answer := make(chan carrier.Answer, 1)
	c.mu.Lock()
	switch {
	case err != nil:
		c.wrong = append(c.wrong, err.Error())
	case !is:
		c.wrong = append(c.wrong, "a request went out for an attempt that is not committed and open: "+call.Token)
	}
	if c.asked[call.Token]++; c.asked[call.Token] > 1 {
		c.wrong = append(c.wrong, "two requests went out for attempt "+call.Token)
	}
	c.open[call.Token] = answer
	c.mu.Unlock()
	c.came <- struct{}{}
	return <-answer
}

// answer ends a request.
func (c *company) answer(token string, a carrier.Answer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open[token] <- a
	delete(c.open, token)
}

// await waits for n requests.
func (c *company) await(n int) error {
	for range n {
		if !within(c.came) {
			return fmt.Errorf("a request for a committed attempt did not come in %s", patience)
		}
	}
	return nil
}

func (c *company) complaints() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.wrong
}

// within waits for a signal.
func within(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-c:
		return true
	case <-timer.C:
		return false
	}
}

// drop lets go of a request that nobody waits for any more.
func (c *company) drop(token string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if answer, ok := c.open[token]; ok {
		answer <- carrier.Unknown{Stage: carrier.StageAwaiting}
		delete(c.open, token)
	}
}

// requests are the tokens that were ever asked for, in order.
func (c *company) requests() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Sorted(maps.Keys(c.asked))
}
