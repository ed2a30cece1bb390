package main

import (
	"context"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"chasephone/internal/arrivals"
	"chasephone/internal/carrier"
	"chasephone/internal/lookup"
	"chasephone/internal/store"
	"chasephone/internal/tick"
)

// evidence is the part of a daemon that hears what carriers say: their webhooks, what its trunks'
// calls come to, and their records where they said nothing.
type evidence struct {
	db       *store.Store
	accounts *accounts
	keeper   *arrivals.Keeper
	lookups  *lookup.Lookups
	handler  *arrivals.Handler
	log      *slog.Logger
	stopping atomic.Bool
}

// newEvidence makes it. The accounts' arrive is set to it.
func newEvidence(db *store.Store, a *accounts, reg prometheus.Registerer, log *slog.Logger) *evidence {
	e := &evidence{db: db, accounts: a, keeper: arrivals.NewKeeper(db, log), log: log}
	all := companies()
	names := make([]string, len(all))
	for i, c := range all {
		names[i] = c.Name
	}
	e.handler = &arrivals.Handler{
		PublicURL: a.publicURL, Carriers: all, Accounts: a.signing, Keep: e.keeper.Keep,
		Metrics: arrivals.NewMetrics(reg, names...), Log: log,
	}
	e.lookups = &lookup.Lookups{Store: db, Carrier: a.records, Read: readers, Log: log}
	a.arrive = e.arrive
	return e
}

// patience is how long what a trunk's call came to is offered to a database that is away.
const patience = 2 * time.Minute

// arrive stores a step of a trunk's call.
func (e *evidence) arrive(account string, d carrier.Delivery) {
	name, _ := carrier.SplitAccount(account)
	report, err := readers(name)(d)
	for began := time.Now(); err == nil; {
		var foreign bool
		foreign, err = e.keeper.Keep(context.Background(), arrivals.Arrival{Accounts: []string{account}, Delivery: d, Report: report})
		e.handler.Metrics.Kept(name, foreign, err)
		if err == nil {
			return
		}
		if e.stopping.Load() || time.Since(began) > patience {
			break
		}
		time.Sleep(time.Second)
		err = nil
	}
	e.log.Error("a step of a call could not be stored", "account", account, "err", err)
}

// bridge is tick.Bridge.
func (e *evidence) bridge(ctx context.Context, most int) (int, error) {
	return e.db.Bridge(ctx, readers, most)
}

// lookUp is tick.LookUp.
func (e *evidence) lookUp(ctx context.Context, followUp string, no int) error {
	return e.lookups.Do(ctx, lookup.Ref{FollowUp: followUp, No: no})
}

// speak is tick.Speak.
func (e *evidence) speak(ctx context.Context, followUp string, no int) error {
	words, is, err := e.db.WordsOf(ctx, lookup.Ref{FollowUp: followUp, No: no})
	if err != nil || !is {
		return err
	}
	return e.accounts.speak(ctx, words.Account, words.CallID, words.Script, words.Token)
}

// due are the look-ups to offer.
func (e *evidence) due(ctx context.Context, most int) ([]tick.LookUpArgs, error) {
	refs, err := e.db.LookupsDue(ctx, most)
	all := make([]tick.LookUpArgs, len(refs))
	for i, ref := range refs {
		all[i] = tick.LookUpArgs{FollowUp: ref.FollowUp, No: ref.No}
	}
	return all, err
}

// adopt takes up accounts that lines have come to name. What waits for them need wait no longer.
func (e *evidence) adopt(ctx context.Context) error {
	names, err := e.db.PrefixedAccounts(ctx)
	if err != nil {
		return err
	}
	for _, name := range e.accounts.adopt(names) {
		due, err := e.db.WakeAccount(ctx, name)
		if err != nil {
			return err
		}
		if due > 0 {
			e.log.Info("what waited for an account is due at once", "account", name, "followups", due)
		}
	}
	return nil
}

// stop hangs up what trunks are calling, and stores what that and the last webhooks came to.
func (e *evidence) stop(ctx context.Context) {
	e.stopping.Store(true)
	within(ctx, hangUpTimeout, e.accounts.close)
	within(ctx, keepTimeout, e.keeper.Close)
}

const (
	hangUpTimeout = 35 * time.Second // a trunk's last word is awaited for 30
	keepTimeout   = 10 * time.Second
)

// front is what HTTP_ADDR serves. Until the daemon is ready a carrier is told to come again.
type front struct {
	webhooks atomic.Pointer[arrivals.Handler]
}

func (f *front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := f.webhooks.Load()
	if h == nil {
		w.Header().Set("Retry-After", "5")
		http.Error(w, "starting", http.StatusServiceUnavailable)
		return
	}
	h.ServeHTTP(w, r)
}
