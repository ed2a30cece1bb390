package twilio

import (
	"fmt"
	"strings"
	"testing"

	"chasephone/internal/carrier"
)

const (
	goodSID = "CA0123456789abcdef0123456789ABCDEF"
	created = `{"sid":"` + goodSID + `","status":"queued","to":"+14155550123"}`
)

func envelope(code, status int) string {
	return fmt.Sprintf(`{"code":%d,"message":"The number +14155550123 it is","more_info":"https://www.twilio.com/docs/errors/%d","status":%d}`, code, code, status)
}

func TestClassify(t *testing.T) {
	t.Parallel()
	type placed = carrier.Placed
	const masked = "The number +*********23 it is"
	refused := func(code string) carrier.Answer { return carrier.Refused{Code: code, Text: masked} }
	line := func(code string) carrier.Answer {
		return carrier.NotPlaced{Blame: carrier.BlameLine, Code: code, Text: masked}
	}
	account := func(code string) carrier.Answer {
		return carrier.NotPlaced{Blame: carrier.BlameAccount, Code: code, Text: masked}
	}
	unknown := func(code string) carrier.Answer {
		return carrier.Unknown{Stage: carrier.StageAnswered, Code: code}
	}
	for _, row := range []struct {
		name   string
		status int
		body   string
		cut    bool // the body was truncated
		want   carrier.Answer
	}{
		{name: "201", status: 201, body: created, want: placed{CallID: goodSID, Status: "queued"}},
		{name: "200 with an id", status: 200, body: created, want: placed{CallID: goodSID, Status: "queued"}},
		{name: "202 with an id", status: 202, body: created, want: placed{CallID: goodSID, Status: "queued"}},
		{name: "201, id and nothing else", status: 201, body: `{"sid":"` + goodSID + `"}`, want: placed{CallID: goodSID}},
		{name: "201, a status that is no word", status: 201, body: `{"sid":"` + goodSID + `","status":7}`, want: placed{CallID: goodSID}},
		{name: "201, id null", status: 201, body: `{"sid":null}`, want: unknown("201")},
		{name: "201 without id", status: 201, body: `{"status":"queued"}`, want: unknown("201")},
		{name: "200 without id", status: 200, body: `{}`, want: unknown("200")},
		{name: "201, id too short", status: 201, body: `{"sid":"CA0123"}`, want: unknown("201")},
		{name: "201, id of a message", status: 201, body: strings.Replace(created, "CA", "SM", 1), want: unknown("201")},
		{name: "201, id with more behind it", status: 201, body: strings.Replace(created, goodSID, goodSID+"\\n", 1), want: unknown("201")},
		{name: "201, half a body", status: 201, body: created[:len(created)-9], want: unknown("201")},
		{name: "201, cut where JSON ends by luck", status: 201, body: created, cut: true, want: unknown("201")},
		{name: "201, two documents", status: 201, body: created + created, want: unknown("201")},
		{name: "201, HTML", status: 201, body: "<html>", want: unknown("201")},
		{name: "201, empty", status: 201, want: unknown("201")},
		{name: "204", status: 204, want: unknown("204")},
		{name: "206 with an id", status: 206, body: created, want: unknown("206")},
		{name: "101", status: 101, want: unknown("101")},

		{name: "not a number", status: 400, body: envelope(21211, 400), want: refused("21211")},
		{name: "not a number either", status: 400, body: envelope(21217, 400), want: refused("21217")},
		{name: "cannot be reached", status: 400, body: envelope(21214, 400), want: refused("21214")},
		{name: "country not permitted", status: 400, body: envelope(21215, 400), want: refused("21215")},
		{name: "blocked", status: 400, body: envelope(21216, 400), want: refused("21216")},

		{name: "too many requests", status: 429, body: envelope(20429, 429), want: line("20429")},
		{name: "too many calls at once", status: 400, body: envelope(10004, 400), want: line("10004")},
		{name: "too many calls at once, as 429", status: 429, body: envelope(10004, 429), want: line("10004")},
		{name: "account not active", status: 400, body: envelope(10001, 400), want: account("10001")},
		{name: "account not active, as 403", status: 403, body: envelope(10001, 403), want: account("10001")},
		{name: "account not active, the other", status: 401, body: envelope(20005, 401), want: account("20005")},
		{name: "credentials", status: 401, body: envelope(20003, 401), want: account("20003")},
		{name: "credentials, as 403", status: 403, body: envelope(20003, 403), want: account("20003")},
		{name: "caller number", status: 400, body: envelope(21210, 400), want: account("21210")},

		{
			name: "429 that is no envelope", status: 429, body: "<html>slow down +14155550123</html>",
			want: carrier.NotPlaced{Blame: carrier.BlameLine, Code: "429", Text: "too many requests"},
		},
		{
			name: "429, empty", status: 429,
			want: carrier.NotPlaced{Blame: carrier.BlameLine, Code: "429", Text: "too many requests"},
		},
		{
			name: "429, cut", status: 429, body: envelope(20429, 429), cut: true,
			want: carrier.NotPlaced{Blame: carrier.BlameLine, Code: "429", Text: "too many requests"},
		},
		{name: "429 that names a call", status: 429, body: created, want: unknown("429")},
		{name: "400 that names a call", status: 400, body: created[:len(created)-1] + `,"code":21211,"message":"x"}`, want: unknown("400")},
		{name: "500 that names a call", status: 500, body: created, want: unknown("500")},

		{name: "400, a code not listed", status: 400, body: envelope(21219, 400), want: unknown("21219")},
		{name: "404, a code not listed", status: 404, body: envelope(20404, 404), want: unknown("20404")},
		{name: "refusal's code, other status", status: 403, body: envelope(21211, 403), want: unknown("21211")},
		{name: "credentials' code, other status", status: 400, body: envelope(20003, 400), want: unknown("20003")},
		{name: "400, status within says otherwise", status: 400, body: envelope(21211, 500), want: unknown("400")},
		{name: "400, status within missing", status: 400, body: `{"code":21211,"message":"x"}`, want: unknown("400")},
		{name: "400, message missing", status: 400, body: `{"code":21211,"status":400}`, want: unknown("400")},
		{name: "400, message empty", status: 400, body: `{"code":21211,"message":"","status":400}`, want: unknown("400")},
		{name: "400, code missing", status: 400, body: `{"message":"x","status":400}`, want: unknown("400")},
		{name: "400, code a text", status: 400, body: `{"code":"21211","message":"x","status":400}`, want: unknown("400")},
		{name: "400, half an envelope", status: 400, body: envelope(21211, 400)[:40], want: unknown("400")},
		{name: "400, cut", status: 400, body: envelope(21211, 400), cut: true, want: unknown("400")},
		{name: "400, HTML", status: 400, body: "<html>21211</html>", want: unknown("400")},
		{name: "400, an array", status: 400, body: "[" + envelope(21211, 400) + "]", want: unknown("400")},
		{name: "401, not the envelope", status: 401, body: "Unauthorized", want: unknown("401")},
		{name: "403, not the envelope", status: 403, body: "<html>blocked by a firewall</html>", want: unknown("403")},
		{name: "404, not the envelope", status: 404, want: unknown("404")},

		{name: "408", status: 408, want: unknown("408")},
		{name: "408 with a listed code", status: 408, body: envelope(20429, 408), want: unknown("20429")},
		{name: "301", status: 301, want: unknown("301")},
		{name: "307", status: 307, want: unknown("307")},
		{name: "308", status: 308, want: unknown("308")},
		{name: "500", status: 500, body: envelope(20500, 500), want: unknown("20500")},
		{name: "502", status: 502, body: "<html>", want: unknown("502")},
		{name: "503", status: 503, want: unknown("503")},
		{name: "503 with a listed code", status: 503, body: envelope(20429, 503), want: unknown("20429")},
		{name: "504", status: 504, want: unknown("504")},
		{name: "500 that quotes a refusal", status: 500, body: envelope(21211, 500), want: unknown("21211")},
		{name: "500 that quotes another status", status: 500, body: envelope(21211, 400), want: unknown("500")},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			got := classify(carrier.Reply{Status: row.status, Body: []byte(row.body), Truncated: row.cut})
			if u, ok := got.(carrier.Unknown); ok {
				if strings.Contains(u.Text, "4155550123") {
					t.Errorf("the number is in %q", u.Text)
				}
				u.Text = "" // for people
				got = u
			}
			if got != row.want {
				t.Errorf("%d %s\n got %#v\nwant %#v", row.status, row.body, got, row.want)
			}
		})
	}
}

// A refusal is one with the status it is documented with, and with no other.
func TestRefusedOnlyWithItsStatus(t *testing.T) {
	t.Parallel()
	for _, p := range proofs {
		for _, status := range []int{200, 201, 307, 402, 404, 408, 409, 422, 500, 503} { // none is any proof's own
			got := classify(carrier.Reply{Status: status, Body: []byte(envelope(p.code, status))})
			_, isUnknown := got.(carrier.Unknown)
			_, isRefused := got.(carrier.Refused)
			if isRefused || !isUnknown && (p.status != any4xx || status == 408 || status/100 != 4) {
				t.Errorf("%d with code %d: %#v", status, p.code, got)
			}
		}
	}
}
