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
	all := []string{databaseURL, accountSID, authToken, apiKey, connectionID, username, password}
	configured := func(c config.Carriers) [3]bool {
		return [3]bool{c.Twilio.Configured(), c.Telnyx.Configured(), c.SIP.Configured()}
	}
	for _, host := range []string{"example.com", "10.0.0.1", "localhost.example.com"} {
		set := append(all, "TWILIO_BASE_URL=https://"+host, "TELNYX_BASE_URL=https://"+host, "SIP_TRUNK=sip:"+host)
		for _, from := range []string{"TWILIO_FROM", "TELNYX_FROM", "SIP_FROM"} {
			c := load(t, demo, append(set, from+"=+14155550123")...)
			if configured(c.Carriers) != [3]bool{} || len(c.Warnings()) != 3 {
				t.Errorf("%s: %+v, warnings %q", host, c.Carriers, c.Warnings())
			}
			for i, name := range []string{"TWILIO_ACCOUNT_SID", "TELNYX_API_KEY", "SIP_TRUNK"} {
				if !strings.HasPrefix(c.Warnings()[i], name+" is set: this is a demo") {
					t.Errorf("%s: warnings %q", name, c.Warnings())
				}
			}
			a := c.Carriers
			if !a.Twilio.AuthToken.IsZero() || !a.SIP.Password.IsZero() || !a.Twilio.From.IsZero() || !a.Telnyx.From.IsZero() || !a.SIP.From.IsZero() {
				t.Errorf("%s: %+v", host, a)
			}
		}
	}
	for _, base := range []string{"", "https://api.twilio.com"} { // where it is when nobody says so
		c := load(t, demo, databaseURL, accountSID, authToken, "TWILIO_BASE_URL="+base)
		if c.Carriers.Twilio.Configured() || len(c.Warnings()) != 1 {
			t.Errorf("base %q: %+v, warnings %q", base, c.Carriers, c.Warnings())
		}
	}
	for _, host := range []string{"127.0.0.1:4010", "[::1]:4010", "localhost:4010"} {
		c := load(t, demo, append(all, "TWILIO_BASE_URL=http://"+host, "TELNYX_BASE_URL=http://"+host, "SIP_TRUNK=sip:"+host, "TWILIO_FROM=+14155550123")...)
		if configured(c.Carriers) != [3]bool{true, true, true} || !c.Carriers.AllowLoopback || len(c.Warnings()) != 0 {
			t.Errorf("%s: %+v, warnings %q", host, c.Carriers, c.Warnings())
		}
	}
	if c := load(t, demo, databaseURL); !c.Carriers.AllowLoopback || len(c.Warnings()) != 0 {
		t.Errorf("%+v, warnings %q", c.Carriers, c.Warnings())
	}
}
