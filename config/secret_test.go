package config_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"chasephone/config"
)

// TestMistakesHideSecrets: a mistake goes to a terminal, a journal and a ticket.
func TestMistakesHideSecrets(t *testing.T) {
	t.Parallel()
	const secret = "fedcba9876543210fedcba9876543210"
	for _, one := range []struct{ set, want string }{
		{"TWILIO_AUTH_TOKEN=" + secret + " ", "TWILIO_AUTH_TOKEN is (hidden): "},
		{"TWILIO_AUTH_TOKEN=x://" + secret + " ", "TWILIO_AUTH_TOKEN is (hidden): "},
		{"TWILIO_ACCOUNT_SID=" + secret, "TWILIO_ACCOUNT_SID is (hidden): "},
		{"TWILIO_AUTH_TOKEN_FILE=" + secret, "TWILIO_AUTH_TOKEN_FILE is (hidden): "},
		{"DATABASE_URL_FILE=postgres://u:" + secret + "@h/db", "DATABASE_URL_FILE is (hidden): "},
		{"LOG_LEVEL_FILE=postgres://u:" + secret + "@h/db", `LOG_LEVEL_FILE is "postgres://(hidden)@h/db": `},
		{"PUBLIC_URL=https://" + secret + "@h/x", `PUBLIC_URL is "https://(hidden)@h/x": `},
		{"GATE_TOKEN=" + secret, "GATE_TOKEN is (hidden): "},
		{"DATABASE_URL=mysql://u:" + secret + "@h:1/db?password=" + secret + "#" + secret, `DATABASE_URL is "mysql://(hidden)@h:1/db?(hidden)": `},
		{"DATABASE_URL=u:" + secret + "@h/db", "DATABASE_URL is (hidden): "},
		{"DATABASE_URL=postgres://u:1/" + secret + "@h:0x1/db", "DATABASE_URL is (hidden): "},
		{"DATABASE_URL=my://u:1?" + secret + "@h/db", "DATABASE_URL is (hidden): "},
		{"DATABASE_URL=postgres://u:%" + secret + "%%@h/db", "DATABASE_URL is (hidden): "},
		{"DATABASE_URL=//u:" + secret + "@h/db", "DATABASE_URL is (hidden): "},
		{"DATABASE_URL=Password=" + secret, "DATABASE_URL is (hidden): "},
		{"LOG_LEVEL=" + strings.Repeat("x", 1000), `LOG_LEVEL is "` + strings.Repeat("x", 80) + `"...: `},
		{"TELNYX_API_KEY=" + secret + " ", "TELNYX_API_KEY is (hidden): "},
		{"TELNYX_CONNECTION_ID=" + secret, "TELNYX_CONNECTION_ID is (hidden): "},
		{"TELNYX_CONNECTION_ID=KEY" + secret, "TELNYX_CONNECTION_ID is (hidden): "},
		{"TELNYX_API_KEY_FILE=KEY" + secret, "TELNYX_API_KEY_FILE is (hidden): "},
		{"TELNYX_PUBLIC_KEY=KEY" + secret + "_x-y", "TELNYX_PUBLIC_KEY is (hidden): "},
		{"TELNYX_FROM=1 (415) 555-0123", `TELNYX_FROM is "* (***) ***-**23": `},
		{"SIP_PASSWORD=" + secret + " ", "SIP_PASSWORD is (hidden): "},
		{"SIP_PASSWORD_FILE=" + secret, "SIP_PASSWORD_FILE is (hidden): "},
		{"SIP_TRUNK=sip:us:" + secret + "@trunk.example.com", "SIP_TRUNK is (hidden): "},
		{"SIP_TRUNK=us:" + secret + "/\n@trunk.example.com", "SIP_TRUNK is (hidden): "},
		{"SIP_TRUNK=sip://us:" + secret + "@trunk.example.com", `SIP_TRUNK is "sip://(hidden)@trunk.example.com": `},
		{"SIP_TRUNK_FILE=sip:us:" + secret + "@trunk.example.com", "SIP_TRUNK_FILE is (hidden): "},
		{"SIP_DOMAIN=us:" + secret + "@trunk.example.com", "SIP_DOMAIN is (hidden): "},
		{"TWILIO_FROM=1 (415) 555-0123", `TWILIO_FROM is "* (***) ***-**23": `},
		{"TWILIO_FROM=\u0664155550123", `TWILIO_FROM is "********23": `},
	} {
		text := mistakes(t, config.Options{}, one.set).Error()
		if !strings.Contains("\n"+text, "\n"+one.want) {
			t.Errorf("%s:\n%s\nwant a line that begins with %s", one.set, text, one.want)
		}
		if strings.Contains(text, secret) {
			t.Errorf("%s: the secret is in %s", one.set, text)
		}
	}
}

