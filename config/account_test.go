package config_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"chasephone/config"
)

// further reads an account that must be right.
func further(t *testing.T, carrier, prefix string, allowLoopback bool, environ ...string) config.Carriers {
	t.Helper()
	c, err := config.ReadAccount(environ, carrier, prefix, allowLoopback)
	if err != nil {
		t.Fatalf("%s/%s in %q: %v", carrier, prefix, environ, err)
	}
	return c
}

// TestFurtherAccounts: the environment's own account and other prefixes' are never mixed in.
func TestFurtherAccounts(t *testing.T) {
	t.Parallel()
	environ := []string{
		"ACME_ACCOUNT_SID=ACacme", "ACME_AUTH_TOKEN_FILE=" + write(t, "token", "acme's\n"), "ACME_BASE_URL=https://api.ie1.twilio.com/", "ACME_CALLS_PER_SECOND=0.5",
		"ACME_FROM=not read", "ACME_RING_FOR=not read either", "ACME_2_ACCOUNT_SID=ACtwo", "ACME_2_AUTH_TOKEN=two",
		accountSID, authToken, "TWILIO_CALLS_PER_SECOND=7", "TWILIO_FROM=+14155550123", "GATE_COUNTRIES=US", "CARRIER_ALLOW_LOOPBACK=off",
		"EU_API_KEY=the-key", "EU_CONNECTION_ID=app_1", "ACME_API_KEY=for another program", "EU_PUBLIC_KEY_FILE=" + write(t, "key", "VaO9moiW310ykZCzkaDR9QjEsvCxohTheqFZSs8+VYo=\n"),
		"TRUNK_TRUNK=sip:Trunk.example.com", "TRUNK_USERNAME=us", "TRUNK_PASSWORD=pass", "TRUNK_DOMAIN=example.com", "TRUNK_RING_FOR=20s", "TRUNK_SOUND=/a.wav",
	}
	acme := further(t, config.CarrierTwilio, "ACME", false, environ...)
	if a := acme.Twilio; !a.Configured() || a.AccountSID != "ACacme" || a.AuthToken.Reveal() != "acme's" || a.BaseURL != "https://api.ie1.twilio.com" || a.CallsPerSecond != 0.5 || !a.From.IsZero() {
		t.Errorf("%+v", a)
	}
	if two := further(t, config.CarrierTwilio, "ACME_2", true, environ...); two.Twilio.AuthToken.Reveal() != "two" || two.Twilio.BaseURL != "https://api.twilio.com" || two.Twilio.CallsPerSecond != 1 || !two.AllowLoopback {
		t.Errorf("%+v", two)
	}
	telnyx := further(t, config.CarrierTelnyx, "EU", false, environ...)
	if a := telnyx.Telnyx; !a.Configured() || a.APIKey.Reveal() != "the-key" || a.ConnectionID != "app_1" || a.PublicKey == "" || a.BaseURL != "https://api.telnyx.com" || a.CallsPerSecond != 1 {
		t.Errorf("%+v", a)
	}
	trunk := further(t, config.CarrierSIP, "TRUNK", false, environ...)
	if a := trunk.SIP; a.Trunk != "sip:trunk.example.com" || a.Username != "us" || a.Password.Reveal() != "pass" || a.Domain != "example.com" || a.CallsPerSecond != 1 ||
		a.RingFor != 20*time.Second || a.Sound != "/a.wav" || a.TalkFor != 2*time.Second {
		t.Errorf("%+v", a)
	}
	// Nothing but the account asked for is there.
	acme.Twilio, telnyx.Telnyx, trunk.SIP = config.Twilio{}, config.Telnyx{}, config.SIP{}
	for _, c := range []config.Carriers{acme, telnyx, trunk} {
		if !reflect.DeepEqual(c, config.Carriers{}) {
			t.Errorf("more than the account: %+v", c)
		}
	}
}

