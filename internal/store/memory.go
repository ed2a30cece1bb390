package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// Invariant: a claim commits attempts only where the newest attempts that this process knows to be
// committed, its own and the fleet's, are in the database still, with every release that it has seen,
// or a person has released what was lost; and for
// quietFor after the database turned out to be another than before, nobody claims, so that every
// daemon can say that it misses one.

// Seen is what a daemon remembers of the fleet's database, to know one that has forgotten. Attempts
// are told by their tokens; "" is none.
type Seen struct {
	Fleet  string    `json:"fleet"`            // fleet.id: the same in every copy
	Server string    `json:"server"`           // which cluster, timeline, database and table it was seen in
	Own    string    `json:"own,omitempty"`    // of this process's newest claim
	Newest string    `json:"newest,omitempty"` // the fleet's newest, when it was looked at last
	At     time.Time `json:"at,omitzero"`      // when the newer of them was made, by the database's clock
	// Released are the holds whose release was seen. One that is gone is forgotten, too; one that is
	// not among them is a person's word on all that was lost before it.
	Released []string `json:"released,omitempty"`
}

// Memory keeps what was seen beyond the process's end. Recall says false where it has nothing
// of that fleet.
type Memory interface {
	Recall(fleet string) (Seen, bool, error)
	Keep(Seen) error
}

// quietFor is how long nobody claims in a database that is another than before: every daemon
// looks every few seconds (tick.Upkeep), and may have to connect first.
const quietFor = 15 * time.Second

// memory is what this process has seen. The zero memory remembers nothing, as a command does.
type memory struct {
	mu        sync.Mutex
	on        bool
	keep      Memory
	serverSQL string
	seen      Seen
	another   string    // a server that is not seen.Server; "" where there is none
	quietTill time.Time // on this process's clock: until then nothing is claimed there
	failing   bool      // it could not be kept, as last said
}

// serverSQL tells one database from another of the same fleet: a restored cluster has another
// identifier, one that was promoted another timeline, and what a dump was loaded into another
// database, or at least another table. What a role may not ask is left out.
const serverSQL = `
select case when has_function_privilege('pg_control_system()', 'execute') then $$(select system_identifier::text from pg_control_system())$$ else $$''$$ end
  || case when has_function_privilege('pg_current_wal_insert_lsn()', 'execute') and has_function_privilege('pg_walfile_name(pg_lsn)', 'execute')
     then $$ || '/' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8)$$ else '' end
  || $$ || '/' || (select oid from pg_database where datname = current_database()) || '/' || 'attempts'::regclass::oid$$`

// Remember makes this process compare what it has seen with what the database knows, from now on.
// It says false where nothing was remembered: then this database, as it is, is all that it knows.
func (s *Store) Remember(ctx context.Context, keep Memory) (remembered bool, err error) {
	m := &s.memory
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := s.Pool.QueryRow(ctx, serverSQL).Scan(&m.serverSQL); err != nil {
		return false, fmt.Errorf("asking how to tell databases apart: %w", err)
	}
	var now Seen
	var token *string
	var at *time.Time
	err = s.Pool.QueryRow(ctx, `
		select f.id::text, `+m.serverSQL+`, `+releasedSQL+`, a.token::text, a.created_at
		from fleet f left join lateral (`+newestSQL+`) a on true`).Scan(&now.Fleet, &now.Server, &now.Released, &token, &at)
	if err != nil {
		return false, fmt.Errorf("looking at the database: %w", err)
	}
	now.Newest, now.At = text(token), orZero(at)
	if m.seen, remembered, err = keep.Recall(now.Fleet); err != nil {
		s.log.Error("what was seen before cannot be read: it is taken as forgotten", "err", err)
	}
	m.on, m.keep = true, keep
	if !remembered {
		m.seen = now
		if now.Newest != "" || len(now.Released) > 0 { // others may have seen more
			m.another, m.quietTill = now.Server, time.Now().Add(quietFor)
		}
	}
	s.keepSeen()
	return remembered, nil
}

// newestSQL is the attempt that was made last, by the index on begin_at: a paced one begins a little
// later than it is made (drain.paceAhead).
const newestSQL = `
select token, created_at from attempts
where begin_at >= (select max(begin_at) from attempts) - interval '10 seconds'
order by created_at desc, token limit 1`

const releasedSQL = `(select coalesce(array_agg(id::text order by id), '{}') from ringing_holds where released_at is not null)`

