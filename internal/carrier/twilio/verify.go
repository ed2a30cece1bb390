package twilio

import (
	"crypto/hmac"
	"crypto/sha1" //nolint:gosec // Twilio's choice
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"chasephone/internal/carrier"
)

// ErrMalformed is what Verify and Read say of a body that is no form, or one that could be read
// in two ways. Every other error of Verify's says that nobody who knows the token signed it.
var ErrMalformed = fmt.Errorf("%w: the body is not a form with one value for each name", carrier.ErrMalformed)

var (
	errUnsigned = errors.New("there is no signature")
	errForged   = errors.New("the signature is not this account's")
)

// Verify says why d was not signed with this account's token, if it was not: X-Twilio-Signature is
// HMAC-SHA1 over the URL that Twilio was told, query and all, and the form. It holds no date, so
// what was sent once may be sent again by whoever saw it; a delivery that comes twice says nothing new.
func (a *Carrier) Verify(d carrier.Delivery) error {
	header := func(name string) string {
		if d.Header == nil {
			return ""
		}
		return d.Header(name)
	}
	signature := header("X-Twilio-Signature")
	if signature == "" {
		return errUnsigned
	}
	if t := header("Content-Type"); t != "" && !isForm(t) {
		return fmt.Errorf("%w: it is called something else", ErrMalformed)
	}
	form, err := parse(d.Body)
	if err != nil {
		return err
	}
	as, other := []byte(sign(a.secret, d.URL, form)), []byte(sign(a.secret, otherPort(d.URL), form))
	if !hmac.Equal([]byte(signature), as) && !hmac.Equal([]byte(signature), other) {
		return errForged
	}
	return nil
}

// otherPort is target with its port taken away, or with its scheme's own where it has none: Twilio's
// libraries say that it signs now one and now the other, and accept both.
func otherPort(target string) string {
	u, err := url.Parse(target)
	if err != nil || u.Host == "" {
		return target
	}
	host, rest, _ := strings.Cut(strings.TrimPrefix(target, u.Scheme+"://"), "/")
	switch {
	case u.Port() != "":
		host = strings.TrimSuffix(host, ":"+u.Port())
	case u.Scheme == "https":
		host += ":443"
	default:
		host += ":80"
	}
	return u.Scheme + "://" + host + "/" + rest
}

func sign(secret []byte, target string, form url.Values) string {
	mac := hmac.New(sha1.New, secret)
	mac.Write([]byte(target))
	for _, name := range slices.Sorted(maps.Keys(form)) {
		mac.Write([]byte(name))
		mac.Write([]byte(form.Get(name)))
	}
	return base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// parse takes a form apart. A name that comes twice makes it malformed: what is signed joins names
// and values without marks between them, so with the same letters one reader could be shown
// another value than the next.
func parse(body []byte) (url.Values, error) {
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return nil, fmt.Errorf("%w: it cannot be taken apart", ErrMalformed) // the cause repeats parts of it
	}
	for _, values := range form {
		if len(values) > 1 {
			return nil, fmt.Errorf("%w: a name comes %d times", ErrMalformed, len(values))
		}
	}
	return form, nil
}

func isForm(contentType string) bool {
	media, _, _ := strings.Cut(contentType, ";")
	return strings.EqualFold(strings.TrimSpace(media), formType)
}