// TestMistakesOfFurtherAccounts: they name the variables that are there, or would have to be.
func TestMistakesOfFurtherAccounts(t *testing.T) {
	t.Parallel()
	const secret = "fedcba9876543210fedcba9876543210"
	bad := write(t, "bad", secret+" "+secret)
	for _, one := range []struct {
		carrier string
		set     []string
		want    string
	}{
		{config.CarrierTwilio, []string{accountSID, authToken}, `ACME_ACCOUNT_SID is unset: accepts AC and then letters and digits, 34 characters with Twilio itself; it is needed for the account twilio/ACME
ACME_AUTH_TOKEN is unset: accepts the account's token: letters, digits and signs, no spaces; it is needed for the account twilio/ACME`},
		{config.CarrierTwilio, []string{"ACME_ACCOUNT_SID=" + secret, "ACME_AUTH_TOKEN_FILE=" + bad, "ACME_BASE_URL=http://localhost", "ACME_CALLS_PER_SECOND=-1", "GATE_TYPO=Load's to say"}, `ACME_ACCOUNT_SID is (hidden): accepts AC and then letters and digits, 34 characters with Twilio itself
ACME_AUTH_TOKEN_FILE is a file that holds (hidden): accepts the account's token: letters, digits and signs, no spaces
ACME_BASE_URL is "http://localhost": accepts an https URL of a public host, and with CARRIER_ALLOW_LOOPBACK=on one of a private host or this machine, which alone may be http
ACME_CALLS_PER_SECOND is "-1": accepts a decimal number from 0 to 1000 with at most three places`},
		{config.CarrierTwilio, []string{"ACME_ACCOUNT_SID=ACx", "ACME_AUTH_TOKEN=" + secret, "ACME_AUTH_TOKEN_FILE=" + secret}, `ACME_AUTH_TOKEN_FILE is (hidden): accepts nothing while ACME_AUTH_TOKEN is set too: unset one of them`},
		{config.CarrierTelnyx, []string{apiKey, "ACME_API_KEY=" + secret, "ACME_PUBLIC_KEY=x"}, `ACME_CONNECTION_ID is unset: accepts up to 64 letters, digits, - and _, and no API key; it is needed for the account telnyx/ACME
ACME_PUBLIC_KEY is "x": accepts base64 of 32 bytes, 44 characters with its = at the end`},
		{config.CarrierTelnyx, []string{"ACME_API_KEY=k", "ACME_CONNECTION_ID=" + secret}, `ACME_CONNECTION_ID is (hidden): accepts up to 64 letters, digits, - and _, and no API key`},
		{config.CarrierTelnyx, []string{"ACME_API_KEY=k", "ACME_CONNECTION_ID=1", "ACME_ACCOUNT_SID=ACx", "ACME_AUTH_TOKEN=" + secret, "ACME_BASE_URL=https://api.ie1.twilio.com"}, `ACME_BASE_URL is "https://api.ie1.twilio.com": accepts nothing while there is an account twilio/ACME too, which it would be the URL of: give one of them another prefix`},
		{config.CarrierSIP, []string{trunk, password, "ACME_USERNAME=us"}, `ACME_TRUNK is unset: accepts sip:host or sip:host:port over TCP, sips: for the same over TLS, without a user; it is needed for the account sip/ACME
ACME_PASSWORD is unset: accepts the user's password: letters, digits and signs, no spaces; it is needed with ACME_USERNAME`},
		{config.CarrierSIP, []string{"ACME_TRUNK=sip:10.0.0.1:5060", "ACME_PASSWORD=" + secret + " "}, `ACME_TRUNK is "sip:10.0.0.1:5060": accepts the trunk of a public host, and with CARRIER_ALLOW_LOOPBACK=on that of a loopback or private one
ACME_USERNAME is unset: accepts letters, digits and signs, but no space, quote, colon or backslash; it is needed with ACME_PASSWORD
ACME_PASSWORD is (hidden): accepts the user's password: letters, digits and signs, no spaces`},
	} {
		c, err := config.ReadAccount(one.set, one.carrier, "ACME", false)
		found, ok := errors.AsType[config.Mistakes](err)
		if !ok || found.Error() != one.want || !reflect.DeepEqual(c, config.Carriers{}) {
			t.Errorf("%s, %q:\n%v\nwant:\n%s", one.carrier, one.set, err, one.want)
		}
		if strings.Contains(found.Error(), secret) {
			t.Errorf("the secret is in %v", found)
		}
	}
	further(t, config.CarrierTwilio, "ACME", true, "ACME_ACCOUNT_SID=ACx", "ACME_AUTH_TOKEN=x", "ACME_BASE_URL=http://localhost")
	further(t, config.CarrierSIP, "ACME", true, "ACME_TRUNK=sip:10.0.0.1:5060")
	// One prefix for two carriers is well, but for a base URL.
	two := []string{"ACME_API_KEY=k", "ACME_CONNECTION_ID=1", "ACME_ACCOUNT_SID=ACx", "ACME_AUTH_TOKEN=x", "ACME_TRUNK=sip:trunk.example.com"}
	further(t, config.CarrierTwilio, "ACME", false, two...)
	further(t, config.CarrierTelnyx, "ACME", false, two...)
	further(t, config.CarrierSIP, "ACME", false, append(two, "ACME_BASE_URL=https://example.com")...)
	for _, one := range []struct{ carrier, prefix, want string }{
		{"acme", "ACME", `there is no carrier "acme": there are twilio, telnyx, sip`},
		{"", "ACME", `there is no carrier ""`},
		{config.CarrierTwilio, "", "the prefix of an account of twilio: accepts what the account's variables begin with"},
		{config.CarrierTwilio, "TWILIO", "the prefix of an account of twilio: accepts no TWILIO"},
	} {
		_, err := config.ReadAccount(nil, one.carrier, one.prefix, false)
		if _, mistakes := errors.AsType[config.Mistakes](err); mistakes || err == nil || !strings.HasPrefix(err.Error(), one.want) {
			t.Errorf("%q, %q: %v, want %s", one.carrier, one.prefix, err, one.want)
		}
	}
}

