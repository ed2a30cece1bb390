package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"chasephone/internal/carrier"
	"chasephone/internal/carrier/twilio"
)

// answersIn is how long the telephone company over HTTP takes.
const answersIn = 20 * time.Millisecond

const (
	companyAccount = "AC00000000000000000000000000000001"
	companyToken   = "benchmark"
)

// telephones is a telephone company in a process of its own, reached over HTTP. It does next to
// nothing, so that what is measured is chasephone.
type telephones struct {
	url     string
	process *exec.Cmd
	alive   io.Closer // it ends once this is closed, by us or by our own end
}

// startTelephones starts this program once more, as a company that answers after the time given.
func startTelephones(ctx context.Context, after time.Duration) (*telephones, error) {
	own, err := os.Executable()
	if err != nil {
		return nil, err
	}
	t := &telephones{process: exec.CommandContext(ctx, own, "telephones", after.String())}
	t.process.Stderr = os.Stderr
	if t.alive, err = t.process.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := t.process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := t.process.Start(); err != nil {
		return nil, fmt.Errorf("starting the telephone company: %w", err)
	}
	addr, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.stop()
		return nil, fmt.Errorf("asking the telephone company for its address: %w", err)
	}
	t.url = "http://" + strings.TrimSpace(addr)
	return t, nil
}

// carrier is the product's own, of that company.
func (t *telephones) carrier() (*twilio.Carrier, error) {
	return twilio.New(twilio.Config{AccountSID: companyAccount, AuthToken: companyToken, BaseURL: t.url},
		carrier.NewTransport(carrier.Options{Carrier: twilio.Name, AllowLoopback: true}))
}

// environment is how a daemon is told of that company.
func (t *telephones) environment() []string {
	return []string{
		"CARRIER_ALLOW_LOOPBACK=on", "TWILIO_BASE_URL=" + t.url, "TWILIO_ACCOUNT_SID=" + companyAccount, "TWILIO_AUTH_TOKEN=" + companyToken,
		"TWILIO_FROM=+12125550100", "TWILIO_CALLS_PER_SECOND=0",
	}
}

func (t *telephones) stop() {
	_ = t.alive.Close()
	_ = t.process.Wait()
}

// beTelephones is the company: it says where it listens, and takes every call, until ctx or its
// input ends. Its argument is how long it takes.
func beTelephones(ctx context.Context, args []string, out io.Writer) error {
	if len(args) != 1 {
		return errors.New("telephones is what this program starts itself as: see telephones.go")
	}
	after, err := time.ParseDuration(args[0])
	if err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { _ = listener.Close() })()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		_ = listener.Close()
	}()
	say(out, "%s\n", listener.Addr())
	for {
		conn, err := listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil {
			return err
		}
		go take(conn, after)
	}
}

// take takes one call: a connection has one request. Whatever else it is asked, it does not answer.
func take(conn net.Conn, after time.Duration) {
	defer func() { _ = conn.Close() }()
	if !readRequest(conn) {
		return
	}
	time.Sleep(after) // it is what is measured, and no wait for anything
	var id [16]byte
	_, _ = rand.Read(id[:])
	body := `{"sid":"CA` + hex.EncodeToString(id[:]) + `","status":"queued","account_sid":"` + companyAccount + `"}`
	_, _ = fmt.Fprintf(conn, "HTTP/1.1 201 Created\r\nContent-Type: application/json\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s", len(body), body)
}

// readRequest reads a request with its body, and says whether it was one.
func readRequest(conn net.Conn) bool {
	buf := make([]byte, 8192)
	for n := 0; n < len(buf); {
		m, err := conn.Read(buf[n:])
		if err != nil {
			return false
		}
		n += m
		head, body, whole := bytes.Cut(buf[:n], []byte("\r\n\r\n"))
		if !whole {
			continue
		}
		_, after, has := bytes.Cut(bytes.ToLower(head), []byte("content-length: "))
		if !has {
			return false
		}
		text, _, _ := bytes.Cut(after, []byte("\r\n"))
		length, err := strconv.Atoi(string(text))
		if err != nil {
			return false
		}
		if len(body) >= length {
			return true
		}
	}
	return false
}
