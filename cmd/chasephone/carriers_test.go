package main

import (
	"bufio"
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
	"strings"
	"sync"
	"testing"
	"time"

	"chasephone/internal/carrier/sim"
)

// telnyxStub is a Telnyx that takes every call, and loses the reply of those to one number.
type telnyxStub struct {
	*httptest.Server
	mu    sync.Mutex
	calls []map[string]string // creates
	spoke []map[string]string // speak commands, with the path
}

func newTelnyxStub(t *testing.T) *telnyxStub {
	s := &telnyxStub{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body map[string]string
		raw, _ := io.ReadAll(r.Body)
		_ = json.Unmarshal(raw, &body)
		s.mu.Lock()
		defer s.mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		switch {
		case r.Method == http.MethodPost && r.URL.Path == "/v2/calls":
			s.calls = append(s.calls, body)
			if strings.HasSuffix(body["to"], "2") {
				drop(w)
				return
			}
			_, _ = fmt.Fprintf(w, `{"data": {"record_type": "call", "call_control_id": "v3:a-call-of-ours-%d", "call_leg_id": "l", "call_session_id": "s", "is_alive": true}}`, len(s.calls))
		case strings.HasSuffix(r.URL.Path, "/actions/speak"):
			body["path"] = r.URL.Path
			s.spoke = append(s.spoke, body)
			_, _ = io.WriteString(w, `{"data": {"result": "ok"}}`)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *telnyxStub) words() []map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]map[string]string(nil), s.spoke...)
}

func (s *telnyxStub) placed() []map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]map[string]string(nil), s.calls...)
}

// A call by Telnyx: its webhooks settle it, lost reply or not, and the words are said once it is
// answered, once.
func TestFleetTelnyx(t *testing.T) {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	stub := newTelnyxStub(t)
	f := newFleet(t, "PUBLIC_URL="+companyURL, "TWILIO_ACCOUNT_SID=", "TWILIO_AUTH_TOKEN=", "TWILIO_FROM=", "TWILIO_BASE_URL=", "TWILIO_CALLS_PER_SECOND=",
		"TELNYX_API_KEY=KEYsecret", "TELNYX_CONNECTION_ID=1", "TELNYX_PUBLIC_KEY="+base64.StdEncoding.EncodeToString(public),
		"TELNYX_FROM=+12125550100", "TELNYX_BASE_URL="+stub.URL, "TELNYX_CALLS_PER_SECOND=0")
	// Others of the fleet have no such account, and are offered what follows from its webhooks too.
	for range 2 {
		other := newFleetOn(t, f.url, f.db, "TWILIO_ACCOUNT_SID=", "TWILIO_AUTH_TOKEN=", "TWILIO_FROM=", "TWILIO_BASE_URL=", "TWILIO_CALLS_PER_SECOND=")
		other.daemon()
	}
	d := f.daemon()
	f.due(2, "1 minute")
	f.wait("both were asked for", func() bool {
		return len(stub.placed()) == 2 && f.state("r2") == "uncertain" && f.state("r1") == "call_placed"
	})
	tellAs := func(key ed25519.PrivateKey, event, id, state, to string) int {
		body := fmt.Sprintf(`{"data": {"record_type": "event", "id": "e-%s-%s", "event_type": %q, "occurred_at": "2026-11-30T10:00:00.000000Z", "payload": {"call_control_id": %q, "client_state": %q, "from": "+12125550100", "to": %q, "direction": "outgoing"}}}`,
			event, id, event, id, state, to)
		at := fmt.Sprint(time.Now().Unix())
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, d.public(t)+"/webhooks/telnyx/call", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("telnyx-timestamp", at)
		r.Header.Set("telnyx-signature-ed25519", base64.StdEncoding.EncodeToString(ed25519.Sign(key, []byte(at+"|"+body))))
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		return resp.StatusCode
	}
	for _, call := range stub.placed() {
		id := "v3:a-call-of-ours-lost"
		if strings.HasSuffix(call["to"], "1") {
			if err := f.db.QueryRow(t.Context(), `select call_id from phone_followups where ref = 'r1'`).Scan(&id); err != nil {
				t.Fatal(err)
			}
		}
		_, forger, _ := ed25519.GenerateKey(rand.Reader)
		if code := tellAs(forger, "call.initiated", id, call["client_state"], call["to"]); code != http.StatusForbidden {
			t.Errorf("forged: %d", code)
		}
		for _, event := range []string{"call.initiated", "call.answered", "call.answered"} {
			if code := tellAs(private, event, id, call["client_state"], call["to"]); code != http.StatusOK {
				t.Errorf("%s: %d", event, code)
			}
		}
	}
	f.wait("the words were said in both", func() bool { return len(stub.words()) >= 2 && f.state("r2") == "call_placed" })
	f.ticks(2)
	spoken := map[string]bool{}
	for _, w := range stub.words() {
		if spoken[w["path"]] || w["payload"] != "Hello" || w["command_id"] == "" {
			t.Errorf("said %v", w)
		}
		spoken[w["path"]] = true
	}
	if len(spoken) != 2 || len(stub.placed()) != 2 {
		t.Errorf("said in %v, asked %d times", spoken, len(stub.placed()))
	}
}

