package twilio

import (
	"bytes"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"testing"

	"chasephone/internal/carrier"
)

func TestNewNamesEveryMistake(t *testing.T) {
	t.Parallel()
	good := Config{AccountSID: testSID, AuthToken: testToken}
	strict := carrier.NewTransport(carrier.Options{})
	for _, row := range []struct {
		name   string
		change func(*Config)
		errors []string // parts of the message; none: accepted
	}{
		{"the least", func(*Config) {}, nil},
		{"all", func(c *Config) {
			c.BaseURL, c.PublicURL, c.CallsPerSecond = "https://api.ie1.twilio.com/", "http://x.example/y", 2.5
		}, nil},
		{"no account", func(c *Config) { c.AccountSID = "" }, []string{"account SID"}},
		{"another kind of id", func(c *Config) { c.AccountSID = "SK" + testSID[2:] }, []string{"account SID"}},
		{"no token", func(c *Config) { c.AuthToken = "" }, []string{"auth token"}},
		{"plain http", func(c *Config) { c.BaseURL = "http://api.twilio.com" }, []string{"base URL"}},
		{"loopback", func(c *Config) { c.BaseURL = "http://127.0.0.1:8081" }, []string{"base URL", "CARRIER_ALLOW_LOOPBACK"}},
		{"public URL without a scheme", func(c *Config) { c.PublicURL = "calls.example.com" }, []string{"public URL"}},
		{"public URL with a query", func(c *Config) { c.PublicURL = "https://calls.example.com?x" }, []string{"public URL"}},
		{"negative pace", func(c *Config) { c.CallsPerSecond = -1 }, []string{"calls per second"}},
		{"no number at all", func(c *Config) { c.CallsPerSecond = math.NaN() }, []string{"calls per second"}},
		{
			"everything", func(c *Config) { *c = Config{BaseURL: "x", PublicURL: "y", CallsPerSecond: -1} },
			[]string{"account SID", "auth token", "base URL", "public URL", "calls per second"},
		},
	} {
		c := good
		row.change(&c)
		_, err := New(c, strict)
		if (err != nil) != (row.errors != nil) {
			t.Errorf("%s: %v", row.name, err)
		}
		for _, part := range row.errors {
			if err != nil && !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %q does not name %q", row.name, err, part)
			}
		}
	}
}

func TestConfigKeepsItsToken(t *testing.T) {
	t.Parallel()
	c := Config{AccountSID: testSID, AuthToken: testToken}
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "account", c)
	for _, printed := range []string{fmt.Sprint(c), fmt.Sprintf("%+v %#v %s", c, &c, c), log.String()} {
		if strings.Contains(printed, testToken) || !strings.Contains(printed, testSID) {
			t.Errorf("printed as %s", printed)
		}
	}
}
