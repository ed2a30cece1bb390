package config_test

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"chasephone/config"
)

// hers is a secret as no other text has it; {secret} stands for it in an environment.
const hers = "hunter2-Zq8kW3xV"

// FuzzLoad: whatever is set, with NUL between the variables, it loads within its bounds, or every
// mistake is one line that names a variable of ours and shows no secret.
func FuzzLoad(f *testing.F) {
	for _, one := range []string{
		databaseURL, accountSID, authToken, apiKey, connectionID, publicKey, trunk, username, password, "", "=", "x", "\x00\x00", "A==B",
		"DATABASE_URL=postgres://u:{secret}@h:1/x?y", "DATABASE_URL=password={secret}", "DATABASE_URL=my://u:{secret}@h%zz", "DATABASE_URL_FILE={secret}",
		"TWILIO_AUTH_TOKEN={secret} ", "TELNYX_API_KEY={secret}\n", "SIP_PASSWORD=\u2028{secret}", "SIP_PASSWORD_FILE=./fuzz_test.go",
		"PHONE_FOLLOWUP_TICK=1m0.5s", "PHONE_FOLLOWUP_PER_TICK=007", "PHONE_FOLLOWUP_MAX_LATE_HOURS=72", "PHONE_FOLLOWUP_TIC=1m", "GATE_\n=1",
		"GATE_CALLING_HOURS=calling_hours.yaml", "GATE_CALLING_HOURS=off", "GATE_CALLING_HOURS=./load.go", "GATE_COUNTRIES= US ,us", "GATE_MIN_GAP=1ms",
		"HTTP_ADDR=[::1]:0", "HTTP_ADDR=:8080\x00METRICS_ADDR=:8080", "PUBLIC_URL=https://[::1]:1/x/", "LOG_LEVEL=\u0130NFO", "LOG_LEVEL_FILE=/",
		"CARRIER_ALLOW_LOOPBACK=on\x00TWILIO_BASE_URL=http://127.0.0.1:1", "TWILIO_BASE_URL=https://0x7f.1", "TWILIO_FROM=+14155550123", "SIP_TRUNK=sip:[::1%25eth0]:5060",
		"TWILIO_CALLS_PER_SECOND=0.001", "SIP_SOUND=/\xff", "SIP_DOMAIN=-.", "IDEMPOTENCY_KEY_HOURS=1\x00IDEMPOTENCY_KEY_HOURS=x", "ACME_ACCOUNT_SID=AC1\x00ACME_AUTH_TOKEN={secret}",
	} {
		f.Add(one, uint8(0))
		f.Add(databaseURL+"\x00"+one, uint8(1))
	}
	names := documented(f)
	secret := []string{"DATABASE_URL", "TWILIO_AUTH_TOKEN", "TELNYX_API_KEY", "SIP_PASSWORD", "ACME_AUTH_TOKEN", "ACME_API_KEY", "ACME_PASSWORD"}
	ours := regexp.MustCompile(`^(PHONE_FOLLOWUP_|GATE_|IDEMPOTENCY_)`)
	f.Fuzz(func(t *testing.T, text string, flags uint8) {
		if strings.Contains(text, "/dev") || strings.Contains(text, "/proc") || strings.Contains(text, "..") {
			return // files that a test must not read
		}
		environ := strings.Split(text, "\x00")
		hides := true // the secret stands only where a secret does
		for i, pair := range environ {
			name, value, _ := strings.Cut(pair, "=")
			name = strings.TrimSuffix(name, "_FILE")
			known := slices.Contains(secret, name) && (name != "DATABASE_URL" || !strings.Contains(value, "://") || strings.Contains(value, ":{secret}@")) && !strings.Contains(name, "{secret}")
			hides = hides && (known || !strings.Contains(pair, "{secret}")) && strings.Count(pair, "{secret}") < 2 && !strings.Contains(pair, "_FILE=/") && !strings.Contains(pair, "_FILE=.")
			environ[i] = strings.ReplaceAll(pair, "{secret}", hers)
		}
		o := config.Options{Embedded: flags&1 != 0, Demo: flags&2 != 0, Today: time.Date(2026, 3, 4, 0, 0, 0, 0, time.UTC)}
		c, err := config.Load(environ, o)
		checkMistakes(t, err, hides, func(name string) bool {
			name = strings.TrimSuffix(name, "_FILE")
			return slices.Contains(names, name) || ours.MatchString(strings.Trim(name, `"`))
		})
		if err == nil {
			checkBounds(t, c)
		}
		if hides && strings.Contains(fmt.Sprintf("%+v %v", c, c.Warnings()), hers) {
			t.Errorf("the secret is in %+v", c)
		}
		for _, carrier := range config.CarrierNames() {
			_, err := config.ReadAccount(environ, carrier, "ACME", flags&4 != 0)
			checkMistakes(t, err, hides, func(name string) bool { return strings.HasPrefix(name, "ACME_") })
		}
		_, _ = config.ReadAccount(environ, config.CarrierTwilio, text, false) // it does not panic
	})
}

func checkMistakes(t *testing.T, err error, hides bool, known func(name string) bool) {
	t.Helper()
	if err == nil {
		return
	}
	found, ok := errors.AsType[config.Mistakes](err)
	if lines := strings.Split(err.Error(), "\n"); !ok || len(lines) != len(found) {
		t.Fatalf("%d mistakes in %d lines: %v", len(found), len(lines), err)
	}
	for _, m := range found {
		if !known(m.Name) || !strings.HasPrefix(m.Error(), m.Name+" is ") || m.Text == "" || strings.ContainsFunc(m.Error(), func(r rune) bool { return r < ' ' || r == 0x7f }) {
			t.Errorf("%q names no variable, or is no line", m.Error())
		}
	}
	if hides && strings.Contains(err.Error(), hers) {
		t.Errorf("the secret is shown: %v", err)
	}
}
