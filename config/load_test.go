package config_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"chasephone/config"
	"chasephone/internal/followup"
)

const (
	databaseURL = "DATABASE_URL=postgres://chasephone@localhost/chasephone"
	accountSID  = "TWILIO_ACCOUNT_SID=AC0123456789abcdef0123456789abcdef"
	authToken   = "TWILIO_AUTH_TOKEN=fedcba9876543210fedcba9876543210"

	apiKey       = "TELNYX_API_KEY=KEY0123456789ABCDEF_hunter2hunter2hunter2"
	connectionID = "TELNYX_CONNECTION_ID=1234567890123456789"
	publicKey    = "TELNYX_PUBLIC_KEY=VaO9moiW310ykZCzkaDR9QjEsvCxohTheqFZSs8+VYo="

	trunk    = "SIP_TRUNK=sips:trunk.example.com:5061"
	username = "SIP_USERNAME=us"
	password = "SIP_PASSWORD=hunter2"
)

// mistakes loads an environment, beside a database, that must be wrong.
func mistakes(t *testing.T, o config.Options, environ ...string) config.Mistakes {
	t.Helper()
	_, err := config.Load(environ, o)
	found, ok := errors.AsType[config.Mistakes](err)
	if !ok {
		t.Fatalf("Load(%q) = %v, want mistakes", environ, err)
	}
	return found
}

func load(t *testing.T, o config.Options, environ ...string) config.Config {
	t.Helper()
	c, err := config.Load(environ, o)
	if err != nil {
		t.Fatalf("Load(%q): %v", environ, err)
	}
	return c
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	c := load(t, config.Options{}, databaseURL)
	if got, want := c.Limits(), followup.DefaultLimits(); got != want {
		t.Errorf("Limits() = %+v, want %+v", got, want)
	}
	if got := c.Gates.Countries; len(got) != 0 {
		t.Errorf("countries = %q, want the default region only", got)
	}
	g := c.Gates
	if g.MaxPerNumber24H != 0 || g.MaxPerNumber7D != 0 || g.MaxPerNumber30D != 0 || g.MinGap != 0 || g.LineCallsAtOnce != 0 ||
		g.MaxPerTenantDay != 0 || g.MaxPerMinute != 0 || g.CalledIn != "hold" {
		t.Errorf("limits of the gates: %+v", g)
	}
	if g.CallingHours != "on" || g.LineUnknowns != 3 || c.Carriers.AllowLoopback || c.Carriers.Twilio.Configured() {
		t.Errorf("gates %+v, carriers %+v", c.Gates, c.Carriers)
	}
	if telnyx, sip := c.Carriers.Telnyx, c.Carriers.SIP; telnyx.Configured() || telnyx.BaseURL != "https://api.telnyx.com" || telnyx.CallsPerSecond != 1 ||
		sip.Configured() || sip.CallsPerSecond != 1 || sip.RingFor != time.Minute || sip.TalkFor != 2*time.Second {
		t.Errorf("telnyx %+v, sip %+v", telnyx, sip)
	}
	if c.HTTP.Addr != "127.0.0.1:8080" || c.HTTP.MetricsAddr != "127.0.0.1:9464" || c.Carriers.Twilio.CallsPerSecond != 1 {
		t.Errorf("http %+v, twilio %+v", c.HTTP, c.Carriers.Twilio)
	}
	if got := c.Warnings(); len(got) != 0 {
		t.Errorf("Warnings() = %q, want none", got)
	}
}

