package gates

import "chasephone/internal/phone"

// Codes of findings. They are kept in the ledger and read by others: a code never changes its
// meaning. The number gate's codes are the phone package's problems.
const (
	CodeFactsUnavailable  = "facts_unavailable"   // wait: what a gate needs could not be loaded
	CodeGateFailed        = "gate_failed"         // wait: a gate broke
	CodeNoNumber          = "no_number_to_judge"  // pass: the number gate refuses already
	CodeNoLine            = "no_line_to_judge"    // pass: the line gate speaks already
	CodeCountryNotAllowed = "country_not_allowed" // refuse
	CodeDoNotCall         = "do_not_call"         // refuse
	CodeNoConsent         = "no_consent"          // hold
	CodeOutsideHours      = "outside_hours"       // wait
	CodeNoRules           = "no_rules"            // hold: nobody has read up when this place may be called
	CodeTimeZoneUnknown   = "time_zone_unknown"   // hold
	CodeNoCommonHours     = "no_common_hours"     // hold
	CodeHoursOff          = "hours_off"           // pass
	CodeTooManyCalls      = "too_many_calls"      // wait: a cap
	CodeTooSoon           = "too_soon"            // wait: a gap
	CodeInACall           = "in_a_call"           // wait
	CodeCalledIn          = "called_in"           // hold
	CodeCalledInAgain     = "called_in_again"     // hold: since a person answered CodeCalledIn
	CodeApprovalRequired  = "approval_required"   // hold
	CodeFirstCall         = "first_call"          // hold: the tenant wants to see the first call to a number
	CodeApprovalWaived    = "approval_waived"     // pass: the row asks for approval, its tenant never does
	CodeNoWords           = "no_words"            // refuse
	CodeScriptTooLong     = "script_too_long"     // refuse
	CodeUnknownLine       = "unknown_line"        // refuse
	CodeLineNotReady      = "line_not_ready"      // wait
	CodeLineBusy          = "line_busy"           // wait: at its limit of calls at once
	CodeTenantBudget      = "tenant_budget"       // wait: calls of the tenant in a day
	CodeFleetBudget       = "fleet_budget"        // wait: calls of the fleet in a minute
)

// Causes of CodeLineNotReady, under "cause". The code of a line's hold is another.
const (
	CauseNoLine               = "no_line"
	CauseStopped              = "stopped"
	CauseCarrierNotConfigured = "carrier_not_configured"
)

// Codes lists every code a finding can have, but for "".
func Codes() []string {
	codes := []string{
		CodeFactsUnavailable, CodeGateFailed, CodeNoNumber, CodeNoLine, CodeCountryNotAllowed, CodeDoNotCall, CodeNoConsent,
		CodeOutsideHours, CodeNoRules, CodeTimeZoneUnknown, CodeNoCommonHours, CodeHoursOff, CodeTooManyCalls, CodeTooSoon,
		CodeInACall, CodeCalledIn, CodeCalledInAgain, CodeApprovalRequired, CodeFirstCall, CodeApprovalWaived,
		CodeNoWords, CodeScriptTooLong, CodeUnknownLine, CodeLineNotReady, CodeLineBusy, CodeTenantBudget, CodeFleetBudget,
	}
	for _, p := range phone.Problems() {
		codes = append(codes, string(p))
	}
	return codes
}

// NeedsZone reports whether a hold with this code is answered by a time zone only: a bare yes
// would ring at whatever hour it was given.
func NeedsZone(code string) bool { return code == CodeTimeZoneUnknown || code == CodeNoCommonHours }
