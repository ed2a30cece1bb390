package pgtest

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// server is where the tests of this binary have their databases.
type server struct {
	admin    *pgxpool.Pool // makes and drops them
	address  *url.URL      // of any database, as the role
	role     string        // owns the databases; the tests connect as it
	strategy string        // how a template is copied, as a clause of CREATE DATABASE
	run      string        // sets the templates of one run of go test apart; empty on a server that is not ours
}

// shared is a variable of the package, the only one, because the tests of a binary share the
// server and nothing above them could carry it. Nothing stops the server from here, because
// nothing is called when a test binary ends: the kernel does, by closing the server's leash.
var shared = sync.OnceValues(open)

func open() (*server, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	if given := os.Getenv("DATABASE_URL"); given != "" {
		s, err := connect(ctx, given)
		if err != nil {
			return nil, fmt.Errorf("use the server of DATABASE_URL: %w", err)
		}
		return s, nil
	}
	embedded, err := startInFreeSlot(ctx)
	if err != nil {
		return nil, err
	}
	s, err := connect(ctx, embedded.URL())
	if err == nil {
		err = s.makeOurs(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, embedded.Stop())
	}
	return s, nil
}

func connect(ctx context.Context, address string) (*server, error) {
	u, err := url.Parse(address)
	if err != nil || !strings.HasPrefix(u.Scheme, "postgres") {
		return nil, errors.New("it must have the form postgres://user:password@host:port/database")
	}
	config, err := pgxpool.ParseConfig(address)
	if err != nil {
		return nil, err
	}
	config.MaxConns = 4
	admin, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	s := &server{admin: admin, address: u, role: config.ConnConfig.User}
	// Copying files beats copying through the log, unless files must reach the disk. The
	// choice is there since version 15.
	var choose bool
	err = admin.QueryRow(ctx, "SELECT current_setting('fsync') = 'off' AND current_setting('server_version_num')::int >= 150000").Scan(&choose)
	if err != nil {
		admin.Close()
		return nil, err
	}
	if choose {
		s.strategy = " STRATEGY FILE_COPY"
	}
	return s, nil
}

// makeOurs readies a server that nobody else uses.
func (s *server) makeOurs(ctx context.Context) error {
	// All binaries of one go test have it for a parent. A template made by another run is
	// not used again, so a Hash that forgets something misleads nobody for long.
	s.run = "run " + strconv.Itoa(os.Getppid())
	if err := s.clear(ctx); err != nil {
		return fmt.Errorf("clear the last run's databases away: %w", err)
	}
	// The tests are no superusers, who would not notice a missing right.
	s.role = "pgtest"
	password, _ := s.address.User.Password() // hexadecimal, so it needs no quoting
	_, err := s.admin.Exec(ctx, `DO $$ BEGIN
		IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'pgtest') THEN
			CREATE ROLE pgtest LOGIN PASSWORD '`+password+`';
		END IF;
	END $$`)
	if err != nil {
		return fmt.Errorf("make the role of the tests: %w", err)
	}
	s.address.User = url.UserPassword(s.role, password)
	return nil
}

// url is the address of one of the databases.
func (s *server) url(database string) string {
	u := *s.address
	u.Path = "/" + database
	return u.String()
}
