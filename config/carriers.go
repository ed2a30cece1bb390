package config

import (
	"time"

	"chasephone/internal/phone"
)

// The carriers, as lines and accounts name them. The variables of the environment's own account
// begin with the carrier's name in capitals.
const (
	CarrierTwilio = "twilio"
	CarrierTelnyx = "telnyx"
	CarrierSIP    = "sip"
)

// CarrierNames are all carriers that there are.
func CarrierNames() []string { return []string{CarrierTwilio, CarrierTelnyx, CarrierSIP} }

// Carriers are the telephone companies' accounts: from Load the environment's own, from
// ReadAccount one more.
type Carriers struct {
	AllowLoopback bool   `env:"CARRIER_ALLOW_LOOPBACK" envDefault:"off" doc:"Whether a carrier's base URL or a SIP trunk may be at a private address or on this machine, and a URL on this machine plain http: for simulators."`
	Twilio        Twilio `title:"Twilio"`
	Telnyx        Telnyx `title:"Telnyx"`
	SIP           SIP    `title:"SIP"`
}

// Twilio is a Twilio account. Without one, Configured is false.
type Twilio struct {
	AccountSID string `env:"TWILIO_ACCOUNT_SID" needed:"true" form:"sid" accepts:"AC and then letters and digits, 34 characters with Twilio itself" example:"AC00000000000000000000000000000000" doc:"The Twilio account. It and its token come together."`
	AuthToken  Secret `env:"TWILIO_AUTH_TOKEN" needed:"true" secret:"true" form:"token" accepts:"the account's token: letters, digits and signs, no spaces" example:"the-account-token" doc:"The account's token; it also verifies Twilio's webhooks."`
	// From prints masked, as every number does.
	From phone.Number `env:"TWILIO_FROM" form:"e164" accepts:"a number in E.164 form: + and 7 to 15 digits, nothing between" example:"+14155550123" doc:"The caller number. With it the default tenant has a line named default."`
	// BaseURL has no slash at its end.
	BaseURL string `env:"TWILIO_BASE_URL" envDefault:"https://api.twilio.com" form:"url" accepts:"an http or https URL without user, query or fragment" doc:"Where Twilio's API is: https and public, unless CARRIER_ALLOW_LOOPBACK is on."`
	// CallsPerSecond of zero is no pacing; the least other one is 0.001.
	CallsPerSecond float64 `env:"TWILIO_CALLS_PER_SECOND" envDefault:"1" min:"0" max:"1000" doc:"Calls a line starts in a second, so that Twilio queues none; 0 is no pacing."`
}

// Telnyx is a Telnyx account. Without one, Configured is false.
type Telnyx struct {
	APIKey       Secret `env:"TELNYX_API_KEY" needed:"true" secret:"true" form:"token" accepts:"the account's API key: letters, digits and signs, no spaces" example:"the-api-key" doc:"The Telnyx account's key. It and the connection come together."`
	ConnectionID string `env:"TELNYX_CONNECTION_ID" needed:"true" form:"connection" accepts:"up to 64 letters, digits, - and _, and no API key" example:"1234567890123456789" doc:"The call control application that calls go out by."`
	// PublicKey is base64 of 32 bytes; empty where unset.
	PublicKey string `env:"TELNYX_PUBLIC_KEY" verifies:"true" form:"key" accepts:"base64 of 32 bytes, 44 characters with its = at the end" example:"VaO9moiW310ykZCzkaDR9QjEsvCxohTheqFZSs8+VYo=" doc:"The account's public key, which verifies Telnyx's webhooks: needed where PUBLIC_URL is set."`
	// From prints masked, as every number does.
	From phone.Number `env:"TELNYX_FROM" form:"e164" accepts:"a number in E.164 form: + and 7 to 15 digits, nothing between" example:"+14155550124" doc:"The caller number. With it the default tenant has a line named default; of several carriers only one can have that."`
	// BaseURL has no slash at its end.
	BaseURL string `env:"TELNYX_BASE_URL" envDefault:"https://api.telnyx.com" form:"url" accepts:"an http or https URL without user, query or fragment" doc:"Where Telnyx's API is: https and public, unless CARRIER_ALLOW_LOOPBACK is on."`
	// CallsPerSecond of zero is no pacing; the least other one is 0.001.
	CallsPerSecond float64 `env:"TELNYX_CALLS_PER_SECOND" envDefault:"1" min:"0" max:"1000" doc:"Calls a line starts in a second; 0 is no pacing."`
}

