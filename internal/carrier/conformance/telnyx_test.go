package conformance_test

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	encoding "encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"chasephone/internal/carrier"
	"chasephone/internal/carrier/telnyx"
	"chasephone/internal/drain"
)

const (
	telnyxSecret = "KEY0123-secret-of-the-telnyx-account"
	telnyxCall   = "v3:MdI91X4lWFEs7IgbBEOT9M4AigoY08M0WWZFISt1Yw2axZ_IiE4pqg"
)

// telnyxKey is a key made from one byte, the same for every run.
func telnyxKey(b byte) ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed(bytes.Repeat([]byte{b}, ed25519.SeedSize))
}

func newTelnyx(t *testing.T, base string, tr *carrier.Transport) drain.Carrier {
	t.Helper()
	key := base64.StdEncoding.EncodeToString(telnyxKey(ourKey).Public().(ed25519.PublicKey))
	a, err := telnyx.New(telnyx.Config{APIKey: telnyxSecret, ConnectionID: "7267123456789012345", PublicKey: key, BaseURL: base, PublicURL: public}, tr)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// farTelnyx speaks as Telnyx does.
type farTelnyx struct{ web }

func (farTelnyx) secrets() []string { return []string{telnyxSecret} }

func (farTelnyx) tokens(m *message) []string {
	var sent struct {
		CommandID   string `json:"command_id"`
		ClientState string `json:"client_state"`
		WebhookURL  string `json:"webhook_url"`
	}
	_ = encoding.Unmarshal([]byte(m.body), &sent)
	state, _ := base64.StdEncoding.DecodeString(sent.ClientState)
	escaped, _ := strings.CutPrefix(sent.WebhookURL, public+"/webhooks/telnyx/call/")
	token, _ := url.PathUnescape(escaped)
	return []string{sent.CommandID, string(state), token}
}

func (farTelnyx) named(*message) string { return telnyxCall }

func (f farTelnyx) placed(m *message) string { return f.placedAs(m, telnyxCall) }

func (farTelnyx) placedAs(_ *message, id string) string {
	return json(200, fmt.Sprintf(`{"data":{"call_control_id":%q,"is_alive":false,"record_type":"call"}}`, id))
}

func (farTelnyx) placedAsNobody(*message) string {
	return json(200, `{"data":{"is_alive":false,"record_type":"call"}}`)
}

func (farTelnyx) refused(_ *message, text string) string  { return telnyxError(422, "10002", text) }
func (farTelnyx) notNow(_ *message, text string) string   { return telnyxError(429, "10011", text) }
func (farTelnyx) ourFault(_ *message, text string) string { return telnyxError(401, "10009", text) }

func telnyxError(status int, code, text string) string {
	return json(status, fmt.Sprintf(`{"errors":[{"code":%q,"title":"No","detail":%q,"source":{"pointer":"/to"}}]}`, code, text))
}

func (farTelnyx) wrong(status int, text string) string { return telnyxError(status, "10005", text) }
func (farTelnyx) id() string                           { return telnyxCall }
func (farTelnyx) none() string                         { return `{"data":[]}` }

// signed is a webhook, signed by Telnyx's rule and with nothing of the carrier's own code. Where
// it is sent is not signed.
func (farTelnyx) signed(key byte, _, body string, at time.Time) (map[string]string, string) {
	stamp := strconv.FormatInt(at.Unix(), 10)
	return map[string]string{"telnyx-timestamp": stamp},
		base64.StdEncoding.EncodeToString(ed25519.Sign(telnyxKey(key), []byte(stamp+"|"+body)))
}

func (farTelnyx) signature() string { return "telnyx-signature-ed25519" }

func (farTelnyx) webhook() string {
	return `{"data":{"event_type":"call.answered","payload":{"call_control_id":"` + telnyxCall + `"}}}`
}

func (farTelnyx) covers() covers { return covers{time: true} }
