package main

import (
	"time"

	"chasephone/internal/carrier"
	"chasephone/internal/carrier/twilio"
	"chasephone/internal/store"
)

// records lays out what the carrier's own records have shown of an attempt, as of when, and until
// when that none is listed proves nothing.
func (s story) records(a store.AttemptStory) {
	var newest *store.Lookup
	asked, unanswered := 0, 0
	for i, l := range s.Lookups {
		if l.Attempt != a.No {
			continue
		}
		asked++
		unanswered++
		if l.Answered || newest == nil || !newest.Answered {
			newest = &s.Lookups[i]
		}
		if l.Answered {
			unanswered = 0
		}
	}
	if newest == nil {
		s.printf("  the carrier's records: not asked yet")
	} else {
		s.printf("  the carrier's records, asked at %s: %s", when(newest.AskedAt), s.text(newest.Says))
		for _, r := range newest.Found {
			s.more("call %s: %s%s%s", s.text(r.CallID), either(string(r.Status), "in a state that is not known here"), taken(", taken at ", r.Created), taken(", dialed at ", r.Started))
		}
	}
	if newest != nil && newest.Answered && unanswered > 0 {
		s.printf("  asked again since, without an answer to go by: %d time(s)", unanswered)
	}
	if asked > 1 {
		s.printf("  asked %d times in all", asked)
	}
	if queues := queuesFor(a.Carrier); queues > 0 && a.Outcome == "uncertain" {
		until := a.AnswerBy.Add(queues)
		if until.After(s.now) {
			s.printf("  the carrier may keep a call waiting until %s: before that a list without it proves nothing", when(until))
		}
	}
}

// queuesFor is how long a carrier may keep a call that it took before it is dialed.
func queuesFor(account string) time.Duration {
	if name, _ := carrier.SplitAccount(account); name == twilio.Name {
		return twilio.QueuesFor
	}
	return 0
}

func taken(lead string, t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return lead + when(t)
}
