package drain

import (
	"slices"
	"sync"
)

// Carriers are the accounts that this process can call with, by name. More may come while it
// runs: a line can name an account whose credentials have been in the environment all along.
// It is safe for concurrent use; the zero Carriers has none.
type Carriers struct {
	mu     sync.RWMutex
	byName map[string]Carrier
	names  []string
}

// NewCarriers has those carriers, by their accounts' names.
func NewCarriers(all map[string]Carrier) *Carriers {
	c := &Carriers{}
	for name, one := range all {
		c.Put(name, one)
	}
	return c
}

// Put adds an account, or replaces it.
func (c *Carriers) Put(account string, one Carrier) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byName == nil {
		c.byName = map[string]Carrier{}
	}
	if _, is := c.byName[account]; !is {
		c.names = append(slices.Clone(c.names), account)
	}
	c.byName[account] = one
}

// Get is the account of that name.
func (c *Carriers) Get(account string) (Carrier, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	one, ok := c.byName[account]
	return one, ok
}

// Names lists the accounts; never nil.
func (c *Carriers) Names() []string {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return append([]string{}, c.names...)
}
