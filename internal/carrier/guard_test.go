package carrier

import (
	"strings"
	"testing"
)

func TestGuardURL(t *testing.T) {
	t.Parallel()
	const public, local, never = "public", "local", "never" // always, with loopback allowed, never
	for url, allowed := range map[string]string{
		"https://api.twilio.com":         public,
		"https://api.twilio.com:8443/v2": public,
		"https://93.184.216.34":          public,
		"https://[2606:2800:220:1::1]":   public,
		"http://api.twilio.com":          never,
		"ftp://api.twilio.com":           never,
		"api.twilio.com":                 never,
		"https://":                       never,
		"https://user:pw@api.twilio.com": never,
		"https://api.twilio.com?x=1":     never,
		"https://api.twilio.com/#x":      never,
		"http://127.0.0.1:8081":          local,
		"http://127.9.9.9":               local,
		"http://[::1]:8081":              local,
		"http://[::ffff:127.0.0.1]":      local,
		"http://localhost:8081":          local,
		"https://LOCALHOST.":             local,
		"https://x.localhost":            local,
		"https://10.0.0.1":               local,
		"https://172.16.3.4":             local,
		"https://192.168.1.1":            local,
		"http://192.168.1.1":             never,
		"https://169.254.169.254":        never,
		"https://100.64.0.1":             never,
		"https://0.0.0.0":                never,
		"https://255.255.255.255":        never,
		"https://224.0.0.1":              never,
		"https://[::]":                   never,
		"https://[fe80::1]":              never,
		"https://[fd00::1]":              local,
		"https://[::ffff:10.0.0.1]":      local,
		"https://[::ffff:100.64.0.1]":    never,
		"https://[64:ff9b::a00:1]":       never,
		"https://[2002:a00:1::]":         never,
	} {
		t.Run(url, func(t *testing.T) {
			t.Parallel()
			_, strict := guard{}.url(url)
			_, loose := guard{loopback: true}.url(url)
			if (strict == nil) != (allowed == public) {
				t.Errorf("loopback not allowed: %v", strict)
			}
			if (loose == nil) != (allowed != never) {
				t.Errorf("loopback allowed: %v", loose)
			}
			for _, err := range []error{strict, loose} {
				if err != nil && strings.Contains(err.Error(), "pw") {
					t.Errorf("the password is in %q", err)
				}
			}
		})
	}
}

func TestGuardControl(t *testing.T) {
	t.Parallel()
	for address, allowed := range map[string][2]bool{ // strict, with loopback
		"93.184.216.34:443":          {true, true},
		"[2606:2800:220:1::1]:443":   {true, true},
		"127.0.0.1:443":              {false, true},
		"[::1]:443":                  {false, true},
		"10.0.0.1:443":               {false, true},
		"[fe80::1%eth0]:443":         {false, false},
		"[::ffff:192.168.0.1]:443":   {false, true},
		"not an address":             {false, false},
		"169.254.169.254:80":         {false, false},
		"[2001:db8::1]:443":          {false, false},
		"[64:ff9b::127.0.0.1]:443":   {false, false},
		"[::ffff:93.184.216.34]:443": {true, true},
	} {
		for i, g := range []guard{{}, {loopback: true}} {
			if err := g.control("tcp", address, nil); (err == nil) != allowed[i] {
				t.Errorf("%s, loopback %v: %v", address, g.loopback, err)
			}
		}
	}
}
