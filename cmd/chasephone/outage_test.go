package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"chasephone/internal/pgserver"
	"chasephone/internal/pgtest"
	"chasephone/internal/store"
)

// Invariants 1 and 2 under a database that dies at once, again and again, while calls are
// out: no number is asked for twice, and everything ends placed or uncertain.
func TestFleetDatabaseKilled(t *testing.T) {
	t.Parallel()
	dir := serverDir(t)
	url, stop := startServer(t, dir)
	f := newFleetOn(t, url, connect(t, url), "PHONE_FOLLOWUP_DIAL_TIMEOUT=2s")
	migrated(t, url)
	f.company.script(func(w http.ResponseWriter, _ *http.Request, _ string, _ int) {
		time.Sleep(300 * time.Millisecond) // so that the server dies while calls are out
		f.company.placed(w)
	})
	f.due(16, "1 hour")
	d := f.daemon()
	for range 3 {
		before := len(f.company.requests())
		f.wait("calls are out", func() bool { return len(f.company.requests()) > before || f.left() == 0 })
		stop()
		// The server is back under another address: only a daemon that is started anew knows it.
		_ = d.Process.Kill()
		<-d.done
		f.db.Close()
		url, stop = startServer(t, dir)
		f.db, f.environ[0] = connect(t, url), "DATABASE_URL="+url
		d = f.daemon()
	}
	f.wait("nothing is left", func() bool { return f.left() == 0 })
	f.once()
	if n := f.count(`select count(*) from phone_followups where state not in ('call_placed', 'uncertain')`); n > 0 {
		t.Errorf("%d neither placed nor uncertain", n)
	}
	if n := f.count(`select count(*) from phone_followups where state = 'call_placed'`); n == 0 {
		t.Error("none was placed")
	}
}

// left counts what is not settled yet. The database may be away.
func (f *fleet) left() int {
	n := 1
	_ = f.db.QueryRow(f.t.Context(), `select count(*) from phone_followups where state in ('due', 'dialing')`).Scan(&n)
	return n
}

// A database that goes away and comes back at the same address is waited for: the daemon
// says so, records what it knows, and goes on.
func TestFleetDatabaseAway(t *testing.T) {
	f := newFleet(t)
	gate := newGate(t, f.url)
	f.environ[0] = "DATABASE_URL=" + gate.url
	gate.shut()
	d := f.start("serve")
	f.wait("it says that it waits", func() bool { return strings.Contains(d.log.String(), "waiting for it") })
	gate.open()
	f.wait("it serves", func() bool { return strings.Contains(d.log.String(), "msg=serving") })

	answer := make(chan struct{})
	f.company.script(func(w http.ResponseWriter, _ *http.Request, _ string, _ int) {
		<-answer
		f.company.placed(w)
	})
	f.due(4, "1 hour")
	f.wait("two calls are out", func() bool { return len(f.company.requests()) == 2 })
	gate.shut() // the answers come while the database is away
	close(answer)
	f.wait("it says that it cannot record", func() bool { return strings.Contains(d.log.String(), "trying again") })
	gate.open()
	f.wait("all are placed", func() bool { return f.count(`select count(*) from phone_followups where state = 'call_placed'`) == 4 })
	f.once()
}

// A schema that is not there is waited for, with a line that says what to do.
func TestFleetWaitsForMigrate(t *testing.T) {
	f := newFleet(t)
	f.exec(`create schema later`)
	f.environ[0] = "DATABASE_URL=" + withParameter(t, f.url, "search_path", "later")
	d := f.start("serve")
	f.wait("it says what to do", func() bool { return strings.Contains(d.log.String(), "run chasephone migrate") })
	f.migrate("later", "--daemon-role", roleOf(t, f.url))
	f.wait("it serves", func() bool { return strings.Contains(d.log.String(), "msg=serving") })
	f.exec(`insert into later.phone_followups (ref, phone_number, due_at, script) values ('r1', '+14152000001', now(), 'x')`)
	f.wait("it is placed", func() bool {
		return f.count(`select count(*) from later.phone_followups where state = 'call_placed'`) == 1
	})
}

