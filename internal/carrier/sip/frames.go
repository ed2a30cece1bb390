package sip

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strconv"
	"strings"

	sipgo "github.com/emiago/sipgo/sip"
)

const (
	mostBytesOfMessage = 64<<10 - 1 // header and body together: sipgo reads no more
	mostHeaders        = 200
	mostMessages       = 500 // of one call
)

var (
	errNotSIP  = errors.New("something that is not SIP came")                      //nolint:gochecknoglobals // a constant
	errTooLong = errors.New("a message that is too long, or has too many headers") //nolint:gochecknoglobals // a constant
)

// frames cuts a stream into messages. It goes by the blank line and Content-Length alone, so
// that it knows where a message ends that cannot be read otherwise; and it bounds what it holds.
type frames struct{ in *bufio.Reader }

func newFrames(r io.Reader) *frames { return &frames{bufio.NewReaderSize(r, mostBytesOfMessage)} }

// next is one whole message. After an error nothing on the stream can be trusted any more.
func (f *frames) next() ([]byte, error) {
	var message []byte
	length := -1
	for lines := 0; ; lines++ {
		line, err := f.in.ReadSlice('\n')
		switch {
		case errors.Is(err, bufio.ErrBufferFull), len(message)+len(line) > mostBytesOfMessage, lines > mostHeaders:
			return nil, errTooLong
		case err != nil:
			return nil, err
		}
		text, ok := bytes.CutSuffix(line, []byte("\r\n"))
		if !ok || bytes.ContainsAny(text, "\r\x00") {
			return nil, errNotSIP
		}
		if len(text) == 0 && len(message) == 0 {
			continue // between messages: somebody keeps the connection alive
		}
		if len(message) == 0 && !isStartLine(text) {
			return nil, errNotSIP
		}
		message = append(message, line...)
		if len(text) == 0 {
			break
		}
		n, is, err := contentLength(text)
		if err != nil || is && length >= 0 && n != length {
			return nil, errNotSIP
		}
		if is {
			length = n
		}
	}
	if length <= 0 {
		return message, nil
	}
	if len(message)+length > mostBytesOfMessage {
		return nil, errTooLong
	}
	head := len(message)
	message = append(message, make([]byte, length)...)
	if _, err := io.ReadFull(f.in, message[head:]); err != nil {
		return nil, err
	}
	return message, nil
}

func isStartLine(line []byte) bool {
	return bytes.HasPrefix(line, []byte("SIP/2.0 ")) || bytes.HasSuffix(line, []byte(" SIP/2.0"))
}

// contentLength is what a header line says of it, if it is that header.
func contentLength(line []byte) (n int, is bool, err error) {
	name, value, _ := strings.Cut(string(line), ":")
	name = strings.TrimRight(name, " \t") // what begins with one goes on with the line before
	if !strings.EqualFold(name, "Content-Length") && !strings.EqualFold(name, "l") {
		return 0, false, nil
	}
	length, err := strconv.ParseUint(strings.TrimSpace(value), 10, 20)
	return int(length), true, err
}

// newParser reads at once only what a message is recognised by. Everything else is read where
// it is asked for, so that one strange header does not lose an answer; and To, which goes
// back as it came, is not written anew.
func newParser() *sipgo.Parser {
	all, few := sipgo.DefaultHeadersParser(), map[string]sipgo.HeaderParser{}
	for _, name := range []string{"via", "v", "call-id", "i", "cseq"} {
		few[name] = all[name]
	}
	return sipgo.NewParser(sipgo.WithHeadersParsers(few))
}

// parse reads a message; nil where it is none that anything could be made of.
func parse(parser *sipgo.Parser, frame []byte) sipgo.Message {
	message, err := parser.ParseSIP(frame)
	if err != nil || message.CallID() == nil || message.CSeq() == nil || message.Via() == nil || message.Via().Host == "" ||
		raw(message, "From", "f") == "" || raw(message, "To", "t") == "" {
		return nil
	}
	if r, ok := message.(*sipgo.Response); ok && (r.StatusCode < 100 || r.StatusCode > 699) {
		return nil
	}
	return message
}

// raw is a header's value as it came, by its long or short name.
func raw(m sipgo.Message, names ...string) string {
	for _, name := range names {
		for _, h := range m.GetHeaders(name) {
			return h.Value()
		}
	}
	return ""
}

// tag is that of From or To, read from the value as it came.
func tag(address string) string {
	var uri sipgo.Uri
	var params sipgo.HeaderParams
	if _, err := sipgo.ParseAddressValue(address, &uri, &params); err != nil {
		return ""
	}
	return params.GetOr("tag", "")
}
