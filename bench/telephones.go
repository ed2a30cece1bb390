package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
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

const companyAccount = "AC00000000000000000000000000000001"

// telephones is a telephone company in a process of its own, reached over HTTP by the product's own
// Twilio carrier. It does next to nothing, so that what is measured is chasephone.
type telephones struct {
	carrier *twilio.Carrier
	process *exec.Cmd
}

// startTelephones starts this program once more, as the company.
func startTelephones(ctx context.Context) (*telephones, error) {
	own, err := os.Executable()
	if err != nil {
		return nil, err
	}
	process := exec.CommandContext(ctx, own, "telephones")
	process.Stderr = os.Stderr
	out, err := process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := process.Start(); err != nil {
		return nil, fmt.Errorf("starting the telephone company: %w", err)
	}
	t := &telephones{process: process}
	addr, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.stop()
		return nil, fmt.Errorf("asking the telephone company for its address: %w", err)
	}
	t.carrier, err = twilio.New(twilio.Config{AccountSID: companyAccount, AuthToken: "benchmark", BaseURL: "http://" + strings.TrimSpace(addr)},
		carrier.NewTransport(carrier.Options{Carrier: twilio.Name, AllowLoopback: true}))
	if err != nil {
		t.stop()
		return nil, err
	}
	return t, nil
}

func (t *telephones) stop() {
	_ = t.process.Process.Kill()
	_ = t.process.Wait()
}

// beTelephones is the company: it says where it listens, and takes every call.
func beTelephones(ctx context.Context) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { _ = listener.Close() })()
	fmt.Println(listener.Addr())
	for {
		conn, err := listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil {
			return err
		}
		go take(conn)
	}
}

// take takes one call: a connection has one request.
func take(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	if !readRequest(conn) {
		return
	}
	time.Sleep(answersIn) // it is what is measured, and no wait for anything
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
