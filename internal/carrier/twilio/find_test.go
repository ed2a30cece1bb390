package twilio

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"chasephone/internal/carrier"
	"chasephone/internal/phone"
)

const callsPath = "/2010-04-01/Accounts/" + testSID + "/Calls.json"

// answering is a Twilio that gives the answers in turn, the last one again and again, and notes
// what it was asked.
type answering struct {
	*httptest.Server
	asked chan string
}

func newAnswering(t *testing.T, status int, bodies ...string) answering {
	t.Helper()
	a := answering{asked: make(chan string, 20)}
	a.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := r.ParseForm(); err != nil {
			t.Error(err)
		}
		if user, password, _ := r.BasicAuth(); user != testSID || password != testToken {
			t.Errorf("authenticated as %q, %q", user, password)
		}
		n := len(a.asked)
		a.asked <- r.Method + " " + r.URL.Path + " " + r.Form.Encode()
		w.WriteHeader(status)
		_, _ = io.WriteString(w, bodies[min(n, len(bodies)-1)])
	}))
	t.Cleanup(a.Close)
	return a
}

func sid(n int) string { return fmt.Sprintf("CA%032d", n) }

// listed is a call in a list; created "" is a date that is missing.
func listed(n int, status, direction, created, started string) string {
	return fmt.Sprintf(`{"sid":%q,"status":%q,"direction":%q,"to":%q,"from":%q,"date_created":%q,"start_time":%q,"end_time":null,"duration":null,"subresource_uris":{}}`,
		sid(n), status, direction, theirs, ours, created, started)
}

func page(next string, calls ...string) string {
	if next != "null" {
		next = strconv.Quote(next)
	}
	return `{"calls":[` + strings.Join(calls, ",") + `],"page":0,"next_page_uri":` + next + `}`
}

func sought() carrier.Sought {
	return carrier.Sought{Token: "tok", To: phone.FromE164(theirs), From: phone.FromE164(ours), Since: at(0, 0)}
}

func rfc2822(t time.Time) string { return t.Format("Mon, 02 Jan 2006 15:04:05 -0700") }

func TestFind(t *testing.T) {
	t.Parallel()
	second := callsPath + "?Page=1&PageSize=20&PageToken=PA1&To=elsewhere"
	for _, row := range []struct {
		name  string
		pages []string
		ids   []int
		cut   bool
		asked int
	}{
		{name: "none", pages: []string{page("null")}, asked: 1},
		{name: "one in its queue", pages: []string{page("null", listed(1, "queued", "outbound-api", rfc2822(at(0, 1)), ""))}, ids: []int{1}, asked: 1},
		{name: "what a person or a program beside us placed, and what came in", pages: []string{page("null",
			listed(1, "ringing", "outbound-dial", rfc2822(at(0, 1)), ""), listed(2, "completed", "inbound", rfc2822(at(0, 1)), ""),
			listed(3, "completed", "trunking-terminating", rfc2822(at(0, 1)), ""), listed(4, "completed", "outbound-api", rfc2822(at(0, 1)), ""))}, ids: []int{4}, asked: 1},
		{name: "by a clock that is slow", pages: []string{page("null", listed(1, "queued", "outbound-api", rfc2822(at(-2, 0)), ""))}, ids: []int{1}, asked: 1},
		{name: "too old, and whatever comes after it", pages: []string{page(second,
			listed(1, "queued", "outbound-api", rfc2822(at(0, 1)), ""), listed(2, "queued", "outbound-api", rfc2822(at(-2, -1)), ""),
			listed(3, "queued", "outbound-api", rfc2822(at(0, 1)), ""))}, ids: []int{1}, asked: 1},
		{name: "without a date, and with one that cannot be read", pages: []string{page("null",
			listed(1, "queued", "outbound-api", "", ""), listed(2, "queued", "outbound-api", "yesterday", ""))}, ids: []int{1, 2}, asked: 1},
		{name: "two pages, moved by a call between them", pages: []string{
			page(second, listed(3, "queued", "outbound-api", rfc2822(at(0, 3)), ""), listed(2, "queued", "outbound-api", rfc2822(at(0, 2)), "")),
			page("null", listed(2, "queued", "outbound-api", rfc2822(at(0, 2)), ""), listed(1, "queued", "outbound-api", rfc2822(at(0, 1)), "")),
		}, ids: []int{3, 2, 1}, asked: 2},
		{name: "without an end", pages: []string{page(second, listed(1, "queued", "outbound-api", rfc2822(at(0, 1)), ""))}, ids: []int{1}, cut: true, asked: 5},
		{name: "a next page elsewhere", pages: []string{page("https://elsewhere.example" + second)}, cut: true, asked: 1},
		{name: "a next page at another host", pages: []string{page("//elsewhere.example" + second)}, cut: true, asked: 1},
		{name: "a next page of another account", pages: []string{page("/2010-04-01/Accounts/AC2/Calls.json?Page=1")}, cut: true, asked: 1},
		{name: "a next page that is this one", pages: []string{page(callsPath)}, cut: true, asked: 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			server := newAnswering(t, 200, row.pages...)
			got, err := newAccount(t, server.URL, "").Find(t.Context(), sought())
			if err != nil {
				t.Fatal(err)
			}
			ids := ""
			for _, r := range got.Records {
				ids += r.CallID + " "
			}
			want := ""
			for _, n := range row.ids {
				want += sid(n) + " "
			}
			if ids != want || got.Cut != row.cut {
				t.Errorf("found %s, cut %v\nwant  %s", ids, got.Cut, want)
			}
			if n := len(server.asked); n != row.asked {
				t.Errorf("%d requests", n)
			}
			if asked, want := <-server.asked, "GET "+callsPath+" From=%2B14155550100&PageSize=20&To=%2B14155550123"; asked != want {
				t.Errorf("asked %s", asked)
			}
			if len(server.asked) > 0 {
				if asked, want := <-server.asked, "GET "+callsPath+" From=%2B14155550100&Page=1&PageSize=20&PageToken=PA1&To=%2B14155550123"; asked != want {
					t.Errorf("then asked %s", asked)
				}
			}
		})
	}
}

