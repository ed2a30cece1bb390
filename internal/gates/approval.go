package gates

// Who wants a person to see a call first, under "by".
const (
	byRow    = "row"
	byTenant = "tenant"
)

// approval holds a call that the row or its tenant wants a person to see first.
func approval() Gate {
	return Gate{GateApproval, func(c Case) Verdict {
		switch c.Policy {
		case PolicyNever:
			if c.NeedsApproval {
				return Pass{Grounds{Code: CodeApprovalWaived}}
			}
			return Pass{}
		case "", PolicyRow, PolicyFirstCall:
			if c.NeedsApproval {
				return Hold{Grounds{CodeApprovalRequired, map[string]string{"by": byRow}}}
			}
			if c.Policy == PolicyFirstCall {
				return firstCall(&c)
			}
			return Pass{}
		default: // PolicyAlways, and a word that nobody knows
			return Hold{Grounds{CodeApprovalRequired, map[string]string{"by": byTenant}}}
		}
	}}
}

func firstCall(c *Case) Verdict {
	if !c.judgeable() {
		return Pass{Grounds{Code: CodeNoNumber}}
	}
	calls, err := c.Calls.get()
	switch {
	case err != nil:
		return unavailable(*c, err)
	case len(calls.At) == 0:
		return Hold{Grounds{CodeFirstCall, map[string]string{"by": byTenant}}}
	}
	return Pass{}
}