// Eight replicas that migrate at once all succeed.
func TestMigrateAtOnce(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	if _, err := pool.Exec(t.Context(), `create schema fresh`); err != nil {
		t.Fatal(err)
	}
	to := withParameter(t, pool.Config().ConnString(), "search_path", "fresh")
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			db, err := store.Connect(context.WithoutCancel(t.Context()), to, 4)
			if err != nil {
				t.Error(err)
				return
			}
			defer db.Close()
			if _, err := db.Migrate(t.Context()); err != nil {
				t.Error(err)
			}
			if err := db.Usable(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

// PgBouncer in transaction mode: the daemon notices it, and everything works through it.
func TestFleetPgBouncer(t *testing.T) {
	f := newFleet(t)
	f.environ[0] = "DATABASE_URL=" + pgBouncer(t, f.url)
	f.due(6, "1 hour")
	f.exec(`insert into phone_followups (ref, phone_number, due_at, script, needs_approval) values ('asked', '+14152009999', now() - interval '2 hours', 'x', true)`)
	d := f.daemon()
	if !strings.Contains(d.log.String(), "pooled=true") {
		t.Error("the pooler was not noticed")
	}
	f.wait("it awaits approval", func() bool { return f.state("asked") == "awaiting_approval" })
	if a := f.start("approve", "asked", "--by", "ann"); true {
		<-a.done
		if a.ProcessState.ExitCode() != 0 {
			t.Errorf("approve: %s", a.log)
		}
	}
	f.wait("all are placed", func() bool { return f.count(`select count(*) from phone_followups where state = 'call_placed'`) == 7 })
	f.once()
}

func pgBouncer(t *testing.T, to string) string {
	t.Helper()
	program := "/usr/sbin/pgbouncer"
	if _, err := os.Stat(program); err != nil {
		t.Skip("pgbouncer is not installed: scripts/pgbouncer.sh can")
	}
	u, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	password, _ := u.User.Password()
	port := freePort(t)
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	users := filepath.Join(dir, "users")
	conf := filepath.Join(dir, "pgbouncer.ini")
	name := strings.TrimPrefix(u.Path, "/")
	for file, text := range map[string]string{
		users: fmt.Sprintf("%q %q\n", u.User.Username(), password),
		conf: fmt.Sprintf(`[databases]
%[1]s = host=%[2]s port=%[3]s dbname=%[1]s user=%[4]s password=%[5]s
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %[6]d
unix_socket_dir =
pool_mode = transaction
default_pool_size = 6
auth_type = plain
auth_file = %[7]s
ignore_startup_parameters = extra_float_digits,search_path
`, name, u.Hostname(), u.Port(), u.User.Username(), password, port, users),
	} {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(program, conf)
	cmd.Stderr = os.Stderr
	if os.Geteuid() == 0 { // it refuses to run as root
		account, err := user.Lookup("nobody")
		if err != nil {
			t.Fatal(err)
		}
		uid, _ := strconv.ParseUint(account.Uid, 10, 32)
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}}
		for d := dir; d != "/" && strings.HasPrefix(d, os.TempDir()+"/"); d = filepath.Dir(d) {
			_ = os.Chmod(d, 0o755)
		}
	}
	cmd.Stderr = nil
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	u.Host = fmt.Sprintf("127.0.0.1:%d", port)
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		conn, err := net.Dial("tcp", u.Host)
		if err == nil {
			_ = conn.Close()
			return u.String()
		}
		if time.Now().After(end) {
			t.Fatalf("pgbouncer does not listen: %v", err)
		}
	}
}

// gateway passes connections on to a database until it is shut.
type gateway struct {
	url    string
	to     string
	mu     sync.Mutex
	isOpen bool
	all    map[net.Conn]bool
}

func newGate(t *testing.T, to string) *gateway {
	t.Helper()
	u, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	g := &gateway{to: u.Host, isOpen: true, all: map[net.Conn]bool{}}
	u.Host = listener.Addr().String()
	g.url = u.String()
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go g.pass(conn)
		}
	}()
	return g
}

func (g *gateway) pass(from net.Conn) {
	to, err := net.Dial("tcp", g.to)
	g.mu.Lock()
	if err != nil || !g.isOpen {
		g.mu.Unlock()
		_ = from.Close()
		if to != nil {
			_ = to.Close()
		}
		return
	}
	g.all[from], g.all[to] = true, true
	g.mu.Unlock()
	go pump(from, to)
	pump(to, from)
}

func pump(a, b net.Conn) {
	defer func() { _ = a.Close(); _ = b.Close() }()
	buf := make([]byte, 32<<10)
	for {
		n, err := a.Read(buf)
		if n > 0 {
			if _, err := b.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

func (g *gateway) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.isOpen = true
}

func (g *gateway) shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.isOpen = false
	for conn := range g.all {
		_ = conn.Close()
	}
	clear(g.all)
}

func serverDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "chasephone-outage-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "postgres")
}

// startServer starts a PostgreSQL of the test's own; stop kills it with everything it has.
func startServer(t *testing.T, dir string) (string, func()) {
	t.Helper()
	server, err := pgserver.Start(context.WithoutCancel(t.Context()), pgserver.Options{DataDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Stop() })
	return server.URL(), func() {
		pid, err := os.ReadFile(filepath.Join(dir, "pgdata", "postmaster.pid"))
		if err != nil {
			t.Fatal(err)
		}
		first, _, _ := strings.Cut(string(pid), "\n")
		n, err := strconv.Atoi(first)
		if err != nil {
			t.Fatal(err)
		}
		_ = syscall.Kill(n, syscall.SIGQUIT) // immediate: no checkpoint, sessions cut
		<-server.Done()
		_ = server.Stop()
	}
}

func connect(t *testing.T, url string) *pgxpool.Pool {
	t.Helper()
	pool, err := pgxpool.New(context.WithoutCancel(t.Context()), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool
}

func migrated(t *testing.T, url string) {
	t.Helper()
	db, err := store.Connect(t.Context(), url, 4)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func withParameter(t testing.TB, to, name, value string) string {
	t.Helper()
	u, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	q.Set(name, value)
	u.RawQuery = q.Encode()
	return u.String()
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().(*net.TCPAddr).Port
}