func TestPrefixes(t *testing.T) {
	t.Parallel()
	for _, right := range []string{"A", "ACME", "ACME_2", "TWILIO_EU", "SIPGATE", "GATEWAY", "CARRIERS", "PHONE", "A_", strings.Repeat("A", 40)} {
		if err := config.CheckPrefix(right); err != nil {
			t.Errorf("%s: %v", right, err)
		}
	}
	for wrong, want := range map[string]string{
		"":                               "a capital letter",
		"acme":                           "a capital letter",
		"2ACME":                          "a capital letter",
		"_ACME":                          "a capital letter",
		"AC ME":                          "a capital letter",
		"ACME-2":                         "a capital letter",
		"ACME\n":                         "a capital letter",
		"\u00c4CME":                      "a capital letter",
		strings.Repeat("A", 41):          "a capital letter",
		"TWILIO":                         "accepts no TWILIO: its variables are those of the account that needs no prefix",
		"TELNYX":                         "accepts no TELNYX: its variables are",
		"SIP":                            "accepts no SIP: its variables are",
		"PHONE_FOLLOWUP":                 "what begins with PHONE_FOLLOWUP_ is chasephone's own",
		"PHONE_FOLLOWUP_X":               "what begins with PHONE_FOLLOWUP_ is",
		"GATE":                           "what begins with GATE_ is",
		"GATE_KEEPERS":                   "what begins with GATE_ is",
		"IDEMPOTENCY":                    "what begins with IDEMPOTENCY_ is",
		"CARRIER":                        "what begins with CARRIER_ is",
		"CARRIER_ALLOW":                  "what begins with CARRIER_ is",
		"KEY0123456789abcdefghijklmnopq": "a capital letter",
	} {
		err := config.CheckPrefix(wrong)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v, want %s", wrong, err, want)
		} else if want == "a capital letter" && len(wrong) > 20 && strings.Contains(err.Error(), wrong) {
			t.Errorf("what is no prefix is shown: %v", err)
		}
	}
}

// TestPrefixesCollideWithNothing: whatever prefix is accepted, none of an account's names is a
// variable of chasephone's.
func TestPrefixesCollideWithNothing(t *testing.T) {
	t.Parallel()
	ours := map[string]bool{}
	for _, name := range documented(t) {
		ours[name], ours[name+"_FILE"] = true, true
	}
	endings := map[string]bool{}
	for _, carrier := range config.CarrierNames() {
		own := strings.ToUpper(carrier) + "_"
		for name := range ours {
			if ending, is := strings.CutPrefix(name, own); is {
				endings[ending] = true
			}
		}
	}
	for name := range ours {
		for i, r := range name {
			if prefix := name[:i]; r == '_' && config.CheckPrefix(prefix) == nil {
				for ending := range endings {
					if ours[prefix+"_"+ending] {
						t.Errorf("%s is accepted, and %s_%s is a variable of ours", prefix, prefix, ending)
					}
				}
			}
		}
	}
	if len(endings) < 20 || !endings["ACCOUNT_SID"] || !endings["TRUNK_FILE"] {
		t.Errorf("endings: %v", endings)
	}
}
