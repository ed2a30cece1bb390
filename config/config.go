// Package config is the whole environment of chasephone as one typed struct, and the only
// place that reads it.
//
// The struct's tags are the one source of truth: what a variable is called and means, its
// default and what is accepted. The checks, the README's table (Table) and example.env
// (Example) are all made from them.
//
//	env         the variable's name; NAME_FILE names a file that holds the value instead
//	envDefault  its value where it is unset or empty; without it, it has none
//	doc         what it is
//	min, max    bounds of a number or a duration, both allowed
//	oneof       the words that are accepted
//	form, accepts  the check a text must pass (forms.go), and that check in words
//	example     what example.env shows, commented out, where there is no default
//	secret      its value is never shown
//	needed      an account has it, once any of the account's variables without a default is set
//	with        the account's other variable that it comes together with
//	verifies    an account needs it where PUBLIC_URL is set: webhooks are judged by it
package config

import (
	"log/slog"
	"maps"
	"time"

	"chasephone/internal/followup"
	"chasephone/internal/rules"
)

// Config is the environment, read, checked and complete. Get one from Load.
type Config struct {
	Database  Database  `title:"Database"`
	HTTP      HTTP      `title:"HTTP"`
	Logging   Logging   `title:"Logging"`
	FollowUps FollowUps `title:"Limits"`
	Intake    Intake    `title:"Intake"`
	Gates     Gates     `title:"Gates"`
	Carriers  Carriers  `title:"Carriers"`

	ignored []string // what Options made Load leave out, for Warnings
}

// Database says where the data is.
type Database struct {
	// URL is empty when, and only when, the daemon runs embedded. Most of what pgx itself objects
	// to (an unknown sslmode, say) shows only when it is given the URL.
	URL Secret `env:"DATABASE_URL" secret:"true" form:"database" accepts:"a postgres:// URL, or libpq's keyword=value form" example:"postgres://chasephone@localhost:5432/chasephone" doc:"The database. Its first schema in the search path holds everything. A host that is not this machine is reached with TLS only: sslmode=verify-full, or at least require. Required, unless serve runs --embedded."`
	// AllowPlain is for networks of containers, where certificates are nobody's habit.
	AllowPlain bool   `env:"DATABASE_ALLOW_PLAIN" envDefault:"off" doc:"Whether a database that is not on this machine may be reached without TLS, which the start says loudly: for a network that nobody else is on."`
	Dir        string `env:"DATA_DIR" envDefault:"/var/lib/chasephone" form:"path" accepts:"a folder's path" doc:"The daemon's own folder: what it has seen of its database, to notice one that was restored or has lost commits; and with serve --embedded the PostgreSQL that it brings, and database-url, which tells commands where it is."`
}

// HTTP says where the daemon listens and how the world reaches it.
type HTTP struct {
	Addr        string `env:"HTTP_ADDR" envDefault:"127.0.0.1:8080" form:"address" accepts:"host:port, with a port from 0 to 65535" doc:"Where the console, the API and the webhooks listen."`
	MetricsAddr string `env:"METRICS_ADDR" envDefault:"127.0.0.1:9464" form:"address" accepts:"host:port, with a port from 0 to 65535" doc:"Where /metrics, /healthz and /readyz listen."`
	// PublicURL has no slash at its end; empty where unset.
	PublicURL string `env:"PUBLIC_URL" form:"url" accepts:"an http or https URL without user, query or fragment" example:"https://calls.example.com" doc:"How carriers and people reach HTTP_ADDR from outside; webhook addresses begin with it."`
}

// Logging says how much is logged, and in which form.
type Logging struct {
	Level  slog.Level `env:"LOG_LEVEL" envDefault:"info" oneof:"debug info warn error" doc:"The least severe lines that are logged."`
	Format string     `env:"LOG_FORMAT" envDefault:"text" oneof:"text json" doc:"The form of a log line."`
}

// FollowUps are the limits this daemon brings. The daemon that started last sets those in
// force for the whole fleet, so decide by what the database holds, not by these.
type FollowUps struct {
	Tick         time.Duration `env:"PHONE_FOLLOWUP_TICK" envDefault:"1m" min:"1s" max:"1h" doc:"Length of a slot: in each, some follow-ups are drained."`
	PerTick      int           `env:"PHONE_FOLLOWUP_PER_TICK" envDefault:"2" min:"1" max:"100" doc:"Follow-ups of one tenant drained in one slot, in the whole fleet."`
	RetryAfter   time.Duration `env:"PHONE_FOLLOWUP_RETRY_AFTER" envDefault:"1h" min:"1s" max:"24h" doc:"How long a line that is not ready is left alone."`
	MaxLateHours int           `env:"PHONE_FOLLOWUP_MAX_LATE_HOURS" envDefault:"24" min:"1" max:"72" doc:"More than this many hours after its due_at a follow-up is closed as missed, never rung. Above 24 the start says so loudly."`
	DialTimeout  time.Duration `env:"PHONE_FOLLOWUP_DIAL_TIMEOUT" envDefault:"10s" min:"1s" max:"2m" doc:"How long a carrier's answer is awaited before the attempt counts as uncertain."`
	DialSlots    int           `env:"PHONE_FOLLOWUP_DIAL_SLOTS" envDefault:"64" min:"1" max:"4096" doc:"Requests to carriers in flight in one daemon."`
	Drainers     int           `env:"PHONE_FOLLOWUP_DRAINERS" envDefault:"1" min:"1" max:"64" doc:"Drain jobs per slot, spread over the fleet."`
	// Quarantine is what protects from a process that was paused just before it sent, so
	// the short ones that are accepted are for trials.
	Quarantine time.Duration `env:"PHONE_FOLLOWUP_QUARANTINE" envDefault:"15m" min:"1s" max:"24h" doc:"How long after the last instant of an answer a person must wait to say that an uncertain call did not ring. Short ones are for trials only."`
}

