package arrivals_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"chasephone/internal/arrivals"
	"chasephone/internal/carrier"
)

var errDatabase = errors.New("no connection")

func arrival(body string) arrivals.Arrival {
	return arrivals.Arrival{Accounts: []string{"acme"}, Delivery: carrier.Delivery{Body: []byte(body)}}
}

func has(set []arrivals.Arrival, body string) bool {
	return slices.ContainsFunc(set, func(a arrivals.Arrival) bool { return string(a.Delivery.Body) == body })
}

// outcome is what a caller of Keep was told, and when.
type outcome struct {
	foreign bool
	err     error
	after   time.Duration
}

// keepAll has n arrivals kept at once, named by their numbers, and waits until all are answered.
func keepAll(ctx context.Context, k *arrivals.Keeper, n int) []outcome {
	out := make([]outcome, n)
	begun := time.Now()
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			foreign, err := k.Keep(ctx, arrival(fmt.Sprint(i)))
			out[i] = outcome{foreign, err, time.Since(begun)}
		})
	}
	all.Wait()
	return out
}

// The clock of these tests is made up, so what takes five seconds takes none, and always the same.
func TestKeeperFaults(t *testing.T) {
	t.Parallel()
	const n = 20
	failFirst := func(times int) func() error {
		var mu sync.Mutex
		return func() error {
			mu.Lock()
			defer mu.Unlock()
			if times--; times >= 0 {
				return errDatabase
			}
			return nil
		}
	}
	for name, one := range map[string]struct {
		store  func(*memory)
		failed func(i int) bool // nil: none
		after  time.Duration    // all are answered, at the latest
		kept   func(i, times int) bool
	}{
		"well": {
			store: func(*memory) {},
			kept:  func(_, times int) bool { return times == 1 },
		},
		"failed, and kept nothing": {
			store: func(m *memory) {
				fail := failFirst(6)
				m.before = func(context.Context, []arrivals.Arrival) error { return fail() }
			},
			after: 4 * time.Second,
			kept:  func(_, times int) bool { return times == 1 },
		},
		"failed, and kept them": {
			store: func(m *memory) {
				fail := failFirst(1)
				m.after = func([]arrivals.Arrival) error { return fail() }
			},
			after: time.Second,
			kept:  func(_, times int) bool { return times == 1 || times == 2 },
		},
		"slow": {
			store: func(m *memory) {
				m.before = func(context.Context, []arrivals.Arrival) error { time.Sleep(2 * time.Second); return nil }
			},
			after: 4*time.Second + 10*time.Millisecond,
			kept:  func(_, times int) bool { return times == 1 },
		},
		"down": {
			store:  func(m *memory) { m.before = func(context.Context, []arrivals.Arrival) error { return errDatabase } },
			failed: func(int) bool { return true },
			after:  5 * time.Second,
			kept:   func(_, times int) bool { return times == 0 },
		},
		"blocked until told to give up": {
			store: func(m *memory) {
				m.before = func(ctx context.Context, _ []arrivals.Arrival) error { <-ctx.Done(); return ctx.Err() }
			},
			failed: func(int) bool { return true },
			after:  5 * time.Second,
			kept:   func(_, times int) bool { return times == 0 },
		},
		"one cannot be stored": {
			store: func(m *memory) {
				m.before = func(_ context.Context, set []arrivals.Arrival) error {
					if has(set, "7") {
						return fmt.Errorf("keeping: %w", &arrivals.RowError{Err: errors.New("culprit")})
					}
					return nil
				}
			},
			failed: func(i int) bool { return i == 7 },
			kept:   func(i, times int) bool { return (times == 1) == (i != 7) },
		},
		"two cannot be stored, and the connection breaks": {
			store: func(m *memory) {
				fail := failFirst(3)
				m.before = func(_ context.Context, set []arrivals.Arrival) error {
					if has(set, "7") || has(set, "19") {
						return &arrivals.RowError{Err: errors.New("culprit")}
					}
					return fail()
				}
			},
			failed: func(i int) bool { return i == 7 || i == 19 },
			after:  time.Second,
			kept:   func(i, times int) bool { return (times == 1) == (i != 7 && i != 19) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				m, logged := &memory{}, &lines{}
				one.store(m)
				k := arrivals.NewKeeper(m, slog.New(slog.NewTextHandler(logged, nil)))
				const linger = 5 * time.Millisecond // that what came first waits for more
				outcomes := keepAll(t.Context(), k, n)
				k.Close(t.Context())
				kept := m.bodies()
				for i, o := range outcomes {
					if failed := one.failed != nil && one.failed(i); failed != (o.err != nil) || o.after > one.after+linger {
						t.Errorf("%d: %v after %v", i, o.err, o.after)
					}
					if times := kept[fmt.Sprint(i)]; !one.kept(i, times) {
						t.Errorf("%d kept %d times", i, times)
					}
				}
				if n := len(logged.get()); n > 1 {
					t.Errorf("%d lines in a minute: %q", n, logged.get())
				}
			})
		})
	}
}

func TestKeeperSaysWhichAreForeign(t *testing.T) {
	t.Parallel()
	k := arrivals.NewKeeper(&memory{}, slog.New(slog.DiscardHandler))
	defer k.Close(t.Context())
	for body, want := range map[string]bool{"foreign": true, "ours": false} {
		if foreign, err := k.Keep(t.Context(), arrival(body)); foreign != want || err != nil {
			t.Errorf("%s: %t, %v", body, foreign, err)
		}
	}
}

