package config_test

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"chasephone/config"
	"chasephone/internal/carrier"
)

// TestBadValues sets one variable wrong at a time: each is one line that names it and shows
// the value, or hides it.
func TestBadValues(t *testing.T) {
	t.Parallel()
	durations := []string{
		"0s", "-1m", "60", "1 m", " 1m", "1m ", "1M", "soon", "NaN", "Inf", "1e3s", "999999999h", "9223372036854775808ns",
		"\u0661m", "1m\n", "1.0000001s", "25h", "999ms", "1,5s", "\xff",
	}
	integers := []string{"-1", "+2", "1.0", "1e1", " 1", "1 ", "0x1", "1_0", "\u0661", "99999999999999999999", "one", "NaN"}
	addresses := []string{"8080", "localhost", "127.0.0.1:", "127.0.0.1:http", "127.0.0.1:65536", "127.0.0.1:-1", "::1:8080", "a b:80", "http://x:80", "x:80/", "\u0661:80"}
	urls := []string{
		"calls.example.com", "//calls.example.com", "/path", "ftp://calls.example.com", "https://", "https://:443", "https:calls.example.com",
		"https://calls.example.com?x=1", "https://calls.example.com/?", "https://calls.example.com#x", "https://u@calls.example.com",
		"https://calls.example.com:0x50", "https://calls.example.com:65536", "https://calls example.com", " https://calls.example.com",
		"https://\u0441alls.example.com", "https://calls.example.com\n", `https://calls.example.com\x`, "https://..", "javascript:alert(1)",
	}
	for name, values := range map[string][]string{
		"DATABASE_URL":                  {"mysql://localhost/x", "localhost:5432/x", "chasephone", "postgres://h:port/x", "postgres://h:1,i:70000/x", "postgres://h/\x00", "postgres:h"},
		"DATABASE_ALLOW_PLAIN":          {"true", "1", "yes"},
		"DATA_DIR":                      {" ", "/data\n", "/da\x00ta", "/data ", "\xff"},
		"HTTP_ADDR":                     addresses,
		"METRICS_ADDR":                  append(addresses, "127.0.0.1:8080"),
		"PUBLIC_URL":                    urls,
		"LOG_LEVEL":                     {"loud", "info ", "info+1", "0", "\u0130nfo"},
		"LOG_FORMAT":                    {"xml", "text,json", "j\u017fon"},
		"PHONE_FOLLOWUP_TICK":           append(durations, "1h1s"),
		"PHONE_FOLLOWUP_PER_TICK":       append(integers, "0", "101"),
		"PHONE_FOLLOWUP_RETRY_AFTER":    append(durations, "24h1ms"),
		"PHONE_FOLLOWUP_MAX_LATE_HOURS": append(integers, "0", "73", "24h", "1.5"),
		"PHONE_FOLLOWUP_DIAL_TIMEOUT":   append(durations, "2m1s"),
		"PHONE_FOLLOWUP_DIAL_SLOTS":     append(integers, "0", "4097"),
		"PHONE_FOLLOWUP_DRAINERS":       append(integers, "0", "65"),
		"PHONE_FOLLOWUP_QUARANTINE":     append(durations, "24h1s"),
		"PHONE_DEFAULT_REGION":          {"ZZ", "USA", "U", "1", "001", "U\u0405", "US,CA", " US"},
		"IDEMPOTENCY_KEY_HOURS":         append(integers, "0", "721", "24h"),
		"GATE_CALLING_HOURS":            {"true", "1", "yes", "no", "hours", "hours.json", "on off", " on", ".", "/nowhere/hours.json", "nowhere.yaml", "nowhere.yml", "./ ", "/a\nb", "/\xff", "/"},
		"GATE_COUNTRIES":                {"USA", "US,", ",US", "US,,CA", "US;CA", "US CA", "ZZ", "*"},
		"GATE_LINE_UNKNOWNS":            append(integers, "101"),
		"GATE_MAX_PER_NUMBER_24H":       append(integers, "501", "off"),
		"GATE_MAX_PER_NUMBER_7D":        append(integers, "501", "none"),
		"GATE_MAX_PER_NUMBER_30D":       append(integers, "501", "30d"),
		"GATE_MIN_GAP":                  {"-1s", "60", "1 h", " 1h", "1h ", "soon", "NaN", "7d", "1.0000001s", "720h1ms", "9223372036854775808ns", "off"},
		"GATE_CALLED_IN":                {"on", "true", "wait", "hold ", "0", "of"},
		"GATE_LINE_CALLS_AT_ONCE":       append(integers, "10001"),
		"GATE_MAX_PER_TENANT_DAY":       append(integers, "100001"),
		"GATE_MAX_PER_MINUTE":           append(integers, "100001", "1m"),
		"CARRIER_ALLOW_LOOPBACK":        {"true", "1", "yes"},
		"TWILIO_BASE_URL":               urls,
		"TELNYX_BASE_URL":               urls,
		"TELNYX_CALLS_PER_SECOND":       {"-1", "1e2", "1.0001", "1000.001", "fast"},
		"SIP_CALLS_PER_SECOND":          {"-1", "1e2", "1.0001", "1000.001", "fast"},
		"SIP_RING_FOR":                  append(durations, "4999ms", "5m1ms"),
		"SIP_TALK_FOR":                  {"-1s", "60", "1 m", "soon", "NaN", "1.0000001s", "5m1ms", "off"},
		"TWILIO_CALLS_PER_SECOND":       {"-1", "+1", "NaN", "Inf", "1e2", "0x1p1", ".5", "1.", "1,5", "1.0001", "1000.001", "1 ", "\u0661", strings.Repeat("9", 400)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, value := range values {
				checkOneLine(t, name, value, databaseURL, name+"="+value)
			}
		})
	}
	for name, values := range map[string][]string{
		"TWILIO_ACCOUNT_SID": {"AC", "SK0123456789abcdef0123456789abcdef", "AC0123456789/abcdef", "AC0123456789abcdef0123456789abcdef "},
		"TWILIO_AUTH_TOKEN":  {"two words", "token\n", "t\u00f6ken", "\x00"},
		"TELNYX_API_KEY":     {"two words", "key\n", "k\u00e9y", "\x00"},
		"TELNYX_CONNECTION_ID": {
			"1 2", "1/2", "1\n", strings.Repeat("1", 65), "\u0661", "1.2",
			"KEY0123456789ABCDEF_abcdefghijkl", "0123456789abcdef0123456789abcdef", // an API key, and a token
		},
		"TELNYX_PUBLIC_KEY": {
			"key", strings.Repeat("A", 43), strings.Repeat("A", 43) + "=\n", strings.Repeat("A", 42) + "B=", strings.Repeat("A", 44),
			strings.Repeat("_", 42) + "8=", strings.Repeat("A", 21) + "\n" + strings.Repeat("A", 22) + "=", strings.Repeat("0", 64),
		},
		"TELNYX_FROM": {"14155550123", "+1 415 555 0123", "sip:us@example.com"},
		"SIP_TRUNK": {
			"trunk.example.com", "sip:", "sip::5060", "sip:trunk.example.com:", "sip:trunk.example.com:0", "sip:trunk.example.com:00", "sip:trunk.example.com:65536",
			"sip:trunk.example.com:sip", "sip:trunk.example.com:5060:1", "sip://trunk.example.com", "sip:trunk.example.com/", "sip:us@trunk.example.com",
			"sip:us:secret@trunk.example.com", "sip:trunk.example.com;transport=udp", "sip:trunk.example.com?x", "tel:+14155550123", "https://trunk.example.com",
			" sip:trunk.example.com", "sip:trunk.example.com ", "sip: trunk.example.com", "sip:trunk.example.com\n", "sip:\u0441trunk.example.com", "sip:2001:4860::8888",
			"sip:::1", "sip:[2001:4860::8888", "sip:2001:4860::8888]", "sip:[trunk.example.com]", "sip:[2001:4860::8888]5060", "sip:%61.example.com", "sip:a..example.com", "sip:example.com.", "sip:a_b.example.com", "\u017fip:trunk.example.com",
		},
		"SIP_USERNAME": {"two words", "a:b", `a"b`, `a\b`, "a\n", "\u00fc"},
		"SIP_PASSWORD": {"two words", "pass\n", "\u00fc"},
		"SIP_DOMAIN":   {"example.com:5060", "https://example.com", "a b", "us@example.com", "example.com\n", ".", "example.com.", "a_b.example.com", "::1", strings.Repeat("a.", 126) + "aa"},
		"SIP_FROM":     {"14155550123", "+1 415 555 0123", "us"},
		"SIP_SOUND":    {" ", "/a.wav ", "/a\n.wav", "/\xff.wav"},
		"TWILIO_FROM":  {"14155550123", "+1 415 555 0123", "+04155550123", "+123456", "+1234567890123456", "+1415555012x", "+1\u0664155550123", "tel:+14155550123"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, value := range values {
				checkOneLine(t, name, value, databaseURL, accountSID, authToken, apiKey, connectionID, trunk, username, password, name+"="+value)
			}
		})
	}
}

