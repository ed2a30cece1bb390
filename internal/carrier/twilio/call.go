package twilio

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"

	"chasephone/internal/carrier"
)

const (
	ending   = ".json"
	statusOK = 200
)

// Fetch is the call as Twilio shows it, for Read as a "record".
func (a *Carrier) Fetch(ctx context.Context, callID string) ([]byte, error) {
	return a.one(ctx, callID, carrier.Question{Method: "GET"})
}

// IsCallID reports whether a text has the form of a call's id.
func IsCallID(text string) bool { return callSID.MatchString(text) }

// Cancel ends a call that is still queued or rings. Twilio refuses (21220) one that was answered
// or is over, and that changes nothing.
func (a *Carrier) Cancel(ctx context.Context, callID string) error {
	_, err := a.one(ctx, callID, carrier.Question{
		Method:      "POST",
		ContentType: formType,
		Body:        []byte(url.Values{"Status": {string(carrier.StatusCanceled)}}.Encode()),
	})
	return err
}

// one asks about one call, and makes sure that the answer is about that one.
func (a *Carrier) one(ctx context.Context, callID string, q carrier.Question) ([]byte, error) {
	if !callSID.MatchString(callID) { // it goes into a path
		return nil, fmt.Errorf("%q is not the id of a call", callID)
	}
	q.URL = a.calls + "/" + callID + ending
	var call record
	body, err := a.ask(ctx, q, &call)
	if err != nil {
		return nil, err
	}
	if call.SID != callID {
		return nil, &carrier.AskError{Status: statusOK, Text: "an answer that is not about this call"}
	}
	return body, nil
}

// ask puts a question about calls and reads the answer, if it is one, into answer.
func (a *Carrier) ask(ctx context.Context, q carrier.Question, answer any) ([]byte, error) {
	q.Authorization = a.authorization
	return a.transport.AskJSON(ctx, q, answer, refusal)
}

// refusal is what Twilio says in its own envelope, and else nothing that a page may say.
func refusal(r carrier.Reply) string {
	var b body
	if json.Unmarshal(r.Body, &b) != nil || !b.isEnvelope(r.Status) {
		return "not Twilio's own word"
	}
	return strconv.Itoa(*b.Code) + ", " + b.text("")
}
