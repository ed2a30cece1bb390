package conformance_test

import (
	"fmt"
	"maps"
	"testing"
	"time"

	"chasephone/internal/carrier"
)

// ourKey is the account's; any other byte is somebody else's key.
const ourKey = 1

// signs is a far end that signs what it sends to webhooks.
type signs interface {
	signed(key byte, target, body string, at time.Time) (headers map[string]string, signature string)
	signature() string // the header's name
	webhook() string   // a body, as it comes
	covers() covers
}

// covers is what a protocol signs besides the body.
type covers struct{ url, time bool }

// delivered is a webhook that says of itself that it was signed so.
func delivered(f signs, target, body string, headers map[string]string, signature string) carrier.Delivery {
	all := maps.Clone(headers)
	all[f.signature()] = signature
	return carrier.Delivery{URL: target, Body: []byte(body), Header: func(name string) string { return all[name] }}
}

// Whoever does not have the account's key, or changes what it signed, is not believed.
func TestVerify(t *testing.T) {
	t.Parallel()
	const target = public + "/webhooks/hook/tok-en_1"
	verified := 0
	for _, s := range subjects() {
		a, verifies := s.open(t, s.scheme+"127.0.0.1:1", carrier.NewTransport(carrier.Options{AllowLoopback: true})).(interface {
			Verify(d carrier.Delivery) error
		})
		if !verifies {
			continue
		}
		verified++
		f, ok := s.far.(signs)
		if !ok {
			t.Fatalf("%s verifies what nobody here can sign", s.name)
		}
		body, now := f.webhook(), time.Now()
		headers, signature := f.signed(ourKey, target, body, now)
		if err := a.Verify(delivered(f, target, body, headers, signature)); err != nil {
			t.Fatalf("%s: as it was sent: %v", s.name, err)
		}
		refuses := func(name string, d carrier.Delivery) {
			if a.Verify(d) == nil {
				t.Errorf("%s: believed: %s", s.name, name)
			}
		}
		theirs, forged := f.signed(ourKey+1, target, body, now)
		refuses("forged", delivered(f, target, body, theirs, forged))
		refuses("forged, with our time", delivered(f, target, body, headers, forged))
		refuses("signed for another body", delivered(f, target, "{}", headers, signature))
		refuses("not signed", delivered(f, target, body, headers, ""))
		refuses("without a header", carrier.Delivery{URL: target, Body: []byte(body)})
		for i := range body {
			changed := []byte(body)
			changed[i] ^= 1
			refuses(fmt.Sprintf("byte %d changed", i), delivered(f, target, string(changed), headers, signature))
			refuses(fmt.Sprintf("cut off at %d", i), delivered(f, target, body[:i], headers, signature))
		}
		for i := range signature {
			changed := []byte(signature)
			changed[i] ^= 1
			refuses(fmt.Sprintf("byte %d of the signature changed", i), delivered(f, target, body, headers, string(changed)))
			refuses(fmt.Sprintf("signature cut off at %d", i), delivered(f, target, body, headers, signature[:i]))
		}
		if f.covers().url {
			for _, other := range []string{target + "2", target + "?x=1", "https://elsewhere.example.com/webhooks/hook/tok-en_1", ""} {
				refuses("sent to "+other, delivered(f, other, body, headers, signature))
			}
		}
		if !f.covers().time {
			continue
		}
		for _, age := range []time.Duration{-time.Hour, -time.Second, time.Second, time.Hour} {
			then, thens := f.signed(ourKey, target, body, now.Add(age))
			refuses(fmt.Sprint("its time moved by ", age), delivered(f, target, body, then, signature))
			if age.Abs() > time.Minute {
				refuses(fmt.Sprint("signed ", age, " from now"), delivered(f, target, body, then, thens))
			}
		}
		refuses("without its time", delivered(f, target, body, map[string]string{}, signature))
	}
	if verified == 0 {
		t.Error("no carrier verifies anything")
	}
}
