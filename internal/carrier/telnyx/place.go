package telnyx

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strings"
	"time"
	"unicode"
	"unicode/utf16"

	"chasephone/internal/carrier"
)

const jsonType = "application/json"

// Codes of answers that are ours: such a call would never be one, so no request is made.
const (
	codeNoNumber       = "number_missing"
	codeNoCallerNumber = "caller_number_missing"
	codeNoWords        = "script_missing"
	codeScriptTooLong  = "script_too_long"
	codeExtension      = "extension_unsupported"
	codeCannotSpeak    = "webhooks_missing"
)

// longest is how many characters one speak command takes.
const longest = 3000

// Name is "telnyx".
func (a *Carrier) Name() string { return Name }

// CallsPerSecond is how fast Telnyx takes a line's calls; 0 is no pacing.
func (a *Carrier) CallsPerSecond() float64 { return a.perSecond }

// QueuesFor is how long Telnyx may keep a call that it took before it dials it: it documents no queue.
func (a *Carrier) QueuesFor() time.Duration { return 0 }

// MaxScript is how many characters of plain text fit into one call.
func (a *Carrier) MaxScript() int { return longest }

// Fits is the package's, for those who hold only a Carrier.
func (a *Carrier) Fits(script string) bool { return Fits(script) }

// Fits reports whether script can be spoken whole in one call.
func Fits(script string) bool {
	// Telnyx does not say what it calls a character; UTF-16 units are the larger count.
	units := 0
	for _, r := range script {
		units += utf16.RuneLen(r) // a bad byte comes out of range as U+FFFD
	}
	return units <= longest
}

// Place asks Telnyx once to ring call.To, and says what is known then. ctx's deadline is how long the answer is awaited; call.SendBy bounds the beginning.
func (a *Carrier) Place(ctx context.Context, call carrier.Call) carrier.Answer {
	d, answer := a.dial(call)
	if answer != nil {
		return answer
	}
	body, err := json.Marshal(d)
	if err != nil {
		return carrier.NotPlaced{Blame: carrier.BlameDaemon, Code: carrier.CodeConnectFailed, Text: carrier.CleanText(err.Error())}
	}
	return a.transport.Post(ctx, carrier.Request{
		URL:           a.api + "/calls",
		Authorization: a.authorization,
		ContentType:   jsonType,
		Body:          body,
		SendBy:        call.SendBy,
	}, classify)
}

// dial is the create call's body. How long it rings stays Telnyx's default.
type dial struct {
	ConnectionID  string `json:"connection_id"`
	To            string `json:"to"`
	From          string `json:"from"`
	CommandID     string `json:"command_id"`          // said twice it would be one call; it is not said twice
	ClientState   string `json:"client_state"`        // comes back in every webhook, signed, and in Telnyx's own list
	AudioURL      string `json:"audio_url,omitempty"` // a recording
	WebhookURL    string `json:"webhook_url,omitempty"`
	WebhookMethod string `json:"webhook_url_method,omitempty"`
}

func (a *Carrier) dial(call carrier.Call) (dial, carrier.Answer) {
	switch {
	case call.To.IsZero():
		return dial{}, carrier.Refused{Code: codeNoNumber, Text: "there is no number to call"}
	case call.From.IsZero():
		return dial{}, carrier.NotPlaced{Blame: carrier.BlameAccount, Code: codeNoCallerNumber, Text: "the line has no caller number"}
	case call.Extension != "":
		return dial{}, carrier.Refused{Code: codeExtension, Text: "calls by Telnyx do not send the keys of an extension yet"}
	case call.URL != "":
	case strings.TrimSpace(call.Script) == "":
		return dial{}, carrier.Refused{Code: codeNoWords, Text: "there is nothing to say"}
	case !Fits(call.Script):
		return dial{}, carrier.Refused{Code: codeScriptTooLong, Text: "the script does not fit the 3000 characters Telnyx takes"}
	case a.callback == "" || a.key == nil:
		// Nobody would hear that the call was answered: the phone would ring, and be silent.
		return dial{}, carrier.NotPlaced{Blame: carrier.BlameAccount, Code: codeCannotSpeak, Text: "Telnyx speaks only once its webhook was believed: the public URL or the public key is missing"}
	}
	d := dial{
		ConnectionID: a.connection, To: call.To.E164(), From: call.From.E164(),
		CommandID: call.Token, ClientState: stateOf(call.Token), AudioURL: call.URL,
	}
	if a.callback != "" {
		d.WebhookURL, d.WebhookMethod = a.callback+url.PathEscape(call.Token), "POST"
	}
	return d, nil
}

func stateOf(token string) string { return base64.StdEncoding.EncodeToString([]byte(token)) }

// tokenOf is the attempt's token in a client state; "" where it is somebody else's state.
func tokenOf(state string) string {
	token, err := base64.StdEncoding.DecodeString(state)
	if err != nil || len(token) > 200 {
		return ""
	}
	for _, b := range token {
		if b <= ' ' || b > '~' {
			return ""
		}
	}
	return string(token)
}

// speakable replaces what is no character to be spoken by a space, which is not. Lines stay lines.
func speakable(r rune) rune {
	switch {
	case r == '\n', r == '\t':
		return r
	case unicode.IsControl(r), r == unicode.ReplacementChar:
		return ' '
	}
	return r
}
