package drain

import (
	"fmt"
	"strings"

	"chasephone/internal/carrier"
	"chasephone/internal/followup"
	"chasephone/internal/telemetry"
)

// Settle says what follows from a carrier's answer to an attempt. Anything but the four
// known answers is unknown.
func Settle(a Attempt, answer carrier.Answer) Settlement {
	s := Settlement{FollowUp: a.FollowUp, AttemptNo: a.No, Token: a.Token, Tenant: a.Tenant, Line: a.Line}
	switch got := answer.(type) {
	case carrier.Placed:
		s.Outcome, s.To, s.Ledger = AttemptPlaced, followup.CallPlaced, followup.OutcomeCallPlaced
		s.CallID, s.CallStatus = got.CallID, got.Status
		s.OnLine = LineAnswered
		s.Detail = "the carrier took the call"
	case carrier.Refused:
		s.Outcome, s.To, s.Ledger = AttemptRefused, followup.Refused, followup.OutcomeRefused
		s.Reason, s.Code, s.Answer = "carrier_refused", got.Code, masked(got.Text)
		s.OnLine = LineAnswered
		s.Detail = "the carrier refused the call" + quote(s.Code, s.Answer)
	case carrier.NotPlaced:
		s.notPlaced(got)
	case carrier.Unknown:
		s.unknown(got)
	default:
		s.unknown(carrier.Unknown{Stage: carrier.StageAnswered, Text: fmt.Sprintf("no such answer: %T", answer)})
	}
	return s
}

func (s *Settlement) notPlaced(got carrier.NotPlaced) {
	s.Outcome, s.To = AttemptNotPlaced, followup.Due
	s.Code, s.Answer = got.Code, masked(got.Text)
	if got.Blame == carrier.BlameNobody {
		s.Reason = "not_sent"
		s.Detail = fmt.Sprintf("the request was not begun (%s): due again at once", got.Code)
		return
	}
	s.Ledger, s.Wait, s.Reason = followup.OutcomeNotReady, true, "line_not_ready"
	switch got.Blame {
	case carrier.BlameDaemon:
		s.OnLine = LineUnfit
		s.Detail = "no connection to the carrier from this daemon, nothing was sent" + quote("", s.Answer)
	case carrier.BlameAccount:
		s.OnLine = LineAccount
		s.Detail = "the carrier rejects our account or caller number" + quote(s.Code, s.Answer)
	default:
		s.OnLine = LineNotReady
		s.Detail = "the carrier says not now" + quote(s.Code, s.Answer)
	}
}

func (s *Settlement) unknown(got carrier.Unknown) {
	s.Outcome, s.To, s.Ledger = AttemptUncertain, followup.Uncertain, followup.OutcomeUncertain
	s.Reason, s.Stage, s.Code, s.Answer = "answer_unknown", got.Stage, got.Code, masked(got.Text)
	s.OnLine = LineUnknown
	how := map[carrier.Stage]string{
		carrier.StageWriting:  "the request was being written",
		carrier.StageAwaiting: "the request was written and no answer came",
		carrier.StageAnswered: "an answer came that proves nothing",
	}[got.Stage]
	s.Detail = "it may have rung: " + how + quote(s.Code, s.Answer)
}

// masked is a carrier's text without a number: the ledger holds none, and carriers like to
// repeat the one they were asked for.
func masked(text string) string { return telemetry.MaskText(text) }

// quote is what the carrier said, behind what it means.
func quote(code, text string) string {
	said := strings.TrimSpace(code + " " + text)
	if said == "" {
		return ""
	}
	return " (" + said + ")"
}
