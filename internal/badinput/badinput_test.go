package badinput_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/prometheus/client_golang/prometheus"

	"chasephone/internal/arrivals"
	"chasephone/internal/carrier"
	"chasephone/internal/carrier/telnyx"
	"chasephone/internal/carrier/twilio"
	"chasephone/internal/drain"
	"chasephone/internal/followup"
	"chasephone/internal/gates"
	"chasephone/internal/pgtest"
	"chasephone/internal/phone"
	"chasephone/internal/rules"
	"chasephone/internal/store"
)

// How many of each there are.
const (
	manyGood     = 200
	manyBad      = 1600
	manyNonsense = 480
	manyWebhooks = 3000
)

// allDay allows a call at any hour, so that the hours are judged and say nothing of this one.
const allDay = `rules: [{places: US, hours: {Mon-Sun: "00:00-24:00"}, source: a test, dated: 2025-11-01}]`

// world is everything between the wire and the database, for a daemon.
type world struct {
	*testing.T
	db      *store.Store
	drain   *drain.Drain
	company *company
	web     *httptest.Server
	log     *lines
}

// lines are what was logged, by anybody.
type lines struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.String()
}

// Thousands of bad inputs among good ones: nothing panics, nothing that was believed is lost, every
// row ends or waits for what it says, and what is good is rung, once (invariant 10).
func TestBadInput(t *testing.T) {
	t.Parallel()
	w := newWorld(t, newGenerator(1))
	var now time.Time
	if err := w.db.Pool.QueryRow(t.Context(), `select clock_timestamp()`).Scan(&now); err != nil {
		t.Fatal(err)
	}
	rows := slices.Concat(goodRows(manyGood), nonsenseRows(manyNonsense), badRows(newGenerator(2), manyBad, now))
	newGenerator(3).Shuffle(len(rows), func(a, b int) { rows[a], rows[b] = rows[b], rows[a] })
	refused := w.insert(rows, now)
	w.ring()

	hooks := append(badWebhooks(newGenerator(4), manyWebhooks, time.Now()), w.goodWebhooks(time.Now())...)
	newGenerator(5).Shuffle(len(hooks), func(a, b int) { hooks[a], hooks[b] = hooks[b], hooks[a] })
	kept := w.deliver(hooks)
	w.bridge()
	w.ring() // nothing that was told makes anything ring again

	w.checkRows(rows)
	w.checkRings(rows)
	w.checkLog()
	inputs := manyBad + manyNonsense + manyWebhooks
	if inputs < 5000 {
		t.Errorf("%d bad inputs", inputs)
	}
	if t.Failed() {
		return
	}
	t.Logf("%d bad inputs (%d webhooks, %d rows, %d answers of carriers) among %d good rows: 0 panics, 0 lost, 0 answered 5xx, %d webhooks kept, %d rows refused at the door, each other ended or waits, every good one rung once",
		inputs, manyWebhooks, manyBad, manyNonsense, manyGood, kept, refused)
}