func TestEverythingSet(t *testing.T) {
	t.Parallel()
	c := load(
		t, config.Options{}, "DATABASE_URL=host=/run/postgresql dbname=x", "DATA_DIR=./data",
		"HTTP_ADDR=:8081", "METRICS_ADDR=[::1]:0", "PUBLIC_URL=https://calls.example.com/phone/", "LOG_LEVEL=DEBUG", "LOG_FORMAT=json",
		"PHONE_FOLLOWUP_TICK=1.5s", "PHONE_FOLLOWUP_PER_TICK=100", "PHONE_FOLLOWUP_RETRY_AFTER=24h", "PHONE_FOLLOWUP_MAX_LATE_HOURS=72",
		"PHONE_FOLLOWUP_DIAL_TIMEOUT=2m", "PHONE_FOLLOWUP_DIAL_SLOTS=4096", "PHONE_FOLLOWUP_DRAINERS=064", "PHONE_FOLLOWUP_QUARANTINE=1s",
		"PHONE_DEFAULT_REGION=gb", "IDEMPOTENCY_KEY_HOURS=1", "GATE_CALLING_HOURS=off", "GATE_COUNTRIES=US, ca,US", "GATE_LINE_UNKNOWNS=0",
		"GATE_MAX_PER_NUMBER_24H=3", "GATE_MAX_PER_NUMBER_7D=2", "GATE_MAX_PER_NUMBER_30D=500", "GATE_MIN_GAP=720h", "GATE_CALLED_IN=OFF",
		"GATE_LINE_CALLS_AT_ONCE=10000", "GATE_MAX_PER_TENANT_DAY=100000", "GATE_MAX_PER_MINUTE=60",
		"CARRIER_ALLOW_LOOPBACK=on", accountSID, authToken, "TWILIO_FROM=+14155550123",
		"TWILIO_BASE_URL=http://localhost:4010/", "TWILIO_CALLS_PER_SECOND=0.5",
		apiKey, connectionID, publicKey, "TELNYX_BASE_URL=https://10.0.0.1/telnyx/", "TELNYX_CALLS_PER_SECOND=0",
		"SIP_TRUNK=SIP:[::1]:5070", username, password, "SIP_DOMAIN=example.com", "SIP_CALLS_PER_SECOND=1000", "SIP_RING_FOR=5m", "SIP_SOUND=./a b.wav", "SIP_TALK_FOR=100ms",
	)
	want := followup.Limits{
		Tick: 1500 * time.Millisecond, PerTick: 100, RetryAfter: 24 * time.Hour, MaxLate: 72 * time.Hour,
		DialTimeout: 2 * time.Minute, DialSlots: 4096, Drainers: 64, Quarantine: time.Second,
	}
	if got := c.Limits(); got != want {
		t.Errorf("Limits() = %+v, want %+v", got, want)
	}
	g := c.Gates
	if g.MaxPerNumber24H != 3 || g.MaxPerNumber7D != 2 || g.MaxPerNumber30D != 500 || g.MinGap != 720*time.Hour || g.LineCallsAtOnce != 10000 ||
		g.MaxPerTenantDay != 100000 || g.MaxPerMinute != 60 || g.CalledIn != "off" {
		t.Errorf("limits of the gates: %+v", g)
	}
	for what, pair := range map[string][2]string{
		"database":  {c.Database.URL.Reveal(), "host=/run/postgresql dbname=x"},
		"public":    {c.HTTP.PublicURL, "https://calls.example.com/phone"},
		"base":      {c.Carriers.Twilio.BaseURL, "http://localhost:4010"},
		"api key":   {c.Carriers.Telnyx.APIKey.Reveal(), "KEY0123456789ABCDEF_hunter2hunter2hunter2"},
		"telnyx":    {fmt.Sprint(c.Carriers.Telnyx), "{(hidden) 1234567890123456789 VaO9moiW310ykZCzkaDR9QjEsvCxohTheqFZSs8+VYo=  https://10.0.0.1/telnyx 0}"},
		"password":  {c.Carriers.SIP.Password.Reveal(), "hunter2"},
		"sip":       {fmt.Sprint(c.Carriers.SIP), "{sip:[::1]:5070 us (hidden) example.com  1000 5m0s ./a b.wav 100ms}"},
		"level":     {c.Logging.Level.String(), "DEBUG"},
		"region":    {c.Intake.Region, "GB"},
		"countries": {strings.Join(c.Gates.Countries, " "), "US CA"},
		"from":      {c.Carriers.Twilio.From.E164(), "+14155550123"},
		"token":     {c.Carriers.Twilio.AuthToken.Reveal(), "fedcba9876543210fedcba9876543210"},
	} {
		if pair[0] != pair[1] {
			t.Errorf("%s = %q, want %q", what, pair[0], pair[1])
		}
	}
	if got := strings.Join(c.Warnings(), "\n"); strings.Count(got, "\n") != 1 ||
		!strings.Contains(got, "PHONE_FOLLOWUP_MAX_LATE_HOURS is 72") || !strings.Contains(got, "GATE_CALLING_HOURS is off") {
		t.Errorf("Warnings() = %q", got)
	}
}

