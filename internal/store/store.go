// Package store is PostgreSQL: one file per verb, each statement beside the function that
// runs it. It implements what drain and desk ask of a database, and decides nothing they do.
//
// Locks are taken in one order everywhere: fleet, tenants, lines, follow-ups, attempts,
// approvals. What is done for many rows never waits for one (SKIP LOCKED); a record takes
// its follow-ups by id.
package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"chasephone/internal/drain"
	"chasephone/internal/gates"
)

// Store is the database, shared by everything in one process.
type Store struct {
	Pool   *pgxpool.Pool
	Pooled bool // a transaction pooler (PgBouncer) stands between: no LISTEN, no prepared statements

	daemon   string // this process's id, a uuid
	carriers *drain.Carriers
	unknowns int // unknown answers in a row that hold a line; 0: never
	gates    gates.Options
	settings map[string]string
	defaults Defaults
	log      *slog.Logger

	jobs   Jobs
	memory memory
}

// Defaults are what the environment says where a row or a tenant is silent.
type Defaults struct {
	Region    string   // ISO 3166 alpha-2, for numbers typed without a country
	Countries []string // allowed; empty: the tenant's region only
}

// Config is what a daemon's Store is made of. Commands leave all but Gates and Defaults empty.
type Config struct {
	Daemon   string
	Carriers *drain.Carriers // nil: none
	Unknowns int
	Gates    gates.Options     // what the gates are built with: facts that they do not need are not loaded
	Settings map[string]string // what the environment says of the gates, for others to compare with theirs
	Defaults Defaults
	Log      *slog.Logger
}

// Connect opens a pool and waits for nothing: the error says why the database cannot be
// used now. Close ends it.
func Connect(ctx context.Context, url string, conns int32) (*Store, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("reading DATABASE_URL: %w", redact(err))
	}
	config.MaxConns = conns
	// A failover must not pin a node that has become read-only, nor a dead peer hold a call.
	config.MaxConnLifetime = 10 * time.Minute
	config.ConnConfig.ConnectTimeout = 5 * time.Second
	config.ConnConfig.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite
	if config.ConnConfig.RuntimeParams["application_name"] == "" {
		config.ConnConfig.RuntimeParams["application_name"] = "chasephone"
	}
	pooled, err := pooler(ctx, config.ConnConfig)
	if err != nil {
		return nil, fmt.Errorf("connecting to the database: %w", redact(err))
	}
	if pooled {
		config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
	}
	config.AfterConnect = inUTC
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("connecting to the database: %w", redact(err))
	}
	return &Store{Pool: pool, Pooled: pooled, log: slog.New(slog.DiscardHandler), carriers: &drain.Carriers{}}, nil
}

// With gives a Store what a daemon's needs beyond its connections.
func (s *Store) With(c Config) *Store {
	s.daemon, s.unknowns, s.defaults = c.Daemon, c.Unknowns, c.Defaults
	if s.carriers = c.Carriers; s.carriers == nil {
		s.carriers = &drain.Carriers{}
	}
	s.gates, s.settings = c.Gates, c.Settings
	if c.Log != nil { // commands have none
		s.log = c.Log
	}
	return s
}

// Jobs insert what is to follow on a change, in the change's own transaction. One that is nil
// is left out.
type Jobs struct {
	Bridge func(ctx context.Context, tx pgx.Tx) error                          // arrivals were kept
	Speak  func(ctx context.Context, tx pgx.Tx, followUp string, no int) error // a call of ours was answered
}

// FollowBy has jobs follow on changes.
func (s *Store) FollowBy(jobs Jobs) { s.jobs = jobs }

// carrierNames are the carriers that this daemon can call with; never nil, which is SQL's null.
func (s *Store) carrierNames() []string {
	return s.carriers.Names()
}

// Close ends the connections.
func (s *Store) Close() { s.Pool.Close() }

// pooler reports whether a pooler stands between: the process id that a server tells at the
// start of a session is its own, a pooler's is made up.
func pooler(ctx context.Context, config *pgx.ConnConfig) (bool, error) {
	config = config.Copy()
	config.DefaultQueryExecMode = pgx.QueryExecModeExec
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return false, err
	}
	defer func() { _ = conn.Close(ctx) }()
	var pid uint32
	if err := conn.QueryRow(ctx, `select pg_backend_pid()`).Scan(&pid); err != nil {
		return false, err
	}
	return pid != conn.PgConn().PID(), nil
}

