package telnyx

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"chasephone/internal/carrier"
	"chasephone/internal/phone"
)

func sought() carrier.Sought {
	return carrier.Sought{Token: "tok-en_1", To: phone.FromE164(theirs), From: phone.FromE164(ours), Since: now().Add(-time.Minute)}
}

func id(n int) string { return fmt.Sprintf("v3:%056d", n) }

// happened is an event of the list, with the webhook in its metadata.
func happened(call int, name string, second int, more string) string {
	return fmt.Sprintf(`{"record_type":"call_event","call_leg_id":"leg%d","call_session_id":"s","event_timestamp":"2026-01-05T09:59:%02dZ","name":%q,"type":"webhook",`+
		`"metadata":{"raw":{"payload":{"call_control_id":%q%s}}}}`, call, second, name, id(call), more)
}

func page(total int, events ...string) string {
	return fmt.Sprintf(`{"data":[%s],"meta":{"total_pages":%d,"page_number":1,"page_size":25}}`, strings.Join(events, ","), total)
}

func TestFind(t *testing.T) {
	t.Parallel()
	const tokened = `,"client_state":"` + state + `"`
	sec := func(n int) time.Time { return time.Date(2026, 1, 5, 9, 59, n, 0, time.UTC) }
	for _, row := range []struct {
		name  string
		since time.Time
		pages []string
		want  carrier.Found
		asked int
	}{
		{name: "none", pages: []string{page(0)}, asked: 1},
		{
			name: "taken, and not dialed yet", pages: []string{page(1, happened(1, "call.dial", 1, tokened))}, asked: 1,
			want: carrier.Found{Records: []carrier.Record{{CallID: id(1), Created: sec(1), Token: "tok-en_1"}}},
		},
		{
			name:  "answered and over, the events in any order",
			pages: []string{page(1, happened(1, "call.hangup", 9, tokened+`,"hangup_cause":"unspecified"`), happened(1, "call.answered", 5, tokened), happened(1, "call.initiated", 2, tokened))}, asked: 1,
			want: carrier.Found{Records: []carrier.Record{{CallID: id(1), Status: "completed", Created: sec(2), Started: sec(2), Token: "tok-en_1"}}},
		},
		{
			name:  "two calls, one not ours, and one that came in, on two pages",
			pages: []string{page(2, happened(2, "call.initiated", 4, ""), happened(1, "call.initiated", 2, tokened), happened(3, "call.initiated", 3, `,"direction":"incoming"`)), page(2, happened(1, "call.hangup", 8, tokened+`,"hangup_cause":"user_busy"`))}, asked: 2,
			want: carrier.Found{Records: []carrier.Record{
				{CallID: id(1), Status: "busy", Created: sec(2), Started: sec(2), Token: "tok-en_1"},
				{CallID: id(2), Status: "initiated", Created: sec(4), Started: sec(4)},
			}},
		},
		{
			name: "the webhook as text", asked: 1,
			pages: []string{page(1, `{"call_leg_id":"leg1","event_timestamp":"x","name":"call.answered","metadata":{"a":[{"webhook":"{\"client_state\":\"`+state+`\",\"call_control_id\":\"`+goodID+`\"}"}]}}`)},
			want:  carrier.Found{Records: []carrier.Record{{CallID: goodID, Status: "in-progress", Token: "tok-en_1"}}},
		},
		{
			name: "nothing in its metadata", asked: 1, pages: []string{page(1, `{"call_leg_id":"leg1","event_timestamp":"2026-01-05T09:59:01Z","name":"call.initiated","metadata":null}`)},
			want: carrier.Found{Records: []carrier.Record{{CallID: "leg1", Status: "initiated", Created: sec(1), Started: sec(1)}}},
		},
		{
			name: "without an end", asked: 5, pages: []string{page(9, happened(1, "call.initiated", 1, ""))},
			want: carrier.Found{Cut: true, Records: []carrier.Record{{CallID: id(1), Status: "initiated", Created: sec(1), Started: sec(1)}}},
		},
		{name: "longer ago than Telnyx lists", since: now().Add(-24 * time.Hour), asked: 1, pages: []string{page(0)}, want: carrier.Found{Cut: true}},
		{name: "a last page without its number", asked: 1, pages: []string{`{"data":[]}`}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			server := newStub(t, 200, row.pages...)
			s := sought()
			if !row.since.IsZero() {
				s.Since = row.since
			}
			got, err := newAccount(t, server.URL).Find(t.Context(), s)
			if err != nil || !reflect.DeepEqual(got, row.want) {
				t.Errorf("found %+v, %v\nwant  %+v", got, err, row.want)
			}
			if n := len(server.requests); n != row.asked {
				t.Errorf("%d requests", n)
			}
			for n := 1; n <= row.asked; n++ {
				r := <-server.requests
				q := r.URL.Query()
				if r.Method != http.MethodGet || r.URL.Path != "/v2/call_events" || q.Get("filter[from]") != ours || q.Get("filter[to]") != theirs ||
					q.Get("filter[occurred_at][gte]") != s.Since.Add(-2*time.Minute).Format(time.RFC3339) || q.Get("page[number]") != fmt.Sprint(n) || q.Get("page[size]") != "25" {
					t.Errorf("asked %s %s", r.Method, r.RequestURI)
				}
			}
		})
	}
}

