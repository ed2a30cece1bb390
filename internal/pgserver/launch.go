package pgserver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

const (
	databaseName   = "chasephone"
	userOfDatabase = "chasephone"
)

// retryFor bounds the starts that are tried again: see isTransient.
const retryFor = 15 * time.Second

// launcher starts the server on data that is there.
type launcher struct {
	folder   folder
	binaries binaries
	claim    *claim
	password string
	fsyncOff bool
	log      *slog.Logger
}

// launch starts the server and returns it and its port when it takes connections.
func (l launcher) launch(ctx context.Context) (*helper, int, error) {
	for deadline := time.Now().Add(retryFor); ; {
		port, err := freePort()
		if err != nil {
			return nil, 0, err
		}
		h, err := l.startHelper(port)
		if err != nil {
			return nil, 0, err
		}
		err = l.awaitReady(ctx, h, port)
		if err == nil {
			return h, port, nil
		}
		_ = h.stop()
		if !isTransient(h.said.tail()) || time.Now().After(deadline) || ctx.Err() != nil {
			return nil, 0, err
		}
		l.log.Warn("starting PostgreSQL again", "error", err)
		if err := pause(ctx, 10*pollEvery); err != nil {
			return nil, 0, err
		}
	}
}

// isTransient says whether the server's last words name something that passes: somebody took
// the port in the moment between our look and the server's, or the sessions of a server that
// was killed are not all gone.
func isTransient(tail string) bool {
	return strings.Contains(tail, "could not create any TCP/IP sockets") ||
		strings.Contains(tail, "pre-existing shared memory block") ||
		strings.Contains(tail, `lock file "postmaster.pid" already exists`)
}

func freePort() (int, error) {
	listener, err := new(net.ListenConfig).Listen(context.Background(), "tcp4", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("find a free port for PostgreSQL: %w", err)
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port, nil
}

// postgres is the server's command line.
func (l launcher) postgres(port int) []string {
	command := []string{filepath.Join(l.binaries.dir, "postgres"), "-D", l.folder.pgdata()}
	for _, setting := range append(settings(port), l.durability()...) {
		command = append(command, "-c", setting)
	}
	return command
}

func settings(port int) []string {
	return []string{
		"port=" + strconv.Itoa(port),
		"listen_addresses=127.0.0.1",
		"unix_socket_directories=", // none: Debian's default needs a folder that root makes at boot
		"max_connections=300",
		"cluster_name=chasephone",
		"timezone=UTC",
		// We read what it says, and it must say nothing of the rows, which hold telephone
		// numbers. What goes wrong in a session is told to the session.
		"logging_collector=off",
		"log_destination=stderr",
		"log_line_prefix=",
		"lc_messages=C",
		"log_min_messages=log",
		"log_error_verbosity=terse",
		"log_min_error_statement=panic",
		"log_statement=none",
		"log_checkpoints=off",
		"log_min_duration_statement=-1",
	}
}

func (l launcher) durability() []string {
	if !l.fsyncOff {
		return nil // the defaults are right, and postgresql.conf may say otherwise
	}
	// No more than this: what was committed still survives the death of every process, because
	// the kernel has it.
	return []string{"fsync=off", "max_wal_size=128MB"}
}

// awaitReady returns when the database can be used. There is no bound but ctx: after a crash
// the server reads its log again first, and how long that takes nobody knows.
func (l launcher) awaitReady(ctx context.Context, h *helper, port int) error {
	for {
		if h.hasEnded() {
			if h.ending != nil {
				return h.ending
			}
			return errors.New("PostgreSQL ended as soon as it was started: " + h.said.tail())
		}
		// The file tells us when to try: a connection that comes too early is refused in the log.
		// It may be a dead server's, so only the connection proves anything.
		if p, ok := readPostmaster(l.folder.pgdata()); ok && p.ready && p.port == port {
			err := l.ensureDatabase(ctx, port)
			if refused, answered := errors.AsType[*pgconn.PgError](err); err == nil || answered && refused.Code != "57P03" { // cannot_connect_now
				return err
			}
		}
		if err := pause(ctx, pollEvery); err != nil {
			return fmt.Errorf("wait for PostgreSQL to take connections (it said: %s): %w", h.said.tail(), err)
		}
	}
}

// ensureDatabase makes sure that the database is there and takes our password.
func (l launcher) ensureDatabase(ctx context.Context, port int) error {
	conn, err := pgx.Connect(ctx, connURL(l.password, port, databaseName))
	if err == nil {
		return conn.Close(ctx)
	}
	if e, ok := errors.AsType[*pgconn.PgError](err); !ok || e.Code != "3D000" { // invalid_catalog_name: no such database
		return fmt.Errorf("connect to the database with the password in %s: %w", l.folder.passwordFile(), err)
	}
	conn, err = pgx.Connect(ctx, connURL(l.password, port, "postgres"))
	if err != nil {
		return fmt.Errorf("connect to make the database: %w", err)
	}
	defer func() { _ = conn.Close(ctx) }()
	if _, err := conn.Exec(ctx, "CREATE DATABASE "+databaseName); err != nil {
		return fmt.Errorf("make the database: %w", err)
	}
	return nil
}

func connURL(password string, port int, database string) string {
	u := url.URL{
		Scheme:   "postgres",
		User:     url.UserPassword(userOfDatabase, password),
		Host:     net.JoinHostPort("127.0.0.1", strconv.Itoa(port)),
		Path:     database,
		RawQuery: "sslmode=disable",
	}
	return u.String()
}
