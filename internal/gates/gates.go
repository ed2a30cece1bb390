package gates

import (
	"encoding/json"
	"fmt"
	"time"

	"chasephone/internal/rules"
)

// Gate is one reason not to place a call. Its name is in Names.
type Gate struct {
	Name  string
	Judge func(Case) Verdict
}

// Names of the gates, which label metrics and findings.
const (
	GateNumber       = "number"
	GateCountry      = "country"
	GateDoNotCall    = "do_not_call"
	GateConsent      = "consent"
	GateCallingHours = "calling_hours"
	GateCaps         = "caps"
	GateGap          = "gap"
	GateInACall      = "in_a_call"
	GateCalledIn     = "called_in"
	GateApproval     = "approval"
	GateWords        = "words"
	GateLine         = "line"
	GateBudget       = "budget"
)

// Options are what the chain is built with. A limit of 0 is none.
type Options struct {
	Rules    *rules.Set // with none, and hours not off, every call is held for a person
	HoursOff bool       // ring at any hour, as often, and without consent: no rule is asked

	Caps            rules.Caps    // calls to one number, beside those of the rules
	MinGap          time.Duration // between two calls to one number
	CalledInOff     bool          // ring those who have reached us meanwhile, too
	LineCallsAtOnce int
	MaxPerTenantDay int // in any 24 hours
	MaxPerMinute    int // of the whole fleet, in any minute
}

// Chain is every gate, each asked each time. The order decides nothing; it is the order people
// read findings in.
func Chain(o Options) []Gate {
	if o.HoursOff {
		o.Rules = nil
	}
	return []Gate{
		number(),
		country(),
		doNotCall(),
		consent(o.Rules),
		callingHours(o.Rules, o.HoursOff),
		caps(o.Rules, o.Caps),
		gap(o.Rules, o.MinGap),
		inACall(),
		calledIn(o.CalledInOff),
		approval(),
		words(),
		line(o.LineCallsAtOnce),
		budget(o.MaxPerTenantDay, o.MaxPerMinute),
	}
}

// Names lists the gates' names: the closed set of a metric's label.
func Names() []string {
	return []string{
		GateNumber, GateCountry, GateDoNotCall, GateConsent, GateCallingHours, GateCaps, GateGap,
		GateInACall, GateCalledIn, GateApproval, GateWords, GateLine, GateBudget,
	}
}

// Kinds of a verdict, by strictness.
const (
	KindPass   = "pass"
	KindWait   = "wait"
	KindHold   = "hold"
	KindRefuse = "refuse"
)

// Kinds lists the kinds: the closed set of a metric's label.
func Kinds() []string { return []string{KindPass, KindWait, KindHold, KindRefuse} }

// Finding is what one gate said of one call. The ledger keeps it, see AppendLedger.
type Finding struct {
	Gate    string
	Verdict Verdict
}

// Kind is pass, wait, hold or refuse.
func (f Finding) Kind() string { return Kinds()[f.Verdict.strictness()] }

// Code is the verdict's code, "" for a plain pass.
func (f Finding) Code() string { return f.Verdict.grounds().Code }

// On is what the verdict was judged on. It is not the caller's to change.
func (f Finding) On() map[string]string { return f.Verdict.grounds().On }

// Until is when a wait ends, zero for other kinds.
func (f Finding) Until() time.Time {
	if w, waits := f.Verdict.(Wait); waits {
		return w.Until
	}
	return time.Time{}
}

type findingJSON struct {
	Gate  string            `json:"gate"`
	Kind  string            `json:"finding"`
	Code  string            `json:"code,omitempty"`
	Until time.Time         `json:"until,omitzero"`
	On    map[string]string `json:"on,omitempty"`
}

// MarshalJSON writes what is shown: {"gate":"in_a_call","finding":"wait","code":…,"until":…,"on":{…}}.
func (f Finding) MarshalJSON() ([]byte, error) {
	return json.Marshal(findingJSON{f.Gate, f.Kind(), f.Code(), f.Until().UTC(), f.On()})
}

// UnmarshalJSON reads what MarshalJSON and AppendLedger wrote.
func (f *Finding) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		*f = Finding{Verdict: Pass{}}
		return json.Unmarshal(b, &f.Gate)
	}
	var j findingJSON
	if err := json.Unmarshal(b, &j); err != nil {
		return fmt.Errorf("read a finding: %w", err)
	}
	g := Grounds{Code: j.Code, On: j.On}
	var v Verdict
	switch j.Kind {
	case KindPass:
		v = Pass{g}
	case KindWait:
		v = Wait{g, j.Until}
	case KindHold:
		v = Hold{g}
	case KindRefuse:
		v = Refuse{g}
	default:
		return fmt.Errorf("read a finding: kind %q is none of %v", j.Kind, Kinds())
	}
	*f = Finding{j.Gate, v}
	return nil
}
