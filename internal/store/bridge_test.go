package store_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"pgregory.net/rapid"

	"chasephone/internal/arrivals"
	"chasephone/internal/carrier"
	"chasephone/internal/carrier/twilio"
	"chasephone/internal/store"
)

func readers(string) func(carrier.Delivery) (carrier.Report, error) { return twilio.Read }

// office is one tenant with one line and one attempt, written down as a claim would have.
type office struct {
	db       *store.Store
	tenant   string
	us, them string
	followUp string
	token    string
}

// newOffice has an attempt whose outcome is "" (open), uncertain, placed, did_not_ring or not_placed.
func newOffice(t testing.TB, db *store.Store, n int, outcome, callID string) office {
	t.Helper()
	o := office{
		db: db, tenant: fmt.Sprintf("office%d", n), token: uuid.NewString(), followUp: uuid.NewString(),
		us: fmt.Sprintf("+1212%07d", n), them: fmt.Sprintf("+1415%07d", n),
	}
	state := map[string]string{"": "dialing", "uncertain": "uncertain", "placed": "call_placed", "did_not_ring": "due", "not_placed": "due"}[outcome]
	if _, err := db.Pool.Exec(t.Context(), `
		with t as (insert into tenants (id) values (@tenant) returning id),
		l as (insert into lines (tenant_id, name, carrier, caller_number) select id, 'default', 'twilio', @us from t)
		select from t`, pgx.NamedArgs{"tenant": o.tenant, "us": o.us}); err != nil {
		t.Fatal(err)
	}
	tx, err := db.Pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) }()
	args := pgx.NamedArgs{"id": o.followUp, "tenant": o.tenant, "them": o.them, "us": o.us, "token": o.token, "state": state, "outcome": orNil(outcome), "call": orNil(callID)}
	for _, sql := range []string{
		`alter table phone_followups disable trigger user`, // the guards are not what is tested
		`insert into phone_followups (id, tenant_id, ref, phone_number, due_at, script, e164)
		 values (@id, @tenant, 'r', @them, now() - interval '1 minute', 'x', @them)`,
		`insert into attempts (followup_id, no, token, tenant_id, line, carrier, e164, caller_number, daemon_id, created_at, begin_at, send_by, answer_by, late_at, outcome, outcome_at, call_id, decided_by)
		 values (@id, 1, @token, @tenant, 'default', 'twilio', @them, @us, gen_random_uuid(), now(), now(), now(), now() + interval '10 s', now() + interval '1 day',
		   @outcome::text, case when @outcome::text is not null then now() end, @call, case when @outcome::text = 'did_not_ring' or @outcome::text = 'placed' and @call::text is null then 'ana' end)`,
		`insert into followup_events (followup_id, version, tenant_id, at, from_state, to_state, actor) values (@id, 1, @tenant, now(), 'due', @state, 'daemon')`,
		`update phone_followups set state = @state, attempt_no = 1, version = 1, call_id = @call, reason = 'r', ready = @state = 'due',
		   decided_by = case when @state = 'call_placed' and @call::text is null then 'ana' end where id = @id`,
		`alter table phone_followups enable trigger user`,
	} {
		if _, err := tx.Exec(t.Context(), sql, pick(sql, args)...); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	return o
}

func pick(sql string, args pgx.NamedArgs) []any {
	if !strings.Contains(sql, "@") {
		return nil
	}
	return []any{args}
}

