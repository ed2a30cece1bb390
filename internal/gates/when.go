package gates

import "time"

// When is the first instant from c.Now on, and not after end, at which the gates no longer say
// wait, as far as is known now, and what they say then: pass, hold or refuse. ok is false where
// they say wait to the end; the ruling is then that of now. What could not be loaded is no
// nearer at a later instant of the same case, so it waits to the end too.
//
// Each step goes to the end of the longest wait. The gate that asked for it would ask for it at
// every instant before, so none is missed.
func When(gs []Gate, c Case, end time.Time) (at time.Time, r Ruling, ok bool) {
	now, _ := Judge(gs, c)
	for r = now; r.Kind() == KindWait; r, _ = Judge(gs, c) {
		lost := r.Code == CodeFactsUnavailable || r.Code == CodeGateFailed
		if lost || !r.Until.After(c.Now) || r.Until.After(end) {
			return time.Time{}, now, false
		}
		c.Now = r.Until
		if other := c.InCall.Value; other != nil && other.Dialing { // by then it has its answer
			placed := *other
			placed.Dialing = false
			c.InCall.Value = &placed
		}
	}
	return c.Now, r, true
}
