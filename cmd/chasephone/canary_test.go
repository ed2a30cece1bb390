package main

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"chasephone/internal/carrier/sim"
)

// canary is one of a hundred numbers whose first eight digits are in nothing else.
func canary(n int) string { return fmt.Sprintf("+1415273%04d", 8400+n) }

// ours is the number that calls go out from, which is nobody's business either.
const canaryCaller = "+14152738499"

// spellings are the ways in which a canary may come back.
func spellings(number string) []string {
	n := strings.TrimPrefix(number, "+1")
	a, b, c := n[:3], n[3:6], n[6:]
	return []string{
		number, n, "1" + n, "(" + a + ") " + b + "-" + c, a + "-" + b + "-" + c, a + "." + b + "." + c, a + " " + b + " " + c,
		"+1 " + a + " " + b + " " + c, "001 " + a + " " + b + c, "tel:" + number, url.QueryEscape(number), "%2B1%20" + a + "%20" + b + "%2D" + c,
		strings.Join(strings.Split(n, ""), " "), b + "-" + c, "+1\u00a0" + a + "\u2011" + b + "\u2011" + c, "sip:" + number + "@trunk.example.com;user=phone",
	}
}

// everySpelling is a text with all of them.
func everySpelling(n int) string { return strings.Join(spellings(canary(n)), " | ") }

// between is what may stand between two digits of a number: signs, spaces, and how others encode
// them.
const between = `(?:[^0-9A-Za-z]|%[0-9A-Fa-f]{2}|\\u[0-9a-fA-F]{4}){0,4}`

// The eight digits that all canaries share, however far apart; and the last seven of one alone.
var (
	canaryDigits = regexp.MustCompile(strings.Join(strings.Split("41527384", ""), between))
	canaryLocal  = regexp.MustCompile(`(?:^|[^0-9])273[-. ]?84[0-9]{2}(?:$|[^0-9.])`)
)

// sings says where a canary is in a text.
func sings(t *testing.T, where, text string) {
	t.Helper()
	for _, pattern := range []*regexp.Regexp{canaryDigits, canaryLocal} {
		for i, at := range pattern.FindAllStringIndex(text, -1) {
			if i == 5 {
				t.Errorf("%s: and more", where)
				break
			}
			t.Errorf("a number is in %s: …%s…", where, text[max(0, at[0]-120):min(len(text), at[1]+60)])
		}
	}
}

func TestCanarySings(t *testing.T) {
	t.Parallel()
	for _, s := range spellings(canary(7)) {
		if !canaryDigits.MatchString(s) && !canaryLocal.MatchString(s) {
			t.Errorf("%q is not found", s)
		}
	}
	for _, s := range []string{"+*********07", "***-**07", "273", "2026-11-30T10:41:52.738Z", "415"} {
		if canaryDigits.MatchString(s) || canaryLocal.MatchString(s) {
			t.Errorf("%q is found", s)
		}
	}
}