// SIP is a SIP trunk. Without one, Configured is false.
type SIP struct {
	// Trunk is in small letters.
	Trunk string `env:"SIP_TRUNK" needed:"true" form:"trunk" accepts:"sip:host or sip:host:port over TCP, sips: for the same over TLS, without a user" example:"sips:trunk.example.com" doc:"The trunk that calls go out by. Its host is public, unless CARRIER_ALLOW_LOOPBACK is on."`
	// Username is empty for a trunk that knows its callers by their address.
	Username string `env:"SIP_USERNAME" with:"SIP_PASSWORD" form:"user" accepts:"letters, digits and signs, but no space, quote, colon or backslash" example:"chasephone" doc:"The user that the trunk asks for. It and its password come together."`
	Password Secret `env:"SIP_PASSWORD" with:"SIP_USERNAME" secret:"true" form:"token" accepts:"the user's password: letters, digits and signs, no spaces" example:"the-password" doc:"The password of SIP_USERNAME."`
	// Domain is empty where unset.
	Domain string `env:"SIP_DOMAIN" form:"domain" accepts:"a host's name or IPv4 address, without a port" example:"example.com" doc:"The domain that callers and called are named in. Unset: the trunk's host."`
	// From prints masked, as every number does.
	From phone.Number `env:"SIP_FROM" form:"e164" accepts:"a number in E.164 form: + and 7 to 15 digits, nothing between" example:"+14155550125" doc:"The caller number. With it the default tenant has a line named default; of several carriers only one can have that."`
	// CallsPerSecond of zero is no pacing; the least other one is 0.001.
	CallsPerSecond float64       `env:"SIP_CALLS_PER_SECOND" envDefault:"1" min:"0" max:"1000" doc:"Calls a line starts in a second; 0 is no pacing."`
	RingFor        time.Duration `env:"SIP_RING_FOR" envDefault:"60s" min:"5s" max:"5m" doc:"How long a telephone rings before the call is given up."`
	// Sound is a path of which only the form was checked; empty where unset.
	Sound   string        `env:"SIP_SOUND" form:"path" accepts:"a file's path" example:"/etc/chasephone/promise.wav" doc:"A WAV file that is played to whoever answers. A trunk does not speak the script."`
	TalkFor time.Duration `env:"SIP_TALK_FOR" envDefault:"2s" min:"100ms" max:"5m" doc:"How long an answered call lasts where there is no SIP_SOUND."`
}

// Configured reports whether there is an account to call with.
func (t Twilio) Configured() bool { return t.AccountSID != "" }

// Configured reports whether there is an account to call with.
func (t Telnyx) Configured() bool { return !t.APIKey.IsZero() }

// Configured reports whether there is a trunk to call by.
func (s SIP) Configured() bool { return s.Trunk != "" }

func (t Twilio) host() string { return hostOf(t.BaseURL) }
func (t Telnyx) host() string { return hostOf(t.BaseURL) }

func (s SIP) host() string {
	host, _ := trunkHost(s.Trunk)
	return host
}

func (t *Twilio) leaveOut() { *t = Twilio{} }
func (t *Telnyx) leaveOut() { *t = Telnyx{} }
func (s *SIP) leaveOut()    { *s = SIP{} }

// account is one carrier's account.
type account interface {
	Configured() bool
	host() string // that its credentials go to
	leaveOut()
}

// of is a carrier's account; nil where there is no such carrier.
func (c *Carriers) of(carrier string) account {
	switch carrier {
	case CarrierTwilio:
		return &c.Twilio
	case CarrierTelnyx:
		return &c.Telnyx
	case CarrierSIP:
		return &c.SIP
	}
	return nil
}
