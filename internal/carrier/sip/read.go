package sip

import (
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"chasephone/internal/carrier"
)

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
			r.Fields[name] = carrier.Storable(value, carrier.LongestField)
		}
	}
	known := s.Method == methodInvite || s.Method == methodCancel || s.Method == methodBye
	if !known || s.CallID == "" || s.StatusCode < 0 || s.StatusCode > 699 {
		return r, nil
	}
	status := statusOf(s)
	r.Kind, r.ID, r.Direction = carrier.KindCall, r.Fields["call_id"], carrier.DirectionOut
	r.Status, r.At = status, s.At
	r.Us, r.Them = carrier.Number(s.From), carrier.Number(s.To)
	if status.Final() {
		r.Seconds = max(0, min(s.Seconds, 1<<31-1))
	}
	return r, nil
}