// TestWebhooksNobodyVerifies: a carrier would be told an address where anybody could say anything,
// or nobody is believed. Twilio's token verifies too, and an account without one is none.
func TestWebhooksNobodyVerifies(t *testing.T) {
	t.Parallel()
	const public = "PUBLIC_URL=https://calls.example.com"
	for _, set := range [][]string{
		{public, apiKey, connectionID, publicKey},
		{apiKey, connectionID},
		{public, trunk},
		{public, accountSID, authToken},
		{public},
		{public, "TELNYX_PUBLIC_KEY_FILE=" + write(t, "key", strings.TrimPrefix(publicKey, "TELNYX_PUBLIC_KEY=")), apiKey, connectionID},
	} {
		if got := load(t, config.Options{}, append(set, databaseURL)...).Warnings(); len(got) > 0 {
			t.Errorf("%q: warnings %q", set, got)
		}
	}
	load(t, config.Options{Demo: true}, databaseURL, public, apiKey, connectionID) // the account is left out
	const needed = "it is needed with PUBLIC_URL: nothing else tells this account's webhooks from forged ones"
	for _, set := range [][]string{{public, apiKey, connectionID}, {"PUBLIC_URL_FILE=" + write(t, "url", "https://calls.example.com"), apiKey, connectionID}, {public, apiKey, connectionID, accountSID, authToken}} {
		found := mistakes(t, config.Options{}, append(set, databaseURL)...)
		if len(found) != 1 || found[0].Name != "TELNYX_PUBLIC_KEY" || !strings.HasSuffix(found[0].Text, needed) {
			t.Errorf("%q: %v", set, found)
		}
	}
	// So it is with an account that a line names.
	of := []string{"EU_API_KEY=k", "EU_CONNECTION_ID=1"}
	further(t, config.CarrierTelnyx, "EU", false, of...)
	further(t, config.CarrierTelnyx, "EU", false, append(of, public, strings.Replace(publicKey, "TELNYX", "EU", 1))...)
	_, err := config.ReadAccount(append(of, public, publicKey), config.CarrierTelnyx, "EU", false)
	if found, _ := errors.AsType[config.Mistakes](err); len(found) != 1 || found[0].Name != "EU_PUBLIC_KEY" || !strings.HasSuffix(found[0].Text, needed) {
		t.Errorf("%v", err)
	}
	further(t, config.CarrierSIP, "EU", false, public, "EU_TRUNK=sip:trunk.example.com")
	if _, err := config.ReadAccount([]string{public, "EU_ACCOUNT_SID=ACx"}, config.CarrierTwilio, "EU", false); err == nil || !strings.Contains(err.Error(), "EU_AUTH_TOKEN is unset") {
		t.Errorf("%v", err)
	}
}

func TestEmptyIsUnset(t *testing.T) {
	t.Parallel()
	load(t, config.Options{}, databaseURL, "PHONE_FOLLOWUP_TICK=", "TWILIO_FROM=", "GATE_COUNTRIES=", "LOG_LEVEL_FILE=", "GATE_TYPO=",
		"TELNYX_API_KEY=", "TELNYX_PUBLIC_KEY=", "SIP_TRUNK=", "SIP_PASSWORD=",
		"GATE_CALLING_HOURS=", "GATE_MAX_PER_NUMBER_24H=", "GATE_MIN_GAP=", "GATE_CALLED_IN=")
	load(t, config.Options{}, databaseURL, "GATE_MIN_GAP=0", "GATE_MAX_PER_MINUTE=0")
}

