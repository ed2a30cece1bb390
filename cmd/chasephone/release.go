package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"chasephone/config"
	"chasephone/internal/carrier"
	"chasephone/internal/desk"
	"chasephone/internal/drain"
	"chasephone/internal/followup"
	"chasephone/internal/store"
)

type releaseCmd struct {
	by
	CancelRung   bool `help:"Cancel the follow-ups that the listed calls have rung, in your name, and lift the hold."`
	DespiteCalls bool `help:"Lift the hold although calls are listed, or a carrier gave no answer: whoever they rang is rung again."`
	JSON         bool `name:"json" help:"Print JSON."`
}

// lifted is what a release found and did.
type lifted struct {
	Hold      *store.RingingHold `json:"hold"` // null: nothing was held
	Search    *search            `json:"search,omitempty"`
	Cancelled []string           `json:"cancelled"`     // follow-ups
	Refused   []string           `json:"not_cancelled"` // follow-ups that a call has rung and that could not be cancelled, and why
	Released  bool               `json:"released"`
}

func (c releaseCmd) Run(ctx context.Context, p process) error {
	db, conf, who, err := p.openAs(ctx, c.by)
	if err != nil {
		return err
	}
	defer db.Close()
	r := lifted{Cancelled: []string{}, Refused: []string{}}
	if r.Hold, err = db.RingingHeld(ctx); err != nil {
		return err
	}
	if r.Hold != nil {
		if err := c.release(ctx, db, p, conf, who, &r); err != nil {
			return err
		}
	}
	if c.JSON {
		err = printJSON(p.stdout, r)
	} else {
		err = c.print(p.stdout, r, who)
	}
	if err == nil && r.Hold != nil && !r.Released {
		return answeredNo{}
	}
	return err
}

func (c releaseCmd) release(ctx context.Context, db *store.Store, p process, conf config.Config, who string, r *lifted) error {
	accounts, err := p.accounts(ctx, db, conf)
	if err != nil {
		return err
	}
	found, err := searchUnowned(ctx, db, accounts, r.Hold.Since, true)
	if err != nil {
		return err
	}
	r.Search = &found
	if c.CancelRung {
		if err := c.cancel(ctx, db, who, r); err != nil {
			return err
		}
	}
	left := len(found.Calls) > 0 && (!c.CancelRung || found.unclear() || len(r.Refused) > 0)
	if !c.DespiteCalls && (left || !found.whole()) {
		return nil
	}
	detail := fmt.Sprintf("held at %s; the carriers listed %d call(s) that no attempt owns; %d follow-up(s) cancelled", when(r.Hold.At), found.calls(), len(r.Cancelled))
	if len(found.Unasked) > 0 {
		detail += "; no answer by " + strings.Join(found.Unasked, ", ")
	}
	r.Released, err = db.Release(ctx, who, detail)
	return err
}

// cancel withdraws what the listed calls have rung, where that is clear: it is not to be rung again.
func (c releaseCmd) cancel(ctx context.Context, db *store.Store, who string, r *lifted) error {
	seen := map[string]bool{}
	for _, call := range r.Search.Calls {
		id := call.Promise.ID
		if !call.Ours || seen[id] {
			continue
		}
		seen[id] = true
		result, err := desk.Desk{Store: db}.Cancel(ctx, desk.Name{Text: id}, who, "it rang before the database forgot it: the carrier's call "+call.CallID)
		var refused *desk.Refusal
		if err != nil && !errors.As(err, &refused) {
			return err
		}
		switch {
		case err != nil:
			r.Refused = append(r.Refused, id+": "+oneLine(err))
		case result.State == followup.Cancelled:
			r.Cancelled = append(r.Cancelled, id)
		}
	}
	return nil
}

func (c releaseCmd) print(w io.Writer, r lifted, who string) error {
	out := &printer{w: w}
	if r.Hold == nil {
		out.printf("nothing to release: ringing is not held")
		return out.err
	}
	out.printf("all ringing is held since %s: %s", when(r.Hold.At), plain(r.Hold.Detail))
	s := r.Search
	out.printf("the carriers were asked for calls since %s to the %d follow-up(s) that may have been rung", when(r.Hold.Since), s.Asked)
	if s.More {
		out.printf("there are more follow-ups than that: those behind them were not asked about")
	}
	for _, why := range s.Unasked {
		out.printf("no answer to go by: %s", plain(why))
	}
	if len(s.Calls) == 0 {
		out.printf("they list no call that no attempt owns")
	} else {
		out.printf("they list %d call(s) that no attempt owns, to people who are to be called still:", s.calls())
		rows := make([][]string, len(s.Calls))
		for i, call := range s.Calls {
			rows[i] = []string{call.Promise.ID, call.Promise.Tenant, call.Promise.Ref, string(call.Promise.State), call.Account, call.CallID, either(string(call.Status), "unknown"), strings.TrimSuffix(taken("", call.Created), " UTC"), only(!call.Ours, "not clear")}
		}
		out.table("FOLLOW-UP|TENANT|REF|STATE|ACCOUNT|CALL|CALL STATUS|TAKEN AT (UTC)|ITS CALL?", rows)
	}
	if len(r.Cancelled) > 0 {
		out.printf("cancelled, by %s: %s", plain(who), counted(len(r.Cancelled), "follow-up", "follow-ups"))
	}
	for _, why := range r.Refused {
		out.printf("could not be cancelled: %s", plain(why))
	}
	switch {
	case r.Released:
		out.printf("released, by %s: calls begin again", plain(who))
	case len(s.Calls) > 0 && !c.CancelRung:
		out.printf("NOT released. If those calls kept the promises, cancel them and lift the hold (--cancel-rung); or lift it and have them rung again (--despite-calls)")
	case len(s.Calls) > 0 && (s.unclear() || len(r.Refused) > 0):
		out.printf("NOT released: it is not clear which promise every call kept: it went out by another number or account, or several promises are to the number it rang. Cancel what has rung (chasephone cancel), and lift the hold (--despite-calls)")
	default:
		out.printf("NOT released: not every call could be asked for. Look at the carriers' own lists, cancel what has rung (chasephone cancel), and lift the hold (--despite-calls)")
	}
	return out.err
}

// accounts opens the carriers' accounts of this environment for a command that asks their
// records; it calls nobody.
func (p process) accounts(ctx context.Context, db *store.Store, conf config.Config) (*accounts, error) {
	a := &accounts{
		environ: p.environ, publicURL: conf.HTTP.PublicURL, loopback: conf.Carriers.AllowLoopback,
		metrics: carrier.NewMetrics(prometheus.NewRegistry(), config.CarrierNames()...), log: slog.New(slog.DiscardHandler), carriers: &drain.Carriers{},
	}
	if err := a.put(conf.Carriers, ""); err != nil {
		return nil, err
	}
	names, err := db.PrefixedAccounts(ctx)
	if err != nil {
		return nil, err
	}
	a.adopt(names)
	return a, nil
}
