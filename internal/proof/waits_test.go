package proof_test

import "time"

// What must be waited for before time may be passed in the database: that nothing of a machine can
// reach the company by an instant of before.

// handshake is the machine's own look at the company's certificate, before it writes its request.
func (m *machine) handshake() error {
	m.ask(1)
	defer m.ask(-1)
	return m.reach(nil, "dial/handshake")
}

func (m *machine) ask(n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asking += n
}

// landed notes that the company has the request of an attempt, or that none comes: "".
func (m *machine) landed(token string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.open--
	delete(m.sends, token)
}

func (m *machine) claims(n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.claim += n
}

// sendsNoMore waits, while the machine stands still, until none of its requests can be on its way
// or be sent in time any more: its clock goes on, and that is waited for.
func (m *machine) sendsNoMore() {
	began := time.Now()
	for {
		m.mu.Lock()
		var last time.Time
		if m.claim > 0 { // what it claims has a clock that was read by now
			last = began.Add(m.armed.hurry)
		}
		for _, by := range m.sends {
			if by.After(last) {
				last = by
			}
		}
		flying := m.open > m.asking
		m.mu.Unlock()
		left := time.Until(last)
		if left < 0 && !flying {
			return
		}
		time.Sleep(max(left, time.Millisecond))
	}
}

// quiet waits until the company has, or will never have, what the machine sent.
func (m *machine) quiet() {
	for {
		m.mu.Lock()
		open := m.open
		m.mu.Unlock()
		if open == 0 {
			return
		}
		time.Sleep(100 * time.Microsecond)
	}
}

// inTurn has an answer come behind the one that a combination is about, so that what is recorded
// first is always the same; unless something has gone wrong already.
func (m *machine) inTurn() {
	for m.w.watched.Load() != nil && m.store.awaits(*m.w.watched.Load()) {
		m.mu.Lock()
		over := m.dead || m.fired
		m.mu.Unlock()
		if over {
			return
		}
		time.Sleep(500 * time.Microsecond)
	}
}

func (m *machine) standsStill() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.gate != nil
}

// answers has a machine do something, and waits for it for as long as the machine does anything at all.
func (m *machine) answers(do func()) bool {
	done := make(chan struct{})
	go func() {
		defer close(done)
		do()
	}()
	select {
	case <-done:
		return true
	case <-m.died:
	case <-m.still:
	}
	return false
}
