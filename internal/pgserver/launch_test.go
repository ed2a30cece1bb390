package pgserver

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

func TestStartsThatFail(t *testing.T) {
	t.Parallel()
	dir := seeded(t)
	t.Run("the port was taken meanwhile, so another is tried", func(t *testing.T) { takenPort(t, dir) })
	t.Run("it was cancelled, and leaves nothing", func(t *testing.T) { cancelled(t, dir) })
	start(t, dir)
}

func takenPort(t *testing.T, dir string) {
	f, err := openFolder(dir)
	must(t, err)
	claimed, err := f.claim(t.Context())
	must(t, err)
	defer claimed.release()
	bin, err := findBinaries(t.Context(), "", "")
	must(t, err)
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	must(t, err)
	defer listener.Close()
	port := listener.Addr().(*net.TCPAddr).Port

	l := launcher{folder: f, binaries: bin, claim: claimed, fsyncOff: true, log: slog.New(slog.DiscardHandler)}
	h, err := l.startHelper(port)
	must(t, err)
	err = l.awaitReady(t.Context(), h, port)
	if err == nil {
		t.Fatal("the server started on a taken port")
	}
	if !isTransient(h.said.tail()) {
		t.Errorf("not seen as something that passes: %v", err)
	}
}

func cancelled(t *testing.T, dir string) {
	for _, after := range []time.Duration{0, time.Millisecond, 40 * time.Millisecond, 80 * time.Millisecond} {
		ctx, cancel := context.WithTimeout(t.Context(), after)
		s, err := Start(ctx, Options{DataDir: dir, FsyncOff: true})
		cancel()
		if err == nil {
			must(t, s.Stop())
		} else if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("cancelled after %v: %v", after, err)
		}
		if left := serverProcesses(t, dir); len(left) > 0 {
			t.Errorf("cancelled after %v: processes left: %v", after, left)
		}
	}
}

func TestLogCarriesNoValues(t *testing.T) {
	t.Parallel()
	var logged bytes.Buffer
	s, err := Start(t.Context(), Options{
		DataDir: seeded(t), FsyncOff: true,
		Log: slog.New(slog.NewTextHandler(&logged, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	must(t, err)
	defer s.Stop()
	conn, err := pgx.Connect(t.Context(), s.URL())
	must(t, err)
	defer conn.Close(t.Context())
	const number = "+14155550123"
	_, err = conn.Exec(t.Context(), "CREATE TABLE numbers (n text PRIMARY KEY); INSERT INTO numbers VALUES ('"+number+"')")
	must(t, err)
	if _, err := conn.Exec(t.Context(), "INSERT INTO numbers VALUES ($1)", number); err == nil {
		t.Fatal("the second row was taken")
	}
	if _, err := conn.Exec(t.Context(), "SELECT '"+number+"'::uuid"); err == nil {
		t.Fatal("a number became a uuid")
	}
	must(t, s.Stop())
	if text := logged.String(); !strings.Contains(text, "ready to accept connections") || strings.Contains(text, "4155550123") {
		t.Errorf("the log should tell of the start and hold no number:\n%s", text)
	}
}
