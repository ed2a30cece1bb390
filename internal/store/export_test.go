package store

// The claim's statements, for the test that asks how PostgreSQL would run them.
const (
	PairsSQL      = pairsSQL
	CandidatesSQL = candidatesSQL
	ClosesSQL     = closeSQL
	WaitingSQL    = waitingSQL
)
