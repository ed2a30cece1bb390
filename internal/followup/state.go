// Package followup holds the nouns: a follow-up, its states and what may follow what, an
// attempt, a slot, lateness. It decides nothing about a particular call (the gates do) and
// touches neither database nor network.
//
// What is authoritative: the table in Transitions. The checks in the database and the
// diagram in the documentation say the same, and a test compares them.
package followup

// State is where a follow-up stands.
type State string

// The states. CallPlaced, Refused, Missed and Cancelled are final.
const (
	Due              State = "due"
	AwaitingApproval State = "awaiting_approval"
	Dialing          State = "dialing"
	Uncertain        State = "uncertain"
	CallPlaced       State = "call_placed"
	Refused          State = "refused"
	Missed           State = "missed"
	Cancelled        State = "cancelled"
)

// States lists every state, those that are not final first.
func States() []State {
	return []State{Due, AwaitingApproval, Dialing, Uncertain, CallPlaced, Refused, Missed, Cancelled}
}

// Final reports whether nothing follows s.
func (s State) Final() bool {
	switch s {
	case CallPlaced, Refused, Missed, Cancelled:
		return true
	}
	return false
}

// Outcome is what is counted and told to the integrator (rule R6).
type Outcome string

// The outcomes. NotReady is the only one after which the follow-up is due again.
const (
	OutcomeCallPlaced       Outcome = "call_placed"
	OutcomeAwaitingApproval Outcome = "awaiting_approval"
	OutcomeRefused          Outcome = "refused"
	OutcomeNotReady         Outcome = "not_ready"
	OutcomeUncertain        Outcome = "uncertain"
	OutcomeMissed           Outcome = "missed"
	OutcomeCancelled        Outcome = "cancelled"
)

// Outcomes lists every outcome: the closed label set of chasephone_outcomes_total.
func Outcomes() []Outcome {
	return []Outcome{
		OutcomeCallPlaced, OutcomeAwaitingApproval, OutcomeRefused, OutcomeNotReady,
		OutcomeUncertain, OutcomeMissed, OutcomeCancelled,
	}
}

// Transition is one change of state that may happen, and what makes it happen.
type Transition struct {
	From, To State
	When     string
}

// Transitions is the whole life of a follow-up. Whatever is not listed cannot happen: the
// database refuses it.
func Transitions() []Transition {
	return []Transition{
		{Due, Dialing, "every gate passes: an attempt is committed"},
		{Due, AwaitingApproval, "a gate holds"},
		{Due, Refused, "a gate refuses"},
		{Due, Missed, "more than the greatest lateness has gone by"},
		{Due, Cancelled, "a person cancels"},
		{Due, CallPlaced, "evidence that it rang, after a person said it did not"},
		{AwaitingApproval, Due, "a person approves"},
		{AwaitingApproval, Refused, "a person declines"},
		{AwaitingApproval, Missed, "more than the greatest lateness has gone by"},
		{AwaitingApproval, Cancelled, "a person cancels"},
		{Dialing, CallPlaced, "the carrier took the call"},
		{Dialing, Refused, "the carrier's documented refusal"},
		{Dialing, Due, "proof that no call was placed"},
		{Dialing, Uncertain, "no proof either way"},
		{Uncertain, CallPlaced, "the carrier's evidence, or a person: it rang"},
		{Uncertain, Due, "a person: it did not ring"},
		{Uncertain, Missed, "a person: it did not ring, and it is too late by now"},
		{Uncertain, Refused, "a person: it did not ring, for the fifth time"},
		{Uncertain, Cancelled, "a person: it did not ring, and need not"},
	}
}
