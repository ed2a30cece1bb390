package gates

// approval holds a call that the row or its tenant wants a person to see first.
func approval() Gate {
	return Gate{GateApproval, func(c Case) Verdict {
		if c.NeedsApproval {
			return Hold{Grounds{Code: CodeApprovalRequired}}
		}
		return Pass{}
	}}
}