func TestAllMistakesAtOnceInOrder(t *testing.T) {
	t.Parallel()
	found := mistakes(
		t, config.Options{}, "GATE_WHATEVER=1", "GATE_COUNTRY=US", "GATE_2=2", "TWILIO_CALLS_PER_SECOND=-1", "PHONE_FOLLOWUP_TICK=0s",
		"PHONE_FOLLOWUP_DRAINERS=none", "IDEMPOTENCY_HOURS=3", "LOG_LEVEL=loud", authToken, "TELNYX_API_KEY=two words",
		"TELNYX_PUBLIC_KEY=x", "SIP_RING_FOR=1s", password, "SIP_FROM=us",
	)
	want := `DATABASE_URL is unset: accepts a postgres:// URL, or libpq's keyword=value form; serve --embedded needs none
LOG_LEVEL is "loud": accepts debug, info, warn or error
PHONE_FOLLOWUP_TICK is "0s": accepts a duration from 1s to 1h in whole milliseconds, with its unit, such as 1m
PHONE_FOLLOWUP_DRAINERS is "none": accepts a whole number from 1 to 64
TWILIO_ACCOUNT_SID is unset: accepts AC and then letters and digits, 34 characters with Twilio itself; it is needed with the others of Twilio
TWILIO_CALLS_PER_SECOND is "-1": accepts a decimal number from 0 to 1000 with at most three places
TELNYX_API_KEY is (hidden): accepts the account's API key: letters, digits and signs, no spaces
TELNYX_CONNECTION_ID is unset: accepts up to 64 letters, digits, - and _, and no API key; it is needed with the others of Telnyx
TELNYX_PUBLIC_KEY is "x": accepts base64 of 32 bytes, 44 characters with its = at the end
SIP_TRUNK is unset: accepts sip:host or sip:host:port over TCP, sips: for the same over TLS, without a user; it is needed with the others of SIP
SIP_USERNAME is unset: accepts letters, digits and signs, but no space, quote, colon or backslash; it is needed with SIP_PASSWORD
SIP_FROM is "us": accepts a number in E.164 form: + and 7 to 15 digits, nothing between
SIP_RING_FOR is "1s": accepts a duration from 5s to 5m in whole milliseconds, with its unit, such as 60s
GATE_2 is "2": there is no such variable; did you mean GATE_MIN_GAP?
GATE_COUNTRY is "US": there is no such variable; did you mean GATE_COUNTRIES?
GATE_WHATEVER is "1": there is no such variable; did you mean GATE_COUNTRIES?
IDEMPOTENCY_HOURS is "3": there is no such variable; did you mean IDEMPOTENCY_KEY_HOURS?`
	if got := found.Error(); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

func TestUnknownNames(t *testing.T) {
	t.Parallel()
	for unknown, meant := range map[string]string{
		"PHONE_FOLLOWUP_TIKC":             "PHONE_FOLLOWUP_TICK",
		"PHONE_FOLLOWUP_TICKS":            "PHONE_FOLLOWUP_TICK",
		"PHONE_FOLLOWUP_":                 "PHONE_FOLLOWUP_TICK",
		"PHONE_FOLLOWUP_DIAL":             "PHONE_FOLLOWUP_DIAL_TIMEOUT",
		"PHONE_FOLLOWUP_RETRY":            "PHONE_FOLLOWUP_RETRY_AFTER",
		"PHONE_FOLLOWUP_MAX_LATE":         "PHONE_FOLLOWUP_MAX_LATE_HOURS",
		"PHONE_FOLLOWUP_QUARRANTINE":      "PHONE_FOLLOWUP_QUARANTINE",
		"PHONE_FOLLOWUP_QUARRANTINE_FILE": "PHONE_FOLLOWUP_QUARANTINE_FILE",
		"GATE_COUNTRY":                    "GATE_COUNTRIES",
		"GATE_COUNTRY_FILE":               "GATE_COUNTRIES_FILE",
		"GATE_CALLING_HOUR":               "GATE_CALLING_HOURS",
		"IDEMPOTENCY_KEY_HUORS":           "IDEMPOTENCY_KEY_HOURS",
	} {
		found := mistakes(t, config.Options{}, databaseURL, unknown+"=1")
		if len(found) != 1 || found[0].Name != unknown || !strings.HasSuffix(found[0].Text, "did you mean "+meant+"?") {
			t.Errorf("%s: %v, want %s suggested", unknown, found, meant)
		}
	}
	load(t, config.Options{}, databaseURL, "TWILIO_API_KEY=other tools have it", "GATEWAY=1", "phone_followup_tick=1")
	if got := mistakes(t, config.Options{}, databaseURL, "GATE_\nX=1").Error(); strings.Contains(got, "\n") {
		t.Errorf("a name broke its line: %q", got)
	}
}
