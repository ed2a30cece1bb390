package tick

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"
)

// slots is a fence that lets through what it is told to.
type slots struct {
	slot Slot
	pass bool
	err  error
}

func (s slots) Offer(context.Context) (Slot, error)                 { return s.slot, s.err }
func (s slots) Pass(context.Context, time.Time) (Slot, bool, error) { return s.slot, s.pass, s.err }

// drained remembers what it was asked for.
type drained struct {
	did        []string
	left       time.Duration
	prepareErr error
	slotErr    error
}

func (d *drained) Prepare(context.Context) error {
	d.did = append(d.did, "prepare")
	return d.prepareErr
}

func (d *drained) Slot(ctx context.Context, _ int) error {
	d.did = append(d.did, "slot")
	if end, ok := ctx.Deadline(); ok {
		d.left = time.Until(end)
	}
	return d.slotErr
}

// R1, row 13: a slot that was worked, or is past, is worked by nobody again. A failure in
// its first part holds up nothing of the second, and the job is over either way.
func TestWorker(t *testing.T) {
	t.Parallel()
	now := Slot{At: time.Unix(60, 0), Left: 30 * time.Second, Tick: time.Minute, Drainers: 1}
	for name, test := range map[string]struct {
		fence   slots
		drain   drained
		did     string
		result  string
		refused bool // the job ends with an error
	}{
		"its turn":          {fence: slots{slot: now, pass: true}, did: "prepare slot", result: resultDone},
		"worked already":    {fence: slots{slot: now}, result: resultSkipped, refused: true},
		"no database":       {fence: slots{err: errors.New("away")}, result: resultFailed, refused: true},
		"closing fails":     {fence: slots{slot: now, pass: true}, drain: drained{prepareErr: errors.New("x")}, did: "prepare slot", result: resultFailed},
		"a claim fails":     {fence: slots{slot: now, pass: true}, drain: drained{slotErr: errors.New("x")}, did: "prepare slot", result: resultFailed},
		"a slot of an hour": {fence: slots{slot: Slot{Left: time.Hour}, pass: true}, did: "prepare slot", result: resultDone},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reg := prometheus.NewRegistry()
			drain := test.drain
			w := &worker{fence: test.fence, drain: &drain, ticking: &atomic.Int64{}, metrics: NewMetrics(reg), log: slog.New(slog.DiscardHandler)}
			err := w.Work(t.Context(), &river.Job[Args]{JobRow: &rivertype.JobRow{}, Args: Args{SlotMillis: 60_000}})
			if (err != nil) != test.refused {
				t.Errorf("it ends with %v", err)
			}
			if got := strings.Join(drain.did, " "); got != test.did {
				t.Errorf("it did %q, want %q", got, test.did)
			}
			if drain.left > longest || test.did != "" && drain.left > test.fence.slot.Left {
				t.Errorf("it had %s for a slot of which %s were left", drain.left, test.fence.slot.Left)
			}
			if n := testutil.ToFloat64(w.metrics.ticks.WithLabelValues(test.result)); n != 1 {
				t.Errorf("%v counted as %s, want 1", n, test.result)
			}
		})
	}
}

// A slot begins at most a few seconds late when its usual winner has died, however long it is.
func TestBehind(t *testing.T) {
	t.Parallel()
	for _, left := range []time.Duration{0, time.Millisecond, time.Second, time.Minute, time.Hour} {
		for range 100 {
			if late := behind(false, left); late < 0 || late > left/4+time.Nanosecond || late > 2*longestBehind {
				t.Fatalf("%s behind with %s left", late, left)
			}
		}
		if late := behind(true, left); late != 0 {
			t.Errorf("the winner waits %s", late)
		}
	}
}

// Every step is done again and again; one that fails is told of when it begins to fail and
// when it works again, and holds up no other.
func TestUpkeep(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		did := map[string]int{}
		var works atomic.Bool
		go Upkeep(ctx, slog.New(slog.NewTextHandler(&log, nil)),
			Step{"bad", func(context.Context) error {
				did["bad"]++
				if !works.Load() {
					return errors.New("no")
				}
				return nil
			}},
			Step{"slow", func(ctx context.Context) error {
				did["slow"]++
				<-ctx.Done()
				return nil
			}},
			Step{"good", func(context.Context) error { did["good"]++; return nil }},
		)
		time.Sleep(22 * time.Second) // of the bubble's own clock
		synctest.Wait()
		works.Store(true)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		cancel()
		synctest.Wait()
		for _, step := range []string{"bad", "slow", "good"} {
			if n := did[step]; n < 6 {
				t.Errorf("%s was done %d times in 32 s", step, n)
			}
		}
		if n := strings.Count(log.String(), "upkeep fails"); n != 1 {
			t.Errorf("told %d times that it fails:\n%s", n, &log)
		}
		if n := strings.Count(log.String(), "upkeep works again"); n != 1 {
			t.Errorf("told %d times that it works again:\n%s", n, &log)
		}
	})
}
