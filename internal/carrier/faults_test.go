package carrier_test

import (
	"context"
	"log/slog"
	"net/http/httptest"
	"testing"
	"time"

	"chasephone/internal/carrier"
	"chasephone/internal/carrier/sim"
	"chasephone/internal/carrier/twilio"
	"chasephone/internal/phone"
)

const (
	account = "AC00000000000000000000000000000001"
	attempt = "tok1"
)

// Every fault the simulated telephone company knows, through Twilio's carrier: the request
// reaches it once, and nothing that may have rung is ever called refused or not placed.
func TestEveryFaultOfTheSimulator(t *testing.T) {
	t.Parallel()
	answered := carrier.Unknown{Stage: carrier.StageAnswered}
	awaiting := carrier.Unknown{Stage: carrier.StageAwaiting}
	line := func(code string) carrier.Answer { return carrier.NotPlaced{Blame: carrier.BlameLine, Code: code} }
	accountNotReady := func(code string) carrier.Answer {
		return carrier.NotPlaced{Blame: carrier.BlameAccount, Code: code}
	}
	refused := func(code string) carrier.Answer { return carrier.Refused{Code: code} }
	want := map[string]carrier.Answer{ // without texts, ids and an unknown's code
		"ok":           carrier.Placed{Status: "queued"},
		"slow":         awaiting,
		"drop_reply":   awaiting,
		"drop_request": awaiting,
		"reset":        awaiting,
		"hang":         awaiting,
		"hang_silent":  awaiting,
		"garbage":      awaiting,

		"half_201": answered, "no_sid": answered, "bad_sid": answered, "redirect_307": answered, "redirect_308": answered,
		"ring_500": answered, "http_500": answered, "page_502": answered, "http_503": answered, "ring_503": answered,
		"http_408": answered, "ring_408": answered, "not_listed": answered, "page_400": answered, "page_401": answered, "page_404": answered,

		"http_429": line("20429"), "page_429": line("429"), "busy_line": line("10004"),
		"credentials": accountNotReady("20003"), "caller_number": accountNotReady("21210"),
		"inactive": accountNotReady("10001"), "suspended": accountNotReady("20005"),

		"no_number": refused("21211"), "no_number_2": refused("21217"), "unreachable": refused("21214"),
		"country": refused("21215"), "blocked": refused("21216"),
	}
	for _, f := range sim.Faults() {
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			company, base := newCompany(t)
			to := "+1415555" + f.Ending
			if f.Ending == "" {
				to += "0123"
			}
			wait := 20 * time.Second
			if want[f.Name] == awaiting {
				wait = 300 * time.Millisecond
			}
			answer := place(t, base, to, wait)
			if got := bare(answer); got != want[f.Name] {
				t.Errorf("answer %#v, want %#v", answer, want[f.Name])
			}
			for deadline := time.Now().Add(10 * time.Second); company.Rings().Requests == 0 && time.Now().Before(deadline); {
				time.Sleep(time.Millisecond) // the caller may have given up before the book was written
			}
			got := company.Rings().ByToken[attempt]
			if got.Requests != 1 || f.Rings != (got.Rings == 1) {
				t.Errorf("the ring book has %+v", got)
			}
			switch answer.(type) {
			case carrier.Refused, carrier.NotPlaced:
				if got.Rings > 0 {
					t.Errorf("it rang, and the answer is %#v", answer)
				}
			}
		})
	}
}

// What is said, and the extension, arrive as they were given.
func TestTheSimulatorHearsTheScript(t *testing.T) {
	t.Parallel()
	company, base := newCompany(t)
	answer := place(t, base, "+14155550123", 20*time.Second)
	placed, ok := answer.(carrier.Placed)
	e := company.Rings().Entries[0]
	if !ok || e.SID != placed.CallID || e.Say != "Hi, <b>Tom</b> & co." || e.SendDigits != "wwww44" || e.To != "+14155550123" {
		t.Errorf("%#v, %+v", answer, e)
	}
}

func newCompany(t *testing.T) (*sim.Server, string) {
	t.Helper()
	company, err := sim.New(sim.Options{StatusDelay: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(company.Handler())
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	server.Start()
	t.Cleanup(func() {
		if err := company.Close(); err != nil {
			t.Error(err)
		}
		server.Close()
	})
	return company, server.URL
}

func place(t *testing.T, base, to string, wait time.Duration) carrier.Answer {
	t.Helper()
	c, err := twilio.New(twilio.Config{AccountSID: account, AuthToken: "secret", BaseURL: base, PublicURL: "http://127.0.0.1:1"},
		carrier.NewTransport(carrier.Options{Carrier: twilio.Name, AllowLoopback: true}))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), wait)
	defer cancel()
	return c.Place(ctx, carrier.Call{
		Token: attempt, To: phone.FromE164(to), From: phone.FromE164("+14155550100"), Extension: "44",
		Script: "Hi, <b>Tom</b> & co.", SendBy: time.Now().Add(wait),
	})
}

// bare is the answer without what is for people, and without the id.
func bare(a carrier.Answer) carrier.Answer {
	switch a := a.(type) {
	case carrier.Placed:
		return carrier.Placed{Status: a.Status}
	case carrier.Refused:
		return carrier.Refused{Code: a.Code}
	case carrier.NotPlaced:
		return carrier.NotPlaced{Blame: a.Blame, Code: a.Code}
	case carrier.Unknown:
		return carrier.Unknown{Stage: a.Stage}
	}
	return a
}