func checkOneLine(t *testing.T, name, value string, environ ...string) {
	t.Helper()
	_, err := config.Load(environ, config.Options{})
	if err == nil {
		t.Errorf("%s=%q was accepted", name, value)
		return
	}
	line := err.Error()
	if !strings.HasPrefix(line, name+" is ") || strings.Contains(line, "\n") || !strings.Contains(line, ": accepts ") {
		t.Errorf("%s=%q: %q is not one line that names it", name, value, line)
	}
}

func TestCarriersMustBePublic(t *testing.T) {
	t.Parallel()
	here := []string{"localhost:4010", "sim.localhost", "127.0.0.1:4010", "[::1]", "[::ffff:127.0.0.1]", "localhost."}
	private := []string{"127.1", "0x7f.0.0.1", "2130706433", "10.0.0.1", "172.16.0.1", "192.168.1.1", "[fd00::1]", "carrier-sim:4010", "sim.local"}
	never := []string{"169.254.169.254", "[fe80::1]", "0.0.0.0", "100.64.0.1", "[::ffff:100.64.0.1]", "[64:ff9b::7f00:1]", "[2002:7f00:1::]", "224.0.0.1", "192.0.2.1", "[2001:db8::1]"}
	public := []string{"api.twilio.com", "api.ie1.twilio.com:443", "8.8.8.8", "[2001:4860:4860::8888]", "example.com."}
	const allow = "CARRIER_ALLOW_LOOPBACK=on"
	for _, name := range []string{"TWILIO_BASE_URL", "TELNYX_BASE_URL"} {
		for _, host := range slices.Concat(here, private, never, public) {
			for _, scheme := range []string{"http://", "https://"} {
				is := func(hosts []string) bool { return slices.Contains(hosts, host) }
				for _, row := range []struct {
					environ []string
					accepts bool
				}{
					{[]string{databaseURL}, scheme == "https://" && is(public)},
					{[]string{databaseURL, allow}, scheme == "https://" && !is(never) || is(here)}, // in the clear on this machine alone
				} {
					environ := append(row.environ, name+"="+scheme+host)
					if row.accepts {
						load(t, config.Options{}, environ...)
					} else {
						checkOneLine(t, name, scheme+host, environ...)
					}
				}
			}
		}
	}
	// A trunk sends no password in the clear: without TLS its host may be public.
	dotted := func(host string) bool { return strings.HasSuffix(host, ".") } // SIP has no such name
	for _, scheme := range []string{"sip:", "sips:", "SIP:"} {
		for _, host := range slices.DeleteFunc(slices.Concat(here, private), dotted) {
			checkOneLine(t, "SIP_TRUNK", host, databaseURL, "SIP_TRUNK="+scheme+host)
			load(t, config.Options{}, databaseURL, allow, "SIP_TRUNK="+scheme+host)
		}
		for _, host := range never {
			checkOneLine(t, "SIP_TRUNK", host, databaseURL, "SIP_TRUNK="+scheme+host)
			checkOneLine(t, "SIP_TRUNK", host, databaseURL, allow, "SIP_TRUNK="+scheme+host)
		}
		for _, host := range slices.DeleteFunc(slices.Clone(public), dotted) {
			load(t, config.Options{}, databaseURL, "SIP_TRUNK="+scheme+host)
			load(t, config.Options{}, databaseURL, allow, "SIP_TRUNK="+scheme+host)
		}
	}
}

