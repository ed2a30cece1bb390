package config_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"chasephone/config"
)

// TestAnyEnvironment: whatever is set, it loads within the bounds or every line names a
// variable, and no secret is in any of them.
func TestAnyEnvironment(t *testing.T) {
	t.Parallel()
	const secret = "correct-horse battery" // not a token, because of the space
	names := documented(t)
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.OneOf(
			rapid.SampledFrom(names),
			rapid.StringMatching(`(PHONE_FOLLOWUP|GATE|IDEMPOTENCY)_[A-Z_]{0,8}`),
			rapid.StringMatching(`[A-Z]{1,6}`),
		)
		value := rapid.OneOf(
			rapid.SampledFrom([]string{
				"", "on", "off", "hold", "0", "calling_hours.yaml", "./load.go", "1", "24", "1m", "10s", "US", "US,CA", "127.0.0.1:0", "https://example.com", "info", "json", "+14155550123",
				"AC0123456789abcdef0123456789abcdef", "sip:trunk.example.com", "sips:localhost:5061", "example.com", "VaO9moiW310ykZCzkaDR9QjEsvCxohTheqFZSs8+VYo=", "postgres://localhost/x", "postgres://u:" + secret + "@h/x", secret,
			}),
			rapid.String(),
		)
		set := rapid.MapOf(name, value).Draw(t, "environment")
		var environ []string
		for name, value := range set {
			environ = append(environ, name+"="+value)
		}
		c, err := config.Load(environ, config.Options{Embedded: rapid.Bool().Draw(t, "embedded"), Demo: rapid.Bool().Draw(t, "demo")})
		if err == nil {
			checkBounds(t, c)
			return
		}
		found, ok := errors.AsType[config.Mistakes](err)
		if lines := strings.Split(err.Error(), "\n"); !ok || len(lines) != len(found) {
			t.Fatalf("%d lines for %d mistakes: %v", len(lines), len(found), err)
		}
		for _, m := range found {
			if _, isSet := set[m.Name]; !isSet && !slices.Contains(names, m.Name) {
				t.Fatalf("%q names no variable", m.Error())
			}
		}
		for _, name := range []string{"DATABASE_URL", "TWILIO_AUTH_TOKEN", "TELNYX_API_KEY", "SIP_PASSWORD"} {
			if strings.Contains(set[name], secret) && strings.Contains(lineOf(found, name), secret) {
				t.Fatalf("the secret is shown: %v", err)
			}
		}
	})
}

func lineOf(found config.Mistakes, name string) string {
	for _, m := range found {
		if m.Name == name {
			return m.Error()
		}
	}
	return ""
}

func checkBounds(t interface{ Fatalf(string, ...any) }, c config.Config) {
	l := c.Limits()
	if l.Tick < time.Second || l.Tick > time.Hour || l.PerTick < 1 || l.PerTick > 100 || l.MaxLate < time.Hour || l.MaxLate > 72*time.Hour ||
		l.DialTimeout < time.Second || l.DialSlots < 1 || l.Drainers < 1 || l.Quarantine < time.Second || l.RetryAfter < time.Second {
		t.Fatalf("limits out of bounds: %+v", l)
	}
	if g := c.Gates; (g.Rules == nil) != (g.CallingHours == "off") || g.MaxPerNumber24H > 500 || g.MinGap < 0 || g.MinGap > 720*time.Hour ||
		g.CalledIn != "hold" && g.CalledIn != "off" {
		t.Fatalf("gates: %+v", g)
	}
	if cps := c.Carriers.Twilio.CallsPerSecond; cps != 0 && (cps < 0.001 || cps > 1000) {
		t.Fatalf("calls per second: %v", cps)
	}
	a := c.Carriers
	if a.Twilio.Configured() == a.Twilio.AuthToken.IsZero() || a.Telnyx.Configured() != (a.Telnyx.ConnectionID != "") ||
		(a.SIP.Username == "") != a.SIP.Password.IsZero() || !a.SIP.Configured() && a.SIP.Username != "" {
		t.Fatalf("incomplete: %+v", c)
	}
}
