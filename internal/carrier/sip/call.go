package sip

import (
	"context"
	"errors"
	"strings"
	"time"

	sipgo "github.com/emiago/sipgo/sip"

	"chasephone/internal/carrier"
)

const (
	lastWord     = 30 * time.Second // how long the last word on a cancelled call is awaited (RFC 3261: 32 s)
	lastFarewell = 5 * time.Second  // and the answer to a BYE
)

// call is one call from its INVITE to its end. One goroutine, run's, decides and writes; another
// only reads the connection.
type call struct {
	letters

	by     *Carrier
	order  carrier.Call
	conn   carrier.Conn
	media  carrier.Packets
	diary  *diary
	answer chan carrier.Answer // Place's, once
	told   bool                // it was given

	in   chan sipgo.Message // closed where nothing more can come
	lost error              // why; to be read once in is closed
	over chan struct{}      // closed: nobody takes from in

	invite      *sipgo.Request // the one whose answer is awaited
	provisional bool           // it has had a 1xx: only then it may be cancelled
	rang        bool
	seen        [4]bool // 180 to 183, each told once
	why         string  // it is to be hung up; "" while it is not
	cancelled   bool    // a CANCEL was sent
}

// run goes on until the call is over. Its bounds: ctx, then RingFor, the time to speak, and
// the time that last words are awaited.
func (c *call) run(ctx context.Context) {
	c.in = make(chan sipgo.Message)
	read := make(chan struct{})
	go func() {
		defer close(read)
		c.listen()
	}()
	defer func() {
		close(c.over)
		_ = c.conn.Close()
		_ = c.media.Close()
		<-read
		c.diary.close()
	}()
	c.diary.note(step{Method: methodInvite})
	final := c.ring(ctx)
	if final == nil {
		return
	}
	if final.IsSuccess() {
		c.answered(final)
		return
	}
	c.tell(classify(final, c.callID))
	c.write(c.ackRefusal(c.invite, final))
	c.diary.note(step{Method: methodInvite, StatusCode: final.StatusCode, Reason: final.Reason, Rang: c.rang, Cancelled: c.why})
}

// listen reads what comes, until nothing more can.
func (c *call) listen() {
	defer close(c.in)
	stream, parser := newFrames(c.conn), newParser()
	for range mostMessages {
		frame, err := stream.next()
		if err != nil {
			c.lost = err
			return
		}
		message := parse(parser, frame)
		if message == nil {
			continue
		}
		if r, ok := message.(*sipgo.Response); ok {
			r.Reason = c.by.transport.Hidden(r.Reason)
		}
		select {
		case c.in <- message:
		case <-c.over:
			c.lost = errors.New("the call is over")
			return
		}
	}
	c.lost = errors.New("too many messages for one call")
}

// tell gives Place its answer, unless it has one.
func (c *call) tell(answer carrier.Answer) {
	if !c.told {
		c.told = true
		c.answer <- answer
	}
}

// ring awaits the final answer to the INVITE; nil where there was none, and the call is to be
// left as it is. When it returns Place has its answer, or a final answer gives it.
func (c *call) ring(ctx context.Context) *sipgo.Response {
	waited, halted := ctx.Done(), c.by.halt
	var limit <-chan time.Time // of the ringing, and then of the last word
	hangUp := func(why string) {
		c.hangUp(why)
		waited, halted, limit = nil, nil, time.After(c.by.lastWord)
	}
	for {
		select {
		case <-waited:
			c.tell(awaited(ctx))
			hangUp(whyTooLate)
		case <-halted:
			c.tell(carrier.Unknown{Stage: carrier.StageAwaiting, Text: "stopped while an answer was awaited"})
			hangUp(whyShutDown)
		case <-limit:
			if c.why == "" {
				hangUp(whyRang)
				continue
			}
			c.noLastWord()
			return nil
		case m, open := <-c.in:
			if !open {
				c.tell(carrier.Unknown{Stage: carrier.StageAwaiting, Text: carrier.CleanText("no last word: " + c.lost.Error())})
				c.broken()
				return nil
			}
			r := c.take(m)
			switch {
			case r == nil:
			case r.IsProvisional():
				if c.provide(r.StatusCode, r.Reason) {
					waited, limit = nil, time.After(c.by.config.RingFor)
				}
			case c.challenged(r):
				if answer := c.again(ctx, r); answer != nil {
					c.tell(answer)
					return nil
				}
			default:
				return r
			}
		}
	}
}

