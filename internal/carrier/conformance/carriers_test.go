// Package conformance_test holds every carrier to the same contract, drain.Carrier's, against far
// ends on raw sockets: one table of what a far end does, and for each protocol how it says so.
//
// Whatever the far end does, (a) one request that may ring a phone is heard on all connections
// together, or none where nothing may be sent; (b) the answer claims no more than was proven, and
// a request that was taken is "not placed" by documented words only; (c) Place returns by its
// deadline; and (d) nothing is left behind.
package conformance_test

import (
	"slices"
	"testing"

	"chasephone/config"
	"chasephone/internal/carrier"
	"chasephone/internal/drain"
)

// public is where carriers are told to send webhooks.
const public = "https://calls.example.com"

// far is how a far end says things in its protocol. Most is said of a request that was heard.
type far interface {
	secrets() []string          // of our account: nobody may read them in an answer
	mayRing(m *message) bool    // also true where it is not known
	tokens(m *message) []string // the attempt's, everywhere it travels
	named(m *message) string    // the call's id, by which placed takes it

	placed(m *message) string
	placedAs(m *message, id string) string // by any id
	placedAsNobody(m *message) string      // without one
	refused(m *message, text string) string
	notNow(m *message, text string) string
	ourFault(m *message, text string) string // our credentials
	status(m *message, code int) string      // that and no more: nobody's documented word
	redirect(m *message, code int, elsewhere string) string
	provisional(m *message) string // not yet the answer
	rings(m *message) string       // "" where there is no word for it
	polite(m *message) string      // to what follows; "" for nothing
}

// subject is a carrier, over TCP or TLS.
type subject struct {
	name    string
	carrier string // as config names it
	secure  bool
	far     far
	open    func(t *testing.T, where string, tr *carrier.Transport) drain.Carrier
	scheme  string // of where, before the address
}

func subjects() []subject {
	ofTwilio := farTwilio{web{kept: []string{"/2010-04-01/Accounts/" + twilioSID + "/Calls/"}}}
	ofTelnyx := farTelnyx{web{kept: []string{"/v2/calls/"}}}
	return []subject{
		{name: "twilio", carrier: config.CarrierTwilio, far: ofTwilio, open: newTwilio, scheme: "http://"},
		{name: "twilio over TLS", carrier: config.CarrierTwilio, secure: true, far: ofTwilio, open: newTwilio, scheme: "https://"},
		{name: "telnyx", carrier: config.CarrierTelnyx, far: ofTelnyx, open: newTelnyx, scheme: "http://"},
		{name: "sip over TCP", carrier: config.CarrierSIP, far: farTrunk{}, open: newSIP, scheme: "sip:"},
		{name: "sip over TLS", carrier: config.CarrierSIP, secure: true, far: farTrunk{}, open: newSIP, scheme: "sips:"},
	}
}

// A carrier that there is has passed, and what passed is a carrier that there is.
func TestEveryCarrierIsHeldToIt(t *testing.T) {
	t.Parallel()
	var held []string
	for _, s := range subjects() {
		a := s.open(t, s.scheme+"127.0.0.1:1", carrier.NewTransport(carrier.Options{Carrier: s.carrier, AllowLoopback: true}))
		if a.Name() != s.carrier {
			t.Errorf("%s calls itself %s", s.name, a.Name())
		}
		held = append(held, s.carrier)
	}
	there := config.CarrierNames()
	slices.Sort(there)
	slices.Sort(held)
	if held = slices.Compact(held); !slices.Equal(held, there) {
		t.Errorf("held to it are %q, and there are %q", held, there)
	}
}
