package followup

import "time"

// Limits are the PHONE_FOLLOWUP_* settings in force (rule R17). The daemon that
// started last writes them to the database; every daemon and command reads them there.
type Limits struct {
	Tick        time.Duration // length of a slot
	PerTick     int           // follow-ups of one tenant drained in one slot, fleet-wide
	RetryAfter  time.Duration // how long a line that is not ready is left alone
	MaxLate     time.Duration // later than this after due_at a follow-up is missed
	DialTimeout time.Duration // how long a carrier's answer is awaited
	DialSlots   int           // requests in flight per daemon
	Drainers    int           // drain jobs per tick, spread over the fleet
	Quarantine  time.Duration // after answer_by, before a person may say "it did not ring"
}

// DefaultLimits are the limits of an environment that sets none.
func DefaultLimits() Limits {
	return Limits{
		Tick:        time.Minute,
		PerTick:     2,
		RetryAfter:  time.Hour,
		MaxLate:     24 * time.Hour,
		DialTimeout: 10 * time.Second,
		DialSlots:   64,
		Drainers:    1,
		Quarantine:  15 * time.Minute,
	}
}
