package store

// The claim's statements, for the test that asks how PostgreSQL would run them.
const (
	PairsSQL      = pairsSQL
	CandidatesSQL = candidatesSQL
	ClosesSQL     = closeSQL
	WaitedSQL     = waitedSQL
	AheadSQL      = aheadSQL
	NewSQL        = newSQL
	RecordSQL     = recordSQL
	RulingsSQL    = rulingsSQL
	BeginSQL      = beginSQL

	OptOutsSQL     = optOutsSQL
	InCallsSQL     = inCallsSQL
	CallsSQL       = callsSQL
	CalledInSQL    = calledInSQL
	ConsentsSQL    = consentsSQL
	TenantDaySQL   = tenantDaySQL
	FleetMinuteSQL = fleetMinuteSQL
	LineCallsSQL   = lineCallsSQL

	StandsSQL     = standsSQL
	StatusesSQL   = statusesSQL
	JoinedSQL     = joinedSQL
	MessagesSQL   = messagesSQL
	SpansSQL      = spansSQL
	OthersSQL     = othersSQL
	OursSQL       = oursSQL
	LookupsDueSQL = lookupsDueSQL
)

// KeepSQL stores arrivals of Twilio.
func KeepSQL() string { return shapes()[0].keepSQL() }

// ToBridgeSQL reads what is to be bridged of them.
func ToBridgeSQL() string { return shapes()[0].toBridgeSQL() }

// QuietIsOver makes the time pass in which a database that is another than before is looked at.
func (s *Store) QuietIsOver() {
	s.memory.mu.Lock()
	defer s.memory.mu.Unlock()
	s.memory.quietTill = s.memory.quietTill.Add(-quietFor)
}
