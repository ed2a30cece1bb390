package sip

import (
	"encoding/json"
	"errors"
	"regexp"
	"strconv"
	"strings"
	"time"

	"chasephone/internal/carrier"
	"chasephone/internal/phone"
)

var e164 = regexp.MustCompile(`^\+[1-9][0-9]{3,14}$`) //nolint:gochecknoglobals // a constant

// Read says what a step says. It errs where the body cannot be taken apart; what it does not
// know is a Report about nothing.
func Read(d carrier.Delivery) (carrier.Report, error) {
	if d.Kind != KindProgress {
		return carrier.Report{}, nil
	}
	var s step
	if json.Unmarshal(d.Body, &s) != nil {
		return carrier.Report{}, errors.New("the step cannot be taken apart") // the cause repeats parts of it
	}
	r := carrier.Report{Token: d.Token, Fields: map[string]string{}}
	fields := map[string]string{
		"call_id": s.CallID, "method": s.Method, "reason": s.Reason, "from": s.From, "to": s.To, "direction": s.Direction,
	}
	if s.StatusCode != 0 {
		fields["status_code"] = strconv.Itoa(s.StatusCode)
	}
	if !s.At.IsZero() {
		fields["at"] = s.At.Format(time.RFC3339Nano)
	}
	for name, value := range fields {
		if value != "" {
			r.Fields[name] = storable(value)
		}
	}
	known := s.Method == methodInvite || s.Method == methodCancel || s.Method == methodBye
	if !known || s.CallID == "" || s.StatusCode < 0 || s.StatusCode > 699 {
		return r, nil
	}
	status := statusOf(s)
	r.Kind, r.ID, r.Direction = carrier.KindCall, r.Fields["call_id"], carrier.DirectionOut
	r.Status, r.At = status, s.At
	r.Us, r.Them = number(s.From), number(s.To)
	if status.Final() {
		r.Seconds = max(0, min(s.Seconds, 1<<31-1))
	}
	return r, nil
}

// number is the zero Number for what is no telephone number.
func number(s string) phone.Number {
	if !e164.MatchString(s) {
		return phone.Number{}
	}
	return phone.FromE164(s)
}

// storable is what a text column of PostgreSQL can hold, and no more of it than 500 characters.
func storable(s string) string {
	const most = 500
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "\ufffd"), "\x00", "\ufffd")
	if runes := []rune(s); len(runes) > most {
		s = string(runes[:most])
	}
	return s
}
