package store

// The claim's statements, for the test that asks how PostgreSQL would run them.
const (
	PairsSQL      = pairsSQL
	CandidatesSQL = candidatesSQL
	ClosesSQL     = closeSQL
	WaitingSQL    = waitingSQL

	OptOutsSQL     = optOutsSQL
	InCallsSQL     = inCallsSQL
	CallsSQL       = callsSQL
	CalledInSQL    = calledInSQL
	ConsentsSQL    = consentsSQL
	TenantDaySQL   = tenantDaySQL
	FleetMinuteSQL = fleetMinuteSQL
	LineCallsSQL   = lineCallsSQL
)
