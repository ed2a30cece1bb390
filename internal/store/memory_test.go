package store_test

import (
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgconn"

	"chasephone/internal/drain"
	"chasephone/internal/gates"
	"chasephone/internal/pgtest"
	"chasephone/internal/phone"
	"chasephone/internal/store"
)

// notebook is a Memory that a test can look into.
type notebook struct {
	mu   sync.Mutex
	seen *store.Seen
	fail error
}

func (n *notebook) Recall(string) (store.Seen, bool, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.seen == nil {
		return store.Seen{}, false, n.fail
	}
	return *n.seen, true, n.fail
}

func (n *notebook) Keep(s store.Seen) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.seen = &s
	return n.fail
}

func (n *notebook) read(t *testing.T) store.Seen {
	t.Helper()
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.seen == nil {
		t.Fatal("nothing is remembered")
	}
	return *n.seen
}

// silent is a carrier that is never asked: claims are looked at here, not calls.
type silent struct{ drain.Carrier }

func (silent) Fits(string) bool        { return true }
func (silent) CallsPerSecond() float64 { return 0 }

// witness is a daemon's store on a database that others may share.
func witness(t *testing.T, url string) *store.Store {
	t.Helper()
	db, err := store.Connect(t.Context(), url, 4)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return db.With(store.Config{
		Daemon: uuid.NewString(), Carriers: drain.NewCarriers(map[string]drain.Carrier{"silent": silent{}}),
		Gates: gates.Options{HoursOff: true}, Defaults: store.Defaults{Region: "US"}, Log: slog.New(slog.DiscardHandler),
	})
}

// claims commits what is due, and says how many attempts it was.
func claims(t *testing.T, db *store.Store) (int, bool) {
	t.Helper()
	if _, err := db.Admit(t.Context(), 500, phone.Parse); err != nil {
		t.Fatal(err)
	}
	ruler := drain.Ruler{Gates: gates.Chain(gates.Options{HoursOff: true}), NewToken: uuid.NewString}
	c, err := db.Claim(t.Context(), drain.Query{Most: 64}, ruler.Rule)
	if err != nil {
		t.Fatal(err)
	}
	return len(c.Attempts), c.Stopped
}

func remember(t *testing.T, db *store.Store, n *notebook) bool {
	t.Helper()
	remembered, err := db.Remember(t.Context(), n)
	if err != nil {
		t.Fatal(err)
	}
	return remembered
}

// promised is a database with a line, and promises due now of tenants of their own.
func promised(t *testing.T, tenants ...string) string {
	t.Helper()
	url := pgtest.URL(t)
	db := witness(t, url)
	for i, tenant := range tenants {
		for _, sql := range []string{
			`insert into tenants (id) values ('` + tenant + `')`,
			`insert into lines (tenant_id, name, carrier, caller_number) values ('` + tenant + `', 'default', 'silent', '+12125550123')`,
			`insert into phone_followups (tenant_id, ref, phone_number, due_at, script) values ('` + tenant + `', 'r', '+1415200000` + string(rune('0'+i)) + `', now(), 'Hello')`,
		} {
			if _, err := db.Pool.Exec(t.Context(), sql); err != nil {
				t.Fatalf("%s: %v", sql, err)
			}
		}
	}
	return url
}

