package twilio

import (
	"context"
	"encoding/base64"
	"net/url"
	"strings"

	"chasephone/internal/carrier"
)

const formType = "application/x-www-form-urlencoded"

// Codes of answers that are ours: such a call would never be one, so no request is made.
const (
	codeNoNumber       = "number_missing"
	codeNoCallerNumber = "caller_number_missing"
	codeNoWords        = "script_missing"
	codeScriptTooLong  = "script_too_long"
	codeBadExtension   = "extension_invalid"
)

// Name is "twilio".
func (a *Carrier) Name() string { return Name }

// CallsPerSecond is how fast Twilio takes a line's calls; 0 is no pacing.
func (a *Carrier) CallsPerSecond() float64 { return a.perSecond }

// Place asks Twilio once to ring call.To, and says what is known then. ctx's deadline is how long the answer is awaited; call.SendBy bounds the beginning.
func (a *Carrier) Place(ctx context.Context, call carrier.Call) carrier.Answer {
	form, answer := a.form(call)
	if answer != nil {
		return answer
	}
	return a.transport.Post(ctx, carrier.Request{
		URL:           a.calls + ending,
		Authorization: a.authorization,
		ContentType:   formType,
		Body:          []byte(form.Encode()),
		SendBy:        call.SendBy,
	}, classify)
}

// form is the create call's parameters. Timeout stays Twilio's default of 60 s.
func (a *Carrier) form(call carrier.Call) (url.Values, carrier.Answer) {
	switch {
	case call.To.IsZero():
		return nil, carrier.Refused{Code: codeNoNumber, Text: "there is no number to call"}
	case call.From.IsZero():
		return nil, carrier.NotPlaced{Blame: carrier.BlameAccount, Code: codeNoCallerNumber, Text: "the line has no caller number"}
	}
	form := url.Values{"To": {call.To.E164()}, "From": {call.From.E164()}}
	switch {
	case call.URL != "":
		form.Set("Url", call.URL)
	case strings.TrimSpace(call.Script) == "":
		return nil, carrier.Refused{Code: codeNoWords, Text: "there is nothing to say"}
	case !Fits(call.Script):
		return nil, carrier.Refused{Code: codeScriptTooLong, Text: "the script does not fit the 4000 characters Twilio takes"}
	default:
		form.Set("Twiml", twiml(call.Script))
	}
	if call.Extension != "" {
		digits, ok := sendDigits(call.Extension)
		if !ok {
			return nil, carrier.Refused{Code: codeBadExtension, Text: "the extension cannot be sent as keys"}
		}
		form.Set("SendDigits", digits)
	}
	if a.callback != "" {
		// The token in the path makes a signed webhook Twilio's own word about this attempt.
		form.Set("StatusCallback", a.callback+url.PathEscape(call.Token))
		form.Set("StatusCallbackMethod", "POST")
		form["StatusCallbackEvent"] = []string{"initiated", "ringing", "answered", "completed"} // repeated, not joined
	}
	return form, nil
}

// sendDigits is what Twilio plays once the call is answered: two seconds of pause ("w" is
// half a second) for the switchboard to listen, then the extension. Twilio takes 32 keys.
func sendDigits(extension string) (string, bool) {
	const pause, longest = "wwww", 32
	if len(pause)+len(extension) > longest || strings.Trim(extension, "w") == "" {
		return "", false
	}
	for _, key := range extension {
		if !strings.ContainsRune("0123456789*#w", key) {
			return "", false
		}
	}
	return pause + extension, true
}

func basicAuth(user, password string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))
}
