package carrier

import (
	"bytes"
	"net/url"
	"strings"
)

// hidden stands where a secret of ours stood in what a carrier sent back: some quote the
// credentials that they reject, and what they say is stored, logged and shown.
var hidden = []byte("[hidden]")

// shortestSecret keeps a secret of a few letters from taking answers apart.
const shortestSecret = 4

// Hide takes secrets out of whatever comes back from now on: answers, and replies to questions.
// Call it before the first of them.
func (t *Transport) Hide(secrets ...string) {
	for _, s := range secrets {
		if len(s) < shortestSecret {
			continue
		}
		for _, spelled := range []string{
			s, strings.ReplaceAll(s, "/", `\/`), url.QueryEscape(s), url.PathEscape(s),
			strings.NewReplacer("+", `\u002b`, "/", `\u002f`, "=", `\u003d`).Replace(s), strings.NewReplacer("+", `\u002B`, "/", `\u002F`, "=", `\u003D`).Replace(s),
		} {
			t.secrets = append(t.secrets, []byte(spelled))
		}
	}
}

// Hidden is a text that came back on a Conn, without our secrets.
func (t *Transport) Hidden(text string) string { return string(t.hide([]byte(text))) }

func (t *Transport) hide(b []byte) []byte {
	for _, s := range t.secrets {
		b = bytes.ReplaceAll(b, s, hidden)
	}
	return b
}
