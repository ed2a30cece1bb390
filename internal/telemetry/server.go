package telemetry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"syscall"
	"time"
)

const stopTimeout = 3 * time.Second // for requests in flight, when the daemon stops

// Server is Health's endpoints, listening.
type Server struct {
	listener net.Listener
	http     *http.Server
}

// Listen takes the address. It is apart from Run so that a daemon that cannot have it says so
// before it does anything else; the error names the variable to change.
func (h Health) Listen(ctx context.Context) (*Server, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", h.Addr)
	if err != nil {
		return nil, fmt.Errorf("listening on METRICS_ADDR %s: %w%s", h.Addr, err, remedy(err))
	}
	return &Server{
		listener: listener,
		http: &http.Server{
			Handler:           h.Handler(),
			ErrorLog:          slog.NewLogLogger(h.Log.Handler(), slog.LevelWarn),
			ReadHeaderTimeout: 5 * time.Second,
			ReadTimeout:       10 * time.Second,
			WriteTimeout:      scrapeTimeout + 10*time.Second,
			IdleTimeout:       2 * time.Minute, // above Prometheus's interval of one
			MaxHeaderBytes:    16 << 10,
		},
	}, nil
}

func remedy(err error) string {
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return "; stop the program that has it (another chasephone?), or set METRICS_ADDR to another host:port"
	case errors.Is(err, syscall.EACCES):
		return "; set METRICS_ADDR to a port above 1023"
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return "; set METRICS_ADDR to an address of this machine"
	}
	return "; set METRICS_ADDR to another host:port"
}

// Addr is where the server listens, with the port that was found where 0 was asked for.
func (s *Server) Addr() string { return s.listener.Addr().String() }

// Run serves until ctx ends, lets requests in flight finish within three seconds, and
// returns nil; or it returns why it could not go on serving. Call it once.
func (s *Server) Run(ctx context.Context) error {
	failed := make(chan error, 1)
	go func() { failed <- s.http.Serve(s.listener) }()
	select {
	case err := <-failed:
		return fmt.Errorf("serving on METRICS_ADDR %s: %w", s.Addr(), err)
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer cancel()
	if err := s.http.Shutdown(grace); err != nil {
		_ = s.http.Close() // requests that would not end are cut off: the daemon is stopping
	}
	if err := <-failed; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving on METRICS_ADDR %s: %w", s.Addr(), err)
	}
	return nil
}
