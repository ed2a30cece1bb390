package tick

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"
)

const (
	queueBridge = "bridge"
	queueLookUp = "lookup"
	queueSpeak  = "speak"

	bridgeSet     = 500 // arrivals of each carrier in one transaction
	bridgeTimeout = 30 * time.Second
	lookUpTimeout = 45 * time.Second
	lookUpsAtOnce = 100 // offered by one daemon every few seconds
)

// Bridge joins arrivals that are not bridged yet to what they are about, up to most of each
// carrier, and says how many there were.
type Bridge func(ctx context.Context, most int) (int, error)

// LookUp asks the carrier what became of one attempt, if its time has come.
type LookUp func(ctx context.Context, followUp string, no int) error

// ErrElsewhere says that this daemon has no account to do it by, and another may.
var ErrElsewhere = errors.New("this daemon has no such account")

// speakPatience is how long somebody on the telephone waits for words, and far more.
const speakPatience = time.Minute

// speakElsewhere is how soon another daemon may take up words that this one cannot say.
const speakElsewhere = 100 * time.Millisecond

// Speak says the words in a call that was answered, where the carrier could not be given them
// with the call. Its error is ErrElsewhere where only another daemon can.
type Speak func(ctx context.Context, followUp string, no int) error

// BridgeArgs is the job that follows arrivals. It names none: like a slot's it is an alarm clock,
// and a lost one only makes them wait for the next.
type BridgeArgs struct{}

// Kind names the job.
func (BridgeArgs) Kind() string { return "bridge" }

// InsertOpts gives it a queue of its own. It is never unique: one that is under way may have
// looked before these arrivals were there.
func (BridgeArgs) InsertOpts() river.InsertOpts {
	return river.InsertOpts{Queue: queueBridge, MaxAttempts: 3}
}

// LookUpArgs is the job that looks one attempt up.
type LookUpArgs struct {
	FollowUp string `json:"followup"`
	No       int    `json:"attempt"`
}

// Kind names the job.
func (LookUpArgs) Kind() string { return "lookup" }

// InsertOpts makes a job one try, and the same job wait only once: every daemon offers it.
func (LookUpArgs) InsertOpts() river.InsertOpts {
	return river.InsertOpts{
		Queue: queueLookUp, MaxAttempts: 1,
		UniqueOpts: river.UniqueOpts{ByArgs: true, ByState: []rivertype.JobState{
			rivertype.JobStateAvailable, rivertype.JobStatePending, rivertype.JobStateRunning, rivertype.JobStateRetryable, rivertype.JobStateScheduled,
		}},
	}
}

// SpeakArgs is the job that says the words in a call that was answered.
type SpeakArgs struct {
	FollowUp string `json:"followup"`
	No       int    `json:"attempt"`
}

// Kind names the job.
func (SpeakArgs) Kind() string { return "speak" }

// InsertOpts makes it unique in every state. The carrier says it once, however often it is told.
func (SpeakArgs) InsertOpts() river.InsertOpts {
	o := once(queueSpeak)
	o.MaxAttempts = 3
	return o
}

// SpeakIn has the words said by a job of client's.
func SpeakIn(client *river.Client[pgx.Tx]) func(context.Context, pgx.Tx, string, int) error {
	return func(ctx context.Context, tx pgx.Tx, followUp string, no int) error {
		_, err := client.InsertTx(ctx, tx, SpeakArgs{FollowUp: followUp, No: no}, nil)
		return err
	}
}

// BridgeIn has arrivals bridged by a job of client's that is inserted in the transaction which
// keeps them.
func BridgeIn(client *river.Client[pgx.Tx]) func(context.Context, pgx.Tx) error {
	return func(ctx context.Context, tx pgx.Tx) error {
		_, err := client.InsertTx(ctx, tx, BridgeArgs{}, nil)
		return err
	}
}

// bridger bridges until nothing is left.
type bridger struct {
	river.WorkerDefaults[BridgeArgs]
	bridge Bridge
}

func (w *bridger) Timeout(*river.Job[BridgeArgs]) time.Duration {
	return bridgeTimeout + 15*time.Second
}

func (w *bridger) Work(ctx context.Context, _ *river.Job[BridgeArgs]) error {
	return BridgeAll(ctx, w.bridge)
}

// BridgeAll bridges until nothing is left, or ctx ends. What is begun is not given up halfway.
func BridgeAll(ctx context.Context, bridge Bridge) error {
	for ctx.Err() == nil {
		begun, cancel := context.WithTimeout(context.WithoutCancel(ctx), bridgeTimeout)
		n, err := bridge(begun, bridgeSet)
		cancel()
		if err != nil || n < bridgeSet {
			return err
		}
	}
	return nil
}

// looker looks one attempt up.
type looker struct {
	river.WorkerDefaults[LookUpArgs]
	lookUp LookUp
	log    *slog.Logger
}

func (w *looker) Timeout(*river.Job[LookUpArgs]) time.Duration { return lookUpTimeout + 15*time.Second }

func (w *looker) Work(ctx context.Context, job *river.Job[LookUpArgs]) error {
	ctx, cancel := context.WithTimeout(ctx, lookUpTimeout)
	defer cancel()
	err := w.lookUp(ctx, job.Args.FollowUp, job.Args.No)
	if err != nil {
		w.log.Error("looking a call up failed: it is tried again", "followup", job.Args.FollowUp, "attempt", job.Args.No, "err", err)
	}
	return nil // it stays due, and is offered again
}

// speaker says words.
type speaker struct {
	river.WorkerDefaults[SpeakArgs]
	speak Speak
	log   *slog.Logger
}

func (w *speaker) Timeout(*river.Job[SpeakArgs]) time.Duration { return lookUpTimeout }

func (w *speaker) Work(ctx context.Context, job *river.Job[SpeakArgs]) error {
	err := w.speak(ctx, job.Args.FollowUp, job.Args.No)
	if errors.Is(err, ErrElsewhere) && time.Since(job.CreatedAt) < speakPatience {
		return river.JobSnooze(speakElsewhere) //nolint:wrapcheck // River tells it by its type
	}
	if err != nil {
		w.log.Error("the words could not be said in a call that was answered", "followup", job.Args.FollowUp, "attempt", job.Args.No, "err", err)
	}
	return err
}

// OfferLookUps inserts the jobs of attempts whose time to be looked up has come.
func OfferLookUps(ctx context.Context, client *river.Client[pgx.Tx], due func(ctx context.Context, most int) ([]LookUpArgs, error)) error {
	all, err := due(ctx, lookUpsAtOnce)
	if err != nil || len(all) == 0 {
		return err
	}
	jobs := make([]river.InsertManyParams, len(all))
	for i, args := range all {
		jobs[i] = river.InsertManyParams{Args: args}
	}
	_, err = client.InsertMany(ctx, jobs)
	return err
}
