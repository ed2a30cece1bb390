package main

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"chasephone/internal/carrier/sim"
)

// public is where a daemon that listens on a port of its own is reached: tests find it in its log.
func (r *running) public(t testing.TB) string {
	t.Helper()
	_, rest, found := strings.Cut(r.log.String(), " http=")
	if !found {
		t.Fatal("the daemon does not say where it listens")
	}
	addr, _, _ := strings.Cut(rest, " ")
	return "http://" + strings.TrimSpace(addr)
}

const companyURL = "https://calls.example.com"

// tell delivers a webhook of the test's account, signed unless told otherwise.
func tell(t *testing.T, to, path string, form url.Values, signature string) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, to+path, strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	if signature == "" {
		signature = sim.Sign("secret", companyURL+path, form)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("X-Twilio-Signature", signature)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	return resp.StatusCode
}

// R7, R8, row 4: a reply that is lost after the phone rang is settled by the webhook alone,
// within a second of its arrival; and nothing rings again.
func TestFleetSettledByTheWebhookAlone(t *testing.T) {
	f := newFleet(t, "PUBLIC_URL="+companyURL)
	callbacks := make(chan string, 10)
	f.company.script(func(w http.ResponseWriter, r *http.Request, _ string, _ int) {
		callbacks <- r.FormValue("StatusCallback")
		drop(w)
	})
	d := f.daemon()
	f.due(1, "1 minute")
	f.wait("it is uncertain", func() bool { return f.state("r1") == "uncertain" })
	path := strings.TrimPrefix(<-callbacks, companyURL)
	form := url.Values{
		"AccountSid": {"AC00000000000000000000000000000001"}, "CallSid": {"CA0000000000000000000000000000beef"}, "CallStatus": {"ringing"},
		"Direction": {"outbound-api"}, "From": {"+12125550100"}, "To": {"+14152000001"}, "SequenceNumber": {"1"}, "Timestamp": {"Mon, 30 Nov 2026 10:00:00 +0000"},
	}
	for name, forged := range map[string]url.Values{"another call": {"CallSid": {"CA0000000000000000000000000000dead"}}} {
		if code := tell(t, d.public(t), path, forged, "bm8gc2lnbmF0dXJlIG9mIG91cnM="); code != http.StatusForbidden {
			t.Errorf("%s, forged: %d", name, code)
		}
	}
	if s := f.state("r1"); s != "uncertain" {
		t.Fatalf("a forged webhook made it %s", s)
	}
	told := time.Now()
	if code := tell(t, d.public(t), path, form, ""); code != http.StatusOK {
		t.Fatalf("the webhook is answered %d", code)
	}
	f.wait("the webhook settles it", func() bool { return f.state("r1") == "call_placed" })
	t.Logf("settled %v after the webhook was sent", time.Since(told))
	if n := f.count(`select count(*) from phone_followups where call_id = 'CA0000000000000000000000000000beef' and call_status = 'ringing'`); n != 1 {
		t.Error("it does not carry the carrier's id and status")
	}
	f.ticks(2)
	f.once()
	if text := d.metrics(t); !strings.Contains(text, `chasephone_arrivals_total{carrier="twilio",result="kept"} 1`) ||
		!strings.Contains(text, `chasephone_arrivals_total{carrier="twilio",result="forged"} 1`) {
		t.Error("arrivals are not counted")
	}
}
