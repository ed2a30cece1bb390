package sim

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Rule asks for a fault. The first rule that fits a request is used up by one, if it counts.
type Rule struct {
	To       string // a number, an ending of one, or "*" for every
	Next     int    // how many requests it rules; 0 is all
	Fault    string // a Fault's name; empty is "ok"
	Code     int    // replaces the code in Twilio's envelope; 0 leaves it
	Delay    time.Duration
	Webhooks Webhooks // how the call's status webhooks come; empty is Normal
	Final    string   // how the call ends; empty is "completed", "queued" is never begun
}

// Webhooks is how a call's status webhooks come.
type Webhooks string

// The closed set of ways.
const (
	Normal   Webhooks = "normal"
	Early    Webhooks = "early"    // initiated and ringing before the request is answered
	Late     Webhooks = "late"     // ten status delays after each event
	Doubled  Webhooks = "doubled"  // each twice
	Reversed Webhooks = "reversed" // all after the end, last first
	Silent   Webhooks = "silent"   // none
)

// finals are the ends a call can have, and whether it was answered before.
var finals = map[string]bool{
	"": true, "completed": true, "busy": false, "no-answer": false, "failed": false, "canceled": false, "queued": false,
}

func (r Rule) check() error {
	var mistakes []error
	if r.To == "" || r.To != "*" && strings.Trim(r.To, "+0123456789") != "" {
		mistakes = append(mistakes, errors.New(`a number, the ending of one, or * is wanted before the "="`))
	}
	if _, ok := faultNamed(r.Fault); r.Fault != "" && !ok {
		mistakes = append(mistakes, fmt.Errorf("there is no fault %q", r.Fault))
	}
	switch r.Webhooks {
	case "", Normal, Early, Late, Doubled, Reversed, Silent:
	default:
		mistakes = append(mistakes, fmt.Errorf("webhooks do not come %q", r.Webhooks))
	}
	if _, ok := finals[r.Final]; !ok {
		mistakes = append(mistakes, fmt.Errorf("no call ends %q", r.Final))
	}
	if r.Next < 0 || r.Delay < 0 || r.Code < 0 {
		mistakes = append(mistakes, errors.New("nothing is less than 0"))
	}
	return errors.Join(mistakes...)
}

// ParseRule reads a rule as a flag gives it: TO=FAULT, then any of ,next=N ,delay=2s ,code=N
// ,webhooks=early ,final=busy. For instance "+14155550123=drop_reply", "*=slow,next=3".
func ParseRule(text string) (Rule, error) {
	to, rest, ok := strings.Cut(text, "=")
	if !ok {
		return Rule{}, fmt.Errorf("fault %q: TO=FAULT is wanted", text)
	}
	options := strings.Split(rest, ",")
	r := Rule{To: to, Fault: options[0]}
	for _, option := range options[1:] {
		name, value, _ := strings.Cut(option, "=")
		var err error
		switch name {
		case "next":
			r.Next, err = strconv.Atoi(value)
		case "code":
			r.Code, err = strconv.Atoi(value)
		case "delay":
			r.Delay, err = time.ParseDuration(value)
		case "webhooks":
			r.Webhooks = Webhooks(value)
		case "final":
			r.Final = value
		default:
			err = errors.New("is not one of next, code, delay, webhooks, final")
		}
		if err != nil {
			return Rule{}, fmt.Errorf("fault %q: %s %w", text, name, err)
		}
	}
	if err := r.check(); err != nil {
		return Rule{}, fmt.Errorf("fault %q: %w", text, err)
	}
	return r, nil
}

// ruleJSON is a Rule as POST /sim/faults takes it: the delay as text.
type ruleJSON struct {
	To       string   `json:"to"`
	Next     int      `json:"next,omitempty"`
	Fault    string   `json:"fault,omitempty"`
	Code     int      `json:"code,omitempty"`
	Delay    string   `json:"delay,omitempty"`
	Webhooks Webhooks `json:"webhooks,omitempty"`
	Final    string   `json:"final,omitempty"`
}

// MarshalJSON writes the form that UnmarshalJSON reads.
func (r Rule) MarshalJSON() ([]byte, error) {
	delay := ""
	if r.Delay > 0 {
		delay = r.Delay.String()
	}
	return json.Marshal(ruleJSON{r.To, r.Next, r.Fault, r.Code, delay, r.Webhooks, r.Final})
}

// UnmarshalJSON reads {"to":"*","next":2,"fault":"slow","delay":"2s"}. Without "to" a rule
// is for every number.
func (r *Rule) UnmarshalJSON(raw []byte) error {
	j := ruleJSON{To: "*"}
	in := json.NewDecoder(bytes.NewReader(raw))
	in.DisallowUnknownFields()
	if err := in.Decode(&j); err != nil {
		return err
	}
	*r = Rule{To: j.To, Next: j.Next, Fault: j.Fault, Code: j.Code, Webhooks: j.Webhooks, Final: j.Final}
	if j.Delay != "" {
		var err error
		if r.Delay, err = time.ParseDuration(j.Delay); err != nil {
			return fmt.Errorf("delay: %w", err)
		}
	}
	return r.check()
}

// rule takes the first rule that fits to, and uses it up by one.
func (s *Server) rule(to string) (Rule, Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, r := range s.rules {
		if r.To != "*" && !strings.HasSuffix(to, r.To) {
			continue
		}
		switch r.Next {
		case 0:
		case 1:
			s.rules = append(s.rules[:i:i], s.rules[i+1:]...)
		default:
			s.rules[i].Next--
		}
		return r, r.fault(to, s.options.PlainNumbers)
	}
	return Rule{}, Rule{}.fault(to, s.options.PlainNumbers)
}

// fault is what r makes of a request. A rule that names none leaves the number's ending.
func (r Rule) fault(to string, plain bool) Fault {
	f := table[0]
	switch {
	case r.Fault != "":
		f, _ = faultNamed(r.Fault) // checked
	case !plain:
		f = faultOf(to)
	}
	if r.Code != 0 {
		f.code, f.Says = r.Code, "code "+strconv.Itoa(r.Code)
	}
	if r.Delay != 0 {
		f.delay = r.Delay
	}
	return f
}
