package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"

	"chasephone/config"
	"chasephone/internal/arrivals"
	"chasephone/internal/carrier"
	"chasephone/internal/carrier/sip"
	"chasephone/internal/carrier/telnyx"
	"chasephone/internal/carrier/twilio"
	"chasephone/internal/drain"
	"chasephone/internal/lookup"
	"chasephone/internal/tick"
)

// account is one carrier's account that this daemon can call with.
type account struct {
	drain.Carrier
	records lookup.Carrier                                                // nil: it keeps none that could be asked
	verify  func(carrier.Delivery) error                                  // nil: it sends no webhooks
	speak   func(ctx context.Context, callID, script, token string) error // nil: it was given the words with the call
	close   func(ctx context.Context) error                               // nil: nothing of it goes on
}

// accounts are all that there are: the environment's own, and those that lines name by the prefix
// of their variables. They are safe for concurrent use.
type accounts struct {
	environ   []string
	publicURL string
	loopback  bool
	metrics   *carrier.Metrics
	log       *slog.Logger
	// arrive takes what a trunk's calls come to; it returns once that is stored, or given up.
	arrive   func(account string, d carrier.Delivery)
	carriers *drain.Carriers

	mu      sync.RWMutex
	all     map[string]account
	refused map[string]string // why an account cannot be had, as last said
}

// put makes accounts of a configuration; a name is carrier.Account's.
func (a *accounts) put(c config.Carriers, prefix string) error {
	for _, one := range []struct {
		name string
		is   bool
		at   string
		open func(name string, c config.Carriers) (account, error)
	}{
		{twilio.Name, c.Twilio.Configured(), c.Twilio.BaseURL, a.twilio},
		{telnyx.Name, c.Telnyx.Configured(), c.Telnyx.BaseURL, a.telnyx},
		{sip.Name, c.SIP.Configured(), c.SIP.Trunk, a.sip},
	} {
		if !one.is {
			continue
		}
		name := carrier.Account(one.name, prefix)
		opened, err := one.open(name, c)
		if err != nil {
			return fmt.Errorf("account %s: %w", name, err)
		}
		a.mu.Lock()
		if a.all == nil {
			a.all = map[string]account{}
		}
		a.all[name] = opened
		a.mu.Unlock()
		a.carriers.Put(name, opened.Carrier)
		a.log.Info("calls can go out by "+name, "at", one.at, "allow_loopback", a.loopback)
	}
	return nil
}

func (a *accounts) transport(carrierName string) *carrier.Transport {
	return carrier.NewTransport(carrier.Options{Carrier: carrierName, AllowLoopback: a.loopback, Observe: a.metrics.Observe})
}

func (a *accounts) twilio(_ string, c config.Carriers) (account, error) {
	one, err := twilio.New(twilio.Config{
		AccountSID: c.Twilio.AccountSID, AuthToken: c.Twilio.AuthToken.Reveal(), BaseURL: c.Twilio.BaseURL,
		PublicURL: a.publicURL, CallsPerSecond: c.Twilio.CallsPerSecond,
	}, a.transport(twilio.Name))
	if err != nil {
		return account{}, err
	}
	return account{Carrier: one, records: one, verify: one.Verify}, nil
}

func (a *accounts) telnyx(_ string, c config.Carriers) (account, error) {
	one, err := telnyx.New(telnyx.Config{
		APIKey: c.Telnyx.APIKey.Reveal(), ConnectionID: c.Telnyx.ConnectionID, PublicKey: c.Telnyx.PublicKey, BaseURL: c.Telnyx.BaseURL,
		PublicURL: a.publicURL, CallsPerSecond: c.Telnyx.CallsPerSecond,
	}, a.transport(telnyx.Name))
	if err != nil {
		return account{}, err
	}
	if c.Telnyx.PublicKey == "" || a.publicURL == "" {
		a.log.Warn("a Telnyx account without PUBLIC_URL, or without the public key that verifies its webhooks, can play a line's --url and speak no script")
	}
	return account{Carrier: one, records: one, verify: one.Verify, speak: one.Speak}, nil
}