// Invariant 9, R15: whatever comes in by whatever way, and whatever becomes of the calls, no number
// is in a log line (of any level and form), a metric, a job of River's, the ledger, or what was
// done at the desk. There are no traces: nothing of this program makes any.
func TestNoNumberInLogsOrMetrics(t *testing.T) {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	taken := make(chan [2]string, 1000) // Telnyx's calls: its id, and what it was given for ours
	telnyx := hostileTelnyx(t, taken)
	bad := everySpelling(90)
	sipAddr, invites := trunk(t,
		"404 Not Found "+bad, "180 Ringing "+bad+"\r\nAlert-Info: "+bad, "486 "+bad+"\r\nReason: Q.850;cause=17;text=\""+bad+"\"",
		"302 Moved\r\nContact: <sip:"+canary(91)+"@127.0.0.1>", "503 "+bad+"\r\nRetry-After: 1 ("+bad+")\r\nWarning: 399 x \""+bad+"\"", "999 "+bad,
		"200 "+bad+"\r\nP-Asserted-Identity: <tel:"+canary(92)+">", bad)
	f := newFleet(
		t, "LOG_LEVEL=debug", "PHONE_FOLLOWUP_PER_TICK=100", "PHONE_FOLLOWUP_RETRY_AFTER=1s", "GATE_LINE_UNKNOWNS=0", "PHONE_FOLLOWUP_DIAL_TIMEOUT=2s", "PUBLIC_URL="+companyURL,
		"TWILIO_FROM="+canaryCaller, "TELNYX_API_KEY=KEYsecret", "TELNYX_CONNECTION_ID=1", "TELNYX_BASE_URL="+telnyx.URL, "TELNYX_CALLS_PER_SECOND=0",
		"TELNYX_PUBLIC_KEY="+base64.StdEncoding.EncodeToString(public), "SIP_TRUNK=sip:"+sipAddr, "SIP_CALLS_PER_SECOND=0", "SIP_RING_FOR=5s", "SIP_TALK_FOR=100ms",
	)
	callbacks := make(chan url.Values, 1000)
	company := hostileCompany(t, callbacks)
	f.environ = append(f.environ, "TWILIO_BASE_URL="+company.URL)
	text := f.daemon()
	f.environ = append(f.environ, "LOG_FORMAT=json")
	asJSON := f.start("serve")
	f.wait("the other one serves", func() bool { return strings.Contains(asJSON.log.String(), `"msg":"serving"`) })

	v := terminal{url: f.url}
	for _, line := range [][]string{
		{"line", "add", "t", "--carrier", "telnyx", "--caller", canaryCaller, "--by", "ada " + canary(80)},
		{"line", "add", "s", "--carrier", "sip", "--caller", canaryCaller, "--by", "ada"},
		{"line", "add", canary(81), "--carrier", "twilio", "--caller", canary(81), "--by", "ada"},
		{"line", "add", "415 273 8482", "--carrier", "twilio", "--caller", canary(81), "--by", "ada"},
	} {
		got := v.run(t, line...)
		if numbered := strings.ContainsAny(line[2], "0123456789"); (got.code == exitMisuse) != numbered {
			t.Errorf("%q: exit %d, %q, %q", line, got.code, got.out, got.err)
		}
	}
	f.exec(`insert into lines (tenant_id, name, carrier, caller_number) values ('default', '(415) 273-8483', 'twilio', $1), ('default', '(415) 273-8583', 'twilio', $1)`, canaryCaller)

	// What integrators write, on every line.
	ins := func(n int, columns string, values ...any) {
		t.Helper()
		spelt := spellings(canary(n))
		ref := fmt.Sprintf("%d %s", n, spelt[n%len(spelt)]) // the integrator's own name for it, which only people are shown
		if n == 52 || n == 53 {
			ref = fmt.Sprintf("%d by hand", n)
		}
		args := append([]any{ref, spelt[n%len(spelt)], everySpelling(n)}, values...)
		names, holes := "", ""
		if columns != "" {
			names = ", " + columns
		}
		for i := range values {
			holes += fmt.Sprintf(", $%d", i+4)
		}
		f.exec(`insert into phone_followups (ref, phone_number, due_at, contact_name, script`+names+`) values ($1, $2, now(), $3, $3`+holes+`)`, args...)
	}
	for n := range 16 {
		ins(n, "")             // every spelling, by Twilio
		ins(16+n, "line", "t") // by Telnyx
		ins(32+n, "line", "s") // by the trunk
	}
	ins(48, "purpose", canary(48))
	ins(49, "purpose, time_zone", everySpelling(49), canary(49))
	ins(50, "line", everySpelling(50))
	ins(51, "tenant_id", everySpelling(51))
	ins(52, "needs_approval", true)
	ins(53, "needs_approval", true)
	ins(54, "line", "(415) 273-8483")
	for _, odd := range []string{bad, "+" + bad, canary(55) + " ext. 77777777", canary(56) + " or " + canary(57), "tel:" + canary(58) + ";ext=" + canary(59)} {
		f.exec(`insert into phone_followups (ref, phone_number, due_at, script) values ($1, $1, now(), 'x')`, odd)
	}
	f.exec(`insert into phone_followups (ref, phone_number, due_at, script) values ('infinite', $1, 'infinity', 'x')`, canary(60))

	f.wait("all were looked at", func() bool {
		return f.count(`select count(*) from phone_followups where next_try_at = '-infinity' and state = 'due' and version is null`) == 0
	})
	f.wait("most are tried", func() bool { return f.count(`select count(*) from attempts`) >= 40 })
	f.wait("the trunk was called", func() bool { return invites() >= 8 })
	f.wait("carriers were asked for their records", func() bool { return f.count(`select count(*) from lookups`) >= 6 })

	// What carriers report, signed and forged, to all addresses and to none that there is.
	for _, d := range []struct{ to string }{{text.public(t)}, {publicJSON(t, asJSON)}} {
		for i := range 8 {
			report(t, d.to, f, i, callbacks)
		}
		tellTelnyx(t, d.to, private, bad, taken)
		rawRequests(t, d.to, bad)
	}
	f.wait("all is bridged", func() bool {
		return f.count(`select (select count(*) from tenant_twilio_events where bridged_at is null) + (select count(*) from tenant_telnyx_events where bridged_at is null)`) == 0
	})

	// What people do and say.
	why := everySpelling(70)
	var said strings.Builder
	for _, line := range [][]string{
		{"approve", ref(f, 52), "--by", "ada " + canary(70)},
		{"decline", ref(f, 53), "--by", canary(70), "--why", why},
		{"cancel", "infinite", "--by", "ada", "--why", why},
		{"settle", firstUncertain(f), "--rang", "--by", why},
		{"settle", firstUncertain(f), "--did-not-ring", "--by", canary(71)},
		{"dnc", "add", canary(72), "--source", why, "--by", "ada"},
		{"dnc", "remove", canary(72), "--by", "tel:" + canary(72)},
		{"consent", "add", canary(73), "--purpose", "sales", "--source", why, "--by", "ada"},
		{"consent", "remove", canary(73), "--purpose", "sales", "--by", "ada"},
		{"report", canary(74), "--placed", "--source", why, "--by", "ada"},
		{"report", canary(75), "--called-in", "--source", why, "--by", "ada"},
		{"check", canary(76)},
		{"line", "hold", "default", "--by", "ada " + why},
		{"line", "release", "default", "--by", "ada"},
		{"stop", "--by", "ada " + canary(77)},
		{"resume", "--by", "ada"},
		{"tenant", "add", "acme", "--by", "ada " + why},
		{"bridge", "--all"},
		{"dnc", "add", "no number " + why},
		{"show", canary(78)},
		{"add", "--ref", canary(79), "--due-at", why, "--number", canary(79), "--script", "x"},
	} {
		got := v.run(t, line...)
		if line[0] != "settle" { // it prints the ref
			fmt.Fprintf(&said, "%q: %s%s\n", line[:1], got.out, got.err)
		}
	}
	// A database that objects repeats what it was given.
	f.exec(`create function object() returns trigger language plpgsql as $$ begin
		raise exception 'the number % of % is not to be stored', new.e164, new; end $$;
		create trigger object before insert on attempts for each row when (new.e164 = '+14152738461') execute function object()`)
	ins(61, "")
	f.wait("it was objected to", func() bool {
		return f.count(`select count(*) from phone_followups where reason is not null and phone_number like '%61%'`) >= 1
	})
	f.wait("words could not be said", func() bool { return f.count(`select count(*) from river_job where errors is not null`) >= 1 })
	f.ticks(2)
	metrics := text.metrics(t)
	f.wait("the figures are there", func() bool { metrics = text.metrics(t); return strings.Contains(metrics, "chasephone_line_ready") })
	for _, d := range []*running{text, asJSON} {
		_ = d.Process.Signal(syscall.SIGTERM)
		<-d.done
	}
	t.Logf("%d bytes of text, %d of JSON, %d of metrics, %d jobs (%d with errors), %d ledger rows, %d acts; outcomes %v", len(text.log.String()), len(asJSON.log.String()), len(metrics),
		f.count(`select count(*) from river_job`), f.count(`select count(*) from river_job where errors is not null`), f.count(`select count(*) from followup_events`), f.count(`select count(*) from desk_events`),
		f.texts(`select coalesce(outcome, 'open') || ' ' || carrier || ' ' || count(*) from attempts group by outcome, carrier order by 1`))
	sings(t, "the log", text.log.String())
	sings(t, "the log in JSON", asJSON.log.String())
	sings(t, "what commands print", said.String())
	sings(t, "the metrics", metrics)
	for _, table := range []string{"river_job", "river_queue", "followup_events", "desk_events", "ringing_holds", "daemons", "limits"} {
		// tenant_id is the integrator's own name for somebody, which is not ours to change.
		sings(t, table, strings.Join(f.texts(`select (to_jsonb(x) - 'tenant_id')::text from `+table+` x`), "\n"))
	}
	wellMade(t, metrics)
}

