package telemetry

import (
	"cmp"
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

// Bounds keep whoever sends or reads slowly, or much, from costing others anything. Zero ones are
// the usual ones.
type Bounds struct {
	Header time.Duration // for a request's header to arrive, from the first byte or the connecting: 5 s
	Read   time.Duration // for all of a request: 10 s
	Write  time.Duration // for the answer, from the end of the header: 20 s, which a handler has too
	Idle   time.Duration // between two requests: 2 min, above Prometheus's interval of one
	Conns  int           // connections at once: 512. One more closes the one that is idle for longest
}

// mostHeader is the longest header of a request, in bytes; the library adds 4 KiB of its own.
const mostHeader = 16 << 10

// Endpoints are what is served on one address, within bounds. How long a body may be is the
// handler's to say.
type Endpoints struct {
	// Variable is the setting that Addr comes from, METRICS_ADDR for instance; errors name it.
	Variable string
	// Addr is where to listen, host:port. Port 0 is a free one.
	Addr string
	// Handler serves. Must be set.
	Handler http.Handler
	// Log gets what goes wrong while serving. Must be set.
	Log *slog.Logger
	// Bounds are other ones than the usual ones.
	Bounds Bounds
}

// Server is endpoints, listening.
type Server struct {
	variable string
	listener net.Listener
	http     *http.Server
}

// Listen takes the address, as Endpoints.Listen does.
func (h Health) Listen(ctx context.Context) (*Server, error) {
	return Endpoints{Variable: "METRICS_ADDR", Addr: h.Addr, Handler: h.Handler(), Log: h.Log}.Listen(ctx)
}

// Listen takes the address. It is apart from Run so that a daemon that cannot have it says so
// before it does anything else; the error names the variable to change.
func (e Endpoints) Listen(ctx context.Context) (*Server, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", e.Addr)
	if err != nil {
		return nil, fmt.Errorf("listening on %s %s: %w%s", e.Variable, e.Addr, err, remedy(err, e.Variable))
	}
	b := e.Bounds
	bounded := bound(listener, cmp.Or(b.Conns, 512))
	return &Server{
		variable: e.Variable,
		listener: bounded,
		http: &http.Server{
			Handler:           e.Handler,
			ErrorLog:          slog.NewLogLogger(e.Log.Handler(), slog.LevelWarn),
			ReadHeaderTimeout: cmp.Or(b.Header, 5*time.Second),
			ReadTimeout:       cmp.Or(b.Read, 10*time.Second),
			WriteTimeout:      cmp.Or(b.Write, scrapeTimeout+10*time.Second),
			IdleTimeout:       cmp.Or(b.Idle, 2*time.Minute),
			MaxHeaderBytes:    mostHeader,
			ConnState:         bounded.state,
		},
	}, nil
}

func remedy(err error, variable string) string {
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return "; stop the program that has it (another chasephone?), or set " + variable + " to another host:port"
	case errors.Is(err, syscall.EACCES):
		return "; set " + variable + " to a port above 1023"
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return "; set " + variable + " to an address of this machine"
	}
	return "; set " + variable + " to another host:port"
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
		return fmt.Errorf("serving on %s %s: %w", s.variable, s.Addr(), err)
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer cancel()
	if err := s.http.Shutdown(grace); err != nil {
		_ = s.http.Close() // requests that would not end are cut off: the daemon is stopping
	}
	if err := <-failed; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving on %s %s: %w", s.variable, s.Addr(), err)
	}
	return nil
}