// knowsSQL asks which server it is, whether it knows what was seen, and what was released in it.
func (m *memory) knowsSQL() string {
	return `
select ` + m.serverSQL + ` as server,
  (select count(*) = cardinality(@tokens::text[]) from attempts where token = any(@tokens::text[]::uuid[])) and @released::text[] <@ r.released
    or not r.released <@ @released::text[] as knows,
  r.released
from (select ` + releasedSQL + ` as released) r`
}

func (s Seen) args() pgx.StrictNamedArgs {
	tokens := []string{}
	for _, token := range []string{s.Own, s.Newest} {
		if token != "" && !slices.Contains(tokens, token) {
			tokens = append(tokens, token)
		}
	}
	return pgx.StrictNamedArgs{"tokens": tokens, "released": append([]string{}, s.Released...)}
}

// errForgotten says that the database does not have an attempt that was seen committed.
var errForgotten = errors.New("the database has forgotten an attempt that was seen committed")

// askKnows compares, in a claim's own transaction and under its lock of the fleet.
func (c *claiming) askKnows(batch *pgx.Batch) {
	seen, sql, on := c.memory.question()
	c.seen, c.knows = seen, true
	if on {
		batch.Queue(sql, seen.args()).QueryRow(func(row pgx.Row) error { return row.Scan(&c.seen.Server, &c.knows, &c.seen.Released) })
	}
}

// question is what was seen, and what asks whether the database knows it; false: nothing is remembered.
func (m *memory) question() (Seen, string, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.on {
		return Seen{}, "", false
	}
	return m.seen, m.knowsSQL(), true
}

// mayClaimIn reports whether the server may be claimed in: one that is another than before, only once
// it was looked at for quietFor.
func (s *Store) mayClaimIn(server string) bool {
	m := &s.memory
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	switch {
	case !m.on, server == m.seen.Server && m.another == "":
		return true
	case server != m.another:
		m.another, m.quietTill = server, now.Add(quietFor)
		s.log.Warn("the database is another than before (restored, failed over, or moved): no call begins until every daemon had time to say whether it has forgotten attempts",
			"was", m.seen.Server, "is", server, "for", quietFor)
		return false
	case now.Before(m.quietTill):
		return false
	}
	s.log.Info("the database has forgotten nothing that this daemon saw: calls begin again", "server", server)
	m.seen.Server, m.another = server, ""
	s.keepSeen()
	return true
}

// saw remembers an attempt of one's own that was seen committed, before it may ring.
func (s *Store) saw(in Seen, token string, at time.Time) {
	m := &s.memory
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.on {
		return
	}
	if !slices.Equal(in.Released, m.seen.Released) { // what was lost before is answered for
		m.seen.Newest, m.seen.Released = "", in.Released
	}
	m.seen.Own, m.seen.At = token, at
	s.keepSeen()
}

// keepSeen writes it down. The caller holds the lock. Where that cannot be done the process's own
// memory is what there is.
func (s *Store) keepSeen() {
	m := &s.memory
	err := m.keep.Keep(m.seen)
	if err != nil && !m.failing {
		s.log.Error("what was seen committed cannot be kept in DATA_DIR: this process alone remembers it, until it ends", "err", err)
	}
	m.failing = err != nil
}

// Look compares what was seen with what the database knows, holds all ringing where that has
// forgotten it, and takes the fleet's newest attempt for what was seen. Every daemon does it every
// few seconds.
func (s *Store) Look(ctx context.Context) error {
	m := &s.memory
	seen, sql, on := m.question()
	if !on {
		return nil
	}
	var (
		server   string
		knows    bool
		released []string
		token    *string
		at       *time.Time
	)
	err := s.Pool.QueryRow(ctx, `select x.*, a.token::text, a.created_at from (`+sql+`) x left join lateral (`+newestSQL+`) a on true`, seen.args()).
		Scan(&server, &knows, &released, &token, &at)
	if err != nil {
		return fmt.Errorf("comparing what was seen with what the database knows: %w", err)
	}
	if !knows {
		return s.holdForgotten(ctx)
	}
	s.mayClaimIn(server)
	m.mu.Lock()
	defer m.mu.Unlock()
	if !slices.Equal(m.seen.Released, seen.Released) { // a claim has seen more meanwhile
		return nil
	}
	changed := false
	if !slices.Equal(released, seen.Released) {
		m.seen.Released, changed = released, true
		if m.seen.Own == seen.Own {
			m.seen.Own = "" // lost, perhaps, and answered for
		}
	}
	if newest := text(token); newest != m.seen.Newest {
		m.seen.Newest, changed = newest, true
		if m.seen.Own == seen.Own {
			m.seen.At = orZero(at)
		}
	}
	if changed {
		s.keepSeen()
	}
	return nil
}
