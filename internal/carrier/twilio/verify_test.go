package twilio

import (
	"errors"
	"net/url"
	"strings"
	"testing"

	"chasephone/internal/carrier"
)

const hook = "https://calls.example.com/webhooks/twilio/status/tok-en_1"

// signed is a delivery as an account with that token sends it.
func signed(token, target, body string) carrier.Delivery {
	form, _ := url.ParseQuery(body)
	return sentWith(target, body, map[string]string{
		"X-Twilio-Signature": sign([]byte(token), target, form), "Content-Type": formType + "; charset=UTF-8",
	})
}

func sentWith(target, body string, headers map[string]string) carrier.Delivery {
	return carrier.Delivery{URL: target, Body: []byte(body), Header: func(name string) string { return headers[name] }}
}

// The example of Twilio's own libraries' tests.
func TestSign(t *testing.T) {
	t.Parallel()
	form := url.Values{
		"CallSid": {"CA1234567890ABCDE"}, "Caller": {"+14158675309"}, "Digits": {"1234"},
		"From": {"+14158675309"}, "To": {"+18005551212"},
	}
	if got := sign([]byte("12345"), "https://mycompany.com/myapp.php?foo=1&bar=2", form); got != "RSOYDt4T1cUTdK1PDd93/VVr8B8=" {
		t.Errorf("signed %s", got)
	}
}

func TestVerify(t *testing.T) {
	t.Parallel()
	a := newAccount(t, "http://127.0.0.1:1", "https://calls.example.com")
	const body = "CallSid=" + goodSID + "&CallStatus=ringing&From=%2B14155550100&Note=a+b"
	good := signed(testToken, hook, body)
	// changed is the good delivery with something else in it than what was signed.
	changed := func(change func(*carrier.Delivery)) carrier.Delivery {
		d := good
		change(&d)
		return d
	}
	withSignature := func(s string) carrier.Delivery {
		return sentWith(hook, body, map[string]string{"X-Twilio-Signature": s})
	}
	large := "Body=" + strings.Repeat("x", 64<<10-len("Body="))
	right := good.Header("X-Twilio-Signature")
	for _, row := range []struct {
		name     string
		delivery carrier.Delivery
		want     error // nil: verified
	}{
		{"as it was sent", good, nil},
		{"without its content type", withSignature(right), nil},
		{"in another order", changed(func(d *carrier.Delivery) {
			d.Body = []byte("Note=a%20b&From=%2B14155550100&CallStatus=ringing&CallSid=" + goodSID)
		}), nil},
		{"with a query", signed(testToken, hook+"?a=1&b=%20", body), nil},
		{"signed without the port that it was told", sentWith("https://calls.example.com:8443/webhooks/twilio/status/tok", body, map[string]string{
			"X-Twilio-Signature": signed(testToken, "https://calls.example.com/webhooks/twilio/status/tok", body).Header("X-Twilio-Signature"),
		}), nil},
		{"signed with the port that it was not told", sentWith(hook, body, map[string]string{
			"X-Twilio-Signature": signed(testToken, strings.Replace(hook, ".com/", ".com:443/", 1), body).Header("X-Twilio-Signature"),
		}), nil},
		{"signed with another port", sentWith(hook, body, map[string]string{
			"X-Twilio-Signature": signed(testToken, strings.Replace(hook, ".com/", ".com:444/", 1), body).Header("X-Twilio-Signature"),
		}), errForged},
		{"nothing but a URL", signed(testToken, hook, ""), nil},
		{"64 KiB", signed(testToken, hook, large), nil},

		{"another account's", signed("secret-of-another", hook, body), errForged},
		{"no token at all", signed("", hook, body), errForged},
		{"a byte of the body", changed(func(d *carrier.Delivery) { d.Body = []byte(strings.Replace(body, "ringing", "rinGing", 1)) }), errForged},
		{"a byte of 64 KiB", changed(func(d *carrier.Delivery) {
			*d = signed(testToken, hook, large)
			d.Body[len(d.Body)-1] = 'y'
		}), errForged},
		{"one parameter more", changed(func(d *carrier.Delivery) { d.Body = []byte(body + "&X=1") }), errForged},
		{"one parameter less", changed(func(d *carrier.Delivery) { d.Body = []byte(strings.TrimSuffix(body, "&Note=a+b")) }), errForged},
		{"another attempt's URL", changed(func(d *carrier.Delivery) { d.URL = hook + "2" }), errForged},
		{"another query", changed(func(d *carrier.Delivery) { *d = signed(testToken, hook+"?a=1", body); d.URL = hook + "?a=2" }), errForged},
		{"no URL", changed(func(d *carrier.Delivery) { d.URL = "" }), errForged},
		{"a signature of another length", withSignature(right[:len(right)-1]), errForged},
		{"a longer signature", withSignature(right + "="), errForged},
		{"another signature of the same length", withSignature(strings.Repeat("A", len(right))), errForged},
		{"an empty signature", withSignature(""), errUnsigned},
		{"what was read back", carrier.Delivery{URL: hook, Body: []byte(body)}, errUnsigned},

		{"a name twice", signed(testToken, hook, body+"&CallStatus=completed"), carrier.ErrMalformed},
		{"a name twice with the same value", signed(testToken, hook, body+"&CallStatus=ringing"), carrier.ErrMalformed},
		{"a name twice, written differently", signed(testToken, hook, body+"&Call%53tatus=completed"), carrier.ErrMalformed},
		{"no form", signed(testToken, hook, "%zz"), carrier.ErrMalformed},
		{"JSON by its own name", sentWith(hook, `{"CallSid":"x"}`, map[string]string{"X-Twilio-Signature": right, "Content-Type": "application/json"}), carrier.ErrMalformed},
	} {
		if err := a.Verify(row.delivery); !errors.Is(err, row.want) {
			t.Errorf("%s: %v, want %v", row.name, err, row.want)
		}
	}
}

// Joined without marks between them, two values can say the same as one: only one of them is read.
func TestRepeatedNamesAreRefusedThoughTheySignAlike(t *testing.T) {
	t.Parallel()
	a := newAccount(t, "http://127.0.0.1:1", "")
	d := signed(testToken, hook, "From=%2B1From%2B2") // one name, with a value that holds it again
	if err := a.Verify(d); err != nil {
		t.Fatal(err)
	}
	d.Body = []byte("From=%2B1&From=%2B2")
	if err := a.Verify(d); !errors.Is(err, ErrMalformed) {
		t.Errorf("verified: %v", err)
	}
}
