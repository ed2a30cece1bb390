package sip

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"chasephone/internal/carrier"
)

func TestStatusOf(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]carrier.Status{
		`{"method":"INVITE"}`:                                                                       carrier.StatusInitiated,
		`{"method":"INVITE","status_code":180}`:                                                     carrier.StatusRinging,
		`{"method":"INVITE","status_code":182}`:                                                     carrier.StatusQueued,
		`{"method":"INVITE","status_code":183}`:                                                     carrier.StatusRinging,
		`{"method":"INVITE","status_code":200}`:                                                     carrier.StatusInProgress,
		`{"method":"INVITE","status_code":404}`:                                                     carrier.StatusFailed,
		`{"method":"INVITE","status_code":408}`:                                                     carrier.StatusFailed,
		`{"method":"INVITE","status_code":408,"rang":true}`:                                         carrier.StatusNoAnswer,
		`{"method":"INVITE","status_code":480}`:                                                     carrier.StatusNoAnswer,
		`{"method":"INVITE","status_code":486}`:                                                     carrier.StatusBusy,
		`{"method":"INVITE","status_code":487}`:                                                     carrier.StatusCanceled,
		`{"method":"INVITE","status_code":487,"rang":true,"cancelled_for":"nobody answered"}`:       carrier.StatusNoAnswer,
		`{"method":"INVITE","status_code":487,"rang":true,"cancelled_for":"shut down"}`:             carrier.StatusCanceled,
		`{"method":"INVITE","status_code":487,"rang":true,"cancelled_for":"too late to await one"}`: carrier.StatusNoAnswer,
		`{"method":"INVITE","status_code":503}`:                                                     carrier.StatusFailed,
		`{"method":"INVITE","status_code":600}`:                                                     carrier.StatusBusy,
		`{"method":"INVITE","status_code":603}`:                                                     carrier.StatusBusy,
		`{"method":"INVITE","status_code":604}`:                                                     carrier.StatusFailed,
		`{"method":"CANCEL"}`:                                                                       "",
		`{"method":"BYE"}`:                                                                          carrier.StatusCompleted,
	} {
		body = strings.Replace(body, "{", `{"call_id":"x@chasephone.invalid",`, 1)
		r, err := Read(carrier.Delivery{Kind: KindProgress, Token: "x", Body: []byte(body)})
		if err != nil || r.Status != want || r.Kind != carrier.KindCall || r.ID != "x@chasephone.invalid" || r.Token != "x" {
			t.Errorf("%s reads %+v, %v", body, r, err)
		}
	}
}

func TestReadFields(t *testing.T) {
	t.Parallel()
	r, err := Read(carrier.Delivery{Kind: KindProgress, Body: []byte(`{"call_id":"x","method":"BYE","reason":"a\u0000b","from":"+14155550100",
		"to":"anonymous","at":"2026-03-04T05:06:07.89Z","direction":"outbound","seconds":7}`)})
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 3, 4, 5, 6, 7, 890000000, time.UTC)
	if r.Us.E164() != "+14155550100" || !r.Them.IsZero() || !r.At.Equal(at) || r.Seconds != 7 || r.Direction != carrier.DirectionOut {
		t.Errorf("%+v", r)
	}
	for name, want := range map[string]string{
		"call_id": "x", "method": "BYE", "reason": "a\ufffdb", "from": "+14155550100", "to": "anonymous",
		"at": "2026-03-04T05:06:07.89Z", "direction": "outbound", "status_code": "",
	} {
		if r.Fields[name] != want {
			t.Errorf("%s is %q", name, r.Fields[name])
		}
	}
}

// What it does not know is about nothing; only what cannot be taken apart is an error.
func TestReadUnknown(t *testing.T) {
	t.Parallel()
	for _, d := range []carrier.Delivery{
		{Kind: "status", Body: []byte("x")},
		{Kind: KindProgress, Body: []byte("{}")},
		{Kind: KindProgress, Body: []byte(`{"call_id":"x","method":"INFO"}`)},
		{Kind: KindProgress, Body: []byte(`{"method":"BYE"}`)},
		{Kind: KindProgress, Body: []byte(`{"call_id":"x","method":"INVITE","status_code":-7}`)},
	} {
		if r, err := Read(d); err != nil || r.Kind != "" || r.Status != "" {
			t.Errorf("%s reads %+v, %v", d.Body, r, err)
		}
	}
	if _, err := Read(carrier.Delivery{Kind: KindProgress, Body: []byte("INVITE")}); err == nil {
		t.Error("text is no step")
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"call_id":"x","method":"INVITE","status_code":180,"at":"2026-03-04T05:06:07Z"}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		r, err := Read(carrier.Delivery{Kind: KindProgress, Body: body})
		if err != nil {
			return
		}
		if r.Status != "" && r.Status.Rank() == 0 || r.Seconds < 0 {
			t.Errorf("%+v", r)
		}
		for name, value := range r.Fields {
			if !utf8.ValidString(value) || strings.ContainsRune(value, 0) {
				t.Errorf("%s is %q", name, value)
			}
		}
	})
}
