// Package sip places calls on a SIP trunk, over TCP or TLS: one INVITE on a connection of the
// call's own, and what follows from it until somebody hangs up. Messages are read with sipgo's
// parser; its transports are not used, because they connect and send again by themselves.
//
// It only calls. Nobody can call it: it listens nowhere, and hears of a call what the trunk
// says on the connection that the call was placed on.
package sip

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"regexp"
	"sync"
	"time"
	"unicode"

	"chasephone/internal/carrier"
)

// Name is the carrier's name in lines and metrics.
const Name = "sip"

// longest is the most that RingFor, TalkFor and a sound may last: a call is not kept for longer.
const longest = 5 * time.Minute

// Config is one SIP trunk. Printed or logged, it keeps its password to itself.
type Config struct {
	// Trunk is where calls go out (SIP_TRUNK): "sip:host" or "sip:host:port" over TCP, at 5060
	// unless told otherwise, "sips:host" or "sip:host;transport=tls" over TLS, at 5061. It must
	// be public unless the transport allows loopback. Over TCP everybody on the way can read
	// who rings whom, and the sound; the password they cannot.
	Trunk string

	// Username and Password answer the trunk where it asks for them (SIP_USERNAME,
	// SIP_PASSWORD). Both are empty for a trunk that knows us by our address.
	Username string
	Password string

	// Domain is where both numbers are at home in From and To (SIP_DOMAIN); empty is the trunk's host.
	Domain string

	// CallsPerSecond is how fast a line's calls follow each other (SIP_CALLS_PER_SECOND). 0 is no pacing.
	CallsPerSecond float64

	// RingFor is how long a phone rings before we cancel the call (SIP_RING_FOR); 0 is a minute.
	RingFor time.Duration

	// Sound is the path of the WAV that is played when the call is answered (SIP_SOUND): 8 kHz,
	// mono, 16-bit PCM or G.711 µ-law. Empty plays silence for TalkFor.
	Sound string

	// TalkFor is how long we stay on the line without a sound (SIP_TALK_FOR); 0 is two seconds.
	TalkFor time.Duration

	// Report is told of the steps of every call, for storage: one at a time and in order for
	// each call, from a goroutine that is the call's own. A step is told once it is proven that
	// something came of the call. Close waits for it. nil for nobody.
	Report func(carrier.Delivery)
}

// Carrier is one SIP trunk to place calls on. It is safe for concurrent use. Whoever stops
// using it closes it: its calls go on after Place has answered.
type Carrier struct {
	transport *carrier.Transport
	config    Config // with its defaults filled in
	trunk     trunk
	sound     []byte // µ-law; never empty
	lastWord  time.Duration

	mu      sync.Mutex
	closed  bool
	halt    chan struct{} // closed: hang up
	running sync.WaitGroup
}

// New checks c, all of it, and returns the trunk ready to place calls over t, which nobody
// else may have made for another carrier. The error names every mistake; it holds no secret.
func New(c Config, t *carrier.Transport) (*Carrier, error) {
	var mistakes []error
	wrong := func(format string, args ...any) { mistakes = append(mistakes, fmt.Errorf(format, args...)) }

	to, err := parseTrunk(c.Trunk)
	if err != nil {
		wrong("trunk %w", err)
	} else if err := t.CheckHost(to.host); err != nil {
		wrong("trunk %w", err)
	}
	switch {
	case (c.Username == "") != (c.Password == ""):
		wrong("username and password: accepted is both or neither")
	case !printable(c.Username) || !printable(c.Password):
		wrong("username or password: accepted are characters that can be printed")
	}
	if c.Domain == "" {
		c.Domain = to.host
	} else if !hostName.MatchString(c.Domain) {
		wrong("domain %q: accepted is a name or an IPv4 address", c.Domain)
	}
	if !(c.CallsPerSecond >= 0) { // NaN too
		wrong("calls per second %v: accepted is 0 or more", c.CallsPerSecond)
	}
	for _, d := range []struct {
		name      string
		set       *time.Duration
		otherwise time.Duration
	}{{"ring for", &c.RingFor, time.Minute}, {"talk for", &c.TalkFor, 2 * time.Second}} {
		switch {
		case *d.set < 0 || *d.set > longest:
			wrong("%s %v: accepted is up to %v", d.name, *d.set, longest)
		case *d.set == 0:
			*d.set = d.otherwise
		}
	}
	sound := silence(c.TalkFor)
	if c.Sound != "" {
		if sound, err = loadSound(c.Sound); err != nil {
			wrong("sound %w", err)
		}
	}
	if len(mistakes) > 0 {
		return nil, fmt.Errorf("sip trunk: %w", errors.Join(mistakes...))
	}
	t.Hide(c.Password)
	return &Carrier{transport: t, config: c, trunk: to, sound: sound, lastWord: lastWord, halt: make(chan struct{})}, nil
}

var hostName = regexp.MustCompile(`^[0-9A-Za-z]([0-9A-Za-z.-]{0,251}[0-9A-Za-z])?$`) //nolint:gochecknoglobals // a constant

func printable(s string) bool {
	for _, r := range s {
		if !unicode.IsPrint(r) {
			return false
		}
	}
	return true
}

// Format prints the trunk without its password, for every verb.
func (c Config) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, c.LogValue().String()) }

// LogValue logs the trunk without its password.
func (c Config) LogValue() slog.Value {
	return slog.StringValue(fmt.Sprintf("sip trunk %q as %q at %q, %v calls a second, rings for %v, sound %q, talks for %v",
		c.Trunk, c.Username, c.Domain, c.CallsPerSecond, c.RingFor, c.Sound, c.TalkFor))
}
