// Package twilio asks Twilio to place calls: one POST by hand over the one-shot transport,
// and one table that says what Twilio's answers prove. Twilio's own library is not used,
// because it sends again by itself and takes no deadline.
package twilio

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"regexp"
	"strings"

	"chasephone/internal/carrier"
)

// Name is the carrier's name in lines, metrics and webhook paths.
const Name = "twilio"

// Config is one Twilio account. Printed or logged, it keeps its token to itself.
type Config struct {
	// AccountSID is "AC" and what identifies the account (TWILIO_ACCOUNT_SID).
	AccountSID string

	// AuthToken is the account's secret (TWILIO_AUTH_TOKEN).
	AuthToken string

	// BaseURL is where the API is (TWILIO_BASE_URL); empty is https://api.twilio.com. It must
	// be https and public unless the transport allows loopback.
	BaseURL string

	// PublicURL is where Twilio reaches this daemon (PUBLIC_URL). Empty asks for no status
	// webhooks: then what became of a call, and of an uncertain attempt, has to be looked up.
	PublicURL string

	// CallsPerSecond is how fast a line's calls follow each other (TWILIO_CALLS_PER_SECOND);
	// the claim spaces them. Twilio takes about one a second by default and queues the rest,
	// up to a day. 0 is no pacing.
	CallsPerSecond float64
}

// Carrier is one Twilio account to place calls with. It is safe for concurrent use.
type Carrier struct {
	account       string // its SID
	transport     *carrier.Transport
	perSecond     float64
	calls         string // the URL of the account's calls, without its ending
	path          string // the path of that URL, as Twilio itself gives it
	authorization string
	secret        []byte // that webhooks are signed with
	callback      string // the attempt's token is appended; empty for none
}

var accountSID = regexp.MustCompile(`^AC[0-9A-Za-z_-]{1,62}$`) //nolint:gochecknoglobals // a constant

// New checks c, all of it, and returns the account ready to place calls over t, which nobody
// else may have made for another carrier. The error names every mistake; it holds no secret.
func New(c Config, t *carrier.Transport) (*Carrier, error) {
	base := strings.TrimRight(c.BaseURL, "/")
	if base == "" {
		base = "https://api.twilio.com"
	}
	public := strings.TrimRight(c.PublicURL, "/")
	var mistakes []error
	if !accountSID.MatchString(c.AccountSID) {
		mistakes = append(mistakes, fmt.Errorf("account SID %q: accepted is AC and up to 62 letters or digits", c.AccountSID))
	}
	if c.AuthToken == "" {
		mistakes = append(mistakes, errors.New("auth token is empty"))
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
		return nil, fmt.Errorf("twilio account: %w", errors.Join(mistakes...))
	}
	path := "/2010-04-01/Accounts/" + c.AccountSID + "/Calls"
	a := &Carrier{
		account:       c.AccountSID,
		transport:     t,
		perSecond:     c.CallsPerSecond,
		calls:         base + path,
		path:          path,
		authorization: basicAuth(c.AccountSID, c.AuthToken),
		secret:        []byte(c.AuthToken),
	}
	t.Hide(c.AuthToken, strings.TrimPrefix(a.authorization, "Basic "))
	if public != "" {
		a.callback = public + "/webhooks/" + Name + "/status/"
	}
	return a, nil
}

// Format prints the account without its token, for every verb.
func (c Config) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, c.LogValue().String()) }

// LogValue logs the account without its token.
func (c Config) LogValue() slog.Value {
	return slog.StringValue(fmt.Sprintf("twilio account %s at %q, public %q, %v calls a second",
		c.AccountSID, c.BaseURL, c.PublicURL, c.CallsPerSecond))
}
