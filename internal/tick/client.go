package tick

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivertype"
)

// ClientConfig is what the River client is made of.
type ClientConfig struct {
	ID      string        // this daemon's, unique
	Pool    *pgxpool.Pool // River's own: a pool too small is the common cause of election timeouts
	Pooled  bool          // a transaction pooler stands between: no LISTEN
	Owner   bool          // of River's tables: who is not may not rebuild their indexes, and leaves it to the operator
	Fence   Fence
	Drain   Drain
	Bridge  Bridge // nil: this client bridges nothing, and looks nothing up
	LookUp  LookUp
	Speak   Speak
	Metrics *Metrics
	Log     *slog.Logger

	// Mask takes the numbers out of a text that River is to keep. Must be set.
	Mask func(string) string
}

// NewClient makes the River client that works the slots, bridges arrivals and looks calls up.
func NewClient(c ClientConfig) (*river.Client[pgx.Tx], error) {
	workers := river.NewWorkers()
	ticking := &atomic.Int64{}
	river.AddWorker(workers, &worker{fence: c.Fence, drain: c.Drain, ticking: ticking, metrics: c.Metrics, log: c.Log})
	river.AddWorker(workers, &drainer{fence: c.Fence, drain: c.Drain, ticking: ticking, log: c.Log})
	poll := time.Second // a notification wakes it: this is for one that was lost
	if c.Pooled {
		poll = 100 * time.Millisecond // nothing wakes it but its own looking
	}
	queue := func(workers int) river.QueueConfig {
		return river.QueueConfig{MaxWorkers: workers, FetchPollInterval: poll, FetchCooldown: 50 * time.Millisecond}
	}
	queues := map[string]river.QueueConfig{queueTick: queue(1), queueDrain: queue(2)}
	if c.Bridge != nil {
		river.AddWorker(workers, &bridger{bridge: c.Bridge})
		river.AddWorker(workers, &looker{lookUp: c.LookUp, log: c.Log})
		river.AddWorker(workers, &speaker{speak: c.Speak, log: c.Log})
		queues[queueBridge], queues[queueLookUp], queues[queueSpeak] = queue(1), queue(4), queue(16)
	}
	var rebuilt []string // nil: River's own choice
	if !c.Owner {
		rebuilt = []string{}
	}
	client, err := river.NewClient(riverpgxv5.New(c.Pool), &river.Config{
		ID:         c.ID,
		Queues:     queues,
		Workers:    workers,
		Hooks:      []rivertype.Hook{&databaseClock{}},
		Middleware: []rivertype.Middleware{masking(c.Mask)},
		PollOnly:   c.Pooled,

		ReindexerIndexNames: rebuilt,
		// A rescued job runs beside the first run, which is not told. Ours do no harm, and are
		// long over by then even where the leader's clock is minutes ahead.
		JobTimeout:           longest + 15*time.Second,
		RescueStuckJobsAfter: 15 * time.Minute,
		SoftStopTimeout:      longest + 20*time.Second,
		// A slot's job is only of use while somebody might still offer it.
		CompletedJobRetentionPeriod: time.Hour,
		CancelledJobRetentionPeriod: time.Hour,
		Logger:                      slog.New(quiet{c.Log.Handler()}),
	})
	if err != nil {
		return nil, fmt.Errorf("making River's client: %w", err)
	}
	return client, nil
}

// NewInserter makes a River client that inserts jobs and works none.
func NewInserter(pool *pgxpool.Pool) (*river.Client[pgx.Tx], error) {
	client, err := river.NewClient(riverpgxv5.New(pool), &river.Config{Hooks: []rivertype.Hook{&databaseClock{}}, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, fmt.Errorf("making River's client: %w", err)
	}
	return client, nil
}

// databaseClock makes jobs scheduled by the database's clock. The driver stamps them with
// this machine's, and a daemon that is minutes ahead would have none of its jobs fetched.
type databaseClock struct{ river.HookDefaults }

func (*databaseClock) InsertBegin(_ context.Context, p *rivertype.JobInsertParams) error {
	if p.ScheduledAt == nil {
		p.ScheduledAt = new(time.Time)
	}
	return nil
}

// quiet logs what River says one level lower: a slot that somebody else worked is no news.
type quiet struct{ slog.Handler }

func (q quiet) Enabled(ctx context.Context, level slog.Level) bool {
	return q.Handler.Enabled(ctx, level-4)
}

func (q quiet) Handle(ctx context.Context, r slog.Record) error {
	r.Level -= 4
	r.Message = "river: " + r.Message
	return q.Handler.Handle(ctx, r) //nolint:wrapcheck // a handler is no boundary
}

func (q quiet) WithAttrs(attrs []slog.Attr) slog.Handler { return quiet{q.Handler.WithAttrs(attrs)} }
func (q quiet) WithGroup(name string) slog.Handler       { return quiet{q.Handler.WithGroup(name)} }