func (a *accounts) sip(name string, c config.Carriers) (account, error) {
	one, err := sip.New(sip.Config{
		Trunk: c.SIP.Trunk, Username: c.SIP.Username, Password: c.SIP.Password.Reveal(), Domain: c.SIP.Domain,
		CallsPerSecond: c.SIP.CallsPerSecond, RingFor: c.SIP.RingFor, Sound: c.SIP.Sound, TalkFor: c.SIP.TalkFor,
		Report: func(d carrier.Delivery) { a.arrive(name, d) },
	}, a.transport(sip.Name))
	if err != nil {
		return account{}, err
	}
	return account{Carrier: one, close: one.Close}, nil
}

// adopt makes accounts of those that lines name and this daemon does not have yet. One that its
// environment does not hold, or not rightly, is left to others, and said once. It returns those
// that it has now.
func (a *accounts) adopt(names []string) (adopted []string) {
	for _, name := range names {
		if _, have := a.get(name); have {
			continue
		}
		carrierName, prefix := carrier.SplitAccount(name)
		c, err := config.ReadAccount(a.environ, carrierName, prefix, a.loopback)
		if err == nil {
			err = a.put(c, prefix)
		}
		if err == nil {
			adopted = append(adopted, name)
			continue
		}
		if why := oneLine(errors.New(strings.ReplaceAll(err.Error(), "\n", "; "))); a.refused[name] != why {
			if a.refused == nil {
				a.refused = map[string]string{}
			}
			a.refused[name] = why
			a.log.Warn("a line names an account that this daemon cannot call with: it is not ready here", "account", name, "err", why)
		}
	}
	return adopted
}

func (a *accounts) get(name string) (account, bool) {
	a.mu.RLock()
	defer a.mu.RUnlock()
	one, ok := a.all[name]
	return one, ok
}

// signing are a carrier's accounts whose deliveries can be told from forged ones.
func (a *accounts) signing(carrierName string) []arrivals.Account {
	a.mu.RLock()
	defer a.mu.RUnlock()
	var all []arrivals.Account
	for name, one := range a.all {
		if of, _ := carrier.SplitAccount(name); of == carrierName && one.verify != nil {
			all = append(all, arrivals.Account{Name: name, Verify: one.verify})
		}
	}
	return all
}

// named are all accounts that there are, and this one, by name.
func (a *accounts) named(this string) []string {
	a.mu.RLock()
	defer a.mu.RUnlock()
	names := slices.Collect(maps.Keys(a.all))
	if !slices.Contains(names, this) {
		names = append(names, this)
	}
	slices.Sort(names)
	return names
}

// records is what lookup.Lookups asks by.
func (a *accounts) records(name string) (lookup.Carrier, bool) {
	one, ok := a.get(name)
	return one.records, ok
}

// speak says words in a call, where its account wants to be given them once it is answered.
func (a *accounts) speak(ctx context.Context, account, callID, script, token string) error {
	one, ok := a.get(account)
	switch {
	case !ok:
		return tick.ErrElsewhere
	case one.speak == nil:
		return nil
	}
	return one.speak(ctx, callID, script, token)
}

// close hangs up what trunks are calling.
func (a *accounts) close(ctx context.Context) {
	a.mu.RLock()
	defer a.mu.RUnlock()
	var closing sync.WaitGroup
	for name, one := range a.all {
		if one.close == nil {
			continue
		}
		closing.Go(func() {
			if err := one.close(ctx); err != nil {
				a.log.Error("hanging up the calls of a trunk", "account", name, "err", err)
			}
		})
	}
	closing.Wait()
}

// companies are the carriers as their deliveries are read. They need no account.
func companies() []arrivals.Carrier {
	return []arrivals.Carrier{
		{Name: twilio.Name, Kinds: twilio.Kinds(), Read: twilio.Read, Reply: twilio.Reply},
		{Name: telnyx.Name, Kinds: telnyx.Kinds(), Read: telnyx.Read, Reply: telnyx.Reply},
		{Name: sip.Name, Read: sip.Read}, // a trunk sends no webhooks: its calls are seen as they are made
	}
}

// isCallID reports whether a text has the form of an id that an account's carrier gives to calls.
func isCallID(account, text string) bool {
	switch name, _ := carrier.SplitAccount(account); name {
	case twilio.Name:
		return twilio.IsCallID(text)
	case telnyx.Name:
		return telnyx.IsCallID(text)
	}
	return false // a trunk's calls have the ids that we gave them
}

// readers gives what reads a carrier's deliveries.
func readers(carrierName string) func(carrier.Delivery) (carrier.Report, error) {
	for _, c := range companies() {
		if c.Name == carrierName {
			return c.Read
		}
	}
	return nil
}
