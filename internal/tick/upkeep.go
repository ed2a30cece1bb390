package tick

import (
	"context"
	"log/slog"
	"time"
)

// upkeepEvery and upkeepTimeout keep the sweep's promise: an attempt whose process died is
// uncertain within 15 s of its answer_by (5 s until the next look, 3 s of grace, and the rest
// for a database that is slow).
const (
	upkeepEvery   = 5 * time.Second
	upkeepTimeout = 4 * time.Second
)

// Step is one thing that every daemon does every few seconds, leader or not.
type Step struct {
	Name string
	Do   func(context.Context) error
}

// Upkeep does every step, again and again, until ctx ends. A step that fails is logged when
// it begins to fail and when it works again, and holds up no other.
func Upkeep(ctx context.Context, log *slog.Logger, steps ...Step) {
	failing := map[string]bool{}
	every := time.NewTicker(upkeepEvery)
	defer every.Stop()
	for {
		for _, step := range steps {
			stepCtx, cancel := context.WithTimeout(ctx, upkeepTimeout)
			err := step.Do(stepCtx)
			cancel()
			switch {
			case ctx.Err() != nil:
				return
			case err != nil && !failing[step.Name]:
				log.Error("upkeep fails, trying again every few seconds", "step", step.Name, "err", err)
			case err == nil && failing[step.Name]:
				log.Info("upkeep works again", "step", step.Name)
			}
			failing[step.Name] = err != nil
		}
		select {
		case <-every.C:
		case <-ctx.Done():
			return
		}
	}
}