// What the configuration accepts the transport takes; and with CARRIER_ALLOW_LOOPBACK what it
// refuses the transport refuses. Without, the configuration knows more of names.
func TestConfigurationAndTransportSayTheSame(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		host := rapid.OneOf(
			rapid.SampledFrom([]string{"api.twilio.com", "localhost", "LOCALHOST.", "x.localhost", "carrier-sim", "sim.local", "127.1", "a.internal"}),
			rapid.Custom(func(t *rapid.T) string {
				return netip.AddrFrom4([4]byte(rapid.SliceOfN(rapid.OneOf(rapid.Byte(), rapid.SampledFrom([]byte{0, 10, 100, 127, 169, 172, 192, 198, 203, 224, 240})), 4, 4).Draw(t, "v4"))).String()
			}),
			rapid.Custom(func(t *rapid.T) string {
				prefix := rapid.SampledFrom([]string{"", "2001:4860::", "2001:db8::", "fd00::", "fe80::", "ff02::", "64:ff9b::", "2002:a00:1::", "::ffff:10.0.0.", "::ffff:8.8.8.", "::"}).Draw(t, "prefix")
				if prefix == "" {
					return "[::1]"
				}
				return "[" + prefix + "1]"
			}),
		).Draw(t, "host")
		raw := rapid.SampledFrom([]string{"http://", "https://"}).Draw(t, "scheme") + host + rapid.SampledFrom([]string{"", ":4010", "/x"}).Draw(t, "rest")
		allow := rapid.Bool().Draw(t, "allow")
		environ := []string{databaseURL, "TWILIO_BASE_URL=" + raw}
		if allow {
			environ = append(environ, "CARRIER_ALLOW_LOOPBACK=on")
		}
		_, refused := config.Load(environ, config.Options{})
		refusedThere := carrier.NewTransport(carrier.Options{AllowLoopback: allow}).CheckURL(raw)
		if refused == nil && refusedThere != nil || allow && (refused == nil) != (refusedThere == nil) {
			t.Errorf("%s, allowed %v: the configuration says %v, the transport %v", raw, allow, refused, refusedThere)
		}
	})
}

