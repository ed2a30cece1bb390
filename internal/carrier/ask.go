package carrier

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"time"
)

// Question is a request that rings nobody: it reads a record, or ends a call. Whoever asks may
// ask again; nothing here does by itself.
type Question struct {
	Method        string // GET, or POST for what ends a call
	URL           string // without a query
	Query         url.Values
	Authorization string
	ContentType   string
	Body          []byte
}

// AskError says why a question has no answer to go by.
type AskError struct {
	Status int    // the HTTP status; 0 where there was no reply
	Text   string // cleaned
}

func (e *AskError) Error() string {
	if e.Status == 0 {
		return e.Text
	}
	return fmt.Sprintf("answered %d: %s", e.Status, e.Text)
}

// Ask puts a question, on a connection of its own, and awaits the reply until ctx's deadline (a
// minute, if it has none). The error is an *AskError where there was no whole reply. Never
// ask by it for a call to be placed: that is Post's.
func (t *Transport) Ask(ctx context.Context, q Question) (Reply, error) {
	began := time.Now()
	reply, err := t.ask(ctx, q)
	result := ResultAnswered
	if err != nil {
		result = ResultFailed
	}
	t.observe(t.carrier, result, time.Since(began))
	return reply, err
}

// AskJSON puts a question and reads the reply into answer. Only a 200 with JSON of that form is one;
// refusal says in words what any other reply was. The reply itself is returned too.
func (t *Transport) AskJSON(ctx context.Context, q Question, answer any, refusal func(Reply) string) ([]byte, error) {
	reply, err := t.Ask(ctx, q)
	switch {
	case err != nil:
		return nil, err
	case reply.Status != http.StatusOK:
		return nil, &AskError{Status: reply.Status, Text: refusal(reply)}
	case json.Unmarshal(reply.Body, answer) != nil:
		return nil, &AskError{Status: reply.Status, Text: "an answer that cannot be taken apart"}
	}
	return reply.Body, nil
}

func (t *Transport) ask(ctx context.Context, q Question) (Reply, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	target, err := t.guard.url(q.URL)
	if err != nil {
		return Reply{}, &AskError{Text: "the carrier's URL " + err.Error()}
	}
	target.RawQuery = q.Query.Encode()
	wire, err := encode(q.Method, target, q.Authorization, q.ContentType, q.Body)
	if err != nil {
		return Reply{}, &AskError{Text: CleanText(err.Error())}
	}
	deadline, _ := ctx.Deadline()
	conn, answer := t.connect(ctx, target, deadline)
	if conn == nil {
		return Reply{}, &AskError{Text: textOf(answer)}
	}
	defer func() { _ = conn.Close() }()
	reply, answer := exchange(ctx, conn, wire, deadline)
	reply.Body = t.hide(reply.Body)
	switch {
	case answer != nil:
		return Reply{}, &AskError{Text: textOf(answer)}
	case reply.Truncated:
		return Reply{}, &AskError{Status: reply.Status, Text: "the reply is cut off"}
	}
	return reply, nil
}

func textOf(a Answer) string {
	switch a := a.(type) {
	case NotPlaced:
		return a.Text
	case Unknown:
		return a.Text
	}
	return "no answer"
}
