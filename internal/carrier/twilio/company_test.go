package twilio_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"chasephone/internal/carrier"
	"chasephone/internal/carrier/sim"
	"chasephone/internal/carrier/twilio"
	"chasephone/internal/phone"
)

const (
	account = "AC00000000000000000000000000000001"
	secret  = "secret-of-the-account"
	theirs  = "+14155550123"
	ours    = "+14155550100"
)

// newCompany is a simulated telephone company, and its webhooks as they come.
func newCompany(t *testing.T, rules ...sim.Rule) (*twilio.Carrier, <-chan carrier.Delivery) {
	t.Helper()
	company, err := sim.New(sim.Options{StatusDelay: time.Millisecond, Rules: rules})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(company.Handler())
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	server.Start()
	deliveries := make(chan carrier.Delivery, 20)
	var hooks *httptest.Server
	hooks = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		kind, token, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/webhooks/twilio/"), "/")
		deliveries <- carrier.Delivery{Kind: kind, Token: token, Body: body, URL: hooks.URL + r.RequestURI, Header: r.Header.Get}
		w.WriteHeader(http.StatusNoContent)
	}))
	t.Cleanup(func() {
		if err := company.Close(); err != nil {
			t.Error(err)
		}
		server.Close()
		hooks.Close()
	})
	return newCarrier(t, server.URL, hooks.URL, secret), deliveries
}

func newCarrier(t *testing.T, base, public, token string) *twilio.Carrier {
	t.Helper()
	c, err := twilio.New(twilio.Config{AccountSID: account, AuthToken: token, BaseURL: base, PublicURL: public},
		carrier.NewTransport(carrier.Options{Carrier: twilio.Name, AllowLoopback: true}))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func place(t *testing.T, c *twilio.Carrier, wait time.Duration) carrier.Answer {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), wait)
	defer cancel()
	return c.Place(ctx, carrier.Call{
		Token: "tok1", To: phone.FromE164(theirs), From: phone.FromE164(ours), Script: "Hello", SendBy: time.Now().Add(wait),
	})
}

// The call whose reply was lost is told by its webhooks, and by nobody who does not know the token.
func TestWebhooksOfALostReply(t *testing.T) {
	t.Parallel()
	c, deliveries := newCompany(t, sim.Rule{To: "*", Fault: "drop_reply"})
	if answer, ok := place(t, c, 20*time.Second).(carrier.Unknown); !ok {
		t.Fatalf("%#v", answer)
	}
	other := newCarrier(t, "http://127.0.0.1:1", "", "secret-of-another")
	id, at := "", time.Time{}
	for _, want := range []carrier.Status{"initiated", "ringing", "in-progress", "completed"} {
		d := <-deliveries
		if err := c.Verify(d); err != nil {
			t.Errorf("%s: %v", want, err)
		}
		if other.Verify(d) == nil {
			t.Errorf("%s is another account's, too", want)
		}
		r, err := twilio.Read(d)
		if err != nil {
			t.Fatal(err)
		}
		if id == "" {
			id = r.ID
		}
		if r.Kind != carrier.KindCall || r.ID != id || r.Token != "tok1" || r.Status != want || r.Direction != carrier.DirectionOut ||
			r.Us != phone.FromE164(ours) || r.Them != phone.FromE164(theirs) || r.At.Before(at) || r.At.IsZero() {
			t.Errorf("%s: %+v", want, r)
		}
		at = r.At
		d.Body[0] ^= 1
		if c.Verify(d) == nil {
			t.Errorf("%s is believed when it was changed", want)
		}
	}
	found, err := c.Find(t.Context(), carrier.Sought{To: phone.FromE164(theirs), From: phone.FromE164(ours), Since: time.Now()})
	if err != nil || len(found.Records) != 1 || found.Records[0].CallID != id || found.Cut {
		t.Errorf("%+v, %v", found, err)
	}
}

// What no webhook tells is looked up: also a call that waits in a queue, which has no start yet.
func TestFindFetchAndCancel(t *testing.T) {
	t.Parallel()
	c, deliveries := newCompany(t, sim.Rule{To: "*", Fault: "drop_reply", Final: "queued"})
	sought := carrier.Sought{To: phone.FromE164(theirs), From: phone.FromE164(ours), Since: time.Now()}
	if found, err := c.Find(t.Context(), sought); err != nil || len(found.Records) > 0 || found.Cut {
		t.Errorf("before there was a call: %+v, %v", found, err)
	}
	if answer, ok := place(t, c, 20*time.Second).(carrier.Unknown); !ok {
		t.Fatalf("%#v", answer)
	}
	found, err := c.Find(t.Context(), sought)
	if err != nil || len(found.Records) != 1 || found.Records[0].Status != carrier.StatusQueued ||
		!found.Records[0].Started.IsZero() || found.Records[0].Created.IsZero() {
		t.Fatalf("%+v, %v", found, err)
	}
	id := found.Records[0].CallID
	if status := fetched(t, c, id).Status; status != carrier.StatusQueued {
		t.Errorf("it is %s", status)
	}
	if err := c.Cancel(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if r := fetched(t, c, id); r.Status != carrier.StatusCanceled || r.At.IsZero() || r.ID != id {
		t.Errorf("%+v", r)
	}
	if r, err := twilio.Read(<-deliveries); err != nil || r.Status != carrier.StatusCanceled {
		t.Errorf("%+v, %v", r, err)
	}
	var asking *carrier.AskError
	if err := c.Cancel(t.Context(), id); !errors.As(err, &asking) || asking.Status != 400 || !strings.Contains(asking.Text, "21220") {
		t.Errorf("cancelled again: %v", err)
	}
	if _, err := c.Fetch(t.Context(), "CA"+strings.Repeat("0", 32)); !errors.As(err, &asking) || asking.Status != 404 {
		t.Errorf("another call: %v", err)
	}
}

func fetched(t *testing.T, c *twilio.Carrier, id string) carrier.Report {
	t.Helper()
	raw, err := c.Fetch(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	r, err := twilio.Read(carrier.Delivery{Kind: "record", Body: raw})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// More calls than a page holds are all found, and more than are looked at are said to be there.
func TestFindPages(t *testing.T) {
	t.Parallel()
	c, _ := newCompany(t, sim.Rule{To: "*", Final: "queued"})
	sought := carrier.Sought{To: phone.FromE164(theirs), From: phone.FromE164(ours), Since: time.Now()}
	for placed := range 101 {
		if placed == 41 || placed == 100 {
			found, err := c.Find(t.Context(), sought)
			if err != nil || len(found.Records) != placed || found.Cut {
				t.Errorf("of %d calls %d are found, cut %v, %v", placed, len(found.Records), found.Cut, err)
			}
		}
		if _, ok := place(t, c, 20*time.Second).(carrier.Placed); !ok {
			t.Fatal("not placed")
		}
	}
	if found, err := c.Find(t.Context(), sought); err != nil || len(found.Records) != 100 || !found.Cut {
		t.Errorf("%d are found, cut %v, %v", len(found.Records), found.Cut, err)
	}
}
