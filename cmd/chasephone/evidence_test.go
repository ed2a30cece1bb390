package main

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
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

// R12, rows 24, 26: a forged, replayed, truncated, huge or foreign webhook changes no follow-up, and is counted.
func TestFleetHostileWebhooks(t *testing.T) {
	f := newFleet(t, "PUBLIC_URL="+companyURL)
	callbacks := make(chan string, 10)
	f.company.script(func(w http.ResponseWriter, r *http.Request, to string, _ int) {
		callbacks <- r.FormValue("StatusCallback")
		if to == "+14152000001" {
			f.company.placed(w)
			return
		}
		drop(w)
	})
	d := f.daemon()
	f.due(2, "1 minute")
	f.wait("one is placed, one is uncertain", func() bool { return f.state("r1") == "call_placed" && f.state("r2") == "uncertain" })
	a, b := strings.TrimPrefix(<-callbacks, companyURL), strings.TrimPrefix(<-callbacks, companyURL)
	var token string
	if err := f.db.QueryRow(t.Context(), `select a.token from attempts a join phone_followups f on f.id = a.followup_id where f.ref = 'r2'`).Scan(&token); err != nil {
		t.Fatal(err)
	}
	placed, uncertain := a, b
	if strings.HasSuffix(a, token) {
		placed, uncertain = b, a
	}
	of := func(sid, status, to string) url.Values {
		return url.Values{
			"AccountSid": {"AC00000000000000000000000000000001"}, "CallSid": {sid}, "CallStatus": {status}, "Direction": {"outbound-api"},
			"From": {"+12125550100"}, "To": {to}, "Timestamp": {"Mon, 30 Nov 2026 10:00:00 +0000"},
		}
	}
	var ours string
	if err := f.db.QueryRow(t.Context(), `select call_id from phone_followups where ref = 'r1'`).Scan(&ours); err != nil {
		t.Fatal(err)
	}
	// The end of the call that was placed, as the carrier tells it. From here on nothing is to change.
	end := of(ours, "completed", "+14152000001")
	if code := tell(t, d.public(t), placed, end, ""); code != http.StatusOK {
		t.Fatal(code)
	}
	f.wait("the call has its end", func() bool {
		return f.count(`select count(*) from phone_followups where call_status = 'completed'`) == 1
	})
	digest := func() string {
		var all string
		if err := f.db.QueryRow(t.Context(), `select string_agg(concat_ws(' ', xmin, id, state, reason, call_id, call_status, version), ',' order by id) from phone_followups`).Scan(&all); err != nil {
			t.Fatal(err)
		}
		return all
	}
	before := digest()
	const none = "CA00000000000000000000000000000bad"
	ringing := of(none, "ringing", "+14152000002")
	repeated := of(none, "ringing", "+14152000002")
	repeated["CallStatus"] = []string{"completed", "ringing"}
	huge := of(none, "ringing", "+14152000002")
	huge.Set("Filler", strings.Repeat("x", 64<<10))
	for _, row := range []struct {
		name, path string
		form       url.Values
		signature  string
		code       int
		counted    string
	}{
		{"forged", uncertain, ringing, "Zm9yZ2Vk", http.StatusForbidden, "forged"},
		{"without a signature", uncertain, ringing, " ", http.StatusForbidden, "forged"},
		{"signed by another account", uncertain, ringing, sim.Sign("another secret", companyURL+uncertain, ringing), http.StatusForbidden, "forged"},
		{"signed for another attempt", uncertain, ringing, sim.Sign("secret", companyURL+placed, ringing), http.StatusForbidden, "forged"},
		{"signed for another host", uncertain, ringing, sim.Sign("secret", "https://evil.example.com"+uncertain, ringing), http.StatusForbidden, "forged"},
		{"with other words than were signed", uncertain, ringing, sim.Sign("secret", companyURL+uncertain, of(none, "queued", "+14152000002")), http.StatusForbidden, "forged"},
		{"a repeated key", uncertain, repeated, "", http.StatusBadRequest, "malformed"},
		{"huge", uncertain, huge, "", http.StatusRequestEntityTooLarge, "too_large"},
		{"foreign", "/webhooks/twilio/status/" + "0b2f7d5e-0000-4000-8000-000000000000", ringing, "", http.StatusOK, "foreign"},
		{"foreign, of another line", "/webhooks/twilio/status", of(none, "ringing", "+14152000002"), "", http.StatusOK, "kept"},             // of this number, by this line: a call that somebody else placed
		{"about another number", uncertain, of("CA0000000000000000000000000000bad2", "ringing", "+14152000009"), "", http.StatusOK, "kept"}, // shown to a person
		{"no such webhook", "/webhooks/twilio/nonsense", ringing, "", http.StatusNotFound, "refused"},
		{"replayed", placed, end, "", http.StatusOK, "kept"},
		{"replayed again", placed, end, "", http.StatusOK, "kept"},
	} {
		was := counter(t, d, row.counted)
		if code := tell(t, d.public(t), row.path, row.form, row.signature); code != row.code {
			t.Errorf("%s: answered %d, want %d", row.name, code, row.code)
		}
		if is := counter(t, d, row.counted); is != was+1 {
			t.Errorf("%s: %s counted %d times", row.name, row.counted, is-was)
		}
	}
	f.wait("all is bridged", func() bool {
		return f.count(`select count(*) from tenant_twilio_events where bridged_at is null`) == 0
	})
	if after := digest(); after != before {
		t.Errorf("changed from\n%s to\n%s", before, after)
	}
	if n := f.count(`select count(*) from evidence where conflict and call_id = 'CA0000000000000000000000000000bad2'`); n != 1 {
		t.Errorf("%d pieces of evidence about another number", n)
	}
	if n := f.count(`select count(*) from messages where external_id = $1`, ours); n != 1 {
		t.Errorf("%d messages of one call", n)
	}
	f.once()
}