// TestNoMistakeOfAMistake: what follows only from another mistake is not reported with it.
func TestNoMistakeOfAMistake(t *testing.T) {
	t.Parallel()
	checkOneLine(t, "CARRIER_ALLOW_LOOPBACK", "yes", databaseURL, "CARRIER_ALLOW_LOOPBACK=yes", "TWILIO_BASE_URL=http://localhost:4010")
	checkOneLine(t, "DATABASE_URL", "x", "DATABASE_URL=x")
	load(t, config.Options{}, databaseURL, "HTTP_ADDR=:0", "METRICS_ADDR=:0")
}

func TestAccountsComeTogether(t *testing.T) {
	t.Parallel()
	const from, telnyxFrom, sipFrom = "TWILIO_FROM=+14155550123", "TELNYX_FROM=+14155550124", "SIP_FROM=+14155550125"
	for _, one := range []struct {
		set  []string
		want string
	}{
		{[]string{accountSID}, "TWILIO_AUTH_TOKEN"},
		{[]string{authToken}, "TWILIO_ACCOUNT_SID"},
		{[]string{from}, "TWILIO_ACCOUNT_SID TWILIO_AUTH_TOKEN"},
		{[]string{accountSID, from}, "TWILIO_AUTH_TOKEN"},
		{[]string{"TWILIO_ACCOUNT_SID=x", from}, "TWILIO_ACCOUNT_SID TWILIO_AUTH_TOKEN"},
		{[]string{apiKey}, "TELNYX_CONNECTION_ID"},
		{[]string{connectionID}, "TELNYX_API_KEY"},
		{[]string{telnyxFrom}, "TELNYX_API_KEY TELNYX_CONNECTION_ID"},
		{[]string{publicKey}, "TELNYX_API_KEY TELNYX_CONNECTION_ID"},
		{[]string{trunk, username}, "SIP_PASSWORD"},
		{[]string{trunk, password}, "SIP_USERNAME"},
		{[]string{sipFrom}, "SIP_TRUNK"},
		{[]string{password}, "SIP_TRUNK SIP_USERNAME"},
		{[]string{"SIP_DOMAIN=example.com"}, "SIP_TRUNK"},
		{[]string{"SIP_SOUND=a.wav"}, "SIP_TRUNK"},
		{[]string{accountSID, apiKey, sipFrom}, "TWILIO_AUTH_TOKEN TELNYX_CONNECTION_ID SIP_TRUNK"},
		// One line is named default.
		{[]string{accountSID, authToken, from, apiKey, connectionID, telnyxFrom}, "TELNYX_FROM"},
		{[]string{trunk, sipFrom, apiKey, connectionID, telnyxFrom}, "SIP_FROM"},
	} {
		var got []string
		for _, m := range mistakes(t, config.Options{}, append(one.set, databaseURL)...) {
			got = append(got, m.Name)
		}
		if strings.Join(got, " ") != one.want {
			t.Errorf("%q: mistakes in %q, want %q", one.set, got, one.want)
		}
	}
	c := load(t, config.Options{}, databaseURL, accountSID, authToken, apiKey, connectionID, trunk).Carriers
	if !c.Twilio.Configured() || !c.Telnyx.Configured() || !c.SIP.Configured() || !c.Twilio.From.IsZero() || !c.Telnyx.From.IsZero() || !c.SIP.From.IsZero() {
		t.Errorf("accounts without a caller number: %+v", c)
	}
	// What has a default does not speak of an account.
	c = load(t, config.Options{}, databaseURL, "TELNYX_BASE_URL=https://example.com", "TELNYX_CALLS_PER_SECOND=2", "SIP_RING_FOR=30s", "SIP_TALK_FOR=100ms").Carriers
	if c.Telnyx.Configured() || c.SIP.Configured() {
		t.Errorf("no account: %+v", c)
	}
}
