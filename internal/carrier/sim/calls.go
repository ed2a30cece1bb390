package sim

import (
	"crypto/rand"
	"encoding/hex"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// call is one call that rang. Its fields do not change but for those under Server.mu.
type call struct {
	sid, account, token string // token signs its webhooks
	to, from            string
	created             time.Time
	callback            string
	events              []string // wanted at callback
	rule                Rule
	hangUp              chan string // takes the end that a request asked for

	// Under Server.mu:
	status  string
	started time.Time // zero until it is dialed
	ended   time.Time
	updated time.Time
}

func newCall(e Entry, form url.Values, token string, rule Rule) *call {
	events := form["StatusCallbackEvent"]
	if len(events) == 0 {
		events = []string{"completed"} // Twilio's default
	}
	return &call{
		sid: e.SID, account: e.Account, token: token, to: e.To, from: e.From, created: e.At, updated: e.At,
		callback: form.Get("StatusCallback"), events: events, rule: rule,
		hangUp: make(chan string, 1), status: "queued",
	}
}

// restored is a call of an earlier life, which is over.
func restored(e Entry) *call {
	return &call{
		sid: e.SID, account: e.Account, to: e.To, from: e.From, created: e.At,
		hangUp: make(chan string, 1), status: "completed", started: e.At, ended: e.At, updated: e.At,
	}
}

func (s *Server) remember(c *call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls[c.sid] = c
	s.order = append(s.order, c)
}

// isFinal reports whether nothing follows a status.
func isFinal(status string) bool {
	switch status {
	case "completed", "busy", "no-answer", "failed", "canceled":
		return true
	}
	return false
}

// resource is the call as Twilio shows it.
func (s *Server) resource(c *call) map[string]any {
	s.mu.Lock()
	defer s.mu.Unlock()
	return c.resource()
}

func (c *call) resource() map[string]any {
	base := "/2010-04-01/Accounts/" + c.account + "/Calls/" + c.sid
	duration := any(nil)
	if !c.ended.IsZero() {
		duration = strconv.Itoa(int(c.ended.Sub(c.started).Seconds()))
	}
	return map[string]any{
		"sid": c.sid, "account_sid": c.account, "api_version": "2010-04-01", "direction": "outbound-api",
		"to": c.to, "to_formatted": c.to, "from": c.from, "from_formatted": c.from,
		"status": c.status, "queue_time": "0", "duration": duration,
		"date_created": date(c.created), "date_updated": date(c.updated),
		"start_time": date(c.started), "end_time": date(c.ended),
		"parent_call_sid": nil, "phone_number_sid": nil, "price": nil, "price_unit": "USD",
		"answered_by": nil, "forwarded_from": nil, "group_sid": nil, "caller_name": nil, "trunk_sid": nil,
		"uri": base + ".json", "subresource_uris": map[string]string{"events": base + "/Events.json"},
	}
}

// date is RFC 2822, as Twilio writes it, and null for an instant that has not come.
func date(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UTC().Format("Mon, 02 Jan 2006 15:04:05 +0000")
}

// listCalls lists an account's calls, the newest first, by To, From and Status.
func (s *Server) listCalls(w http.ResponseWriter, r *http.Request, account string) {
	q := r.URL.Query()
	size, err := strconv.Atoi(q.Get("PageSize"))
	if err != nil || size < 1 || size > 1000 {
		size = 50
	}
	page, err := strconv.Atoi(q.Get("Page"))
	if err != nil || page < 0 {
		page = 0
	}
	fits := func(param, value string) bool { return q.Get(param) == "" || q.Get(param) == value }
	calls := []map[string]any{}
	more, skip := false, page*size
	s.mu.Lock()
	for _, c := range slices.Backward(s.order) {
		if c.account != account || !fits("To", c.to) || !fits("From", c.from) || !fits("Status", c.status) {
			continue
		}
		if skip > 0 {
			skip--
			continue
		}
		if more = len(calls) == size; more {
			break
		}
		calls = append(calls, c.resource())
	}
	s.mu.Unlock()
	pageURI := func(n int) any {
		if n < 0 {
			return nil
		}
		q.Set("Page", strconv.Itoa(n))
		q.Set("PageSize", strconv.Itoa(size))
		return r.URL.Path + "?" + q.Encode()
	}
	next := any(nil)
	if more {
		next = pageURI(page + 1)
	}
	writeJSON(w, http.StatusOK, map[string]any{
		"calls": calls, "page": page, "page_size": size, "start": page * size, "end": page*size + max(len(calls)-1, 0),
		"uri": r.URL.RequestURI(), "first_page_uri": pageURI(0), "previous_page_uri": pageURI(page - 1), "next_page_uri": next,
	})
}

func (s *Server) fetchCall(w http.ResponseWriter, r *http.Request, account string) {
	if c := s.find(w, r, account); c != nil {
		writeJSON(w, http.StatusOK, s.resource(c))
	}
}

// updateCall cancels a call that nobody has answered, or ends any.
func (s *Server) updateCall(w http.ResponseWriter, r *http.Request, account string) {
	c := s.find(w, r, account)
	if c == nil {
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	end := r.PostFormValue("Status")
	s.mu.Lock()
	status := c.status
	s.mu.Unlock()
	switch {
	case end != "canceled" && end != "completed":
		writeError(w, http.StatusBadRequest, 20001, "Status must be canceled or completed")
		return
	case isFinal(status), end == "canceled" && status == "in-progress":
		writeError(w, http.StatusBadRequest, 21220, "Call is "+status)
		return
	}
	s.end(c, end)
	select {
	case c.hangUp <- end: // its progress tells the webhook
	default:
	}
	writeJSON(w, http.StatusOK, s.resource(c))
}

// find is the call that a path names, or a 404.
func (s *Server) find(w http.ResponseWriter, r *http.Request, account string) *call {
	sid := strings.TrimSuffix(r.PathValue("sid"), ".json")
	s.mu.Lock()
	c := s.calls[sid]
	s.mu.Unlock()
	if c == nil || c.account != account {
		writeError(w, http.StatusNotFound, 20404, "The requested resource "+r.URL.Path+" was not found")
		return nil
	}
	return c
}

// account is who asks, with the token it shows, and whether it may.
func (s *Server) account(r *http.Request) (sid, token string, ok bool) {
	sid, token, ok = r.BasicAuth()
	if !ok || sid == "" || token == "" || sid != r.PathValue("account") {
		return sid, token, false
	}
	if len(s.options.Accounts) > 0 && s.options.Accounts[sid] != token {
		return sid, token, false
	}
	return sid, token, true
}

func (s *Server) authenticated(next func(http.ResponseWriter, *http.Request, string)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		account, _, ok := s.account(r)
		if !ok {
			writeError(w, unauthenticated.status, unauthenticated.code, unauthenticated.message)
			return
		}
		next(w, r, account)
	}
}

func newSID(kind string) string {
	var id [16]byte
	_, _ = rand.Read(id[:]) // never fails
	return kind + hex.EncodeToString(id[:])
}
