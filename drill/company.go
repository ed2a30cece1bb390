package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
	"syscall"
	"time"

	"chasephone/internal/carrier/sim"
)

// company is the simulated telephone company, a process of its own, and its ring book.
type company struct {
	w    *world
	port int
	book string
	http *http.Client

	mu     sync.Mutex
	proc   *proc
	healed bool
}

// start starts it on the ring book that it may have had before.
func (c *company) start(ctx context.Context) error {
	args := []string{"carrier-sim", "--addr", local(c.port), "--ring-book", c.book, "--status-delay", statusDelay.String()}
	c.mu.Lock()
	if c.healed {
		args = append(args, "--plain-numbers")
	} else {
		args = append(args, "--latency", latency.String())
	}
	c.mu.Unlock()
	p, err := c.w.nursery.start(birth{program: c.w.programs.command, args: args, log: c.w.scratch.log("carrier")})
	if err != nil {
		return err
	}
	c.mu.Lock()
	c.proc = p
	c.mu.Unlock()
	return await(ctx, "the carrier listens", 20*time.Second, func() bool {
		_, err := get(ctx, c.http, "http://"+local(c.port)+"/")
		return err == nil
	})
}

func (c *company) signal(sig syscall.Signal) {
	c.mu.Lock()
	p := c.proc
	c.mu.Unlock()
	if p != nil {
		c.w.nursery.kill(p, sig)
		if sig == syscall.SIGKILL {
			<-p.done
		}
	}
}

// heal starts it anew, without faults.
func (c *company) heal(ctx context.Context) error {
	c.signal(syscall.SIGCONT)
	c.signal(syscall.SIGKILL)
	c.mu.Lock()
	c.healed = true
	c.mu.Unlock()
	return c.start(ctx)
}

// rule asks for a fault of the next calls.
func (c *company) rule(ctx context.Context, r sim.Rule) error {
	return c.post(ctx, "/sim/faults", r)
}

// refuse has it refuse connections for a while.
func (c *company) refuse(ctx context.Context, d time.Duration) error {
	return c.post(ctx, "/sim/refuse", map[string]string{"for": d.String()})
}

func (c *company) post(ctx context.Context, path string, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("asking the carrier for %s: %w", path, err)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+local(c.port)+path, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("asking the carrier for %s: %w", path, err)
	}
	resp, err := c.http.Do(r)
	if err != nil {
		return fmt.Errorf("asking the carrier for %s: %w", path, err)
	}
	_ = resp.Body.Close()
	return nil
}

// get fetches a text.
func get(ctx context.Context, client *http.Client, url string) (string, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return "", fmt.Errorf("fetching %s: %w", url, err)
	}
	resp, err := client.Do(r)
	if err != nil {
		return "", fmt.Errorf("fetching %s: %w", url, err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return "", fmt.Errorf("fetching %s: %w", url, err)
	}
	return string(text), nil
}

// rings is the ring book, counted by attempt, as honest persons look at it.
type rings struct {
	book    string
	byToken map[string][]sim.Entry
	all     []sim.Entry
}

// readBook reads the ring book of a company that may be at work.
func readBook(path string) (rings, error) {
	r := rings{book: path, byToken: map[string][]sim.Entry{}}
	read, err := sim.ReadBook(path)
	if err != nil {
		return r, err
	}
	r.all = read.Entries
	for _, e := range read.Entries {
		r.byToken[e.Token] = append(r.byToken[e.Token], e)
	}
	return r, nil
}

// rang says how often an attempt's phone rang, and by which call.
func (r rings) rang(token string) (n int, sid string) {
	for _, e := range r.byToken[token] {
		if e.Rang {
			n, sid = n+1, e.SID
		}
	}
	return n, sid
}
