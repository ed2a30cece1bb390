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
	CodeOutsideHours      = "outside_hours"       // wait
	CodeTimeZoneUnknown   = "time_zone_unknown"   // hold
	CodeNoCommonHours     = "no_common_hours"     // hold
	CodeHoursOff          = "hours_off"           // pass
	CodeInACall           = "in_a_call"           // wait
	CodeApprovalRequired  = "approval_required"   // hold
	CodeNoWords           = "no_words"            // refuse
	CodeScriptTooLong     = "script_too_long"     // refuse
	CodeUnknownLine       = "unknown_line"        // refuse
	CodeLineNotReady      = "line_not_ready"      // wait
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
		CodeFactsUnavailable, CodeGateFailed, CodeNoNumber, CodeNoLine, CodeCountryNotAllowed, CodeDoNotCall,
		CodeOutsideHours, CodeTimeZoneUnknown, CodeNoCommonHours, CodeHoursOff, CodeInACall, CodeApprovalRequired,
		CodeNoWords, CodeScriptTooLong, CodeUnknownLine, CodeLineNotReady,
	}
	for _, p := range phone.Problems() {
		codes = append(codes, string(p))
	}
	return codes
}

// NeedsZone reports whether a hold with this code is answered by a time zone only: a bare yes
// would ring at whatever hour it was given.
func NeedsZone(code string) bool { return code == CodeTimeZoneUnknown || code == CodeNoCommonHours }
