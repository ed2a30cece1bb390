// Package telnyx asks Telnyx to place calls, by its Voice API: one POST by hand over the one-shot
// transport, and one table that says what Telnyx's answers prove.
//
// The one request that places a call cannot bring words to speak. They are spoken by a second
// one, Speak, once the call is answered; it rings nobody.
package telnyx

import (
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"regexp"
	"strings"
	"time"

	"chasephone/internal/carrier"
)

// Name is the carrier's name in lines, metrics and webhook paths.
const Name = "telnyx"

// Config is one Telnyx account. Printed or logged, it keeps its key to itself.
type Config struct {
	// APIKey is the account's secret.
	APIKey string

	// ConnectionID is the Voice API application that calls are placed with.
	ConnectionID string

	// PublicKey is what Telnyx signs webhooks with, as its portal shows it (Ed25519, base64).
	// Without it no webhook is believed, and a call can play a recording but speak no words.
	PublicKey string

	// BaseURL is where the API is; empty is https://api.telnyx.com. It must be https and public
	// unless the transport allows loopback.
	BaseURL string

	// PublicURL is where Telnyx reaches this daemon. Without it webhooks go where the application
	// says, if anywhere, and nothing tells when the words are to be spoken.
	PublicURL string

	// CallsPerSecond is how fast a line's calls follow each other; 0 is no pacing.
	CallsPerSecond float64

	// Now is the time that a webhook's age is judged by; nil is time.Now.
	Now func() time.Time
}

// Carrier is one Telnyx account to place calls with. It is safe for concurrent use.
type Carrier struct {
	transport     *carrier.Transport
	perSecond     float64
	api           string // the URL of version 2
	connection    string
	authorization string
	callback      string            // the attempt's token is appended; empty for none
	key           ed25519.PublicKey // nil for none
	now           func() time.Time
}

var (
	apiKey       = regexp.MustCompile(`^[!-~]{1,500}$`) // it goes into a header
	connectionID = regexp.MustCompile(`^[0-9A-Za-z_-]{1,64}$`)
)

// New checks c, all of it, and returns the account ready to place calls over t, which nobody
// else may have made for another carrier. The error names every mistake; it holds no secret.
func New(c Config, t *carrier.Transport) (*Carrier, error) {
	base := strings.TrimRight(c.BaseURL, "/")
	if base == "" {
		base = "https://api.telnyx.com"
	}
	public := strings.TrimRight(c.PublicURL, "/")
	key, keyErr := publicKey(c.PublicKey)
	var mistakes []error
	if !apiKey.MatchString(c.APIKey) {
		mistakes = append(mistakes, errors.New("API key is empty, or has characters that no key has"))
	}
	if !connectionID.MatchString(c.ConnectionID) {
		mistakes = append(mistakes, fmt.Errorf("connection ID %q: accepted are up to 64 letters and digits", c.ConnectionID))
	}
	if keyErr != nil {
		mistakes = append(mistakes, fmt.Errorf("public key %w", keyErr))
	}
	if err := t.CheckURL(base); err != nil {
		mistakes = append(mistakes, fmt.Errorf("base URL %w", err))
	}
	if err := carrier.CheckPublicURL(public); err != nil {
		mistakes = append(mistakes, fmt.Errorf("public URL %w", err))
	}
	if !(c.CallsPerSecond >= 0) { // NaN too
		mistakes = append(mistakes, fmt.Errorf("calls per second %v: accepted is 0 or more", c.CallsPerSecond))
	}
	if len(mistakes) > 0 {
		return nil, fmt.Errorf("telnyx account: %w", errors.Join(mistakes...))
	}
	a := &Carrier{
		transport:     t,
		perSecond:     c.CallsPerSecond,
		api:           base + "/v2",
		connection:    c.ConnectionID,
		authorization: "Bearer " + c.APIKey,
		key:           key,
		now:           c.Now,
	}
	t.Hide(c.APIKey)
	if public != "" {
		a.callback = public + "/webhooks/" + Name + "/" + kindCall + "/"
	}
	if a.now == nil {
		a.now = time.Now
	}
	return a, nil
}

func publicKey(text string) (ed25519.PublicKey, error) {
	if text == "" {
		return nil, nil // without a key nothing is believed, which is no mistake
	}
	key, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(key) != ed25519.PublicKeySize {
		return nil, errors.New("is not 32 bytes in base64")
	}
	return key, nil
}

// Format prints the account without its key, for every verb.
func (c Config) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, c.LogValue().String()) }

// LogValue logs the account without its key.
func (c Config) LogValue() slog.Value {
	return slog.StringValue(fmt.Sprintf("telnyx connection %s at %q, public %q, %v calls a second",
		c.ConnectionID, c.BaseURL, c.PublicURL, c.CallsPerSecond))
}
