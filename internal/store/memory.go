package store

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// Invariant: a claim commits attempts only where the newest attempt that this process knows to be
// committed is in the database still, or a person has released what was lost since; and for
// quietFor after the database turned out to be another than before, nobody claims, so that every
// daemon can say that it misses one.

// Seen is what a daemon remembers of the fleet's database, to know one that has forgotten.
type Seen struct {
	Fleet  string    `json:"fleet"`             // fleet.id: the same in every copy
	Server string    `json:"server"`            // which cluster, timeline, database and table it was seen in
	Token  string    `json:"attempt,omitempty"` // of the newest attempt seen committed; "" where there was none
	At     time.Time `json:"at,omitzero"`       // when that was made, by the database's clock
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
		select f.id::text, `+m.serverSQL+`, a.token::text, a.created_at
		from fleet f left join lateral (`+newestSQL+`) a on true`).Scan(&now.Fleet, &now.Server, &token, &at)
	if err != nil {
		return false, fmt.Errorf("looking at the database: %w", err)
	}
	now.Token, now.At = text(token), orZero(at)
	if m.seen, remembered, err = keep.Recall(now.Fleet); err != nil {
		s.log.Error("what was seen before cannot be read: it is taken as forgotten", "err", err)
	}
	m.on, m.keep = true, keep
	if !remembered {
		m.seen = now
		if now.Token != "" { // others may have seen more
			m.another, m.quietTill = now.Server, time.Now().Add(quietFor)
		}
	}
	s.keepSeen()
	return remembered, nil
}

// newestSQL is the newest attempt, by an index.
const newestSQL = `select token, created_at from attempts order by begin_at desc limit 1`

// knowsSQL asks for what was seen. A release answers for all that was lost before it.
func (m *memory) knowsSQL() string {
	return `
select ` + m.serverSQL + `, @token::text is null
  or exists (select from attempts where token = @token::text::uuid)
  or exists (select from ringing_holds where released_at > @at::timestamptz)`
}

func (s Seen) args() pgx.StrictNamedArgs {
	return pgx.StrictNamedArgs{"token": orNull(s.Token), "at": s.At}
}

// errForgotten says that the database does not have an attempt that was seen committed.
var errForgotten = errors.New("the database has forgotten an attempt that was seen committed")

// askKnows compares, in a claim's own transaction and under its lock of the fleet.
func (c *claiming) askKnows(batch *pgx.Batch) {
	seen, sql, on := c.memory.question()
	c.seen, c.knows = seen, true
	if on {
		batch.Queue(sql, seen.args()).QueryRow(func(row pgx.Row) error { return row.Scan(&c.seen.Server, &c.knows) })
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

// isQuiet reports whether the server may be claimed in: one that is another than before, only once
// it was looked at for quietFor.
func (s *Store) isQuiet(server string) bool {
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

// saw remembers an attempt that was seen committed, before it may ring.
func (s *Store) saw(in Seen, token string, at time.Time) {
	m := &s.memory
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.on || at.Before(m.seen.At) && in.Server == m.seen.Server {
		return
	}
	m.seen.Token, m.seen.At = token, at
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
		server string
		knows  bool
		token  *string
		at     *time.Time
	)
	err := s.Pool.QueryRow(ctx, `select x.*, a.token::text, a.created_at from (`+sql+`) x left join lateral (`+newestSQL+`) a on true`, seen.args()).
		Scan(&server, &knows, &token, &at)
	if err != nil {
		return fmt.Errorf("comparing what was seen with what the database knows: %w", err)
	}
	if !knows {
		return s.holdForgotten(ctx)
	}
	s.isQuiet(server)
	m.mu.Lock()
	defer m.mu.Unlock()
	if newest := text(token); m.seen.Token == seen.Token && newest != seen.Token {
		m.seen.Token, m.seen.At = newest, orZero(at)
		s.keepSeen()
	}
	return nil
}