// Intake says how what integrators hand in is read.
type Intake struct {
	// Region is an ISO 3166 code in capitals.
	Region   string `env:"PHONE_DEFAULT_REGION" envDefault:"US" form:"region" accepts:"a two-letter ISO 3166 region, such as US or GB" doc:"The region of numbers written without a country code."`
	KeyHours int    `env:"IDEMPOTENCY_KEY_HOURS" envDefault:"24" min:"1" max:"720" doc:"Hours for which a repeated Idempotency-Key gets the stored answer."`
}

// Gates are the settings of the gates that have some. Those that count calls hold beside the
// limits of the calling rules: of two the stricter one binds.
type Gates struct {
	// CallingHours is on, off, or the path of a file of rules. Decide by Rules.
	CallingHours string `env:"GATE_CALLING_HOURS" envDefault:"on" form:"hours" accepts:"on, off, or the path of a rules file, which has a slash in it or ends in .yaml or .yml" doc:"The rules by which people may be called: when, how often, with whose consent. With on they are the built-in ones (config/calling_hours.yaml); a file of your own replaces them all. With off, which the start says loudly, there are none, and people are rung at night."`
	// Rules are those that CallingHours names; nil with off.
	Rules *rules.Set
	// Countries is empty where unset: then a tenant's own region is what is allowed.
	Countries    []string `env:"GATE_COUNTRIES" form:"regions" accepts:"two-letter ISO 3166 regions with commas between, such as US,CA" example:"US,CA" doc:"Regions whose numbers may be called. Unset: the tenant's own region only, which is PHONE_DEFAULT_REGION unless it has another."`
	LineUnknowns int      `env:"GATE_LINE_UNKNOWNS" envDefault:"3" min:"0" max:"100" doc:"Unknown answers in a row after which a line is held; 0 is never."`

	MaxPerNumber24H int           `env:"GATE_MAX_PER_NUMBER_24H" envDefault:"0" min:"0" max:"500" doc:"Calls to one number by one tenant in any 24 hours; 0 is no such limit."`
	MaxPerNumber7D  int           `env:"GATE_MAX_PER_NUMBER_7D" envDefault:"0" min:"0" max:"500" doc:"Calls to one number by one tenant in any 7 days; 0 is no such limit."`
	MaxPerNumber30D int           `env:"GATE_MAX_PER_NUMBER_30D" envDefault:"0" min:"0" max:"500" doc:"Calls to one number by one tenant in any 30 days; 0 is no such limit."`
	MinGap          time.Duration `env:"GATE_MIN_GAP" envDefault:"0s" min:"0s" max:"720h" doc:"The least time between two calls to one number by one tenant; 0s is none."`
	// CalledIn is hold or off.
	CalledIn        string `env:"GATE_CALLED_IN" envDefault:"hold" oneof:"hold off" doc:"Whether a call is held for a person when the person to be called has reached the business since the follow-up was made."`
	LineCallsAtOnce int    `env:"GATE_LINE_CALLS_AT_ONCE" envDefault:"0" min:"0" max:"10000" doc:"Calls of one line at the same time; 0 is no such limit."`
	MaxPerTenantDay int    `env:"GATE_MAX_PER_TENANT_DAY" envDefault:"0" min:"0" max:"100000" doc:"Calls of one tenant in any 24 hours; 0 is no such limit."`
	MaxPerMinute    int    `env:"GATE_MAX_PER_MINUTE" envDefault:"0" min:"0" max:"100000" doc:"Calls of the whole fleet in any minute; 0 is no such limit."`

	settings map[string]string
}

// Settings are all that decides how the gates judge, by variable, to be compared with another
// process's: GATE_CALLING_HOURS is told by what its rules say, wherever they were read from.
func (g Gates) Settings() map[string]string { return maps.Clone(g.settings) }

// Limits are the limits this environment asks for (rule R17).
func (c Config) Limits() followup.Limits {
	f := c.FollowUps
	return followup.Limits{
		Tick:        f.Tick,
		PerTick:     f.PerTick,
		RetryAfter:  f.RetryAfter,
		MaxLate:     time.Duration(f.MaxLateHours) * time.Hour,
		DialTimeout: f.DialTimeout,
		DialSlots:   f.DialSlots,
		Drainers:    f.Drainers,
		Quarantine:  f.Quarantine,
	}
}
