package twilio

import (
	"context"
	"errors"
	"net/url"
	"time"

	"chasephone/internal/carrier"
)

const (
	pageSize = "20" // some 2.5 kB each: a page stays within what Ask takes
	maxPages = 5
	skew     = 2 * time.Minute // by which Twilio's clock and the database's may differ
)

// QueuesFor is how long Twilio may keep a call that it took before it dials it.
const QueuesFor = 24 * time.Hour

// QueuesFor is the package's, for those who hold only a Carrier.
func (a *Carrier) QueuesFor() time.Duration { return QueuesFor }

// Find looks for calls that may be the one sought: Twilio keeps no tag of ours, so they are those
// that a program placed, from and to the same numbers, since it could begin. It does not ask by
// StartTime, which a call has only once it is dialed: one in a queue would not be found. Any error
// means that nothing is known, and not that there was no call.
func (a *Carrier) Find(ctx context.Context, s carrier.Sought) (carrier.Found, error) {
	if s.To.IsZero() { // Twilio would list every call there is
		return carrier.Found{}, errors.New("a call is sought by the number that was called")
	}
	var found carrier.Found
	seen := map[string]bool{} // a call that is placed meanwhile moves the others to the next page
	query := url.Values{}
	for range maxPages {
		query.Set("To", s.To.E164())
		if !s.From.IsZero() {
			query.Set("From", s.From.E164())
		}
		query.Set("PageSize", pageSize)
		p, err := a.page(ctx, query)
		if err != nil {
			return carrier.Found{}, err
		}
		for _, call := range p.Calls {
			created := date(call.DateCreated)
			if !created.IsZero() && created.Before(s.Since.Add(-skew)) {
				return found, nil // the newest come first
			}
			if call.Direction == "outbound-api" && !seen[call.SID] && a.meant(call, s) {
				seen[call.SID] = true
				found.Records = append(found.Records, call.found(created))
			}
		}
		if p.Next == "" {
			return found, nil
		}
		next, ok := a.nextQuery(p.Next)
		if !ok {
			break
		}
		query = next
	}
	found.Cut = true
	return found, nil
}

// meant reports whether a listed call is one of those that were asked for, as far as it says. A list
// that holds others says nothing of them.
func (a *Carrier) meant(c record, s carrier.Sought) bool {
	differs := func(said, asked string) bool { return carrier.Number(said).E164() != "" && said != asked }
	return !differs(c.To, s.To.E164()) && (s.From.IsZero() || !differs(c.From, s.From.E164())) && (c.AccountSID == "" || c.AccountSID == a.account)
}

func (c record) found(created time.Time) carrier.Record {
	return carrier.Record{CallID: c.SID, Status: status(c.CallStatus), Created: created, Started: date(c.StartTime), From: carrier.Number(c.From)}
}

// list is a page of calls.
type list struct {
	Calls []record `json:"calls"`
	Next  string   `json:"next_page_uri"`
}

func (a *Carrier) page(ctx context.Context, query url.Values) (list, error) {
	var p list
	_, err := a.ask(ctx, carrier.Question{Method: "GET", URL: a.calls + ending, Query: query}, &p)
	if err != nil {
		return list{}, err
	}
	if p.Calls == nil {
		return list{}, &carrier.AskError{Status: statusOK, Text: "an answer that is no list of calls"}
	}
	for _, call := range p.Calls {
		if !callSID.MatchString(call.SID) {
			return list{}, &carrier.AskError{Status: statusOK, Text: "a list of something else than calls"}
		}
	}
	return p, nil
}

// nextQuery is the query that asks for the next page. Of what Twilio says it takes nothing else:
// our credentials go where they were going, and nowhere that an answer names.
func (a *Carrier) nextQuery(next string) (url.Values, bool) {
	u, err := url.Parse(next)
	if err != nil || u.Scheme != "" || u.Host != "" || u.Path != a.path+ending {
		return nil, false
	}
	query, err := url.ParseQuery(u.RawQuery)
	return query, err == nil && len(query) > 0
}
