package main

import (
	"context"
	"fmt"

	"chasephone/internal/store"
	"chasephone/internal/tick"
)

type bridgeCmd struct {
	All  bool `help:"Bridge every arrival once more. What was bridged as it should be does not change."`
	JSON bool `name:"json" help:"Print JSON."`
}

// bridged is what bridge prints as JSON.
type bridged struct {
	Arrivals int `json:"arrivals"`
}

// bridgeAtOnce is how many arrivals are bridged in one transaction.
const bridgeAtOnce = 500

// Run bridges what no daemon has bridged yet, and with --all everything.
func (c bridgeCmd) Run(ctx context.Context, p process) error {
	db, _, err := p.open(ctx)
	if err != nil {
		return err
	}
	defer db.Close()
	var did bridged
	if did.Arrivals, err = bridgeNow(ctx, db); err != nil {
		return err
	}
	if c.All {
		did.Arrivals = 0
		for _, company := range companies() {
			for last, done := int64(0), false; !done; {
				var n int
				if last, n, err = db.BridgeAgain(ctx, readers, company.Name, last, bridgeAtOnce); err != nil {
					return err
				}
				did.Arrivals += n
				done = n == 0
			}
		}
	}
	if c.JSON {
		return printJSON(p.stdout, did)
	}
	_, err = fmt.Fprintf(p.stdout, "%d arrival(s) bridged\n", did.Arrivals)
	return err
}

// bridgeNow bridges what no daemon has bridged yet, and says how many arrivals that were.
func bridgeNow(ctx context.Context, db *store.Store) (n int, err error) {
	client, err := tick.NewInserter(db.Pool)
	if err != nil {
		return 0, err
	}
	db.FollowBy(store.Jobs{Speak: tick.SpeakIn(client)})
	err = tick.BridgeAll(ctx, func(ctx context.Context, most int) (int, error) {
		did, err := db.Bridge(ctx, readers, most)
		n += did
		return did, err
	})
	return n, err
}
