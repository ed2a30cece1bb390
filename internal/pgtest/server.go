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

	"github.com/jackc/pgx/v5"
	"github.com/peterldowns/pgtestdb"
)

// testServer is where the tests of this binary have their databases.
type testServer struct {
	config pgtestdb.Config
	run    string // sets the templates of one run of go test apart; empty on a server that is not ours
}

// server is a variable of the package, the only one, because the tests of a binary share it
// and nothing above them could carry it. The server is never stopped from here: no function
// is called when a test binary ends, so the kernel does it, by closing the server's leash.
var server = sync.OnceValues(open)

func open() (testServer, error) {
	if given := os.Getenv("DATABASE_URL"); given != "" {
		config, err := configOf(given)
		if err != nil {
			return testServer{}, fmt.Errorf("use the server of DATABASE_URL: %w", err)
		}
		return testServer{config: config}, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	s, err := startInFreeSlot(ctx)
	if err != nil {
		return testServer{}, err
	}
	if err := clearSlot(ctx, s.URL()); err != nil {
		return testServer{}, errors.Join(fmt.Errorf("clear the last run's databases away: %w", err), s.Stop())
	}
	config, err := configOf(s.URL())
	// All binaries of one go test have it for a parent. A template made by another run is
	// not used again, so a Hash that forgets something misleads nobody for long.
	return testServer{config: config, run: " of run " + strconv.Itoa(os.Getppid())}, err
}

// configOf is the address as pgtestdb wants it. It puts the parts together again as they are,
// so they are handed over escaped.
func configOf(address string) (pgtestdb.Config, error) {
	u, err := url.Parse(address)
	if err != nil || !strings.HasPrefix(u.Scheme, "postgres") {
		return pgtestdb.Config{}, errors.New("it must have the form postgres://user:password@host:port/database")
	}
	c, err := pgx.ParseConfig(address) // knows the defaults
	if err != nil {
		return pgtestdb.Config{}, err
	}
	options := u.Query()
	host := c.Host
	switch {
	case strings.HasPrefix(host, "/"): // a socket's folder has no place in a URL but there
		options.Set("host", host)
		host = "localhost"
	case strings.Contains(host, ":"):
		host = "[" + host + "]"
	}
	return pgtestdb.Config{
		DriverName: "pgx",
		Host:       host,
		Port:       strconv.Itoa(int(c.Port)),
		User:       url.User(c.User).String(),
		Password:   url.QueryEscape(c.Password),
		Database:   url.PathEscape(c.Database),
		Options:    options.Encode(),

		ForceTerminateConnections: true,
	}, nil
}
