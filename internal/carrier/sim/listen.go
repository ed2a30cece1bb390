package sim

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// Run listens on addr ("127.0.0.1:8081") and serves until ctx ends.
func (s *Server) Run(ctx context.Context, addr string) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err != nil {
		return fmt.Errorf("carrier simulator: %w", err)
	}
	return s.Serve(ctx, listener)
}

// Serve serves on listener until ctx ends or the Server is closed, then breaks off whatever
// is under way, as a power cut would. Asked to refuse connections, it closes the listener
// and listens on the same address again when the time is over.
func (s *Server) Serve(ctx context.Context, listener net.Listener) error {
	server := &http.Server{
		Handler:           s.Handler(),
		ReadHeaderTimeout: 10 * time.Second,
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelWarn),
	}
	defer func() { _ = server.Close() }()
	addr := listener.Addr().String()
	for {
		s.log.Info("carrier simulator is listening", "addr", addr)
		failed := make(chan error, 1)
		go func() { failed <- server.Serve(listener) }()
		var pause time.Duration
		select {
		case <-ctx.Done():
			return nil
		case <-s.alive.Done():
			return nil
		case err := <-failed:
			return fmt.Errorf("carrier simulator: %w", err)
		case pause = <-s.refuse:
		}
		_ = listener.Close()
		<-failed //nolint:errcheck // it failed because it was closed
		s.log.Info("carrier simulator refuses connections", "for", pause)
		if !s.sleep(ctx.Done(), pause) {
			return nil
		}
		var err error
		if listener, err = new(net.ListenConfig).Listen(ctx, "tcp", addr); err != nil {
			return fmt.Errorf("carrier simulator, listening again: %w", err)
		}
	}
}

var errNotServing = errors.New("nobody serves here, so no connection can be refused")

// Refuse makes Serve refuse connections for d. It fails if nothing is served.
func (s *Server) Refuse(d time.Duration) error {
	select {
	case s.refuse <- d:
		return nil
	case <-time.After(time.Second):
		return errNotServing
	}
}
