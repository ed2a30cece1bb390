package gates

import "time"

// inACallRetry is how long a call waits while another with the same number is under way, at a
// time: nobody knows how long that one will take.
const inACallRetry = 5 * time.Minute

// inACall keeps two follow-ups from ringing one telephone at once.
func inACall() Gate {
	return Gate{GateInACall, func(c Case) Verdict {
		if !c.judgeable() {
			return Pass{Grounds{Code: CodeNoNumber}}
		}
		other, err := c.InCall.get()
		switch {
		case err != nil:
			return unavailable(c, err)
		case other == nil:
			return Pass{}
		}
		state, until := "dialing", c.Now.Add(inACallRetry)
		if !other.Dialing {
			state = "placed"
			if ends := other.Ends; !ends.IsZero() {
				if !ends.After(c.Now) {
					return Pass{}
				}
				until = earlier(until, ends)
			}
		}
		return Wait{Grounds{CodeInACall, map[string]string{
			"follow_up": other.FollowUp,
			"state":     state,
			"since":     other.Since.UTC().Format(time.RFC3339),
		}}, until}
	}}
}