func orNil(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// said is one thing that Twilio tells: in some order, and as often as it likes.
type said struct {
	sid, status, kind string // kind: ours, other, in, text
	at                time.Duration
	to                string // of ours: "" for the attempt's own number, else another, or "anonymous"
}

func (o office) arrival(t testing.TB, s said) arrivals.Arrival {
	t.Helper()
	form := url.Values{"AccountSid": {"AC1"}, "CallSid": {s.sid}, "CallStatus": {s.status}, "From": {o.us}, "To": {o.them}, "Direction": {"outbound-api"}}
	d := carrier.Delivery{Kind: "status"}
	switch s.kind {
	case "ours":
		d.Token = o.token
		if s.to != "" {
			form.Set("To", s.to)
		}
	case "in":
		form.Set("From", o.them)
		form.Set("To", o.us)
		form.Set("Direction", "inbound")
	case "text":
		d.Kind = "message"
		form = url.Values{"MessageSid": {s.sid}, "From": {o.them}, "To": {o.us}, "Body": {"call me"}, "SmsStatus": {"received"}}
	}
	if s.kind != "text" {
		form.Set("Timestamp", epoch.Add(s.at).Format("Mon, 02 Jan 2006 15:04:05 +0000"))
	}
	if carrier.Status(s.status).Final() {
		form.Set("CallDuration", strconv.Itoa(int(s.at/time.Second)))
	}
	d.Body = []byte(form.Encode())
	r, err := twilio.Read(d)
	if err != nil {
		t.Fatal(err)
	}
	return arrivals.Arrival{Accounts: []string{"twilio"}, Delivery: d, Report: r}
}

var epoch = time.Date(2026, 11, 2, 10, 0, 0, 0, time.UTC)

func keep(t testing.TB, db *store.Store, all ...arrivals.Arrival) []bool {
	t.Helper()
	foreign, err := db.Keep(t.Context(), all)
	if err != nil {
		t.Fatal(err)
	}
	return foreign
}

func bridge(t testing.TB, db *store.Store, most int) int {
	t.Helper()
	n, err := db.Bridge(t.Context(), readers, most)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// canonical is everything that arrivals came to for an office, but for ids, in words in which
// two offices that were told the same are the same.
func (o office) canonical(t testing.TB) string {
	t.Helper()
	var text string
	err := o.db.Pool.QueryRow(t.Context(), `
		select concat_ws(E'\n',
		  (select string_agg('contact ' || e164, E'\n' order by e164) from contacts where tenant_id = @t),
		  (select string_agg(concat_ws(' ', 'thread', c.e164, first_at, last_at), E'\n' order by c.e164) from threads h join contacts c on c.id = h.contact_id where h.tenant_id = @t),
		  (select string_agg(concat_ws(' ', 'message', external_id, kind, direction, our_number, status, finals, began_at, ended_at, seconds, body, attempt_no, c.e164), E'\n' order by external_id)
		   from messages m left join threads h on h.id = m.thread_id left join contacts c on c.id = h.contact_id where m.tenant_id = @t),
		  (select string_agg(concat_ws(' ', 'other', o.e164, o.direction, o.began_at, o.talked, o.source), E'\n' order by o.began_at, o.direction, o.source, o.talked) from other_calls o where o.tenant_id = @t),
		  (select string_agg(concat_ws(' ', 'followup', state, call_id, call_status), E'\n' order by ref) from phone_followups where tenant_id = @t),
		  (select string_agg(concat_ws(' ', 'attempt', outcome, call_id), E'\n' order by no) from attempts where tenant_id = @t),
		  (select 'ends ' || count(*) from evidence v join attempts a on a.followup_id = v.followup_id where a.tenant_id = @t and v.says = 'ends'))`,
		pgx.NamedArgs{"t": o.tenant}).Scan(&text)
	if err != nil {
		t.Fatal(err)
	}
	return strings.NewReplacer(o.us, "US", o.them, "THEM").Replace(text)
}

// offices tell tests' offices apart: numbers are the fleet's.
var offices atomic.Int64 //nolint:gochecknoglobals // a counter for names

func sid(kind string, n int) string { return kind + fmt.Sprintf("%032x", n) }

// R12: any order of any multiset of the same arrivals ends in the same canonical rows, bridged in
// whatever portions; and bridging all of them again changes nothing.
func TestAnyOrderOfArrivalsEndsTheSame(t *testing.T) {
	t.Parallel()
	db := open(t)
	rapid.Check(t, func(rt *rapid.T) {
		n := int(offices.Add(2))
		outcome := rapid.SampledFrom([]string{"", "uncertain", "placed", "did_not_ring", "not_placed"}).Draw(rt, "outcome")
		statuses := []string{"queued", "initiated", "ringing", "in-progress", "completed", "busy", "no-answer", "failed", "canceled"}
		var all []said
		for i := range rapid.IntRange(1, 6).Draw(rt, "said") {
			kind := rapid.SampledFrom([]string{"ours", "ours", "ours", "other", "in", "text"}).Draw(rt, "kind")
			s := said{kind: kind, status: rapid.SampledFrom(statuses).Draw(rt, "status"), at: time.Duration(rapid.IntRange(0, 100).Draw(rt, "at")) * time.Second}
			switch kind { // the carrier gives one call one id
			case "ours":
				s.sid = sid("CA", 1000*n)
				s.to = rapid.SampledFrom([]string{"", "", "", "anonymous", "+19995550123"}).Draw(rt, "to")
			case "text":
				s.sid = sid("SM", 1000*n+i)
			default:
				s.sid = sid("CA", 1000*n+rapid.IntRange(1, 2).Draw(rt, "call")+10*len(kind))
			}
			all = append(all, s)
		}
		var ends [2]string
		for side := range ends {
			callID := ""
			if outcome == "placed" {
				callID = sid("CA", 1000*n)
			}
			var first int64
			if err := db.Pool.QueryRow(t.Context(), `select coalesce(max(id), 0) from tenant_twilio_events`).Scan(&first); err != nil {
				t.Fatal(err)
			}
			o := newOffice(t, db, n+side, outcome, callOf(callID, side))
			told := append([]said(nil), all...)
			if side == 1 {
				for range rapid.IntRange(0, 6).Draw(rt, "repeats") {
					told = append(told, all[rapid.IntRange(0, len(all)-1).Draw(rt, "again")])
				}
				rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 1)).Shuffle(len(told), func(i, j int) { told[i], told[j] = told[j], told[i] })
			}
			portion := rapid.IntRange(1, 4).Draw(rt, "portion")
			for i, s := range told {
				s.sid = callOf(s.sid, side)
				keep(t, db, o.arrival(t, s))
				// What Twilio does not date is dated by when it first came.
				if s.kind == "text" {
					if _, err := db.Pool.Exec(t.Context(), `update tenant_twilio_events set received_at = $2 where message_sid = $1`, s.sid, epoch); err != nil {
						t.Fatal(err)
					}
				}
				if i%portion == 0 {
					bridge(t, db, rapid.IntRange(1, 3).Draw(rt, "most"))
				}
			}
			for bridge(t, db, 500) > 0 {
			}
			ends[side] = o.canonical(t)
			var optOuts, attempts int // no status opts anybody out, or rings again
			if err := db.Pool.QueryRow(t.Context(), `select (select count(*) from do_not_call), (select count(*) from attempts where tenant_id = $1)`, o.tenant).Scan(&optOuts, &attempts); err != nil || optOuts != 0 || attempts != 1 {
				rt.Fatalf("%d opt-outs, %d attempts, %v", optOuts, attempts, err)
			}
			if side == 1 {
				ends[side] = strings.ReplaceAll(ends[side], "CAf", "CA0")
				ends[side] = strings.ReplaceAll(ends[side], "SMf", "SM0")
			}
			before := o.canonical(t)
			for last, n := first, 1; n > 0; {
				var err error
				if last, n, err = db.BridgeAgain(t.Context(), readers, "twilio", last, rapid.IntRange(1, 10).Draw(rt, "again at once")); err != nil {
					t.Fatal(err)
				}
			}
			if after := o.canonical(t); after != before {
				rt.Fatalf("bridged again:\n%s\n\nbefore:\n%s", after, before)
			}
		}
		if ends[0] != ends[1] {
			rt.Fatalf("outcome %q, said %v, one way:\n%s\n\nanother:\n%s", outcome, all, ends[0], ends[1])
		}
	})
}

// callOf gives the other side calls of its own: one call is one attempt's.
func callOf(id string, side int) string {
	if side == 0 || id == "" {
		return id
	}
	return id[:2] + "f" + id[3:]
}

// The database's order of call statuses is the code's.
func TestStatusRanks(t *testing.T) {
	t.Parallel()
	db := open(t)
	for _, s := range append(carrier.Statuses(), "", "hovering", "COMPLETED") {
		var rank int
		if err := db.Pool.QueryRow(t.Context(), `select call_status_rank($1)`, string(s)).Scan(&rank); err != nil || rank != s.Rank() {
			t.Errorf("%q: %d in the database, %d in the code (%v)", s, rank, s.Rank(), err)
		}
	}
}