func newWorld(t *testing.T, g generator) *world {
	t.Helper()
	nonsense := map[string]string{}
	for i, r := range nonsenseRows(manyNonsense) {
		nonsense[r.number] = nonsenseOf(g, i/2, r.number) // both carriers say each
	}
	w := &world{T: t, company: newCompany(t, nonsense), log: &lines{}}
	daemonLog := slog.New(slog.NewTextHandler(w.log, nil))

	transport := func(name string) *carrier.Transport {
		return carrier.NewTransport(carrier.Options{Carrier: name, AllowLoopback: true})
	}
	ofTwilio, err := twilio.New(twilio.Config{AccountSID: "AC1", AuthToken: twilioKey, BaseURL: "http://" + w.company.addr, PublicURL: public}, transport("twilio"))
	if err != nil {
		t.Fatal(err)
	}
	ofTelnyx, err := telnyx.New(telnyx.Config{
		APIKey: "KEY1", ConnectionID: "1", PublicKey: base64.StdEncoding.EncodeToString(telnyxKey(1)[32:]), BaseURL: "http://" + w.company.addr, PublicURL: public,
	}, transport("telnyx"))
	if err != nil {
		t.Fatal(err)
	}
	carriers := drain.NewCarriers(map[string]drain.Carrier{"twilio": ofTwilio, "telnyx": ofTelnyx})

	set, err := rules.Parse([]byte(allDay), time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	options := gates.Options{Rules: set}
	if w.db, err = store.Connect(t.Context(), pgtest.URL(t), 8); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.db.Close)
	w.db.With(store.Config{Daemon: uuid.NewString(), Carriers: carriers, Gates: options, Defaults: store.Defaults{Region: "US"}, Log: daemonLog})
	limits := followup.DefaultLimits()
	limits.PerTick, limits.Tick = 100, time.Hour
	if _, err := w.db.SetLimits(t.Context(), limits, "test"); err != nil {
		t.Fatal(err)
	}
	w.exec(`insert into tenants (id) select 't' || to_char(i, 'fm00') from generate_series(0, $1::int - 1) i`, tenants)
	w.exec(`insert into lines (tenant_id, name, carrier, caller_number)
		select 't' || to_char(i, 'fm00'), 'default', case i % 2 when 0 then 'twilio' else 'telnyx' end, '+1212555' || to_char(i, 'fm0000') from generate_series(0, $1::int - 1) i`, tenants)
	w.exec(`insert into lines (tenant_id, name, carrier, caller_number)
		select 't' || to_char(i % $2::int, 'fm00'), 'n' || i, case i % 2 when 0 then 'twilio' else 'telnyx' end, '+1646555' || to_char(i, 'fm0000') from generate_series(0, $1::int - 1) i`, manyNonsense, tenants)
	w.drain = drain.New(drain.Config{
		Store: w.db, Carriers: carriers, Gates: gates.Chain(options), NewToken: uuid.NewString, Identify: phone.Parse, Log: daemonLog,
	})
	t.Cleanup(func() { w.drain.Stop(context.WithoutCancel(t.Context())) })

	keeper := arrivals.NewKeeper(w.db, daemonLog)
	t.Cleanup(func() { keeper.Close(context.WithoutCancel(t.Context())) })
	w.web = httptest.NewUnstartedServer(&arrivals.Handler{
		PublicURL: public, Carriers: []arrivals.Carrier{
			{Name: "twilio", Kinds: twilio.Kinds(), Read: twilio.Read, Reply: twilio.Reply},
			{Name: "telnyx", Kinds: telnyx.Kinds(), Read: telnyx.Read, Reply: telnyx.Reply},
			{Name: "sip"},
		},
		Accounts: func(name string) []arrivals.Account {
			return map[string][]arrivals.Account{"twilio": {{Name: "twilio", Verify: ofTwilio.Verify}}, "telnyx": {{Name: "telnyx", Verify: ofTelnyx.Verify}}}[name]
		},
		Keep: keeper.Keep, Metrics: arrivals.NewMetrics(prometheus.NewRegistry(), "twilio", "telnyx", "sip"), Log: daemonLog,
	})
	w.web.Config.ErrorLog = log.New(w.log, "", 0) // where net/http says that a handler panicked
	w.web.Start()
	t.Cleanup(w.web.Close)
	return w
}

func (w *world) exec(sql string, args ...any) {
	w.Helper()
	if _, err := w.db.Pool.Exec(w.Context(), sql, args...); err != nil {
		w.Fatalf("%s: %v", sql, err)
	}
}

func (w *world) count(sql string, args ...any) int {
	w.Helper()
	var n int
	if err := w.db.Pool.QueryRow(w.Context(), sql, args...).Scan(&n); err != nil {
		w.Fatalf("%s: %v", sql, err)
	}
	return n
}

// insert puts rows in as integrators do, and says how many the database turned away.
func (w *world) insert(rows []row, now time.Time) (refused int) {
	w.Helper()
	conn, err := pgx.Connect(w.Context(), w.db.Pool.Config().ConnString())
	if err != nil {
		w.Fatal(err)
	}
	defer conn.Close(w.Context())
	for i, r := range rows {
		sql, args := r.insert(now.Add(-time.Duration(i) * time.Second).Format(time.RFC3339Nano))
		_, err := conn.Exec(w.Context(), sql, args...)
		switch atDoor := slices.Equal(r.want, []string{door}); {
		case err == nil && atDoor:
			w.Errorf("%q was not refused: %q", r.ref, args)
		case err == nil:
		case !atDoor:
			w.Fatalf("%q: %v", r.ref, err)
		default:
			refused++
			var said *pgconn.PgError
			if !errors.As(err, &said) || said.ConstraintName == "" && !slices.Contains([]string{"22021", "22007", "22008", "22P02", "23502", "54000"}, said.Code) {
				w.Errorf("%q is refused, and for no reason that has a name: %v", args, err)
			}
		}
	}
	return refused
}