func TestConfigPrintsNoSecrets(t *testing.T) {
	t.Parallel()
	c := load(t, config.Options{}, "DATABASE_URL=postgres://u:hunter2@h/db?sslmode=require", accountSID, authToken, "TWILIO_FROM=+14155550123",
		apiKey, connectionID, trunk, username, password)
	encoded, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	var logged bytes.Buffer
	slog.New(slog.NewTextHandler(&logged, nil)).Info("start", "config", c, "token", c.Carriers.Twilio.AuthToken)
	for _, text := range []string{
		fmt.Sprintf("%v %+v %#v", c, c, c), fmt.Sprintf("%q %x %d", c.Database.URL, c.Database.URL, c.Database.URL), string(encoded), logged.String(),
	} {
		for _, secret := range []string{"hunter2", "fedcba98", "4155550123"} {
			if strings.Contains(text, secret) {
				t.Errorf("%q is in %s", secret, text)
			}
		}
	}
}

func TestFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	c := load(
		t, config.Options{}, "DATABASE_URL_FILE="+write("url", "postgres://u:p@localhost/db\r\n\n"),
		"PHONE_FOLLOWUP_TICK_FILE="+write("tick", "5s\n"), "LOG_FORMAT=json", "LOG_FORMAT_FILE=",
	)
	if c.Database.URL.Reveal() != "postgres://u:p@localhost/db" || c.FollowUps.Tick.String() != "5s" || c.Logging.Format != "json" {
		t.Errorf("got %q, %v, %q", c.Database.URL.Reveal(), c.FollowUps.Tick, c.Logging.Format)
	}

	for _, one := range []struct{ set, want string }{
		{"LOG_LEVEL_FILE=" + dir + "/nowhere", `LOG_LEVEL_FILE is "` + dir + `/nowhere": accepts a file to read the value from: no such file or directory`},
		{"LOG_LEVEL_FILE=" + dir, `LOG_LEVEL_FILE is "` + dir + `": accepts a file to read the value from: is a directory`},
		{"LOG_LEVEL_FILE=" + write("empty", "\n"), `LOG_LEVEL_FILE is "` + dir + `/empty": accepts a file to read the value from: it is empty`},
		{"LOG_LEVEL_FILE=" + write("long", strings.Repeat("x", 65<<10)), `LOG_LEVEL_FILE is "` + dir + `/long": accepts a file to read the value from: it is longer than 65536 bytes`},
		{"LOG_LEVEL_FILE=" + write("loud", "loud\n"), `LOG_LEVEL_FILE is a file that holds "loud": accepts debug, info, warn or error`},
		{"PHONE_FOLLOWUP_TICK_FILE=" + write("two", "1s\n2s\n"), `PHONE_FOLLOWUP_TICK_FILE is a file that holds "1s\n2s": accepts a duration`},
		{"DATABASE_URL_FILE=" + dir + "/nowhere", `DATABASE_URL_FILE is "` + dir + `/nowhere": accepts a file`},
		{"DATABASE_URL_FILE=" + write("bad", "hunter2"), `DATABASE_URL_FILE is a file that holds (hidden): accepts`},
	} {
		environ := []string{one.set}
		if !strings.HasPrefix(one.set, "DATABASE_URL") {
			environ = append(environ, databaseURL)
		}
		if got := mistakes(t, config.Options{}, environ...); len(got) != 1 || !strings.HasPrefix(got.Error(), one.want) {
			t.Errorf("%s:\n%v\nwant\n%s", one.set, got, one.want)
		}
	}
	both := mistakes(t, config.Options{}, databaseURL, "LOG_LEVEL=info", "LOG_LEVEL_FILE="+dir+"/loud")
	if want := `accepts nothing while LOG_LEVEL is set too: unset one of them`; len(both) != 1 || both[0].Name != "LOG_LEVEL_FILE" || both[0].Text != want {
		t.Errorf("both set: %v", both)
	}
}