// trunk is a SIP trunk on a socket: it rings, answers, and is hung up on; or it answers the nth
// call with what it is given.
func trunk(t *testing.T, answers ...string) (addr string, invites func() int) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	var mu sync.Mutex
	n := 0
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = conn.Close() }()
				in := bufio.NewReader(conn)
				for {
					var head []string
					length := 0
					for {
						line, err := in.ReadString('\n')
						if err != nil {
							return
						}
						line = strings.TrimRight(line, "\r\n")
						if line == "" {
							break
						}
						_, _ = fmt.Sscanf(strings.ToLower(line), "content-length: %d", &length)
						head = append(head, line)
					}
					_, _ = io.CopyN(io.Discard, in, int64(length))
					if len(head) == 0 {
						continue
					}
					method, _, _ := strings.Cut(head[0], " ")
					say := func(status string) {
						out := "SIP/2.0 " + status + "\r\n"
						for _, h := range head[1:] {
							name, _, _ := strings.Cut(h, ":")
							switch strings.ToLower(name) {
							case "to":
								out += h + ";tag=far\r\n"
							case "via", "from", "call-id", "cseq":
								out += h + "\r\n"
							}
						}
						_, _ = io.WriteString(conn, out+"Contact: <sip:far@127.0.0.1>\r\nContent-Length: 0\r\n\r\n")
					}
					switch method {
					case "INVITE":
						mu.Lock()
						n++
						nth := n
						mu.Unlock()
						if len(answers) > 0 {
							say(answers[nth%len(answers)])
							continue
						}
						say("180 Ringing")
						say("200 OK")
					case "BYE":
						say("200 OK")
					}
				}
			}()
		}
	}()
	return listener.Addr().String(), func() int { mu.Lock(); defer mu.Unlock(); return n }
}

// A call by a SIP trunk is placed when it rings, and what comes of it is told by its own connection.
func TestFleetSIP(t *testing.T) {
	addr, invites := trunk(t)
	f := newFleet(t, "TWILIO_ACCOUNT_SID=", "TWILIO_AUTH_TOKEN=", "TWILIO_FROM=", "TWILIO_BASE_URL=", "TWILIO_CALLS_PER_SECOND=",
		"SIP_TRUNK=sip:"+addr, "SIP_FROM=+12125550100", "SIP_CALLS_PER_SECOND=0", "SIP_TALK_FOR=100ms")
	f.daemon()
	f.due(1, "1 minute")
	f.wait("it is over", func() bool {
		return f.count(`select count(*) from phone_followups where state = 'call_placed' and call_status = 'completed' and call_id is not null`) == 1
	})
	if n := f.count(`select count(*) from messages where status = 'completed' and followup_id is not null`); n != 1 || invites() != 1 {
		t.Errorf("%d messages, %d INVITEs", n, invites())
	}
}

// A line can name a further account by the prefix of its variables, also while the daemon runs. Its
// credentials are nowhere in the database, and one account's signature settles nothing of another's.
func TestFleetFurtherAccount(t *testing.T) {
	other := newCompany(t)
	callbacks := make(chan string, 10)
	other.script(func(w http.ResponseWriter, r *http.Request, _ string, _ int) {
		if user, password, _ := r.BasicAuth(); user != "AC2" || password != "the-other-secret" {
			t.Errorf("asked as %s", user)
		}
		callbacks <- r.FormValue("StatusCallback")
		drop(w)
	})
	f := newFleet(t, "PUBLIC_URL="+companyURL, "ACME_ACCOUNT_SID=AC2", "ACME_AUTH_TOKEN=the-other-secret", "ACME_BASE_URL="+other.URL, "ACME_CALLS_PER_SECOND=0")
	d := f.daemon()
	add := f.start("line", "add", "acme", "--carrier", "twilio", "--account-env", "ACME", "--caller", "+12125550111", "--by", "ana")
	<-add.done
	f.exec(`insert into phone_followups (ref, phone_number, due_at, script, line) values ('r1', '+14152000001', now() - interval '1 minute', 'Hello', 'acme')`)
	f.wait("it is uncertain", func() bool { return f.state("r1") == "uncertain" })
	path := strings.TrimPrefix(<-callbacks, companyURL)
	form := url.Values{
		"AccountSid": {"AC2"}, "CallSid": {"CA0000000000000000000000000000beef"}, "CallStatus": {"ringing"}, "Direction": {"outbound-api"},
		"From": {"+12125550111"}, "To": {"+14152000001"}, "Timestamp": {"Mon, 30 Nov 2026 10:00:00 +0000"},
	}
	if code := tell(t, d.public(t), path, form, ""); code != http.StatusOK { // the default account's signature
		t.Fatal(code)
	}
	f.wait("it is counted as foreign", func() bool { return counter(t, d, "foreign") == 1 })
	if s := f.state("r1"); s != "uncertain" {
		t.Fatalf("another account's word made it %s", s)
	}
	if code := tell(t, d.public(t), path, form, sim.Sign("the-other-secret", companyURL+path, form)); code != http.StatusOK {
		t.Fatal(code)
	}
	f.wait("its own account's webhook settles it", func() bool { return f.state("r1") == "call_placed" })
	if len(f.company.requests()) != 0 || len(other.requests()) != 1 {
		t.Errorf("%d and %d requests", len(f.company.requests()), len(other.requests()))
	}
	if n := f.count(`select count(*) from lines l where l::text like '%secret%'`); n != 0 {
		t.Error("a secret is in the database")
	}
	if strings.Contains(d.log.String()+add.log.String(), "the-other-secret") {
		t.Error("a secret is in the log")
	}
}