// ring works slots until one finds nothing to do.
func (w *world) ring() {
	w.Helper()
	before := -1
	for range 10 {
		if err := w.drain.Prepare(w.Context()); err != nil {
			w.Errorf("preparing: %v", err)
		}
		if err := w.drain.Slot(w.Context(), 64); err != nil {
			w.Fatal(err)
		}
		for end := time.Now().Add(30 * time.Second); w.count(`select count(*) from attempts where outcome is null`) > 0; time.Sleep(10 * time.Millisecond) {
			if time.Now().After(end) {
				w.Fatal("calls are still in progress")
			}
		}
		now := w.count(`select count(*) from followup_events`)
		if now == before {
			return
		}
		before = now
		// The places of this slot belong to one of before.
		w.exec(`alter table followup_events disable trigger ledger_is_append_only`)
		w.exec(`update followup_events set slot_at = (select min(slot_at) from followup_events) - interval '1 day' where slot_at > now() - interval '2 hours'`)
		w.exec(`alter table followup_events enable trigger ledger_is_append_only`)
	}
	w.Error("ten slots, and there is still something to do")
}

// goodWebhooks tell, of every good row that was rung, that its call is over.
func (w *world) goodWebhooks(now time.Time) []webhook {
	w.Helper()
	rows, err := w.db.Pool.Query(w.Context(), `
		select a.carrier, a.token::text, a.e164, a.caller_number from attempts a join phone_followups f on f.id = a.followup_id where f.ref like 'good %' order by f.ref`)
	if err != nil {
		w.Fatal(err)
	}
	var all []webhook
	var name, token, to, from string
	_, err = pgx.ForEachRow(rows, []any{&name, &token, &to, &from}, func() error {
		if name == "twilio" {
			all = append(all, twilioHook("/webhooks/twilio/status/"+token, "CallSid="+twilioCall(to)+"&CallStatus=completed&Direction=outbound-api&From=%2B"+from[1:]+"&To=%2B"+to[1:]))
			return nil
		}
		state := base64.StdEncoding.EncodeToString([]byte(token))
		all = append(all, telnyxHook("/webhooks/telnyx/call/"+token, fmt.Sprintf(
			`{"data":{"event_type":"call.hangup","payload":{"call_control_id":%q,"client_state":%q,"from":%q,"to":%q,"hangup_cause":"time_limit"}}}`, telnyxCall(to), state, from, to), now))
		return nil
	})
	if err != nil {
		w.Fatal(err)
	}
	return all
}

// deliver sends webhooks, and looks for what came of each.
func (w *world) deliver(hooks []webhook) (kept int) {
	w.Helper()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16}}
	next := make(chan webhook)
	var senders sync.WaitGroup
	for range 16 {
		senders.Go(func() {
			for h := range next {
				if h.cut {
					w.cutOff(h)
				} else if status := w.send(client, h); status != h.status {
					w.Errorf("%s %s %q %q: answered %d, want %d", h.method, h.path, h.headers, short(h.body), status, h.status)
				}
			}
		})
	}
	want := map[string]int{}
	for _, h := range hooks {
		next <- h
		if h.kept() {
			want[h.body]++
			kept++
		}
	}
	close(next)
	senders.Wait()
	client.CloseIdleConnections()

	rows, err := w.db.Pool.Query(w.Context(), `select body from tenant_twilio_events union all select body from tenant_telnyx_events`)
	if err != nil {
		w.Fatal(err)
	}
	var body []byte
	found := map[string]bool{}
	if _, err := pgx.ForEachRow(rows, []any{&body}, func() error {
		if found[string(body)] = true; want[string(body)] == 0 {
			w.Errorf("kept, and should not be: %q", short(string(body)))
		}
		return nil
	}); err != nil {
		w.Fatal(err)
	}
	for body := range want {
		if !found[body] {
			w.Errorf("lost: %q", short(body))
		}
	}
	return kept
}

func (w *world) send(client *http.Client, h webhook) int {
	r, err := http.NewRequestWithContext(w.Context(), h.method, w.web.URL+h.path, strings.NewReader(h.body))
	if err != nil {
		w.Error(err)
		return 0
	}
	for name, values := range h.headers {
		for _, v := range values {
			r.Header.Add(name, strings.Map(headerly, v))
		}
	}
	response, err := client.Do(r)
	if err != nil {
		if h.status == http.StatusRequestEntityTooLarge {
			return h.status // it did not wait until all of it was sent
		}
		w.Errorf("%s %s: %v", h.method, h.path, err)
		return 0
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, response.Body)
	return response.StatusCode
}