// inUTC makes instants read back the same on every machine, whatever zone it keeps.
func inUTC(_ context.Context, conn *pgx.Conn) error {
	conn.TypeMap().RegisterType(&pgtype.Type{
		Name: "timestamptz", OID: pgtype.TimestamptzOID, Codec: &pgtype.TimestamptzCodec{ScanLocation: time.UTC},
	})
	return nil
}

// redact keeps what pgx says but never the connection string.
func redact(err error) error {
	var parse *pgconn.ParseConfigError
	if errors.As(err, &parse) {
		return errors.New("it is not a PostgreSQL connection string (postgres://user:password@host:port/database)")
	}
	return err
}

// Unreachable reports whether err says that the database could not be reached or is not up
// (yet), rather than that it refused what was asked.
func Unreachable(err error) bool {
	var (
		connect *pgconn.ConnectError
		network net.Error
		refused *pgconn.PgError
	)
	if errors.As(err, &refused) {
		switch refused.Code[:2] {
		case "08", "57", "53": // connection, operator intervention (starting up, shutting down), resources
			return true
		}
		return refused.Code == "25006" // read-only: a standby, or a node being failed over
	}
	return errors.As(err, &connect) || errors.As(err, &network) || pgconn.SafeToRetry(err) ||
		errors.Is(err, context.DeadlineExceeded)
}

// beginSQL begins every transaction of ours. A process that hangs in the middle of one must
// not keep its locks from the fleet, and from stop; and an attempt that a crash of the server
// can forget is one that rings twice, whatever the role's settings say. chasephone.writes
// tells the guards from somebody else's statement. What is read after a wait for a lock is read anew,
// whatever the database's own isolation level is.
//
// Every statement in it finds its rows by an index, for as many keys as it is given. A plan that scans
// or hashes a table because it was small when somebody looked is a cliff once it is not: such plans,
// and those made anew for each set of keys, are ruled out, and JIT, which would compile what costs
// nothing, with them.
const beginSQL = `begin isolation level read committed;
set local idle_in_transaction_session_timeout = '20s';
set local chasephone.writes = 'on';
set local plan_cache_mode = 'force_generic_plan';
set local enable_seqscan = 'off';
set local jit = 'off';
select set_config('synchronous_commit', 'on', true) where current_setting('synchronous_commit') in ('off', 'local')`

// tx runs do in one transaction and tells an unknown commit from a failed one.
func (s *Store) tx(ctx context.Context, do func(pgx.Tx) error) error {
	tx, err := s.Pool.BeginTx(ctx, pgx.TxOptions{BeginQuery: beginSQL})
	if err != nil {
		return fmt.Errorf("beginning a transaction: %w", err)
	}
	// Detached, so that a transaction whose ctx has ended does not keep its locks.
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		_ = tx.Rollback(ctx)
	}()
	if err := do(tx); err != nil {
		return err
	}
	return commit(ctx, tx)
}

// commit commits, and says drain.ErrCommitUnknown unless the server said that it did not.
func commit(ctx context.Context, tx pgx.Tx) error {
	err := tx.Commit(ctx)
	var refused *pgconn.PgError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, pgx.ErrTxCommitRollback), errors.Is(err, pgx.ErrTxClosed),
		errors.As(err, &refused) && !Unreachable(err): // a pooler, too, can lose the reply
		return fmt.Errorf("committing: %w", err)
	}
	return fmt.Errorf("%w: %w", drain.ErrCommitUnknown, err)
}

// rowError marks what the database refused because of the rows themselves.
func rowError(err error) error {
	var refused *pgconn.PgError
	if errors.As(err, &refused) {
		switch refused.Code[:2] {
		case "21", "22", "23", "44": // cardinality, data, integrity, a view's check
			return &drain.RowError{Err: err}
		case "38", "39", "54", "P0": // a function or a trigger of somebody's, a limit of the server's
			return &drain.RowError{Err: err}
		}
	}
	return err
}
