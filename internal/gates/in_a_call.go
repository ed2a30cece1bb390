package gates

import "time"

// inACallRetry is how long a call waits while another with the same number is under way.
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
		state := "placed"
		if other.Dialing {
			state = "dialing"
		}
		return Wait{Grounds{CodeInACall, map[string]string{
			"follow_up": other.FollowUp,
			"state":     state,
			"since":     other.Since.UTC().Format(time.RFC3339),
		}}, c.Now.Add(inACallRetry)}
	}}
}
