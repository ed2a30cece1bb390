package carrier

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"
)

const (
	maxHeader = 64 << 10 // bytes of a reply's header, and of all 1xx replies before it
	maxBody   = 64 << 10 // bytes of a reply's body
)

// encode writes the whole request down, so that sending it is one Write.
func encode(method string, target *url.URL, authorization, contentType string, body []byte) ([]byte, error) {
	r := http.Request{
		Method: method,
		URL:    target,
		Header: http.Header{
			"Authorization": {authorization},
			"Accept":        {"application/json"},
			"User-Agent":    {"chasephone"},
		},
		Close: true,
	}
	if method != http.MethodGet {
		r.Header.Set("Content-Type", contentType)
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	}
	var wire bytes.Buffer
	err := r.Write(&wire)
	return wire.Bytes(), err
}

// exchange writes the request and reads the reply. It answers only where there was no
// reply: NotPlaced if it refused to write, Unknown from the moment it has called Write.
func exchange(ctx context.Context, conn net.Conn, wire []byte, sendBy time.Time) (Reply, Answer) {
	// The context ends a blocked Write or Read by a deadline in the past.
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()

	if answer := tooLate(ctx, sendBy); answer != nil {
		return Reply{}, answer
	}
	if _, err := conn.Write(wire); err != nil {
		return Reply{}, unknown(ctx, StageWriting, err) // how much of it left is not asked: some may have
	}
	reply, err := receive(conn)
	if err != nil {
		return Reply{}, unknown(ctx, StageAwaiting, err)
	}
	return reply, nil
}

// receive reads the one reply that counts. Its error means that there was none; a body
// that breaks off or does not end is a reply still, and marked.
func receive(conn net.Conn) (Reply, error) {
	in := &io.LimitedReader{R: conn, N: maxHeader}
	buffered := bufio.NewReader(in)
	for {
		//nolint:bodyclose // closing would read it to its end; the connection is closed instead
		resp, err := http.ReadResponse(buffered, &http.Request{Method: http.MethodPost})
		if err != nil && in.N <= 0 {
			return Reply{}, fmt.Errorf("the header of the answer is longer than %d bytes", maxHeader)
		}
		if err != nil {
			return Reply{}, noAnswer(err)
		}
		if resp.StatusCode/100 == 1 && resp.StatusCode != http.StatusSwitchingProtocols {
			continue // 100 Continue, 103 Early Hints: not yet the answer
		}
		in.N = 4 * maxBody // room for the framing of chunks
		body, err := io.ReadAll(io.LimitReader(resp.Body, maxBody+1))
		reply := Reply{Status: resp.StatusCode, Body: body[:min(len(body), maxBody)]}
		reply.Truncated = err != nil || len(body) > maxBody
		return reply, nil //nolint:nilerr // a body that breaks off is a reply still
	}
}

// noAnswer is why there was none. What net/http says of an answer that is none of HTTP's quotes it, and
// some quote to us what we had sent: our credentials.
func noAnswer(err error) error {
	var wire net.Error
	if errors.As(err, &wire) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("no answer: %w", err)
	}
	return errors.New("what came is no answer in HTTP")
}

func unknown(ctx context.Context, stage Stage, err error) Answer {
	text := err.Error()
	switch ctx.Err() {
	case context.DeadlineExceeded:
		text = "the time to await an answer was over"
	case context.Canceled:
		text = "stopped while an answer was awaited"
	}
	return Unknown{Stage: stage, Text: CleanText(text)}
}
