package telnyx

import (
	"fmt"
	"strings"
	"testing"

	"chasephone/internal/carrier"
)

func problemOf(code, pointer string) string {
	return fmt.Sprintf(`{"code":%q,"title":"No","detail":"The number +14155550123 it is","source":{"pointer":%q},"meta":{}}`, code, pointer)
}

func envelope(codes ...string) string {
	all := make([]string, 0, len(codes))
	for _, code := range codes {
		all = append(all, problemOf(code, "/to"))
	}
	return `{"errors":[` + strings.Join(all, ",") + `]}`
}

func TestClassify(t *testing.T) {
	t.Parallel()
	const masked = "No: The number +*********23 it is"
	placed := carrier.Placed{CallID: goodID}
	refused := func(code string) carrier.Answer { return carrier.Refused{Code: code, Text: masked} }
	line := func(code, text string) carrier.Answer {
		return carrier.NotPlaced{Blame: carrier.BlameLine, Code: code, Text: text}
	}
	account := func(code string) carrier.Answer {
		return carrier.NotPlaced{Blame: carrier.BlameAccount, Code: code, Text: masked}
	}
	unknown := func(code string) carrier.Answer {
		return carrier.Unknown{Stage: carrier.StageAnswered, Code: code}
	}
	fromIsNone := `{"errors":[` + problemOf("10016", "/from") + `]}`
	for _, row := range []struct {
		name   string
		status int
		body   string
		cut    bool // the body was truncated
		want   carrier.Answer
	}{
		{name: "200", status: 200, body: created, want: placed},
		{name: "201", status: 201, body: created, want: placed},
		{name: "200, id and nothing else", status: 200, body: `{"data":{"call_control_id":"` + goodID + `"}}`, want: placed},
		{name: "202 with an id", status: 202, body: created, want: unknown("202")},
		{name: "200, id null", status: 200, body: `{"data":{"call_control_id":null}}`, want: unknown("200")},
		{name: "200 without id", status: 200, body: `{"data":{}}`, want: unknown("200")},
		{name: "200, the leg's id only", status: 200, body: `{"data":{"call_leg_id":"2dc6fc34-f9e0-11ea-b68e-02420a0f7768"}}`, want: unknown("200")},
		{name: "200, id too short", status: 200, body: `{"data":{"call_control_id":"v3:x"}}`, want: unknown("200")},
		{name: "200, id that is a path", status: 200, body: strings.Replace(created, "v3:", "v3:/../", 1), want: unknown("200")},
		{name: "200, id with more behind it", status: 200, body: strings.Replace(created, goodID, goodID+"\\n", 1), want: unknown("200")},
		{name: "200, a list", status: 200, body: `{"data":[{"call_control_id":"` + goodID + `"}]}`, want: unknown("200")},
		{name: "200 with errors", status: 200, body: created[:len(created)-1] + `,"errors":[` + problemOf("10002", "/to") + `]}`, want: unknown("200")},
		{name: "200, half a body", status: 200, body: created[:len(created)-9], want: unknown("200")},
		{name: "200, cut where JSON ends by luck", status: 200, body: created, cut: true, want: unknown("200")},
		{name: "200, two documents", status: 200, body: created + created, want: unknown("200")},
		{name: "200, HTML", status: 200, body: "<html>", want: unknown("200")},
		{name: "200, empty", status: 200, want: unknown("200")},
		{name: "204", status: 204, want: unknown("204")},
		{name: "101", status: 101, want: unknown("101")},

		{name: "not a number", status: 422, body: envelope("10002"), want: refused("10002")},
		{name: "not in E.164", status: 422, body: envelope("10016"), want: refused("10016")},
		{name: "not a number, twice", status: 422, body: envelope("10016", "10002"), want: refused("10016")},
		{name: "our number is none", status: 422, body: fromIsNone, want: account("10016")},
		{name: "not a number, and something not listed", status: 422, body: envelope("10002", "10007"), want: unknown("10002")},

		{name: "too many requests", status: 429, body: envelope("10011"), want: line("10011", masked)},
		{name: "429, another code", status: 429, body: envelope("90103"), want: line("90103", masked)},
		{name: "429 that is no envelope", status: 429, body: "<html>slow down +14155550123</html>", want: line("429", "too many requests")},
		{name: "429, empty", status: 429, want: line("429", "too many requests")},
		{name: "429, cut", status: 429, body: envelope("10011"), cut: true, want: line("429", "too many requests")},
		{name: "credentials", status: 401, body: envelope("10009"), want: account("10009")},
		{name: "not permitted", status: 403, body: envelope("10010"), want: account("10010")},
		{name: "the account's limit", status: 403, body: envelope("10039"), want: account("10039")},

		{name: "429 that names a call", status: 429, body: created, want: unknown("429")},
		{name: "422 that names a call", status: 422, body: created[:len(created)-1] + `,"errors":[` + problemOf("10002", "/to") + `]}`, want: unknown("422")},
		{name: "500 that names a call", status: 500, body: created, want: unknown("500")},

		{name: "422, a code not listed", status: 422, body: envelope("10015"), want: unknown("10015")},
		{name: "404, a code not listed", status: 404, body: envelope("10005"), want: unknown("10005")},
		{name: "refusal's code, other status", status: 400, body: envelope("10002"), want: unknown("10002")},
		{name: "credentials' code, other status", status: 422, body: envelope("10009"), want: unknown("10009")},
		{name: "401, a code not listed", status: 401, body: envelope("10007"), want: unknown("10007")},
		{name: "422, no errors", status: 422, body: `{"errors":[]}`, want: unknown("422")},
		{name: "422, code missing", status: 422, body: `{"errors":[{"title":"No"}]}`, want: unknown("422")},
		{name: "422, title missing", status: 422, body: `{"errors":[{"code":"10002"}]}`, want: unknown("422")},
		{name: "422, code a number", status: 422, body: `{"errors":[{"code":10002,"title":"No"}]}`, want: unknown("422")},
		{name: "422, half an envelope", status: 422, body: envelope("10002")[:40], want: unknown("422")},
		{name: "422, cut", status: 422, body: envelope("10002"), cut: true, want: unknown("422")},
		{name: "422, HTML", status: 422, body: "<html>10002</html>", want: unknown("422")},
		{name: "401, not the envelope", status: 401, body: "Unauthorized", want: unknown("401")},
		{name: "403, not the envelope", status: 403, body: "<html>blocked by a firewall</html>", want: unknown("403")},

		{name: "408", status: 408, want: unknown("408")},
		{name: "408 with a listed code", status: 408, body: envelope("10011"), want: unknown("10011")},
		{name: "301", status: 301, want: unknown("301")},
		{name: "307", status: 307, want: unknown("307")},
		{name: "500", status: 500, body: envelope("10007"), want: unknown("10007")},
		{name: "500 that quotes a refusal", status: 500, body: envelope("10002"), want: unknown("10002")},
		{name: "502", status: 502, body: "<html>", want: unknown("502")},
		{name: "503 with a listed code", status: 503, body: envelope("10011"), want: unknown("10011")},
		{name: "504", status: 504, want: unknown("504")},
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
		for _, status := range []int{200, 201, 307, 400, 402, 404, 408, 409, 500, 503} { // none is any proof's own
			got := classify(carrier.Reply{Status: status, Body: []byte(envelope(p.code))})
			if _, ok := got.(carrier.Unknown); !ok {
				t.Errorf("%d with code %s: %#v", status, p.code, got)
			}
		}
	}
}
