package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// nursery starts processes and knows those that live. Nothing that it started outlives it:
// all are started from one thread, and the kernel ends a thread's children with it.
type nursery struct {
	births chan func()

	mu   sync.Mutex
	live map[*proc]bool
}

func newNursery() *nursery {
	n := &nursery{births: make(chan func()), live: map[*proc]bool{}}
	go func() {
		runtime.LockOSThread() // never let go: this thread must live as long as we do
		for birth := range n.births {
			birth()
		}
	}()
	return n
}

// proc is one process.
type proc struct {
	*exec.Cmd
	done   chan struct{} // closed when it has ended
	killed bool          // by us, and so its end is no surprise; under nursery.mu
}

// birth is how a process is started.
type birth struct {
	program string
	args    []string
	env     []string
	dir     string
	log     string // file that gets its output; "" is nobody
	as      *syscall.Credential
	dies    syscall.Signal // with us; 0 is SIGKILL
	out     *os.File       // in place of log
}

func (n *nursery) start(b birth) (*proc, error) {
	cmd := exec.CommandContext(context.Background(), b.program, b.args...)
	cmd.Env, cmd.Dir = b.env, b.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: b.as} // Ctrl-C is ours alone
	if b.dies == 0 {
		b.dies = syscall.SIGKILL
	}
	dieWithUs(cmd.SysProcAttr, b.dies)
	out := b.out
	if b.log != "" {
		// The process writes into the file itself, so that its last words are there too.
		file, err := os.OpenFile(b.log, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644) //nolint:gosec // for people to read
		if err != nil {
			return nil, fmt.Errorf("opening a log: %w", err)
		}
		defer file.Close()
		out = file
	}
	if out != nil {
		cmd.Stdout, cmd.Stderr = out, out
	}
	p := &proc{Cmd: cmd, done: make(chan struct{})}
	started := make(chan error)
	n.births <- func() { started <- cmd.Start() }
	if err := <-started; err != nil {
		return nil, fmt.Errorf("starting %s: %w", b.program, err)
	}
	n.mu.Lock()
	n.live[p] = true
	n.mu.Unlock()
	go func() {
		_ = cmd.Wait() // how it ended is in ProcessState
		n.mu.Lock()
		delete(n.live, p)
		n.mu.Unlock()
		close(p.done)
	}()
	return p, nil
}

// run starts a program, awaits its end and gives what it said.
func (n *nursery) run(ctx context.Context, b birth) (string, error) {
	out, err := os.CreateTemp("", "chasephone-drill-*")
	if err != nil {
		return "", fmt.Errorf("making a file for a program's words: %w", err)
	}
	defer func() { _ = out.Close(); _ = os.Remove(out.Name()) }()
	b.out, b.log = out, ""
	p, err := n.start(b)
	if err != nil {
		return "", err
	}
	select {
	case <-p.done:
	case <-ctx.Done():
		n.kill(p, syscall.SIGKILL)
		<-p.done
	}
	said, err := os.ReadFile(out.Name())
	if err != nil {
		return "", fmt.Errorf("reading what a program said: %w", err)
	}
	if ctx.Err() != nil {
		return string(said), fmt.Errorf("%s: %w", b.program, context.Cause(ctx))
	}
	if code := p.ProcessState.ExitCode(); code != 0 {
		return string(said), &failed{program: b.program, args: b.args, code: code, said: string(said)}
	}
	return string(said), nil
}

// failed is a program that ended with another code than 0.
type failed struct {
	program string
	args    []string
	code    int
	said    string
}

func (f *failed) Error() string {
	return fmt.Sprintf("%s %v ended with %d: %s", f.program, f.args, f.code, lastLines(f.said, 5))
}

// kill sends a signal to a process and, where it is deadly, to what it started.
func (n *nursery) kill(p *proc, sig syscall.Signal) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.live[p] {
		return // its number may be another's by now
	}
	if sig != syscall.SIGSTOP && sig != syscall.SIGCONT {
		p.killed = true
	}
	if sig == syscall.SIGKILL {
		_ = syscall.Kill(-p.Process.Pid, sig)
		return
	}
	_ = syscall.Kill(p.Process.Pid, sig)
}

// wasKilled says whether the end of a process was our doing.
func (n *nursery) wasKilled(p *proc) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return p.killed
}

// lives says whether a process has not ended.
func (p *proc) lives() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// end ends everything that lives.
func (n *nursery) end() {
	n.mu.Lock()
	var all []*proc
	for p := range n.live {
		all = append(all, p)
	}
	n.mu.Unlock()
	for _, p := range all {
		n.kill(p, syscall.SIGCONT) // what is paused dies all the same; a group's other members may not
		n.kill(p, syscall.SIGKILL)
	}
	for _, p := range all {
		select {
		case <-p.done:
		case <-time.After(10 * time.Second):
		}
	}
}

// await waits until is, or says what was waited for in vain.
func await(ctx context.Context, what string, atMost time.Duration, is func() bool) error {
	for end := time.Now().Add(atMost); ; {
		if is() {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("waited %s in vain until %s", atMost, what)
		}
		if !pause(ctx, 20*time.Millisecond) {
			return errors.Join(fmt.Errorf("waiting until %s", what), context.Cause(ctx))
		}
	}
}

// pause sleeps; false says that ctx ended first.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