// gate is a store that stays shut until it is opened.
func gate(m *memory) (open func()) {
	shut := make(chan struct{})
	m.before = func(ctx context.Context, _ []arrivals.Arrival) error {
		select {
		case <-shut:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return func() { close(shut) }
}

// What arrives while commits are under way goes out in few sets, none above 256, and two at once.
func TestKeeperGroups(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := &memory{}
		open := gate(m)
		k := arrivals.NewKeeper(m, slog.New(slog.DiscardHandler))
		var all sync.WaitGroup
		all.Go(func() { keepAll(t.Context(), k, 1) })
		synctest.Wait()
		all.Go(func() { keepAll(t.Context(), k, 1) })
		synctest.Wait() // both commits are under way
		all.Go(func() { keepAll(t.Context(), k, 1000) })
		synctest.Wait()
		if tries := m.tries(); !slices.Equal(tries, []int{1, 1}) {
			t.Errorf("sets of %v are under way, want two of one", tries)
		}
		open()
		all.Wait()
		k.Close(t.Context())
		if tries := m.tries(); !slices.Equal(tries, []int{1, 1, 256, 256, 256, 232}) {
			t.Errorf("sets of %v", tries)
		}
	})
}

// After a large set a moment passes, so that a storm makes fewer commits; after a small one, none.
func TestKeeperLingersInAStorm(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := &memory{}
		open := gate(m)
		k := arrivals.NewKeeper(m, slog.New(slog.DiscardHandler))
		var all sync.WaitGroup
		for _, n := range []int{1, 1, 9} {
			all.Go(func() { keepAll(t.Context(), k, n) })
			synctest.Wait()
		}
		open()
		all.Wait()
		for i, want := range []time.Duration{5 * time.Millisecond, 0} {
			if o := keepAll(t.Context(), k, 1)[0]; o.err != nil || o.after != want {
				t.Errorf("%d: %v after %v, want %v", i, o.err, o.after, want)
			}
		}
		k.Close(t.Context())
	})
}

// Memory is bounded: beyond 4096 that wait, the next fail at once; and room is made again.
func TestKeeperIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := &memory{}
		open := gate(m)
		k := arrivals.NewKeeper(m, slog.New(slog.DiscardHandler))
		var outcomes []outcome
		var all sync.WaitGroup
		all.Go(func() { outcomes = keepAll(t.Context(), k, 4096) })
		synctest.Wait()
		if o := keepAll(t.Context(), k, 1)[0]; o.err == nil || o.after != 0 {
			t.Errorf("one too many: %v after %v", o.err, o.after)
		}
		open()
		all.Wait()
		if i := slices.IndexFunc(outcomes, func(o outcome) bool { return o.err != nil }); i >= 0 {
			t.Errorf("%d: %v", i, outcomes[i].err)
		}
		if o := keepAll(t.Context(), k, 1)[0]; o.err != nil {
			t.Error(o.err)
		}
		k.Close(t.Context())
	})
}

// A caller who leaves gets his error at once, and what he brought is kept all the same.
func TestKeeperKeepsForWhoLeft(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := &memory{}
		open := gate(m)
		k := arrivals.NewKeeper(m, slog.New(slog.DiscardHandler))
		ctx, leave := context.WithTimeout(t.Context(), time.Second)
		defer leave()
		for i, o := range keepAll(ctx, k, 3) {
			if !errors.Is(o.err, context.DeadlineExceeded) || o.after != time.Second {
				t.Errorf("%d: %v after %v", i, o.err, o.after)
			}
		}
		open()
		k.Close(t.Context())
		if n := len(m.bodies()); n != 3 {
			t.Errorf("%d kept", n)
		}
	})
}

func TestKeeperCloses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := &memory{}
		open := gate(m)
		k := arrivals.NewKeeper(m, slog.New(slog.DiscardHandler))
		var outcomes []outcome
		var all sync.WaitGroup
		all.Go(func() { outcomes = keepAll(t.Context(), k, 600) })
		synctest.Wait()
		all.Go(func() { k.Close(t.Context()) })
		synctest.Wait()
		if o := keepAll(t.Context(), k, 1)[0]; o.err == nil || o.after != 0 {
			t.Errorf("after Close: %v after %v", o.err, o.after)
		}
		open()
		all.Wait()
		for i, o := range outcomes {
			if o.err != nil {
				t.Errorf("%d: %v", i, o.err)
			}
		}
		if n := len(m.bodies()); n != 600 {
			t.Errorf("%d kept", n)
		}
	})
}

// Close ends when it is told to, though the database says nothing, and nobody is left waiting.
func TestKeeperCloseGivesUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := &memory{}
		gate(m)
		k := arrivals.NewKeeper(m, slog.New(slog.DiscardHandler))
		var outcomes []outcome
		var all sync.WaitGroup
		all.Go(func() { outcomes = keepAll(t.Context(), k, 600) })
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		k.Close(ctx)
		all.Wait()
		for i, o := range outcomes {
			if o.err == nil || o.after != time.Second {
				t.Errorf("%d: %v after %v", i, o.err, o.after)
			}
		}
	})
}