func TestFindReadsRecords(t *testing.T) {
	t.Parallel()
	server := newAnswering(t, 200, page("null", listed(1, "completed", "outbound-api", aDate, aLaterDate), listed(2, "odd", "outbound-api", "", "")))
	got, err := newAccount(t, server.URL, "").Find(t.Context(), sought())
	want := []carrier.Record{{CallID: sid(1), Status: "completed", Created: at(0, 0), Started: at(1, 30), From: sought().From}, {CallID: sid(2), From: sought().From}}
	if err != nil || len(got.Records) != 2 || got.Records[0] != want[0] || got.Records[1] != want[1] {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestFindWithoutNumbers(t *testing.T) {
	t.Parallel()
	a := newAccount(t, "http://127.0.0.1:1", "")
	for _, s := range []carrier.Sought{{To: phone.FromE164(theirs)}, {From: phone.FromE164(ours)}} {
		if _, err := a.Find(t.Context(), s); err == nil {
			t.Error("was looked for")
		}
	}
}

const aCall = `{"sid":"` + goodSID + `","status":"ringing","direction":"outbound-api"}`

func TestFetchAndCancel(t *testing.T) {
	t.Parallel()
	server := newAnswering(t, 200, aCall)
	a := newAccount(t, server.URL, "")
	if raw, err := a.Fetch(t.Context(), goodSID); err != nil || string(raw) != aCall {
		t.Errorf("%s, %v", raw, err)
	}
	if err := a.Cancel(t.Context(), goodSID); err != nil {
		t.Error(err)
	}
	path := "/2010-04-01/Accounts/" + testSID + "/Calls/" + goodSID + ".json "
	if first, second := <-server.asked, <-server.asked; first != "GET "+path || second != "POST "+path+"Status=canceled" {
		t.Errorf("asked %s, %s", first, second)
	}
	for _, id := range []string{"", "CA1", goodSID + "/../x", goodSID + "\n", strings.Replace(goodSID, "CA", "SM", 1)} {
		if _, err := a.Fetch(t.Context(), id); err == nil {
			t.Errorf("%q was fetched", id)
		}
		if err := a.Cancel(t.Context(), id); err == nil {
			t.Errorf("%q was canceled", id)
		}
	}
	if n := len(server.asked); n != 0 {
		t.Errorf("%d more requests", n)
	}
}

// An answer that is not exactly what was asked for is an error, and never "there was no call".
func TestWrongAnswersAreErrors(t *testing.T) {
	t.Parallel()
	other := strings.Replace(aCall, "0123456789", "9876543210", 1)
	for _, row := range []struct {
		name   string
		status int
		body   string
		text   string // a part of what the error says
	}{
		{"401", 401, envelope(20003, 401), "20003"},
		{"401 that is no envelope", 401, "<html>+14155550123</html>", "401"},
		{"404", 404, envelope(20404, 404), "20404"},
		{"429", 429, envelope(20429, 429), "20429"},
		{"500", 500, envelope(20500, 500), "20500"},
		{"200, half", 200, page("null", aCall)[:40], ""},
		{"200, something else", 200, `{"status":"ok"}`, ""},
		{"200, no calls", 200, `{"calls":null,"next_page_uri":null}`, ""},
		{"200, calls without ids", 200, `{"calls":[{}]}`, ""},
		{"200, another call", 200, other, ""},
		{"200, too long", 200, `{"calls":[],"x":"` + strings.Repeat("x", 70000) + `"}`, "cut off"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			server := newAnswering(t, row.status, row.body)
			a := newAccount(t, server.URL, "")
			found, findErr := a.Find(t.Context(), sought())
			raw, fetchErr := a.Fetch(t.Context(), goodSID)
			if len(found.Records) > 0 || found.Cut || raw != nil {
				t.Errorf("found %+v, fetched %s", found, raw)
			}
			for _, err := range []error{findErr, fetchErr, a.Cancel(t.Context(), goodSID)} {
				var asking *carrier.AskError
				if !errors.As(err, &asking) || !strings.Contains(err.Error(), row.text) || strings.Contains(err.Error(), "4155550123") {
					t.Errorf("%v", err)
				}
			}
		})
	}
}
