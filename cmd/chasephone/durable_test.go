package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// refuses starts a daemon as it is shipped, which must say the words and end with exit code 2.
func (f *fleet) refuses(words ...string) {
	f.t.Helper()
	was := f.as
	f.as = strict
	d := f.start("serve")
	f.as = was
	<-d.done
	for _, w := range words {
		if code := d.ProcessState.ExitCode(); code != exitMisuse || !strings.Contains(d.log.String(), w) {
			f.t.Errorf("exit %d, want %d and %q:\n%s", code, exitMisuse, w, d.log)
		}
	}
}

// A forgotten commit is a second ring: the tests' own server, with fsync off, is refused.
func TestRefusesAServerWithoutFsync(t *testing.T) {
	f := newFleet(t)
	if f.count(`select count(*) from pg_settings where name = 'fsync' and setting = 'off'`) == 0 {
		t.Skip("the server of DATABASE_URL has fsync on")
	}
	f.refuses("fsync is off (set by: command line)", "rung twice")
	if n := f.count(`select count(*) from daemons`); n != 0 {
		t.Errorf("%d daemons got as far as the fleet", n)
	}
	finds(t, terminal{url: f.url}.doctor(t, exitFailed).Remarks, "fsync is off (set by: command line): what was committed can be lost")
}

// So are the other settings, wherever they were set; and with none of them a daemon serves.
func TestRefusesAForgetfulDatabase(t *testing.T) {
	t.Parallel()
	url, _ := startServer(t, serverDir(t))
	f := newFleetOn(t, url, connect(t, url))
	migrated(t, url)
	not(t, terminal{url: url}.doctor(t, exitFailed).Remarks, "can be lost")
	f.as = strict
	d := f.daemon()
	_ = d.Process.Kill()
	<-d.done

	f.exec(`alter database chasephone set synchronous_commit = off`)
	f.refuses("synchronous_commit is off (set by: database)", "alter role or alter database … set synchronous_commit = on")
	f.exec(`alter database chasephone reset synchronous_commit`)

	f.environ[0] = "DATABASE_URL=" + withParameter(t, url, "synchronous_commit", "off")
	f.refuses("synchronous_commit is off (set by: client)", "take synchronous_commit out of DATABASE_URL")
	f.environ[0] = "DATABASE_URL=" + url

	f.exec(`alter system set full_page_writes = off`)
	f.exec(`select pg_reload_conf()`)
	f.wait("the server has read it", func() bool {
		return f.count(`select count(*) from pg_settings where name = 'full_page_writes' and setting = 'off'`) == 1
	})
	f.refuses("full_page_writes is off (set by: configuration file)", "full_page_writes = on in postgresql.conf")
}

// The server that a daemon brings keeps what it committed; where somebody changed that, the
// daemon refuses it too.
func TestEmbeddedIsDurable(t *testing.T) {
	t.Parallel()
	dir := filepath.Dir(serverDir(t))
	f := &fleet{t: t, as: strict, environ: []string{"DATA_DIR=" + dir, "METRICS_ADDR=127.0.0.1:0", "HTTP_ADDR=127.0.0.1:0"}}
	d := f.start("serve", "--embedded", "--demo")
	f.wait("it serves", func() bool { return strings.Contains(d.log.String(), "msg=serving") })
	_ = d.Process.Signal(os.Interrupt)
	<-d.done
	conf := filepath.Join(dir, "postgres", "pgdata", "postgresql.auto.conf")
	if err := os.WriteFile(conf, []byte("fsync = off\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	d = f.start("serve", "--embedded", "--demo")
	<-d.done
	if code := d.ProcessState.ExitCode(); code != exitMisuse || !strings.Contains(d.log.String(), "fsync is off (set by: configuration file)") {
		t.Errorf("exit %d:\n%s", code, d.log)
	}
}
