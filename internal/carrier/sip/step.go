package sip

import (
	"encoding/json"
	"time"

	"chasephone/internal/carrier"
)

// KindProgress is what a step is delivered as.
const KindProgress = "progress"

const (
	methodInvite = "INVITE"
	methodCancel = "CANCEL"
	methodBye    = "BYE"
)

// Why a call is cancelled.
const (
	whyRang     = "nobody answered"
	whyTooLate  = "too late to await an answer"
	whyShutDown = "shut down"
	whyLost     = "connection lost"
)

// step is one step of a call, in SIP's own words: what is delivered, and stored.
type step struct {
	CallID     string    `json:"call_id"`
	Method     string    `json:"method"`
	StatusCode int       `json:"status_code,omitempty"` // of the answer; 0 for the request
	Reason     string    `json:"reason,omitempty"`
	From       string    `json:"from"`
	To         string    `json:"to"`
	At         time.Time `json:"at"`
	Direction  string    `json:"direction"`

	Rang      bool   `json:"rang,omitempty"`          // the phone had rung before
	Cancelled string `json:"cancelled_for,omitempty"` // why we had cancelled it before
	Seconds   int    `json:"seconds,omitempty"`       // talked for, where it is over
}

// statusOf is what a step says of the call. Statuses are the only thing by which a final step
// counts, so what proves nothing says none.
func statusOf(s step) carrier.Status {
	switch code := s.StatusCode; {
	case s.Method == methodBye:
		return carrier.StatusCompleted
	case s.Method != methodInvite:
		return ""
	case code == 0, code == 181:
		return carrier.StatusInitiated
	case code == 182:
		return carrier.StatusQueued
	case code/100 == 1:
		return carrier.StatusRinging
	case code/100 == 2:
		return carrier.StatusInProgress
	case code == 486, code == 600, code == 603: // 603: whoever was rung does not want to
		return carrier.StatusBusy
	case code == 487 && (!s.Rang || s.Cancelled == whyShutDown):
		return carrier.StatusCanceled
	case code == 480, code == 487, code == 408 && s.Rang:
		return carrier.StatusNoAnswer
	}
	return carrier.StatusFailed
}

// proves reports whether a step alone shows that the call was placed.
func (s step) proves() bool {
	return s.Method == methodBye || s.Method == methodInvite && (s.StatusCode/100 == 1 || s.StatusCode/100 == 2 || classifiesPlaced(s.StatusCode))
}

func classifiesPlaced(code int) bool { return code == 480 || code == 486 || code == 600 || code == 603 }

// diary tells what a call comes to. Whoever reads it takes every report of a call that does not
// say otherwise for proof that one was placed, so a request that was sent is only told once an
// answer proves it: until then steps are kept back, and dropped where nothing comes of them.
type diary struct {
	token   string
	words   step // what all have in common
	kept    []step
	proven  bool
	out     chan carrier.Delivery
	written chan struct{} // closed: everything was told
}

// mostSteps is more than a call has, so that telling never waits for whoever listens.
const mostSteps = 64

func newDiary(token string, words step, report func(carrier.Delivery)) *diary {
	d := &diary{token: token, words: words, out: make(chan carrier.Delivery, mostSteps), written: make(chan struct{})}
	go func() {
		defer close(d.written)
		for delivery := range d.out {
			if report != nil {
				report(delivery)
			}
		}
	}()
	return d
}

// note tells a step of now.
func (d *diary) note(s step) {
	s.CallID, s.From, s.To, s.Direction = d.words.CallID, d.words.From, d.words.To, d.words.Direction
	s.At, s.Reason = time.Now().UTC(), carrier.CleanText(s.Reason)
	switch {
	case d.proven || s.proves():
		d.proven = true
		for _, before := range d.kept {
			d.tell(before)
		}
		d.kept = nil
		d.tell(s)
	case s.Method == methodInvite && s.StatusCode >= 300:
		d.kept = nil
		d.tell(s)
	default:
		d.kept = append(d.kept, s)
	}
}

func (d *diary) tell(s step) {
	body, err := json.Marshal(s)
	if err != nil || len(d.out) == cap(d.out) {
		return // neither happens: a step is plain text, and there are fewer
	}
	d.out <- carrier.Delivery{Kind: KindProgress, Token: d.token, Body: body}
}

// close returns when everything was told.
func (d *diary) close() {
	close(d.out)
	<-d.written
}
