package sim

import (
	"encoding/xml"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"strings"
	"time"
	"unicode/utf16"

	"chasephone/internal/phone"
)

const maxForm = 64 << 10 // bytes of a request's body

// createCall is the request that rings a phone. In this order: the book, then the phone,
// then the answer.
func (s *Server) createCall(w http.ResponseWriter, r *http.Request) {
	account, token, ok := s.account(r)
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	formErr := r.ParseForm()
	form := r.PostForm

	e := Entry{
		At: time.Now(), Account: account, To: form.Get("To"), From: form.Get("From"),
		URL: form.Get("Url"), SendDigits: form.Get("SendDigits"), Token: tokenOf(form.Get("StatusCallback")),
	}
	problem := unauthenticated
	if ok {
		problem = validate(r, form, formErr)
	}
	var rule Rule
	var fault Fault
	if problem == nil {
		e.Say = spoken(form.Get("Twiml"))
		rule, fault = s.rule(e.To)
		e.Rang = fault.Rings
	} else {
		fault = Fault{Name: "invalid", reply: replyEnvelope, status: problem.status, code: problem.code}
	}
	if fault.Name != "ok" {
		e.Fault = fault.Name
	}
	if e.Rang {
		e.SID = newSID("CA")
	}
	if err := s.book.write(&e); err != nil {
		s.log.Error("a request could not be written down", "error", err)
		writeError(w, http.StatusInternalServerError, 20500, "the ring book cannot be written")
		return
	}
	s.log.Info("asked to place a call", "request", e.Request, "to", loggable(e.To), "rang", e.Rang, "fault", fault.Name)

	var c *call
	if e.Rang {
		c = newCall(e, form, token, rule)
		s.begin(c)
	}
	if !s.sleep(r.Context().Done(), s.options.Latency+fault.delay) {
		panic(http.ErrAbortHandler) // closes the connection
	}
	s.answer(w, r, fault, c, problem)
}

// loggable is a number, or none where it is something else that came in its place.
func loggable(to string) phone.Number {
	if !e164.MatchString(to) {
		return phone.Number{}
	}
	return phone.FromE164(to)
}

// problem is why a request is refused, in Twilio's words.
type problem struct {
	status, code int
	message      string
}

var unauthenticated = &problem{http.StatusUnauthorized, 20003, "Authenticate"}

var (
	e164    = regexp.MustCompile(`^\+[1-9][0-9]{6,14}$`)
	digitsS = regexp.MustCompile(`^[0-9A-D*#wW]{1,32}$`)
)

// validate refuses what Twilio would, with its codes.
func validate(r *http.Request, form url.Values, formErr error) *problem {
	bad := func(code int, format string, args ...any) *problem {
		return &problem{http.StatusBadRequest, code, fmt.Sprintf(format, args...)}
	}
	to, from := form.Get("To"), form.Get("From")
	switch {
	case formErr != nil, !strings.HasPrefix(r.Header.Get("Content-Type"), "application/x-www-form-urlencoded"):
		return bad(20001, "the request is no form")
	case to == "":
		return bad(21201, "No 'To' number is specified")
	case from == "":
		return bad(21213, "No 'From' number is specified")
	case !e164.MatchString(to):
		return bad(21211, "The phone number you are attempting to call, %s, is not valid.", to)
	case !e164.MatchString(from):
		return bad(21212, "The source phone number provided, %s, is not valid.", from)
	case form.Get("Url") == "" && form.Get("Twiml") == "":
		return bad(21205, "Url parameter is required.")
	case form.Get("Url") != "" && !isURL(form.Get("Url")):
		return bad(21205, "Url is not a valid URL: %s", form.Get("Url"))
	case len(utf16.Encode([]rune(form.Get("Twiml")))) > 4000:
		return bad(20001, "Twiml is longer than 4000 characters")
	case form.Has("SendDigits") && !digitsS.MatchString(form.Get("SendDigits")):
		return bad(21206, "SendDigits is not valid")
	case form.Has("StatusCallback") && !isURL(form.Get("StatusCallback")):
		return bad(21609, "StatusCallback is not a valid URL")
	}
	return nil
}

func isURL(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}

// tokenOf is the attempt's name, the last part of its status callback's path.
func tokenOf(callback string) string {
	u, err := url.Parse(callback)
	if err != nil || u.Path == "" {
		return ""
	}
	return path.Base(u.Path)
}

// spoken is what a TwiML document says: the words of every Say in it.
func spoken(twiml string) string {
	var response struct {
		Say []string `xml:"Say"`
	}
	if err := xml.Unmarshal([]byte(twiml), &response); err != nil { //nolint:gosec // words, and no more
		return ""
	}
	return strings.Join(response.Say, "\n")
}
