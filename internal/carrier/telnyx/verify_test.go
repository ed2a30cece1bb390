package telnyx

import (
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"chasephone/internal/carrier"
)

// signed is a delivery as Telnyx sends it at an instant.
func signed(key ed25519.PrivateKey, at time.Time, body string) carrier.Delivery {
	stamp := strconv.FormatInt(at.Unix(), 10)
	return sentWith(stamp, base64.StdEncoding.EncodeToString(ed25519.Sign(key, []byte(stamp+"|"+body))), body)
}

func sentWith(stamp, signature, body string) carrier.Delivery {
	headers := map[string]string{"telnyx-timestamp": stamp, "telnyx-signature-ed25519": signature}
	return carrier.Delivery{Body: []byte(body), Header: func(name string) string { return headers[name] }}
}

func TestVerify(t *testing.T) {
	t.Parallel()
	a := newAccount(t, "http://127.0.0.1:1")
	key := signer(1)
	const body = `{"data":{"event_type":"call.answered"}}`
	good := signed(key, now(), body)
	stamp, signature := good.Header("telnyx-timestamp"), good.Header("telnyx-signature-ed25519")
	large := strings.Repeat("x", 64<<10)
	altered := func(d carrier.Delivery, at int) carrier.Delivery {
		d.Body = append([]byte(nil), d.Body...)
		d.Body[at] ^= 1
		return d
	}
	elsewhere := good
	elsewhere.URL, elsewhere.Token = "https://calls.example.com/webhooks/telnyx/call/another", "another"
	for _, row := range []struct {
		name     string
		delivery carrier.Delivery
		want     error // nil: verified
	}{
		{"as it was sent", good, nil},
		{"64 KiB", signed(key, now(), large), nil},
		{"an empty body", signed(key, now(), ""), nil},
		{"five minutes old", signed(key, now().Add(-5*time.Minute), body), nil},
		{"by a clock that is five minutes fast", signed(key, now().Add(5*time.Minute), body), nil},
		{"to another attempt's path, which is not signed", elsewhere, nil},

		{"too old", signed(key, now().Add(-5*time.Minute-time.Second), body), carrier.ErrStale},
		{"of the future", signed(key, now().Add(5*time.Minute+time.Second), body), carrier.ErrStale},
		{"of another age", signed(key, time.Unix(-1<<40, 0), body), carrier.ErrStale},

		{"another account's", signed(signer(2), now(), body), errForged},
		{"another account's, and old", signed(signer(2), time.Unix(0, 0), body), errForged},
		{"a byte of the body", altered(good, 3), errForged},
		{"the last byte of 64 KiB", altered(signed(key, now(), large), len(large)-1), errForged},
		{"a body that is longer", sentWith(stamp, signature, body+" "), errForged},
		{"another time", sentWith(strconv.FormatInt(now().Unix()+1, 10), signature, body), errForged},
		{"the same time, written differently", sentWith("0"+stamp, signature, body), errForged},
		{"a signature of another length", sentWith(stamp, base64.StdEncoding.EncodeToString([]byte("short")), body), errForged},
		{"a signature that is no base64", sentWith(stamp, "%%%", body), errForged},
		{"zeros", sentWith(stamp, base64.StdEncoding.EncodeToString(make([]byte, 64)), body), errForged},

		{"an empty signature", sentWith(stamp, "", body), errUnsigned},
		{"no time", sentWith("", signature, body), errUnsigned},
		{"a time that is none", sentWith("now", signature, body), errUnsigned},
		{"what was read back", carrier.Delivery{Body: []byte(body)}, errUnsigned},
	} {
		if err := a.Verify(row.delivery); !errors.Is(err, row.want) {
			t.Errorf("%s: %v, want %v", row.name, err, row.want)
		}
	}
	keyless := newAccount(t, "http://127.0.0.1:1", func(c *Config) { c.PublicKey = "" })
	if err := keyless.Verify(good); !errors.Is(err, errNoKey) {
		t.Errorf("without a key: %v", err)
	}
}
