package telnyx

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"time"

	"chasephone/internal/carrier"
)

const (
	pageSize = 25 // some 1.5 kB each: a page stays within what Ask takes
	maxPages = 5
	skew     = 2 * time.Minute // by which Telnyx's clock and the database's may differ
	reach    = 24 * time.Hour  // how far back Telnyx lists events that are asked for by number
)

// Find looks for the call sought among Telnyx's events, which it lists by number and time, and makes
// one record of each call's. The record of a call that has our client state carries its token. Any
// error means that nothing is known, and not that there was no call.
func (a *Carrier) Find(ctx context.Context, s carrier.Sought) (carrier.Found, error) {
	if s.To.IsZero() { // Telnyx would list every event there is
		return carrier.Found{}, errors.New("a call is sought by the number that was called")
	}
	since := s.Since.Add(-skew)
	legs := legs{}
	found := carrier.Found{Cut: since.Before(a.now().Add(-reach))}
	for n := 1; ; n++ {
		query := url.Values{
			"filter[to]":               {s.To.E164()},
			"filter[occurred_at][gte]": {since.UTC().Format(time.RFC3339)},
			"page[number]":             {strconv.Itoa(n)},
			"page[size]":               {strconv.Itoa(pageSize)},
		}
		if !s.From.IsZero() {
			query.Set("filter[from]", s.From.E164())
		}
		page, err := a.events(ctx, query)
		if err != nil {
			return carrier.Found{}, err
		}
		for _, e := range page.Data {
			legs.add(e)
		}
		if !page.more(n) {
			break
		}
		if n == maxPages {
			found.Cut = true
			break
		}
	}
	found.Records = legs.records()
	return found, nil
}

// events is a page of the list.
type events struct {
	Data []event `json:"data"`
	Meta *struct {
		TotalPages int `json:"total_pages"`
	} `json:"meta"`
}

// event is what happened to a call, as the list has it: the webhook itself is within its metadata,
// which is not documented further.
type event struct {
	Leg      string `json:"call_leg_id"`
	Name     string `json:"name"`
	At       string `json:"event_timestamp"`
	Metadata any    `json:"metadata"`
}

func (e events) more(page int) bool {
	if e.Meta == nil {
		return len(e.Data) >= pageSize
	}
	return e.Meta.TotalPages > page
}

func (a *Carrier) events(ctx context.Context, query url.Values) (events, error) {
	var page events
	if _, err := a.ask(ctx, carrier.Question{Method: "GET", URL: a.api + "/call_events", Query: query}, &page); err != nil {
		return events{}, err
	}
	if page.Data == nil {
		return events{}, &carrier.AskError{Status: statusOK, Text: "an answer that is no list of events"}
	}
	for _, e := range page.Data {
		if e.Leg == "" || e.Name == "" {
			return events{}, &carrier.AskError{Status: statusOK, Text: "a list of something else than events of calls"}
		}
	}
	return page, nil
}

// leg is one call, put together from its events, in whatever order they come.
type leg struct {
	record   carrier.Record
	came     bool // it came in
	answered bool
}

type legs map[string]*leg

func (l legs) add(e event) {
	one, ok := l[e.Leg]
	if !ok {
		one = &leg{}
		l[e.Leg] = one
	}
	r, at := &one.record, date(e.At)
	if id := within(e.Metadata, "call_control_id"); callID.MatchString(id) {
		r.CallID = id
	}
	if token := tokenOf(within(e.Metadata, "client_state")); token != "" {
		r.Token = token
	}
	if !at.IsZero() && (r.Created.IsZero() || at.Before(r.Created)) {
		r.Created = at
	}
	one.came = one.came || within(e.Metadata, "direction") == "incoming"
	one.answered = one.answered || e.Name == "call.answered"
	r.Status = carrier.Later(r.Status, statusOf(e.Name, carrier.DirectionOut, within(e.Metadata, "hangup_cause"), within(e.Metadata, "sip_hangup_cause")))
	if (e.Name == "call.initiated" || e.Name == "call.answered") && !at.IsZero() && (r.Started.IsZero() || at.Before(r.Started)) {
		r.Started = at
	}
}

// records are the calls that went out, the earliest first.
func (l legs) records() []carrier.Record {
	var out []carrier.Record
	for _, id := range slices.Sorted(maps.Keys(l)) {
		one := l[id]
		if one.came {
			continue
		}
		if one.record.CallID == "" {
			one.record.CallID = carrier.Storable(id, carrier.LongestField) // better the leg's than none
		}
		if one.answered && one.record.Status.Final() {
			one.record.Status = carrier.StatusCompleted
		}
		out = append(out, one.record)
	}
	slices.SortStableFunc(out, func(a, b carrier.Record) int { return a.Created.Compare(b.Created) })
	return out
}

// within is the first text by that name, however deep it lies.
func within(v any, name string) string {
	switch v := v.(type) {
	case map[string]any:
		if s, ok := v[name].(string); ok && s != "" {
			return s
		}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if s := within(v[key], name); s != "" {
				return s
			}
		}
	case []any:
		for _, inner := range v {
			if s := within(inner, name); s != "" {
				return s
			}
		}
	case string: // the webhook may be there as it was sent
		var inner map[string]any
		if len(v) > 1 && v[0] == '{' && json.Unmarshal([]byte(v), &inner) == nil {
			return within(inner, name)
		}
	}
	return ""
}
