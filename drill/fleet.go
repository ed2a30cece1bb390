package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"time"
)

// daemon is one chasephone that is started again whenever it ends, with its own folder and its
// own ways to the database and the carrier.
type daemon struct {
	w     *world
	name  string
	env   []string
	traps *traps
	db    *dbWire
	wire  *wire

	mu      sync.Mutex
	proc    *proc
	metrics string // addresses, once it serves
	http    string
	lives   int
	resting bool // it is not started again for now
}

func newDaemon(ctx context.Context, w *world, n int, rnd *rand.Rand) (*daemon, error) {
	d := &daemon{w: w, name: fmt.Sprintf("daemon-%d", n)}
	d.traps = &traps{count: d.struck}
	folder := w.scratch.in(d.name)
	if err := os.Mkdir(folder, 0o700); err != nil {
		return nil, fmt.Errorf("making a daemon's folder: %w", err)
	}
	port, err := freePort(ctx, rnd, w.lot)
	if err != nil {
		return nil, err
	}
	l, err := listen(ctx, port)
	if err != nil {
		return nil, err
	}
	d.db = &dbWire{to: local(w.pg.port), traps: d.traps, strike: d.strike, conns: map[net.Conn]bool{}}
	go d.db.serve(ctx, l)
	carrierPort, err := freePort(ctx, rnd, w.lot)
	if err != nil {
		return nil, err
	}
	d.wire = &wire{port: carrierPort, to: local(w.company.port), traps: d.traps, strike: d.strike, rnd: rand.New(rand.NewPCG(rnd.Uint64(), 1))}
	if err := d.wire.open(ctx); err != nil {
		return nil, err
	}
	url := dbURL(w.pg.password, port, database)
	if w.calm {
		url = w.pg.url(database)
	}
	if w.twoHosts {
		url = strings.Replace(url, local(w.pg.port), local(w.pg.port)+","+local(w.secondPort), 1)
	}
	d.env = append(limits(),
		"DATABASE_URL="+url, "DATA_DIR="+folder,
		"TWILIO_BASE_URL=http://"+local(carrierPort), "PUBLIC_URL="+w.hooks.url,
		"PATH="+os.Getenv("PATH"), "HOME="+folder)
	return d, nil
}

var serving = regexp.MustCompile(`msg=serving .*metrics=(\S+) http=(\S+)`) //nolint:gochecknoglobals // a constant

// supervise starts the daemon again and again until ctx ends.
func (d *daemon) supervise(ctx context.Context) {
	for ctx.Err() == nil {
		if d.isResting() {
			pause(ctx, 50*time.Millisecond)
			continue
		}
		from := d.logSize()
		p, err := d.w.nursery.start(birth{program: d.w.programs.daemon, args: []string{"serve"}, env: d.env, log: d.log()})
		if err != nil {
			d.w.fail(err)
			return
		}
		d.mu.Lock()
		d.proc, d.metrics, d.http = p, "", ""
		d.lives++
		d.mu.Unlock()
		d.w.count("daemons started", 1)
		go d.hear(ctx, p, from)
		<-p.done
		if d.w.nursery.wasKilled(p) || ctx.Err() != nil {
			continue
		}
		// While it starts it gives up where the database goes away, and is started again.
		code, served := p.ProcessState.ExitCode(), serving.MatchString(d.logText(from))
		if code != 1 || served {
			d.w.find(violation{Rule: "a daemon ended by itself", Says: fmt.Sprintf("%s ended with %d; its log ends:\n%s", d.name, code, lastLines(d.logText(from), 12))})
			return
		}
		d.w.count("daemons that gave up while they started", 1)
		pause(ctx, 200*time.Millisecond)
	}
}

func (d *daemon) log() string { return d.w.scratch.log(d.name) }

func (d *daemon) logSize() int64 {
	info, err := os.Stat(d.log())
	if err != nil {
		return 0
	}
	return info.Size()
}

func (d *daemon) logText(from int64) string {
	text, err := os.ReadFile(d.log())
	if err != nil || int64(len(text)) < from {
		return ""
	}
	return string(text[from:])
}

// hear reads in the log where the daemon listens.
func (d *daemon) hear(ctx context.Context, p *proc, from int64) {
	for p.lives() && pause(ctx, 30*time.Millisecond) {
		found := serving.FindStringSubmatch(d.logText(from))
		if found == nil {
			continue
		}
		d.mu.Lock()
		if d.proc == p {
			d.metrics, d.http = found[1], found[2]
		}
		d.mu.Unlock()
		d.w.count("daemons that came to serve", 1)
		return
	}
}

func (d *daemon) running() (p *proc, metrics, web string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.proc, d.metrics, d.http
}

func (d *daemon) serves() bool {
	p, _, web := d.running()
	return web != "" && p.lives()
}

func (d *daemon) isResting() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.resting
}

// rest keeps the daemon from being started again, or lets it be.
func (d *daemon) rest(now bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.resting = now
}

// signal sends the living daemon a signal; false says that none lives.
func (d *daemon) signal(sig syscall.Signal) bool {
	p, _, _ := d.running()
	if p == nil || !p.lives() {
		return false
	}
	d.w.nursery.kill(p, sig)
	return true
}

// struck counts a trap that did.
func (d *daemon) struck(one trap) {
	d.w.count(string(one.do)+" "+string(one.at), 1)
	if one.do == kill && one.at.inDial() {
		d.w.count("killed within a dial", 1)
	}
}

// strike is what a trap does to the daemon.
func (d *daemon) strike(do act) {
	switch do {
	case kill:
		p, _, _ := d.running()
		if d.signal(syscall.SIGKILL) {
			d.w.count("kill -9 of a daemon", 1)
			<-p.done // it does nothing any more
		}
	case stop:
		d.pauseFor(shortPause)
	case cut:
	}
}

// pauseFor stops the daemon's process for a while.
func (d *daemon) pauseFor(long time.Duration) {
	p, _, _ := d.running()
	if !d.signal(syscall.SIGSTOP) {
		return
	}
	d.w.count("daemons paused (SIGSTOP)", 1)
	time.AfterFunc(long, func() { d.w.nursery.kill(p, syscall.SIGCONT) })
}

// webAddress is where webhooks go; "" while it does not serve.
func (d *daemon) webAddress() string {
	if !d.serves() {
		return ""
	}
	_, _, web := d.running()
	return web
}

// scrape gets the daemon's metrics.
func (d *daemon) scrape(ctx context.Context, client *http.Client) (string, error) {
	_, metrics, _ := d.running()
	return get(ctx, client, "http://"+metrics+"/metrics")
}

// logFiles are the logs of all daemons.
func (w *world) logFiles() []string {
	all, _ := filepath.Glob(filepath.Join(w.scratch.logs(), "daemon-*.log"))
	return all
}
