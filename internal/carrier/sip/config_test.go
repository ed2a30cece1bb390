package sip

import (
	"bytes"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"testing"
	"time"

	"chasephone/internal/carrier"
)

func TestParseTrunk(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]trunk{
		"sip:trunk.example.com":                    {"trunk.example.com", 5060, false},
		"sip:trunk.example.com:5080":               {"trunk.example.com", 5080, false},
		"sip:trunk.example.com:5080;transport=tcp": {"trunk.example.com", 5080, false},
		"sip:trunk.example.com;transport=TLS":      {"trunk.example.com", 5061, true},
		"sips:trunk.example.com":                   {"trunk.example.com", 5061, true},
		"SIPS:trunk.example.com:443":               {"trunk.example.com", 443, true},
		"sip:93.184.216.34":                        {"93.184.216.34", 5060, false},
		"sip:[2606:2800:220:1::1]:5070":            {"2606:2800:220:1::1", 5070, false},
		"sip:trunk;transport=udp":                  {},
		"sip:trunk;lr":                             {},
		"sip:trunk;transport=tcp;lr":               {},
		"sip:me@trunk":                             {},
		"sip:me:pw@trunk":                          {},
		"sip:trunk?x=y":                            {},
		"sip://trunk":                              {},
		"sip:":                                     {},
		"sip:trunk:0x":                             {},
		"sip:trunk:70000":                          {},
		"sip:trunk:-1":                             {},
		"sip:trunk host":                           {},
		"tel:+14155550123":                         {},
		"https://trunk":                            {},
		"trunk.example.com":                        {},
		"*":                                        {},
		"":                                         {},
	} {
		got, err := parseTrunk(raw)
		if got != want || (err == nil) != (want != trunk{}) {
			t.Errorf("%q: %+v, %v", raw, got, err)
		}
		if err != nil && strings.Contains(err.Error(), "pw") {
			t.Errorf("the password is in %q", err)
		}
	}
}

// New names every mistake, and shows no password.
func TestMistakes(t *testing.T) {
	t.Parallel()
	_, err := New(Config{
		Trunk: "sip:10.0.0.1", Password: "s3cret", Domain: "a b", CallsPerSecond: math.NaN(),
		RingFor: time.Hour, TalkFor: -1, Sound: "/no/such/file",
	}, carrier.NewTransport(carrier.Options{}))
	if err == nil {
		t.Fatal("accepted")
	}
	for _, name := range []string{"trunk is 10.0.0.1", "username and password", "domain", "calls per second", "ring for", "talk for", "sound"} {
		if !strings.Contains(err.Error(), name) {
			t.Errorf("%q is not in %q", name, err)
		}
	}
	if strings.Contains(err.Error(), "s3cret") {
		t.Errorf("the password is in %q", err)
	}
	if _, err := New(Config{Trunk: "sip:127.0.0.1"}, carrier.NewTransport(carrier.Options{})); err == nil {
		t.Error("this machine is accepted")
	}
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	a, err := New(Config{Trunk: "sips:trunk.example.com", CallsPerSecond: 2}, carrier.NewTransport(carrier.Options{}))
	if err != nil {
		t.Fatal(err)
	}
	if a.Name() != "sip" || a.CallsPerSecond() != 2 || !a.Fits(strings.Repeat("x", 1<<20)) ||
		a.config.Domain != "trunk.example.com" || a.config.RingFor != time.Minute || len(a.sound) != 2*rate {
		t.Errorf("%v, %d bytes of sound", a.config, len(a.sound))
	}
}

func TestPasswordIsNotPrinted(t *testing.T) {
	t.Parallel()
	c := Config{Trunk: "sip:trunk", Username: "me", Password: "s3cret"}
	var out bytes.Buffer
	slog.New(slog.NewTextHandler(&out, nil)).Info("x", "config", c)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%d", "%x"} {
		fmt.Fprintf(&out, verb, c)
		fmt.Fprintf(&out, verb, &c)
	}
	if strings.Contains(out.String(), "s3cret") || !strings.Contains(out.String(), "sip:trunk") {
		t.Error(out.String())
	}
}
