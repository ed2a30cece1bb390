package telnyx

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"testing"
	"time"

	"chasephone/internal/carrier"
)

const (
	testKey        = "KEY0123-secret-of-the-account"
	testConnection = "7267123456789012345"
)

// signer is a key made from one byte, the same for every run.
func signer(b byte) ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed(bytes.Repeat([]byte{b}, ed25519.SeedSize))
}

func public(k ed25519.PrivateKey) string {
	return base64.StdEncoding.EncodeToString(k.Public().(ed25519.PublicKey))
}

func goodConfig() Config {
	return Config{APIKey: testKey, ConnectionID: testConnection, PublicKey: public(signer(1))}
}

// now is when the tests take place.
func now() time.Time { return time.Date(2026, 1, 5, 10, 0, 0, 0, time.UTC) }

func newAccount(t testing.TB, base string, change ...func(*Config)) *Carrier {
	t.Helper()
	c := goodConfig()
	c.BaseURL, c.PublicURL, c.Now = base, "https://calls.example.com/base/", now
	for _, f := range change {
		f(&c)
	}
	a, err := New(c, carrier.NewTransport(carrier.Options{Carrier: Name, AllowLoopback: true}))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestNewNamesEveryMistake(t *testing.T) {
	t.Parallel()
	strict := carrier.NewTransport(carrier.Options{})
	for _, row := range []struct {
		name   string
		change func(*Config)
		errors []string // parts of the message; none: accepted
	}{
		{"good", func(*Config) {}, nil},
		{"the least", func(c *Config) { c.PublicKey = "" }, nil},
		{"all", func(c *Config) {
			c.BaseURL, c.PublicURL, c.CallsPerSecond = "https://api.telnyx.eu/", "http://x.example/y", 2.5
		}, nil},
		{"no key", func(c *Config) { c.APIKey = "" }, []string{"API key"}},
		{"a key that ends the header", func(c *Config) { c.APIKey = "KEY\r\nX: y" }, []string{"API key"}},
		{"no connection", func(c *Config) { c.ConnectionID = "" }, []string{"connection ID"}},
		{"a public key that is none", func(c *Config) { c.PublicKey = "x" }, []string{"public key"}},
		{"a public key that is too short", func(c *Config) { c.PublicKey = "AAAA" }, []string{"public key"}},
		{"plain http", func(c *Config) { c.BaseURL = "http://api.telnyx.com" }, []string{"base URL"}},
		{"loopback", func(c *Config) { c.BaseURL = "http://127.0.0.1:8081" }, []string{"base URL", "CARRIER_ALLOW_LOOPBACK"}},
		{"public URL without a scheme", func(c *Config) { c.PublicURL = "calls.example.com" }, []string{"public URL"}},
		{"public URL with a query", func(c *Config) { c.PublicURL = "https://calls.example.com?x" }, []string{"public URL"}},
		{"negative pace", func(c *Config) { c.CallsPerSecond = -1 }, []string{"calls per second"}},
		{"no number at all", func(c *Config) { c.CallsPerSecond = math.NaN() }, []string{"calls per second"}},
		{
			"everything", func(c *Config) { *c = Config{BaseURL: "x", PublicURL: "y", PublicKey: "z", CallsPerSecond: -1} },
			[]string{"API key", "connection ID", "public key", "base URL", "public URL", "calls per second"},
		},
	} {
		c := goodConfig()
		row.change(&c)
		_, err := New(c, strict)
		if (err != nil) != (row.errors != nil) {
			t.Errorf("%s: %v", row.name, err)
		}
		for _, part := range row.errors {
			if err != nil && (!strings.Contains(err.Error(), part) || strings.Contains(err.Error(), testKey)) {
				t.Errorf("%s: %q does not name %q", row.name, err, part)
			}
		}
	}
}

func TestConfigKeepsItsKey(t *testing.T) {
	t.Parallel()
	c := goodConfig()
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "account", c)
	for _, printed := range []string{fmt.Sprint(c), fmt.Sprintf("%+v %#v %s", c, &c, c), log.String()} {
		if strings.Contains(printed, testKey) || !strings.Contains(printed, testConnection) {
			t.Errorf("printed as %s", printed)
		}
	}
}