// headerly keeps what a client of net/http can send.
func headerly(r rune) rune {
	if r < ' ' || r == 0x7f {
		return '~'
	}
	return r
}

// cutOff sends a webhook that is signed, but for its end, and hangs up.
func (w *world) cutOff(h webhook) {
	conn, err := net.Dial("tcp", w.web.Listener.Addr().String())
	if err != nil {
		w.Error(err)
		return
	}
	defer conn.Close()
	var head strings.Builder
	fmt.Fprintf(&head, "%s %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n", h.method, h.path, len(h.body))
	for name, values := range h.headers {
		fmt.Fprintf(&head, "%s: %s\r\n", name, values[0])
	}
	_, _ = io.WriteString(conn, head.String()+"\r\n"+h.body[:len(h.body)-1])
	_ = conn.(*net.TCPConn).CloseWrite()
	_, _ = io.Copy(io.Discard, conn)
}

func short(s string) string { return s[:min(len(s), 300)] }

// bridge has everything joined that was kept, and nothing may be left.
func (w *world) bridge() {
	w.Helper()
	readers := func(name string) func(carrier.Delivery) (carrier.Report, error) {
		return map[string]func(carrier.Delivery) (carrier.Report, error){"twilio": twilio.Read, "telnyx": telnyx.Read}[name]
	}
	for {
		n, err := w.db.Bridge(w.Context(), readers, 500)
		if err != nil {
			w.Errorf("bridging: %v", err)
		}
		if n == 0 {
			break
		}
	}
	for _, table := range []string{"tenant_twilio_events", "tenant_telnyx_events"} {
		if n := w.count(`select count(*) from ` + table + ` where bridged_at is null or problem like '%failed%' or problem like '%refused%'`); n > 0 {
			w.Errorf("%d of %s are not bridged, or made something fail", n, table)
		}
	}
}

// checkRows looks for rows that ended in another way than they should, and for any that is stuck.
func (w *world) checkRows(rows []row) {
	w.Helper()
	got := map[string]string{}
	found, err := w.db.Pool.Query(w.Context(), `
		select ref, state || '/' || case when state = 'call_placed' then '' else coalesce(reason, '') end from phone_followups`)
	if err != nil {
		w.Fatal(err)
	}
	var ref, ended string
	if _, err := pgx.ForEachRow(found, []any{&ref, &ended}, func() error { got[ref] = ended; return nil }); err != nil {
		w.Fatal(err)
	}
	for _, r := range rows {
		if end, is := got[r.ref]; !slices.Contains(r.want, end) && !slices.Equal(r.want, []string{door}) || !is && !slices.Equal(r.want, []string{door}) {
			w.Errorf("%q ended as %q, want one of %q: %q", r.ref, end, r.want, short(fmt.Sprint(r.columns)))
		}
	}
	if n := w.count(`select count(*) from phone_followups f where state = 'dialing'
		or state = 'due' and (next_try_at <= clock_timestamp() or next_try_at > due_at and reason is null)
		or state <> 'due' and (version is null or not exists (select from followup_events e where e.followup_id = f.id and e.version = f.version and e.to_state = state))`); n > 0 {
		w.Errorf("%d rows are stuck, or are what no ledger row says", n)
	}
	if n := w.count(`select count(*) from phone_followups where ref like 'good %' and call_status is distinct from 'completed'`); n > 0 {
		w.Errorf("%d good calls have no end, though it was told", n)
	}
}

// checkRings holds the company's own book against what should have been rung.
func (w *world) checkRings(rows []row) {
	w.Helper()
	book := w.company.book()
	for _, r := range rows {
		n := book[r.number]
		if r.number != "" && n > 1 || r.good && n != 1 || r.number != "" && n != 1 && slices.Equal(r.want, []string{rung}) {
			w.Errorf("%q was rung %d times", r.ref, n)
		}
		delete(book, r.number)
	}
	for number, n := range book {
		w.Errorf("%q was rung %d times, and no row is about it", number, n)
	}
}

// checkLog looks for panics, and for numbers.
func (w *world) checkLog() {
	w.Helper()
	said := w.log.String()
	for line := range strings.Lines(said) {
		if strings.Contains(line, "panic") || regexp.MustCompile(`\+?1(415|510|628)[2-9]\d{6}`).MatchString(line) {
			w.Errorf("logged: %s", short(line))
		}
	}
}
