package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// internal/pgserver is not used: it takes another port at every start, and stops its server
// politely. This one falls, and comes back where it was.

// installation is PostgreSQL's programs and the user that they run as.
type installation struct {
	bin string
	as  *syscall.Credential // nil: as ourselves
}

// findPostgres looks where internal/pgserver looks.
func findPostgres(ctx context.Context, root string) (installation, error) {
	var dirs []string
	if dir := os.Getenv("CHASEPHONE_POSTGRES_BIN"); dir != "" {
		dirs = append(dirs, dir, filepath.Join(dir, "bin"))
	}
	if out, err := exec.CommandContext(ctx, "pg_config", "--bindir").Output(); err == nil {
		dirs = append(dirs, strings.TrimSpace(string(out)))
	}
	for _, pattern := range []string{"/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/opt/homebrew/opt/postgresql@*/bin", "/usr/local/opt/postgresql@*/bin"} {
		found, _ := filepath.Glob(pattern)
		slices.Reverse(found)
		dirs = append(dirs, found...)
	}
	dirs = append(dirs, filepath.Join(root, ".tools", "postgres", "bin"))
	for _, dir := range dirs {
		has := func(name string) bool {
			_, err := os.Stat(filepath.Join(dir, name))
			return err == nil
		}
		if !has("initdb") || !has("postgres") {
			continue
		}
		as, err := postgresUser()
		return installation{bin: dir, as: as}, err
	}
	return installation{}, errors.New("no PostgreSQL is installed here: run make postgres")
}

// postgresUser is who PostgreSQL runs as where we are root, as which it refuses to run.
func postgresUser() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil //nolint:nilnil // as ourselves
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err := strconv.ParseUint(u.Uid, 10, 32)
		if err != nil {
			continue
		}
		gid, err := strconv.ParseUint(u.Gid, 10, 32)
		if err == nil {
			return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
		}
	}
	return nil, errors.New("there is neither a user postgres nor a user nobody to run PostgreSQL as")
}

// cluster is one PostgreSQL server's data and, while it runs, its process.
type cluster struct {
	installation
	nursery  *nursery
	scratch  scratch
	name     string
	port     int
	password string

	mu     sync.Mutex
	server *proc
}

const (
	owner    = "chasephone" // of the database, which has the same name
	database = "chasephone"
)

// newCluster makes the data of a server.
func newCluster(ctx context.Context, n *nursery, s scratch, in installation, name string, port int) (*cluster, error) {
	secret := make([]byte, 16)
	_, _ = rand.Read(secret) // never fails
	c := &cluster{installation: in, nursery: n, scratch: s, name: name, port: port, password: hex.EncodeToString(secret)}
	if err := c.makeFolder(); err != nil {
		return nil, err
	}
	file := s.in(name + ".password")
	if err := errors.Join(os.WriteFile(file, []byte(c.password), 0o600), c.give(file)); err != nil {
		return nil, fmt.Errorf("writing a password: %w", err)
	}
	_, err := c.program(ctx, "initdb", "--pgdata="+c.data(), "--username="+owner, "--pwfile="+file,
		"--auth=scram-sha-256", "--encoding=UTF8", "--locale=C", "--data-checksums")
	return c, err
}

func (c *cluster) data() string { return c.scratch.in(c.name) }

// makeFolder makes an empty data folder that is PostgreSQL's user's.
func (c *cluster) makeFolder() error {
	if err := errors.Join(os.RemoveAll(c.data()), os.Mkdir(c.data(), 0o700), c.give(c.data())); err != nil {
		return fmt.Errorf("making the data folder %s: %w", c.name, err)
	}
	return nil
}

func (c *cluster) give(path string) error {
	if c.as == nil {
		return nil
	}
	return os.Chown(path, int(c.as.Uid), int(c.as.Gid))
}

// program runs one of PostgreSQL's to its end.
func (c *cluster) program(ctx context.Context, name string, args ...string) (string, error) {
	return c.nursery.run(ctx, birth{
		program: filepath.Join(c.bin, name), args: args, dir: "/", as: c.as,
		env: []string{"LC_ALL=C", "TZ=UTC", "PATH=/usr/local/bin:/usr/bin:/bin", "PGPASSWORD=" + c.password},
	})
}

// start starts the server, and returns when it takes connections. What was left of one that fell
// may still be ending: then it is tried again.
func (c *cluster) start(ctx context.Context) error {
	for end := time.Now().Add(time.Minute); ; {
		p, err := c.nursery.start(birth{
			program: filepath.Join(c.bin, "postgres"), dir: c.data(), as: c.as, log: c.scratch.log(c.name), dies: syscall.SIGQUIT,
			env: []string{"LC_ALL=C", "TZ=UTC", "PATH=/usr/local/bin:/usr/bin:/bin"},
			args: []string{
				"-D", c.data(), "-c", "port=" + strconv.Itoa(c.port), "-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=",
				"-c", "max_connections=300", "-c", "track_commit_timestamp=on", "-c", "log_error_verbosity=terse", "-c", "log_min_error_statement=panic",
				"-c", "cluster_name=" + c.name, // what a standby calls itself
			},
		})
		if err != nil {
			return err
		}
		c.mu.Lock()
		c.server = p
		c.mu.Unlock()
		for p.lives() && time.Now().Before(end) {
			if c.answers(ctx) {
				return nil
			}
			if !pause(ctx, 30*time.Millisecond) {
				return context.Cause(ctx)
			}
		}
		if time.Now().After(end) {
			return fmt.Errorf("PostgreSQL (%s) does not start: see its log", c.name)
		}
		if !pause(ctx, 200*time.Millisecond) {
			return context.Cause(ctx)
		}
	}
}

func (c *cluster) answers(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, c.url("postgres"))
	if err != nil {
		return false
	}
	_ = conn.Close(ctx)
	return true
}

// end sends the server a signal and awaits its end: SIGINT is a clean stop, SIGQUIT and SIGKILL
// are as a crash.
func (c *cluster) end(sig syscall.Signal) {
	c.mu.Lock()
	p := c.server
	c.mu.Unlock()
	if p == nil {
		return
	}
	c.nursery.kill(p, sig)
	select {
	case <-p.done:
	case <-time.After(40 * time.Second):
		c.nursery.kill(p, syscall.SIGKILL)
		<-p.done
	}
}

func (c *cluster) url(name string) string { return dbURL(c.password, c.port, name) }

// dbURL is a database as a port has it: the server's own, or a wire's to it.
func dbURL(password string, port int, name string) string {
	u := url.URL{Scheme: "postgres", User: url.UserPassword(owner, password), Host: local(port), Path: name, RawQuery: "sslmode=disable"}
	return u.String()
}

// exec runs one statement on a database of the server.
func (c *cluster) exec(ctx context.Context, name, sql string) error {
	conn, err := pgx.Connect(ctx, c.url(name))
	if err != nil {
		return fmt.Errorf("connecting to %s: %w", c.name, err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	if _, err := conn.Exec(ctx, sql); err != nil {
		return fmt.Errorf("%s: %w", sql, err)
	}
	return nil
}

// setPassword starts a new server, gives its owner a password that others know, and leaves it running.
func (c *cluster) setPassword(ctx context.Context, password string) error {
	if err := c.start(ctx); err != nil {
		return err
	}
	if err := c.exec(ctx, "postgres", "alter role "+owner+" password '"+password+"'"); err != nil {
		return err
	}
	c.password = password
	return nil
}
