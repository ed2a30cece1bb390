package sim

import "time"

// Fault is one way in which a request to place a call can go.
type Fault struct {
	Name   string `json:"name"`
	Ending string `json:"ending,omitempty"` // the last four digits of a number that ask for it
	Rings  bool   `json:"rings"`            // whether the phone rings all the same
	Says   string `json:"says"`

	reply  reply
	status int           // HTTP, of a reply that has one
	code   int           // Twilio's, in its envelope
	delay  time.Duration // before the answer, where the rule names none
}

// reply is the form of an answer.
type reply int

const (
	replyCall     reply = iota // the call, with its SID
	replyEnvelope              // Twilio's envelope for an error: status and code
	replyPage                  // an HTML page, as a proxy or a firewall writes it
	replyNoSID                 // JSON without a SID
	replyBadSID                // JSON with a SID that is none
	replyHalf                  // the header and half of the call
	replyGarbage               // no HTTP
	replyAgain                 // a redirect to where the request came from
	replyClose                 // nothing: the connection is closed
	replyReset                 // nothing: the connection is reset
	replyNever                 // nothing, until the caller gives up
)

// table is every fault there is: "rang and failed" beside "failed and did not ring", because
// the answer alone cannot tell them apart.
var table = []Fault{
	{Name: "ok", Rings: true, Says: "201 with the call", status: 201},
	{Name: "slow", Ending: "0003", Rings: true, Says: "201 with the call, after 3 s", status: 201, delay: 3 * time.Second},

	{Name: "drop_reply", Ending: "0000", Rings: true, Says: "the connection is closed without an answer", reply: replyClose},
	{Name: "drop_request", Ending: "0001", Says: "the same, and the phone does not ring", reply: replyClose},
	{Name: "reset", Ending: "0002", Rings: true, Says: "the connection is reset without an answer", reply: replyReset},
	{Name: "hang", Ending: "0015", Rings: true, Says: "no answer until the caller gives up", reply: replyNever},
	{Name: "hang_silent", Ending: "0016", Says: "the same, and the phone does not ring", reply: replyNever},

	{Name: "half_201", Ending: "0201", Rings: true, Says: "201, broken off within the body", reply: replyHalf, status: 201},
	{Name: "no_sid", Ending: "0200", Rings: true, Says: "200 without a call's SID", reply: replyNoSID, status: 200},
	{Name: "bad_sid", Ending: "0202", Rings: true, Says: "201 with a SID that is none", reply: replyBadSID, status: 201},
	{Name: "garbage", Ending: "0999", Rings: true, Says: "bytes that are no HTTP", reply: replyGarbage},
	{Name: "redirect_307", Ending: "0307", Says: "307 to the same place", reply: replyAgain, status: 307},
	{Name: "redirect_308", Ending: "0308", Says: "308 to the same place", reply: replyAgain, status: 308},

	{Name: "ring_500", Ending: "0500", Rings: true, Says: "500 though the phone rings", reply: replyEnvelope, status: 500, code: 20500},
	{Name: "http_500", Ending: "0501", Says: "500", reply: replyEnvelope, status: 500, code: 20500},
	{Name: "page_502", Ending: "0502", Says: "502, a page", reply: replyPage, status: 502},
	{Name: "http_503", Ending: "0503", Says: "503", reply: replyEnvelope, status: 503, code: 20503},
	{Name: "ring_503", Ending: "0504", Rings: true, Says: "503 though the phone rings", reply: replyEnvelope, status: 503, code: 20503},
	{Name: "http_408", Ending: "0408", Says: "408", reply: replyPage, status: 408},
	{Name: "ring_408", Ending: "0409", Rings: true, Says: "408 though the phone rings", reply: replyPage, status: 408},

	{Name: "http_429", Ending: "0429", Says: "429, code 20429: not processed", reply: replyEnvelope, status: 429, code: 20429},
	{Name: "page_429", Ending: "0430", Says: "429, a page", reply: replyPage, status: 429},
	{Name: "busy_line", Ending: "0104", Says: "400, code 10004: too many calls at once", reply: replyEnvelope, status: 400, code: 10004},

	{Name: "no_number", Ending: "0211", Says: "400, code 21211: no valid number", reply: replyEnvelope, status: 400, code: 21211},
	{Name: "unreachable", Ending: "0214", Says: "400, code 21214: cannot be reached", reply: replyEnvelope, status: 400, code: 21214},
	{Name: "country", Ending: "0215", Says: "400, code 21215: no permission for that country", reply: replyEnvelope, status: 400, code: 21215},
	{Name: "blocked", Ending: "0216", Says: "400, code 21216: blocked", reply: replyEnvelope, status: 400, code: 21216},
	{Name: "no_number_2", Ending: "0217", Says: "400, code 21217: no valid number", reply: replyEnvelope, status: 400, code: 21217},
	{Name: "not_listed", Ending: "0219", Says: "400, code 21219: which nobody has a rule for", reply: replyEnvelope, status: 400, code: 21219},
	{Name: "page_400", Ending: "0400", Says: "400, a page", reply: replyPage, status: 400},
	{Name: "page_404", Ending: "0404", Says: "404, a page", reply: replyPage, status: 404},

	{Name: "credentials", Ending: "0401", Says: "401, code 20003: credentials", reply: replyEnvelope, status: 401, code: 20003},
	{Name: "page_401", Ending: "0402", Says: "401, a page", reply: replyPage, status: 401},
	{Name: "caller_number", Ending: "0210", Says: "400, code 21210: the caller number is not verified", reply: replyEnvelope, status: 400, code: 21210},
	{Name: "inactive", Ending: "0101", Says: "403, code 10001: account not active", reply: replyEnvelope, status: 403, code: 10001},
	{Name: "suspended", Ending: "0205", Says: "401, code 20005: account not active", reply: replyEnvelope, status: 401, code: 20005},
}

// Faults lists every fault, with the ending of a number that asks for it.
func Faults() []Fault { return append([]Fault(nil), table...) }

func faultNamed(name string) (Fault, bool) {
	for _, f := range table {
		if f.Name == name {
			return f, true
		}
	}
	return Fault{}, false
}

// faultOf is what the ending of a number asks for: "ok" where nothing else is.
func faultOf(to string) Fault {
	for _, f := range table {
		if f.Ending != "" && len(to) > len(f.Ending) && to[len(to)-len(f.Ending):] == f.Ending {
			return f
		}
	}
	return table[0]
}