func TestFindWithoutNumbers(t *testing.T) {
	t.Parallel()
	a := newAccount(t, "http://127.0.0.1:1")
	for _, s := range []carrier.Sought{{To: phone.FromE164(theirs)}, {From: phone.FromE164(ours)}} {
		if _, err := a.Find(t.Context(), s); err == nil {
			t.Error("was looked for")
		}
	}
}

func TestFetch(t *testing.T) {
	t.Parallel()
	server := newStub(t, 200, created)
	a := newAccount(t, server.URL)
	raw, err := a.Fetch(t.Context(), goodID)
	if err != nil || string(raw) != created {
		t.Errorf("%s, %v", raw, err)
	}
	if r := <-server.requests; r.Method != http.MethodGet || r.RequestURI != "/v2/calls/"+goodID {
		t.Errorf("asked %s %s", r.Method, r.RequestURI)
	}
}

func TestCommands(t *testing.T) {
	t.Parallel()
	server := newStub(t, 200, `{"data":{"result":"ok"}}`)
	a := newAccount(t, server.URL)
	if err := errors.Join(a.Cancel(t.Context(), goodID), a.Speak(t.Context(), goodID, "Hi,\n<b>Tom</b>\x1b & co.", "tok-en_1")); err != nil {
		t.Fatal(err)
	}
	for action, want := range map[string]map[string]string{
		"hangup": {},
		"speak": {
			"payload": "Hi,\n<b>Tom</b>  & co.", "payload_type": "text", "service_level": "basic", "voice": "female", "language": "en-US", "command_id": "tok-en_1",
		},
	} {
		r := <-server.requests
		if action == "hangup" != strings.HasSuffix(r.RequestURI, "hangup") { // a map has no order
			server.requests <- r
			r = <-server.requests
		}
		var got map[string]string
		if err := json.Unmarshal([]byte(r.body), &got); err != nil || !maps.Equal(got, want) ||
			r.Method != http.MethodPost || r.RequestURI != "/v2/calls/"+goodID+"/actions/"+action || r.Header.Get("Content-Type") != "application/json" {
			t.Errorf("asked %s %s %s", r.Method, r.RequestURI, r.body)
		}
	}
	for _, bad := range []error{
		a.Speak(t.Context(), goodID, " \n", "c"), a.Speak(t.Context(), goodID, strings.Repeat("x", 3001), "c"), a.Speak(t.Context(), goodID, "x", ""),
	} {
		if bad == nil {
			t.Error("was spoken")
		}
	}
	for _, id := range []string{"", "v3:x", goodID + "/../x", goodID + "?x", goodID + "\n", "../../v2/calls/" + goodID} {
		_, err := a.Fetch(t.Context(), id)
		if err == nil || a.Cancel(t.Context(), id) == nil || a.Speak(t.Context(), id, "x", "c") == nil {
			t.Errorf("%q was asked about", id)
		}
	}
	if n := len(server.requests); n != 0 {
		t.Errorf("%d more requests", n)
	}
}

// An answer that is not exactly what was asked for is an error, and never "there was no call".
func TestWrongAnswersAreErrors(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name   string
		status int
		body   string
		text   string // a part of what the error says
	}{
		{"401", 401, envelope("10009"), "10009"},
		{"401 that is no envelope", 401, "<html>+14155550123</html>", "401"},
		{"404", 404, envelope("10005"), "10005"},
		{"422", 422, envelope("90018"), "90018"},
		{"429", 429, envelope("10011"), "10011"},
		{"500", 500, envelope("10007"), "10007"},
		{"200, half", 200, created[:60], ""},
		{"200, something else", 200, `{"status":"ok"}`, ""},
		{"200, a list of something else", 200, `{"data":[{"id":"x"}]}`, ""},
		{"200, another call", 200, strings.Replace(created, "MdI", "MdX", 1), ""},
		{"200, not done", 200, `{"data":{"result":"no"}}`, ""},
		{"200, too long", 200, `{"data":[],"x":"` + strings.Repeat("x", 70000) + `"}`, "cut off"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			a := newAccount(t, newStub(t, row.status, row.body).URL)
			found, findErr := a.Find(t.Context(), sought())
			raw, fetchErr := a.Fetch(t.Context(), goodID)
			if len(found.Records) > 0 || found.Cut || raw != nil {
				t.Errorf("found %+v, fetched %s", found, raw)
			}
			for _, err := range []error{findErr, fetchErr, a.Cancel(t.Context(), goodID), a.Speak(t.Context(), goodID, "x", "c")} {
				var asking *carrier.AskError
				if !errors.As(err, &asking) || !strings.Contains(err.Error(), row.text) || strings.Contains(err.Error(), "4155550123") {
					t.Errorf("%v", err)
				}
			}
		})
	}
}
