package gates

import (
	"cmp"
	"strings"

	"chasephone/internal/phone"
)

// Sentence says a finding in plain English, for people who ask why a call was or was not made.
func (f Finding) Sentence() string { return sentence(f.Verdict) }

// Sentence says the ruling in plain English: the ruling gate's own sentence.
func (r Ruling) Sentence() string { return sentence(r.Verdict) }

func sentence(v Verdict) string {
	g := v.grounds()
	said := Explain(g.Code, g.On)
	if _, passes := v.(Pass); passes && g.On["approved_by"] != "" {
		return "approved by " + g.On["approved_by"] + ": " + said
	}
	return said
}

// Explain says a code in plain English, with what it was judged on where that is given.
func Explain(code string, on map[string]string) string {
	switch code {
	case "":
		switch {
		case on["zone"] != "":
			return "inside calling hours: " + clockSentence(on)
		case on["consent"] != "":
			return "consent is on file" + after(" since ", on["since"]) + after(", from ", on["consent"])
		}
		return "nothing against it"
	case CodeFactsUnavailable:
		return "what this gate needs to know could not be loaded" + after(": ", on["cause"])
	case CodeGateFailed:
		return "this gate failed" + after(": ", on["cause"])
	case CodeNoNumber:
		return "not judged: there is no number"
	case CodeNoLine:
		return "not judged: there is no line"
	case CodeCountryNotAllowed:
		return "calls to this country are not allowed: region " + cmp.Or(on["region"], "unknown") +
			after(", allowed ", on["allowed"])
	case CodeDoNotCall:
		return "do not call: an opt-out" + after(" since ", on["since"]) + after(", from ", on["source"]) + after(", for ", on["scope"])
	case CodeNoConsent:
		return "a rule wants consent, and none is on file" + citation(on) + unanswered(on)
	case CodeOutsideHours:
		return "outside calling hours: " + clockSentence(on)
	case CodeNoRules:
		return noRulesSentence(on) + unanswered(on)
	case CodeTimeZoneUnknown:
		return zoneSentence(on) + unanswered(on)
	case CodeNoCommonHours:
		return "no common calling hours within 8 days" + after(", ", opening(on["window"])) +
			after(", zones this number may be in: ", on["zones"]) + citation(on) + unanswered(on)
	case CodeHoursOff:
		return "calling hours are not checked"
	case CodeTooManyCalls:
		return "as many calls to this number as are allowed" + after(": ", on["cap"]) +
			after(", the oldest of them at ", on["since"]) + citation(on)
	case CodeTooSoon:
		return gapSentence(on) + citation(on)
	case CodeInACall:
		return "another call with this number is under way" + after(": follow-up ", on["follow_up"]) +
			after(", ", on["state"]) + after(" since ", on["since"])
	case CodeCalledIn:
		return "the person has reached us since this call was promised" + contactSentence(on) + unanswered(on)
	case CodeCalledInAgain:
		return "the person has reached us since this call was approved" + contactSentence(on) + unanswered(on)
	case CodeApprovalRequired:
		if on["by"] == byTenant {
			return "a person must approve every call of this tenant" + unanswered(on)
		}
		return "a person must approve this call" + unanswered(on)
	case CodeFirstCall:
		return "a person must approve this tenant's first call to a number" + unanswered(on)
	case CodeApprovalWaived:
		return "the follow-up asks for approval, and its tenant waives it"
	case CodeNoWords:
		return "there is nothing to say: no script, and the line has no URL that speaks"
	case CodeScriptTooLong:
		return "the script is too long for the line's carrier" + after("; its length in characters: ", on["length"])
	case CodeUnknownLine:
		return "there is no line of this name" + after(": ", on["line"])
	case CodeLineNotReady:
		return "the line" + after(" ", on["line"]) + " is not ready: " + causeSentence(on["cause"])
	case CodeLineBusy:
		return "the line" + after(" ", on["line"]) + " is busy: as many calls at once as are allowed" + after(", ", on["at_once"])
	case CodeTenantBudget:
		return "the tenant has used up its calls" + budgetSentence(on)
	case CodeFleetBudget:
		return "the whole fleet has used up its calls" + budgetSentence(on)
	default:
		if s := problemSentence(code); s != "" {
			return s
		}
		return strings.ReplaceAll(code, "_", " ") // of a later version
	}
}

func problemSentence(code string) string {
	for _, p := range phone.Problems() {
		if string(p) == code {
			return p.Sentence()
		}
	}
	return ""
}

func clockSentence(on map[string]string) string {
	s := cmp.Or(on["local"], "some time") + " in " + cmp.Or(on["zone"], "the person's zone") + after(", ", opening(on["window"]))
	if on["zones"] != "" {
		s += ", one of " + on["zones"] + " zones this number may be in"
	}
	return s + citation(on)
}

// opening says a day's hours, or that there are none.
func opening(window string) string {
	if window == "" || strings.HasPrefix(window, "closed") {
		return after("that day ", window)
	}
	return "open " + strings.ReplaceAll(window, "-", "–")
}

// citation is the rule that decided, and for whom it was asked.
func citation(on map[string]string) string {
	if on["rule"] == "" {
		return ""
	}
	s := " (rule: " + on["rule"] + after(", read ", on["dated"])
	if on["place"] != "" {
		s += ", for " + on["place"] + after(", ", on["purpose"])
	}
	return s + ")"
}

func noRulesSentence(on map[string]string) string {
	s := "no rule says when people may be called"
	switch on["place"] {
	case "":
	case noPlace:
		s += " where this number may be"
	default:
		s += " in " + on["place"]
	}
	if on["zone"] != "" {
		s += "; it is " + cmp.Or(on["local"], "some time") + " in " + on["zone"]
	}
	return s
}

func gapSentence(on map[string]string) string {
	s := "too soon after the last call to this number"
	if on["after"] == afterTalk {
		s = "too soon after a call to this number that reached somebody"
	}
	return s + after(", at ", on["since"]) + after("; the gap is ", on["gap"])
}

func contactSentence(on map[string]string) string {
	return after(", at ", on["at"]) + after(", says ", on["source"])
}

func budgetSentence(on map[string]string) string {
	return after(": ", on["limit"]) + after(" in ", on["window"])
}

func zoneSentence(on map[string]string) string {
	switch {
	case on["zone"] != "":
		return "time zone unknown: there is none called “" + on["zone"] + "”"
	case on["zone_from"] == zoneFromRow:
		return "time zone unknown: the follow-up gives an empty one"
	default:
		return "time zone unknown: the number does not tell where its owner is"
	}
}

func causeSentence(cause string) string {
	switch cause {
	case "":
		return "for an unknown reason"
	case CauseNoLine:
		return "the tenant has no default line"
	case CauseStopped:
		return "calls are stopped"
	case CauseCarrierNotConfigured:
		return "this daemon has no credentials for its carrier"
	default:
		return "it is held (" + strings.ReplaceAll(cause, "_", " ") + ")"
	}
}

// unanswered says why an approval that there is does not answer a hold.
func unanswered(on map[string]string) string {
	if on["approval"] == "" || on["approved_by"] != "" {
		return ""
	}
	return "; the approval given " + on["approval"] + after(": another ", on["what"])
}

// after is a value with what leads up to it, or nothing where there is no value.
func after(lead, value string) string {
	if value == "" {
		return ""
	}
	return lead + value
}