// provide takes in a 1xx, and reports whether it is the one by which the phone rings.
func (c *call) provide(code int, reason string) bool {
	c.provisional = true
	first := false
	if rings(code) && !c.seen[code-180] {
		c.seen[code-180] = true
		c.diary.note(step{Method: methodInvite, StatusCode: code, Reason: reason})
		c.rang, first = true, !c.told
		c.tell(carrier.Placed{CallID: c.callID, Status: string(statusOf(step{Method: methodInvite, StatusCode: code}))})
	}
	if c.why != "" {
		c.cancel() // it could not be before
	}
	return first
}

// hangUp cancels the call, or has it cancelled as soon as that is allowed.
func (c *call) hangUp(why string) {
	c.why = why
	if c.provisional {
		c.cancel()
	}
}

func (c *call) cancel() {
	if c.cancelled {
		return
	}
	c.cancelled = true
	c.write(c.newCancel(c.invite))
	c.diary.note(step{Method: methodCancel, Reason: c.why, Rang: c.rang})
}

// noLastWord takes a call for ended that rang, was cancelled and never was answered, as RFC
// 3261 has it (9.1). One that is not known to have rung stays unknown.
func (c *call) noLastWord() {
	if c.rang {
		c.diary.note(step{Method: methodInvite, StatusCode: 408, Reason: "no last word after the CANCEL", Rang: true, Cancelled: c.why})
	}
}

// broken is for a connection on which nothing more can come. Something may still go out on it,
// and on one stream a CANCEL cannot overtake what it cancels.
func (c *call) broken() {
	if c.cancelled {
		c.noLastWord()
		return
	}
	c.why = whyLost
	c.cancel()
}

// challenged reports whether r asks who we are, and may be answered: the first time, if it is
// known, and while no answer was given that says otherwise.
func (c *call) challenged(r *sipgo.Response) bool {
	return asksWho(r) && !c.told && c.why == "" && c.credentials == nil && c.by.config.Username != ""
}

// again sends the INVITE once more, with credentials: r proves that the first one rang nobody.
// An answer says why it was not.
func (c *call) again(ctx context.Context, r *sipgo.Response) carrier.Answer {
	c.write(c.ackRefusal(c.invite, r))
	answer, err := c.by.config.answerChallenge(r, c.sdp)
	if err != nil {
		c.diary.note(step{Method: methodInvite, StatusCode: r.StatusCode, Reason: r.Reason})
		return classify(r, c.callID)
	}
	c.credentials = answer
	c.invite, c.provisional = c.newInvite(c.invite.CSeq().SeqNo+1), false
	return c.conn.Begin(ctx, []byte(c.invite.String()), c.order.SendBy)
}

// take is the answer to the INVITE that m is, or nil. What is not of this transaction says nothing.
func (c *call) take(m sipgo.Message) *sipgo.Response {
	r, ok := m.(*sipgo.Response)
	if !ok {
		c.serve(m.(*sipgo.Request), "")
		return nil
	}
	if !c.answers(r, c.invite) {
		return nil
	}
	return r
}

// answers reports whether r is the answer to a request of ours.
func (c *call) answers(r *sipgo.Response, to *sipgo.Request) bool {
	method := strings.TrimSpace(string(r.CSeq().MethodName))
	return r.CallID().Value() == c.callID && r.CSeq().SeqNo == to.CSeq().SeqNo && method == string(to.Method) &&
		branchOf(r) == branchOf(to) && tag(raw(r, "From", "f")) == c.fromTag
}

// write sends what cannot ring a phone. Where that fails the connection is given up, and whoever
// reads is told so: a trunk that takes nothing must not cost the time of every message.
func (c *call) write(m sipgo.Message) {
	if _, err := c.conn.Write([]byte(m.String())); err != nil {
		_ = c.conn.Close()
	}
}

// awaited is the answer where none came in time.
func awaited(ctx context.Context) carrier.Answer {
	text := "the time to await an answer was over"
	if errors.Is(ctx.Err(), context.Canceled) {
		text = "stopped while an answer was awaited"
	}
	return carrier.Unknown{Stage: carrier.StageAwaiting, Text: text}
}