// What is claimed is remembered before it may ring, and what others claim within a look.
func TestAttemptsAreRemembered(t *testing.T) {
	t.Parallel()
	url := promised(t, "a", "b")
	one, other := witness(t, url), witness(t, url)
	var mine, theirs notebook
	if remember(t, one, &mine) || remember(t, other, &theirs) {
		t.Fatal("something is remembered that was never seen")
	}
	if n, stopped := claims(t, one); n != 2 || stopped {
		t.Fatalf("%d attempts, stopped %t", n, stopped)
	}
	seen := mine.read(t)
	var is bool
	if err := one.Pool.QueryRow(t.Context(), `select exists (select from attempts where token = $1 and created_at = $2)`, seen.Own, seen.At).Scan(&is); err != nil || !is {
		t.Fatalf("%+v is no attempt: %v", seen, err)
	}
	if theirs.read(t).Newest != "" {
		t.Fatal("the other knows what it has not seen")
	}
	if err := other.Look(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := theirs.read(t); got.Newest == "" || got.Fleet != seen.Fleet || got.Server != seen.Server {
		t.Fatalf("the other remembers %+v, the first %+v", got, seen)
	}
}

// Row 19: a database that has forgotten an attempt holds all ringing, of every daemon, until a
// person releases it; whoever missed that attempt then misses it no more, and says so no more.
func TestForgottenAttemptHoldsAllRinging(t *testing.T) {
	t.Parallel()
	for name, notice := range map[string]func(t *testing.T, db *store.Store){
		"by a look": func(t *testing.T, db *store.Store) {
			if err := db.Look(t.Context()); err != nil {
				t.Fatal(err)
			}
		},
		"by a claim": func(t *testing.T, db *store.Store) {
			if n, stopped := claims(t, db); n != 0 || !stopped {
				t.Fatalf("%d attempts, stopped %t", n, stopped)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := promised(t, "a")
			knows, misses := witness(t, url), witness(t, url)
			var first, second notebook
			remember(t, knows, &first)
			second.seen = new(store.Seen)
			*second.seen = first.read(t)
			second.seen.Newest, second.seen.At = uuid.NewString(), time.Now().Add(time.Minute) // whatever the clocks say
			if !remember(t, misses, &second) {
				t.Fatal("what was kept is not remembered")
			}
			notice(t, misses)
			notice(t, misses)
			if n, stopped := claims(t, knows); n != 0 || !stopped {
				t.Fatalf("the others: %d attempts, stopped %t", n, stopped)
			}
			h, err := knows.RingingHeld(t.Context())
			if err != nil || h == nil || h.Why != "attempt_forgotten" {
				t.Fatalf("the hold is %+v: %v", h, err)
			}
			if ok, err := knows.Release(t.Context(), "ann", "seen"); err != nil || !ok {
				t.Fatalf("released %t: %v", ok, err)
			}
			if ok, err := knows.Release(t.Context(), "bob", "again"); err != nil || ok {
				t.Fatalf("released twice: %t, %v", ok, err)
			}
			if err := misses.Look(t.Context()); err != nil {
				t.Fatal(err)
			}
			if h, err := knows.RingingHeld(t.Context()); err != nil || h != nil {
				t.Fatalf("held again by what was released: %+v, %v", h, err)
			}
			if n, stopped := claims(t, misses); n != 1 || stopped {
				t.Fatalf("after the release: %d attempts, stopped %t", n, stopped)
			}
		})
	}
}

// A database that is another than before, and has forgotten nothing, holds nothing: it is only
// not claimed in for as long as every daemon needs to look.
func TestAnotherServerIsLookedAtFirst(t *testing.T) {
	t.Parallel()
	url := promised(t, "a", "b")
	db := witness(t, url)
	var n notebook
	remember(t, db, &n)
	moved := n.read(t)
	moved.Server = "another/00000002/1/2"
	db = witness(t, url)
	if !remember(t, db, &notebook{seen: &moved}) {
		t.Fatal("what was kept is not remembered")
	}
	if n, stopped := claims(t, db); n != 0 || !stopped {
		t.Fatalf("at once: %d attempts, stopped %t", n, stopped)
	}
	if h, err := db.RingingHeld(t.Context()); err != nil || h != nil {
		t.Fatalf("held: %+v, %v", h, err)
	}
	db.QuietIsOver()
	if n, stopped := claims(t, db); n != 2 || stopped {
		t.Fatalf("afterwards: %d attempts, stopped %t", n, stopped)
	}
	// A daemon that remembers nothing of a database that is in use waits, too.
	if _, err := db.Pool.Exec(t.Context(), `insert into phone_followups (tenant_id, ref, phone_number, due_at, script) values ('a', 's', '+14152000009', now(), 'Hello')`); err != nil {
		t.Fatal(err)
	}
	fresh := witness(t, url)
	remember(t, fresh, &notebook{})
	if _, stopped := claims(t, fresh); !stopped {
		t.Fatal("a daemon without a memory claims at once")
	}
}

// Where DATA_DIR cannot be written or read the process's own memory serves, and nothing fails.
func TestMemoryThatCannotBeKept(t *testing.T) {
	t.Parallel()
	url := promised(t, "a")
	db := witness(t, url)
	n := &notebook{fail: errors.New("read-only")}
	if remember(t, db, n) {
		t.Fatal("remembered what cannot be read")
	}
	if n, stopped := claims(t, db); n != 1 || stopped {
		t.Fatalf("%d attempts, stopped %t", n, stopped)
	}
	if n.read(t).Own == "" {
		t.Fatal("it did not try")
	}
}

// A backup is restored a second time, after a release: the release is forgotten, and so is what a
// person decided before it.
func TestForgottenReleaseHoldsAllRinging(t *testing.T) {
	t.Parallel()
	url := promised(t, "a")
	db := witness(t, url)
	n := &notebook{}
	remember(t, db, n)
	seen := n.read(t)
	seen.Released = []string{uuid.NewString()}
	if !remember(t, db, &notebook{seen: &seen}) {
		t.Fatal("what was kept is not remembered")
	}
	if n, stopped := claims(t, db); n != 0 || !stopped {
		t.Fatalf("%d attempts, stopped %t", n, stopped)
	}
	if h, err := db.RingingHeld(t.Context()); err != nil || h == nil {
		t.Fatalf("nothing is held: %v", err)
	}
}

// Two claims are under way at once, and the one that was made first commits last: each daemon misses
// its own, whatever the fleet's newest is.
func TestOwnAttemptIsNotHiddenByANewerOne(t *testing.T) {
	t.Parallel()
	url := promised(t, "a", "b")
	db := witness(t, url)
	n := &notebook{}
	remember(t, db, n)
	if n, _ := claims(t, db); n != 2 {
		t.Fatalf("%d attempts", n)
	}
	own := n.read(t).Own
	for _, sql := range []string{
		`alter table attempts disable trigger user`,
		`update attempts set created_at = created_at - interval '2 s', begin_at = begin_at + interval '1 s' where token = '` + own + `'`,
	} {
		if _, err := db.Pool.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Look(t.Context()); err != nil {
		t.Fatal(err)
	}
	seen := n.read(t)
	if seen.Own != own || seen.Newest == own || seen.Newest == "" {
		t.Fatalf("its own is %s, and it remembers %+v", own, seen)
	}
	if _, err := db.Pool.Exec(t.Context(), `update attempts set token = gen_random_uuid() where token = $1`, own); err != nil { // as if it had never been
		t.Fatal(err)
	}
	if err := db.Look(t.Context()); err != nil {
		t.Fatal(err)
	}
	if h, err := db.RingingHeld(t.Context()); err != nil || h == nil {
		t.Fatalf("nothing is held: %v", err)
	}
}

// While ringing is held the database takes no attempt, from whatever release of chasephone; and a claim
// that waited for the hold reads it, whatever the database's isolation level is.
func TestNoAttemptWhileHeld(t *testing.T) {
	t.Parallel()
	url := promised(t, "a")
	db := witness(t, url)
	if err := db.HoldUnowned(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	_, err := db.Pool.Exec(t.Context(), `insert into attempts select * from attempts where false`)
	var refused *pgconn.PgError
	if !errors.As(err, &refused) || refused.ConstraintName != "no_attempt_while_held" {
		t.Fatalf("it takes one: %v", err)
	}
	if ok, err := db.Release(t.Context(), "ann", ""); err != nil || !ok {
		t.Fatalf("released %t: %v", ok, err)
	}
	if _, err := db.Pool.Exec(t.Context(), `do $$ begin execute format('alter database %I set default_transaction_isolation = %L', current_database(), 'repeatable read'); end $$`); err != nil {
		t.Fatal(err)
	}
	late := witness(t, url) // its connections have that level
	holder, err := db.Pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := holder.Exec(t.Context(), `lock table fleet in exclusive mode`); err != nil {
		t.Fatal(err)
	}
	ready := make(chan error, 1)
	came := make(chan int, 1)
	go func() {
		_, err := late.Admit(t.Context(), 500, phone.Parse)
		ready <- err
		ruler := drain.Ruler{Gates: gates.Chain(gates.Options{HoursOff: true}), NewToken: uuid.NewString}
		c, err := late.Claim(t.Context(), drain.Query{Most: 64}, ruler.Rule)
		if err != nil {
			t.Error(err)
		}
		came <- len(c.Attempts)
	}()
	if err := <-ready; err != nil {
		t.Fatal(err)
	}
	waitsForALock(t, db)
	if _, err := holder.Exec(t.Context(), `insert into ringing_holds (held_by, why, detail, since) values (gen_random_uuid(), 'attempt_forgotten', 'a test', now())`); err != nil {
		t.Fatal(err)
	}
	if err := holder.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := <-came; n != 0 {
		t.Fatalf("%d attempts behind the hold", n)
	}
}