// wellMade checks the metrics themselves.
func wellMade(t *testing.T, metrics string) {
	t.Helper()
	problems, err := promlint.New(strings.NewReader(metrics)).Lint()
	if err != nil || len(problems) > 0 {
		t.Errorf("the metrics are not as they should be: %v %v", problems, err)
	}
	for _, name := range []string{
		"outcomes_total", "gate_findings_total", "followups", "oldest_due_age_seconds", "followups_at_risk", "oldest_uncertain_age_seconds",
		"evidence_conflicts_total", "ticks_total", "tick_duration_seconds", "last_tick_timestamp_seconds",
		"carrier_request_duration_seconds", "line_ready", "limit", "build_info",
	} {
		if !strings.Contains(metrics, "# TYPE chasephone_"+name+" ") {
			t.Errorf("there is no metric chasephone_%s", name)
		}
	}
}

func (f *fleet) texts(sql string, args ...any) []string {
	f.t.Helper()
	rows, err := f.db.Query(f.t.Context(), sql, args...)
	if err != nil {
		f.t.Fatalf("%s: %v", sql, err)
	}
	all, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		f.t.Fatalf("%s: %v", sql, err)
	}
	return all
}

// ref is the id of the follow-up to a canary.
func ref(f *fleet, n int) string {
	return strings.Join(f.texts(`select id::text from phone_followups where ref like $1 || ' %'`, fmt.Sprint(n)), "")
}