func counter(t *testing.T, d *running, result string) int {
	t.Helper()
	_, rest, _ := strings.Cut(d.metrics(t), `chasephone_arrivals_total{carrier="twilio",result="`+result+`"} `)
	line, _, _ := strings.Cut(rest, "\n")
	n, err := strconv.Atoi(line)
	if err != nil {
		t.Fatalf("no count of %s: %v", result, err)
	}
	return n
}

// R7, R8: without webhooks the carrier's records are asked. They are laid before the person, and
// nothing is settled by them.
func TestFleetLooksUp(t *testing.T) {
	company, err := sim.New(sim.Options{Rules: []sim.Rule{{To: "+14152000001", Fault: "drop_reply"}, {To: "+14152000002", Fault: "drop_request"}}})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(company.Handler())
	f := newFleet(t, "TWILIO_BASE_URL="+server.URL)
	t.Cleanup(func() { _ = company.Close(); server.Close() })
	f.daemon()
	f.due(2, "1 minute")
	f.wait("both were looked up", func() bool {
		return f.count(`select count(distinct followup_id) from lookups where question = 'search' and answered`) == 2
	})
	rings := company.Rings()
	rang := rings.Entries[slices.IndexFunc(rings.Entries, func(e sim.Entry) bool { return e.Rang })].SID
	for ref, want := range map[string]string{"r1": "1 call(s) listed, of which 1 may be this one", "r2": "no such call is listed"} {
		if s := f.state(ref); s != "uncertain" {
			t.Errorf("%s is %s", ref, s)
		}
		var says, found string
		if err := f.db.QueryRow(t.Context(), `select l.says, l.found::text from lookups l join phone_followups f on f.id = l.followup_id where f.ref = $1 order by l.id limit 1`, ref).Scan(&says, &found); err != nil {
			t.Fatal(err)
		}
		if says != want || (ref == "r1") != strings.Contains(found, rang) {
			t.Errorf("%s: %s %s", ref, says, found)
		}
		show := f.start("show", ref)
		<-show.done
		if text := show.log.String(); !strings.Contains(text, want) || !strings.Contains(text, "the carrier may keep a call waiting until ") {
			t.Errorf("show %s:\n%s", ref, text)
		}
		settle := f.start("settle", ref, "--did-not-ring", "--by", "ana")
		<-settle.done
		if text := settle.log.String(); !strings.Contains(text, want) || !strings.Contains(text, "too early") {
			t.Errorf("settle %s:\n%s", ref, text)
		}
	}
	for to, n := range map[string]int{"+14152000001": 1, "+14152000002": 1} {
		if got := rings.ByTo[to].Requests; got != n {
			t.Errorf("%d requests", got)
		}
	}
}
