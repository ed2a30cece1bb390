package config_test

import (
	"strings"
	"testing"

	"chasephone/config"
)

func TestEmbeddedIgnoresDatabaseURL(t *testing.T) {
	t.Parallel()
	embedded := config.Options{Embedded: true}
	if c := load(t, embedded); !c.Database.URL.IsZero() || len(c.Warnings()) != 0 {
		t.Errorf("URL %v, warnings %q", c.Database.URL, c.Warnings())
	}
	for _, set := range []string{databaseURL, "DATABASE_URL=mysql://of/another/program", "DATABASE_URL_FILE=/nowhere"} {
		c := load(t, embedded, set)
		if w := c.Warnings(); !c.Database.URL.IsZero() || len(w) != 1 || !strings.HasPrefix(w[0], "DATABASE_URL is set") {
			t.Errorf("%s: URL %v, warnings %q", set, c.Database.URL, w)
		}
	}
}

// TestDemoRingsNobody: a demo started in a shell that has real credentials must not use them.
func TestDemoRingsNobody(t *testing.T) {
	t.Parallel()
	demo := config.Options{Demo: true}
	account := []string{databaseURL, accountSID, authToken, "TWILIO_FROM=+14155550123"}
	for _, base := range []string{"", "https://api.twilio.com", "http://10.0.0.1", "https://localhost.example.com"} {
		c := load(t, demo, append(account, "TWILIO_BASE_URL="+base)...)
		twilio := c.Carriers.Twilio
		if twilio.Configured() || !twilio.AuthToken.IsZero() || !twilio.From.IsZero() || len(c.Warnings()) != 1 {
			t.Errorf("base %q: %+v, warnings %q", base, twilio, c.Warnings())
		}
	}
	for _, base := range []string{"http://127.0.0.1:4010", "http://[::1]:4010", "http://localhost:4010"} {
		c := load(t, demo, append(account, "TWILIO_BASE_URL="+base)...)
		if !c.Carriers.Twilio.Configured() || !c.Carriers.AllowLoopback || len(c.Warnings()) != 0 {
			t.Errorf("base %q: %+v, warnings %q", base, c.Carriers, c.Warnings())
		}
	}
	if c := load(t, demo, databaseURL); !c.Carriers.AllowLoopback || len(c.Warnings()) != 0 {
		t.Errorf("%+v, warnings %q", c.Carriers, c.Warnings())
	}
}
