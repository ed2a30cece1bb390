package sip

import (
	"bytes"
	"errors"
	"io"

	sipgo "github.com/emiago/sipgo/sip"
	"github.com/icholy/digest"
)

var errNoDigest = errors.New("the trunk asks for credentials in no way that is known here") //nolint:gochecknoglobals // a constant

// asksWho reports whether r is a challenge.
func asksWho(r *sipgo.Response) bool {
	return r.StatusCode == sipgo.StatusUnauthorized || r.StatusCode == sipgo.StatusProxyAuthRequired
}

// answerChallenge makes what a 401 or 407 asks for: a function that answers it for requests,
// and counts them, as a nonce that is used again must be.
func (c Config) answerChallenge(r *sipgo.Response, body []byte) (func(method, uri string) (name, value string), error) {
	asks, answers := "WWW-Authenticate", "Authorization"
	if r.StatusCode == sipgo.StatusProxyAuthRequired {
		asks, answers = "Proxy-Authenticate", "Proxy-Authorization"
	}
	for _, h := range r.GetHeaders(asks) {
		challenge, err := digest.ParseChallenge(h.Value())
		if err != nil || !digest.CanDigest(challenge) {
			continue
		}
		count := 0
		answer := func(method, uri string) (string, string) {
			count++
			content := body
			if method != string(sipgo.INVITE) {
				content = nil
			}
			made, err := digest.Digest(challenge, digest.Options{
				Method: method, URI: uri, Count: count, Username: c.Username, Password: c.Password,
				GetBody: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil },
			})
			if err != nil {
				return answers, ""
			}
			return answers, made.String()
		}
		return answer, nil
	}
	return nil, errNoDigest
}