func firstUncertain(f *fleet) string {
	return strings.Join(f.texts(`select id::text from phone_followups where state = 'uncertain' order by id limit 1`), "")
}

func publicJSON(t *testing.T, d *running) string {
	t.Helper()
	_, rest, found := strings.Cut(d.log.String(), `"http":"`)
	if !found {
		t.Fatal("the daemon does not say where it listens")
	}
	addr, _, _ := strings.Cut(rest, `"`)
	return "http://" + addr
}

// hostileCompany answers Twilio's requests with every kind of answer, each with the number in it.
func hostileCompany(t *testing.T, callbacks chan<- url.Values) *httptest.Server {
	var n, asked atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		to := r.FormValue("To")
		all := strings.Join(spellings(to), " | ")
		w.Header().Set("Content-Type", "application/json")
		problem := func(status, code int) {
			w.WriteHeader(status)
			_ = json.NewEncoder(w).Encode(map[string]any{"code": code, "status": status, "message": "The 'To' number " + all + " is not valid", "more_info": all})
		}
		if r.Method != http.MethodPost { // records
			switch asked.Add(1) % 5 {
			case 0:
				_ = json.NewEncoder(w).Encode(map[string]any{"calls": []any{map[string]any{
					"sid": "CA0000000000000000000000000000c0de", "to": to, "from": canaryCaller, "caller_name": all, "status": "completed", "direction": "outbound-api",
					"date_created": time.Now().UTC().Format(time.RFC1123Z), "duration": "3",
				}}})
			case 1:
				problem(http.StatusInternalServerError, 20500)
			case 2:
				_, _ = io.WriteString(w, "<html>"+all)
			case 3:
				w.Header().Set("Location", "/"+url.PathEscape(to))
				w.WriteHeader(http.StatusFound)
			default:
				drop(w)
			}
			return
		}
		callbacks <- r.Form
		switch n.Add(1) % 12 {
		case 0, 1, 2:
			w.WriteHeader(http.StatusCreated)
			_, _ = fmt.Fprintf(w, `{"sid": "CA%032x", "status": "queued", "to": %q, "caller_name": %q}`, n.Load(), to, all)
		case 3:
			problem(http.StatusBadRequest, 21211)
		case 4:
			problem(http.StatusTooManyRequests, 20429)
		case 5:
			problem(http.StatusBadRequest, 99999)
		case 6:
			problem(http.StatusInternalServerError, 20500)
		case 7:
			w.WriteHeader(http.StatusCreated)
			_, _ = io.WriteString(w, `{"sid": "`+to+`", "status": "`+all+`"}`)
		case 8:
			w.Header().Set("Location", "/"+url.PathEscape(to))
			w.Header().Set("X-Number", to)
			w.WriteHeader(http.StatusTemporaryRedirect)
		case 9:
			problem(http.StatusUnauthorized, 20003)
		case 10:
			if conn, _, err := w.(http.Hijacker).Hijack(); err == nil { // no HTTP at all
				_, _ = io.WriteString(conn, all+"\r\n\r\n")
				_ = conn.Close()
			}
		default:
			drop(w)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// hostileTelnyx does the same as Telnyx.
func hostileTelnyx(t *testing.T, taken chan<- [2]string) *httptest.Server {
	var n, spoken atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		var body map[string]any
		_ = json.Unmarshal(raw, &body)
		to, _ := body["to"].(string)
		if to == "" {
			to = canary(93)
		}
		all := strings.Join(spellings(to), " | ")
		w.Header().Set("Content-Type", "application/json")
		problem := func(status int, code string) {
			w.WriteHeader(status)
			_ = json.NewEncoder(w).Encode(map[string]any{"errors": []any{map[string]any{"code": code, "title": all, "detail": "to " + all, "source": map[string]string{"pointer": "/" + to}}}})
		}
		if r.URL.Path != "/v2/calls" { // words to be said, or a question
			problem([]int{http.StatusUnprocessableEntity, http.StatusInternalServerError, http.StatusNotFound}[spoken.Add(1)%3], "90018")
			return
		}
		switch nth := n.Add(1); nth % 7 {
		case 0, 1, 2:
			id := fmt.Sprintf("v3:a-call-of-ours-%d", nth)
			state, _ := body["client_state"].(string)
			taken <- [2]string{id, state}
			_, _ = fmt.Fprintf(w, `{"data": {"record_type": "call", "call_control_id": %q, "call_leg_id": "l", "call_session_id": "s", "is_alive": true, "caller_id_name": %q}}`, id, all)
		case 6:
			problem(http.StatusUnprocessableEntity, "10016")
		case 3:
			problem(http.StatusTooManyRequests, "10011")
		case 4:
			problem(http.StatusInternalServerError, "x")
		case 5:
			_, _ = fmt.Fprintf(w, `{"data": {"call_control_id": %q}}`, to)
		default:
			drop(w)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// report tells of a call that a daemon asked for, of one that came in, and of a text.
func report(t *testing.T, to string, f *fleet, i int, callbacks <-chan url.Values) {
	t.Helper()
	var asked url.Values
	select {
	case asked = <-callbacks:
	default:
		return
	}
	path := strings.TrimPrefix(asked.Get("StatusCallback"), companyURL)
	all := strings.Join(spellings(asked.Get("To")), " | ")
	call := url.Values{
		"AccountSid": {"AC00000000000000000000000000000001"}, "CallSid": {fmt.Sprintf("CA%032x", 1000+i)}, "CallStatus": {[]string{"ringing", "completed", all, "busy"}[i%4]},
		"Direction": {"outbound-api"}, "From": {canaryCaller}, "To": {asked.Get("To")}, "Called": {all}, "CallerName": {all}, "ToCity": {all}, "ErrorMessage": {all}, "SipResponseCode": {all},
		"Timestamp": {"Mon, 30 Nov 2026 10:00:00 +0000"}, "SequenceNumber": {fmt.Sprint(i)},
	}
	tell(t, to, path, call, "")
	call.Set("CallStatus", "completed")
	tell(t, to, path, call, "")
	tell(t, to, path, call, "Zm9yZ2Vk")
	call.Set("From", all)
	call.Set("To", all)
	tell(t, to, path, call, "")
	in := url.Values{
		"AccountSid": {"AC00000000000000000000000000000001"}, "CallSid": {fmt.Sprintf("CA%032x", 2000+i)}, "CallStatus": {"ringing"}, "Direction": {"inbound"},
		"From": {canary(85)}, "To": {canaryCaller}, "CallerName": {all},
	}
	tell(t, to, "/webhooks/twilio/status", in, "")
	sms := url.Values{
		"AccountSid": {"AC00000000000000000000000000000001"}, "MessageSid": {fmt.Sprintf("SM%032x", 3000+i)}, "SmsStatus": {"received"},
		"From": {[]string{canary(86), all}[i%2]}, "To": {canaryCaller}, "Body": {"STOP, ring me on " + all},
	}
	tell(t, to, "/webhooks/twilio/message", sms, "")
	tell(t, to, "/webhooks/twilio/status/"+url.PathEscape(asked.Get("To")), call, "")
	tell(t, to, "/webhooks/"+url.PathEscape(asked.Get("To"))+"/status", call, "")
	tell(t, to, "/webhooks/twilio/message?x="+url.QueryEscape(all), sms, sim.Sign("secret", companyURL+"/webhooks/twilio/message?x="+url.QueryEscape(all), sms))
	_ = f
}

func tellTelnyx(t *testing.T, to string, key ed25519.PrivateKey, all string, taken <-chan [2]string) {
	t.Helper()
	quoted, _ := json.Marshal(all)
	bodies := []string{
		fmt.Sprintf(`{"data": {"record_type": "event", "id": "e1", "event_type": "call.initiated", "occurred_at": "2026-11-30T10:00:00Z", "payload": {"call_control_id": "v3:x", "client_state": %s, "from": %q, "to": %q, "direction": "incoming", "caller_id_name": %[1]s}}}`, quoted, canary(87), canaryCaller),
		fmt.Sprintf(`{"data": {"record_type": "event", "id": %s, "event_type": "call.hangup", "occurred_at": %[1]s, "payload": {"call_control_id": %[1]s, "from": %[1]s, "to": %[1]s, "direction": %[1]s, "hangup_cause": %[1]s, "sip_hangup_cause": %[1]s}}}`, quoted),
		fmt.Sprintf(`{"data": {"event_type": "message.received", "id": "e3", "occurred_at": "2026-11-30T10:00:00Z", "payload": {"id": "m-1", "direction": "inbound", "text": %s, "from": {"phone_number": %q}, "to": [{"phone_number": %q}]}}}`, quoted, canary(88), canaryCaller),
		`{"data": ` + string(quoted) + `}`, all,
	}
	for range 3 {
		select {
		case call := <-taken:
			bodies = append(bodies, "", fmt.Sprintf(`{"data": {"record_type": "event", "id": "a-%s", "event_type": "call.answered", "occurred_at": "2026-11-30T10:00:00.000000Z", "payload": {"call_control_id": %q, "client_state": %q, "from": %q, "to": %s, "direction": "outgoing", "caller_id_name": %s}}}`,
				call[0], call[0], call[1], canaryCaller, quoted, quoted))
		default:
		}
	}
	for i, body := range bodies {
		for _, kind := range []string{"call", "message"} {
			at := fmt.Sprint(time.Now().Unix() - int64(i/3%2)*1000) // some are stale
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, to+"/webhooks/telnyx/"+kind, strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Telnyx-Timestamp", at)
			r.Header.Set("Telnyx-Signature-Ed25519", base64.StdEncoding.EncodeToString(ed25519.Sign(key, []byte(at+"|"+body))))
			resp, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			_ = resp.Body.Close()
		}
	}
}

// rawRequests are such that the HTTP library itself objects to them, and might say to what.
func rawRequests(t *testing.T, to, all string) {
	t.Helper()
	for _, request := range []string{
		"GET /" + canary(89) + " HTTP/1.1\r\nHost: " + canary(89) + "\r\n\r\n",
		"POST /webhooks/twilio/status HTTP/1.1\r\nHost: x\r\nX-" + canary(89) + ": " + all + "\r\n\r\n",
		"GET http://" + canary(89) + "/ HTTP/9.9\r\n\r\n", all + "\r\n\r\n",
		"POST /webhooks/twilio/status HTTP/1.1\r\nHost: x\r\nContent-Length: " + canary(89) + "\r\n\r\n",
		"POST /webhooks/twilio/status HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: " + canary(89) + "\r\n\r\n",
		"POST /webhooks/twilio/status HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" + canary(89) + "\r\n",
	} {
		conn, err := net.Dial("tcp", strings.TrimPrefix(to, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(conn, request)
		_ = conn.SetReadDeadline(time.Now().Add(5 * time.Second))
		_, _ = io.Copy(io.Discard, conn)
		_ = conn.Close()
	}
}
