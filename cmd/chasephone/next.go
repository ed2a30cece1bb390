package main

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"chasephone/internal/followup"
	"chasephone/internal/gates"
	"chasephone/internal/store"
)

// next says what will become of a follow-up that is not over, and what a person can do,
// with the commands to type.
func (s story) next() {
	switch s.FollowUp.State {
	case followup.Due:
		s.due()
	case followup.AwaitingApproval:
		s.awaiting()
	case followup.Dialing:
		s.dialing()
	case followup.Uncertain:
		s.uncertain()
	case followup.CallPlaced:
		if a, ok := s.newest(); ok && slices.ContainsFunc(s.Lookups, func(l store.Lookup) bool { return l.Attempt == a.No }) {
			s.printf("\nWhat the carrier's records say")
			s.records(a)
		}
	case followup.Refused, followup.Missed, followup.Cancelled:
	}
}

func (s story) due() {
	s.printf("\nWhat is next")
	next := "it has not been looked at yet"
	if at, ok := parsed(s.FollowUp.NextTryAt); ok {
		next = "the gates are asked at " + when(at)
		if !at.After(s.now) {
			next = "the gates are asked in the next slot with a free place"
		}
	}
	s.printf("  %s", next)
	s.held()
	s.missed()
	s.command("withdraw it", "cancel "+s.FollowUp.ID)
}

// held says what keeps it from being rung, whatever the gates say.
func (s story) held() {
	for _, h := range s.Holds {
		line := "  not rung while this lasts: " + h.What
		if h.For != "" {
			line += " (" + plain(strings.ReplaceAll(h.For, "_", " ")) + ")"
		}
		if h.By != "" {
			line += " by " + plain(h.By)
		}
		if h.Since != nil {
			line += " since " + when(*h.Since)
		}
		if h.Until != nil {
			line += " until " + when(*h.Until)
		}
		s.printf("%s", line)
	}
}

func (s story) awaiting() {
	for _, a := range s.Approvals {
		if a.Decision != "" {
			continue
		}
		s.printf("\nA person is asked: %s", s.reasons(a))
		s.missed()
		zone := only(slices.ContainsFunc(a.Reasons, gates.NeedsZone), " --time-zone AREA/CITY")
		s.command("approve it", "approve "+a.ID+zone)
		s.command("decline it", "decline "+a.ID)
	}
}

func (s story) dialing() {
	a, ok := s.newest()
	if !ok {
		return
	}
	s.printf("\nThe carrier is being asked")
	s.printf("  its answer is awaited until %s; without one it is uncertain some seconds later", when(a.AnswerBy))
}

func (s story) uncertain() {
	a, ok := s.newest()
	if !ok {
		return
	}
	s.printf("\nIt may have rung")
	s.printf("  how far it got: %s", far(a.Stage))
	s.printf("  where to look: the carrier's own list of calls to %s (show --json has it in full), from %s to %s",
		plain(masked(s.FollowUp.PhoneNumber)), when(a.BeginAt), when(a.AnswerBy))
	s.records(a)
	switch {
	case a.OpensAt == nil:
	case a.OpensAt.After(s.now):
		s.printf("  “it did not ring” can be said from %s: until then a process that was paused could still ring", when(*a.OpensAt))
	default:
		s.printf("  “it did not ring” can be said now: the quarantine was over at %s", when(*a.OpensAt))
	}
	if s.LateAt != nil {
		s.printf("  said after %s it does not ring again: it is missed then", when(*s.LateAt))
	}
	this := "settle " + s.FollowUp.ID + " --attempt " + strconv.Itoa(a.No)
	s.command("it rang", this+" --rang")
	s.command("it did not ring, ring again", this+" --did-not-ring")
	s.command("it did not ring, let it be", this+" --did-not-ring --cancel")
}

func (s story) newest() (store.AttemptStory, bool) {
	if len(s.Attempts) == 0 {
		return store.AttemptStory{}, false
	}
	return s.Attempts[len(s.Attempts)-1], true
}

func (s story) missed() {
	switch {
	case s.LateAt == nil:
	case s.now.After(*s.LateAt):
		s.printf("  it is too late to ring: it will be closed as missed")
	default:
		s.printf("  it is missed after %s (in %s)", when(*s.LateAt), s.LateAt.Sub(s.now).Round(time.Minute))
	}
}

func (s story) command(what, command string) {
	s.printf("  %-28s chasephone %s", what+":", command)
}

// far says how far a request got before its fate became unknown.
func far(stage string) string {
	switch stage {
	case "writing":
		return "the request was being written, and may have reached the carrier or not"
	case "awaiting":
		return "the request was written, and no answer came"
	case "answered":
		return "an answer came that proves nothing"
	case "no_record":
		return "the right to ring was given, and nobody recorded what became of it: the process ended, or could not reach the database"
	}
	return "not recorded"
}
