package telnyx

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"chasephone/internal/carrier"
)

const statusOK = 200

// Fetch is the call as Telnyx shows it, for Read as a "record". Telnyx forgets a call some ten
// minutes after its end.
func (a *Carrier) Fetch(ctx context.Context, id string) ([]byte, error) {
	var call body
	raw, err := a.one(ctx, id, carrier.Question{Method: "GET"}, "", &call)
	if err != nil {
		return nil, err
	}
	if call.Data.CallControlID != id {
		return nil, &carrier.AskError{Status: statusOK, Text: "an answer that is not about this call"}
	}
	return raw, nil
}

// IsCallID reports whether a text has the form of a call's id.
func IsCallID(text string) bool { return callID.MatchString(text) }

// Cancel ends a call, also one that was answered meanwhile: Telnyx has no command that spares it.
func (a *Carrier) Cancel(ctx context.Context, id string) error {
	return a.command(ctx, id, "hangup", struct{}{})
}

// speak is a speak command's body. The basic service is the one that takes a voice by its sex alone.
type speak struct {
	Payload     string `json:"payload"`
	PayloadType string `json:"payload_type"`
	Service     string `json:"service_level"`
	Voice       string `json:"voice"`
	Language    string `json:"language"`
	CommandID   string `json:"command_id"` // by which a second one is ignored
}

// Speak says script in a call that was answered. It rings nobody. Given twice with the same
// commandID it is said once, so it may be tried again.
func (a *Carrier) Speak(ctx context.Context, id, script, commandID string) error {
	switch {
	case strings.TrimSpace(script) == "" || !Fits(script):
		return errors.New("there is nothing to say, or more than fits")
	case commandID == "":
		return errors.New("a command without an id might be said twice")
	}
	return a.command(ctx, id, "speak", speak{
		Payload: strings.Map(speakable, script), PayloadType: "text", Service: "basic", Voice: "female", Language: "en-US", CommandID: commandID,
	})
}

// command is for commands to a call that there is, and never for the one that makes one.
func (a *Carrier) command(ctx context.Context, id, name string, body any) error {
	raw, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("writing down the command %s: %w", name, err)
	}
	var done struct {
		Data struct {
			Result string `json:"result"`
		} `json:"data"`
	}
	if _, err := a.one(ctx, id, carrier.Question{Method: "POST", ContentType: jsonType, Body: raw}, "/actions/"+name, &done); err != nil {
		return err
	}
	if done.Data.Result != "ok" {
		return &carrier.AskError{Status: statusOK, Text: "an answer that does not say that it was done"}
	}
	return nil
}

func (a *Carrier) one(ctx context.Context, id string, q carrier.Question, action string, answer any) ([]byte, error) {
	if !callID.MatchString(id) { // it goes into a path
		return nil, fmt.Errorf("%q is not the id of a call", id)
	}
	q.URL = a.api + "/calls/" + id + action
	return a.ask(ctx, q, answer)
}

// ask puts a question about calls and reads the answer, if it is one, into answer.
func (a *Carrier) ask(ctx context.Context, q carrier.Question, answer any) ([]byte, error) {
	q.Authorization = a.authorization
	return a.transport.AskJSON(ctx, q, answer, refusal)
}

// refusal is what Telnyx says in its own envelope, and else nothing that a page may say.
func refusal(r carrier.Reply) string {
	var b body
	if json.Unmarshal(r.Body, &b) != nil || !b.isEnvelope() {
		return "not Telnyx's own word"
	}
	return b.code("") + ", " + b.text("")
}
