package sim

import (
	"slices"
	"time"
)

// event is one status webhook: what happened, and the call's status then.
type event struct {
	name   string // as StatusCallbackEvent has it
	status string
	number int // SequenceNumber
	at     time.Time
}

// begin starts a call's life: queued, initiated, ringing, in-progress, and its end. When
// its webhooks come early, the first two are delivered before begin returns.
func (s *Server) begin(c *call) {
	s.remember(c)
	steps := c.steps()
	if c.rule.Webhooks == Early {
		for len(steps) > 0 && steps[0].number < 2 && steps[0].name != "completed" {
			s.step(c, steps[0])
			steps = steps[1:]
		}
	}
	s.spawn(func() { s.progress(c, steps) })
}

// steps are the events of a call that nobody interrupts.
func (c *call) steps() []event {
	end := c.rule.Final
	switch end {
	case "":
		end = "completed"
	case "queued":
		return nil
	}
	steps := []event{{name: "initiated", status: "initiated"}}
	if end != "failed" {
		steps = append(steps, event{name: "ringing", status: "ringing"})
	}
	if finals[end] {
		steps = append(steps, event{name: "answered", status: "in-progress"})
	}
	steps = append(steps, event{name: "completed", status: end})
	for i := range steps {
		steps[i].number = i
	}
	return steps
}

// progress lives through steps, one per status delay. A call that is hung up ends at once,
// with a webhook; one whose Server is closed just stops.
func (s *Server) progress(c *call, steps []event) {
	var past []event
	for over := false; !over; {
		next := event{name: "completed", number: len(past)} // of a call that only a person ends
		var due <-chan time.Time
		if len(steps) > 0 {
			next, steps = steps[0], steps[1:]
			due = time.After(s.options.StatusDelay)
		}
		select {
		case <-due:
		case next.status = <-c.hangUp:
			next.name = "completed"
		case <-s.alive.Done():
			return
		}
		past = append(past, s.step(c, next))
		over = next.name == "completed"
	}
	if c.rule.Webhooks == Reversed {
		for _, e := range slices.Backward(past) {
			s.deliver(c, e)
		}
	}
}

// step makes e so, and delivers it now, unless it is to come at another time.
func (s *Server) step(c *call, e event) event {
	e.at = time.Now()
	if isFinal(e.status) {
		e.status = s.end(c, e.status)
	} else {
		s.move(c, e)
	}
	switch c.rule.Webhooks {
	case Reversed, Silent:
	case Late:
		s.spawn(func() {
			if s.sleep(nil, 10*s.options.StatusDelay) {
				s.deliver(c, e)
			}
		})
	case Doubled:
		s.deliver(c, e)
		s.deliver(c, e)
	default:
		s.deliver(c, e)
	}
	return e
}

// move gives the call the status of e, unless it has just been hung up.
func (s *Server) move(c *call, e event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if isFinal(c.status) {
		return
	}
	c.status, c.updated = e.status, e.at
	if c.started.IsZero() {
		c.started = e.at
	}
}

// end gives the call its last status, and says which that is: the first end stays.
func (s *Server) end(c *call, status string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if isFinal(c.status) {
		return c.status
	}
	c.ended = time.Now()
	if c.started.IsZero() {
		c.started = c.ended
	}
	c.status, c.updated = status, c.ended
	return status
}
