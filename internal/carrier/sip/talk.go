package sip

import (
	"time"

	sipgo "github.com/emiago/sipgo/sip"
)

// talk is a call that was answered.
type talk struct {
	*call
	dialog

	ack    *sipgo.Request
	since  time.Time
	forks  map[string]bool // tags of others that answered the same INVITE
	ended  string          // how the other side ended it; "" while it did not
	parted *sipgo.Response // the answer to our BYE
	bye    *sipgo.Request
}

// answered goes on from a 2xx to the end of the call. One that is to be hung up is only
// acknowledged before: whoever picks up after the time for it is not kept.
func (c *call) answered(final *sipgo.Response) {
	t := &talk{call: c, dialog: dialogOf(c.invite, final), since: time.Now(), forks: map[string]bool{}}
	c.tell(classify(final, c.callID))
	t.ack = c.ackAnswer(t.dialog, c.invite)
	c.write(t.ack)
	c.diary.note(step{Method: methodInvite, StatusCode: final.StatusCode, Reason: final.Reason, Rang: c.rang, Cancelled: c.why})
	if c.why == "" {
		t.speak(readAnswer(final.Body()))
	}
	if t.ended == "" {
		t.part()
	}
	seconds := int(time.Since(t.since) / time.Second)
	c.diary.note(step{Method: methodBye, Reason: t.ended, Rang: c.rang, Cancelled: c.why, Seconds: seconds})
}

// speak sends what there is to say, until it is said or somebody hangs up. Where the sound may
// not go, or is not taken, its time goes by all the same.
func (t *talk) speak(to accepted) {
	speech := newSpeech(t.order.Extension, t.by.sound, to.keys)
	limit := time.After(speech.length() + lastFarewell) // should the ticks come slowly
	tick := time.NewTicker(packetTime)
	defer tick.Stop()
	for t.ended == "" {
		select {
		case m, open := <-t.in:
			t.hear(m, open)
		case <-t.by.halt:
			t.why = whyShutDown
			return
		case <-limit:
			return
		case <-tick.C:
			packet := speech.next()
			if packet == nil {
				return
			}
			if to.to.IsValid() {
				_ = t.media.Send(packet, to.to) // a packet that is lost is not missed
			}
		}
	}
}

// part says BYE and awaits the answer, for a while.
func (t *talk) part() {
	limit := time.After(lastFarewell)
	t.bye = t.newBye(t.dialog, t.invite.CSeq().SeqNo+1)
	t.write(t.bye)
	asked := false
	for t.ended == "" {
		select {
		case <-limit:
			t.ended = "hung up; no answer to that"
		case m, open := <-t.in:
			t.hear(m, open)
		}
		switch {
		case t.parted == nil:
		case asksWho(t.parted) && !asked && t.by.config.Username != "":
			asked = true
			if answer, err := t.by.config.answerChallenge(t.parted, nil); err == nil {
				t.credentials = answer
				t.bye = t.newBye(t.dialog, t.bye.CSeq().SeqNo+1)
				t.write(t.bye)
			}
			t.parted = nil
		default:
			t.ended = "hung up"
		}
	}
}

// hear takes in what comes while the call is answered.
func (t *talk) hear(m sipgo.Message, open bool) {
	if !open {
		t.ended = whyLost
		return
	}
	switch m := m.(type) {
	case *sipgo.Request:
		if t.serve(m, t.tag) && t.ended == "" {
			t.ended = "the other side hung up"
		}
	case *sipgo.Response:
		switch {
		case t.bye != nil && t.answers(m, t.bye):
			if !m.IsProvisional() {
				t.parted = m
			}
		case m.IsSuccess() && t.answers(m, t.invite):
			t.answeredAgain(m)
		}
	}
}

// answeredAgain is for a 2xx that follows another: the same again wants its ACK again; that of
// somebody else, whom a proxy on the way has rung too, is hung up on.
func (t *talk) answeredAgain(r *sipgo.Response) {
	other := dialogOf(t.invite, r)
	if other.tag == t.tag {
		t.write(t.ack)
		return
	}
	if t.forks[other.tag] {
		return
	}
	t.forks[other.tag] = true
	t.write(t.ackAnswer(other, t.invite))
	t.write(t.newBye(other, t.invite.CSeq().SeqNo+1))
}

// serve answers what the other side asks, and reports whether it was to hang up. tag is the
// other side's; "" before there is a dialog.
func (c *call) serve(r *sipgo.Request, theirs string) bool {
	ours := r.CallID().Value() == c.callID && tag(raw(r, "To", "t")) == c.fromTag
	inDialog := ours && theirs == tag(raw(r, "From", "f"))
	switch {
	case r.Method == sipgo.ACK:
	case r.Method == sipgo.OPTIONS:
		c.write(reply(r, 200, "OK"))
	case !ours:
		c.write(reply(r, 481, "No such call"))
	case r.Method == sipgo.BYE && inDialog:
		c.write(reply(r, 200, "OK"))
		return true
	case r.Method == sipgo.BYE:
		c.write(reply(r, 481, "No such call"))
	case r.Method == sipgo.INVITE, r.Method == sipgo.UPDATE:
		c.write(reply(r, 488, "Not Acceptable Here")) // the call stays as it is
	default:
		c.write(reply(r, 501, "Not Implemented"))
	}
	return false
}
