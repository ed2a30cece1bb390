// Package sim is a telephone company that rings nobody: Twilio's API for calls, with a
// ring book of its own that says how often every number would have rung, and with faults
// on request. It is what the demo, the drill and the tests call.
//
// The ring book is the witness. A request is in it, and on the disk, before it is answered;
// whatever the answer was, and whoever got it, the book says whether the phone rang.
//
// A fault is asked for by the ending of the number called (Faults lists them), or by a Rule.
package sim

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"
)

// Options configure a Server. The zero value is a company without faults of its own that
// forgets everything when it is closed.
type Options struct {
	// Book is the ring book's file, JSON lines. One that exists is read and continued: a
	// telephone company that was restarted still knows its calls. Empty: kept in memory.
	Book string

	// NoSync leaves out the fsync after every line: thousands of calls a second, and a book
	// that survives the process but not the machine.
	NoSync bool

	// Log is told of every request, numbers masked; nil for nobody.
	Log *slog.Logger

	// Accounts are the account SIDs that may call, with their auth tokens. Empty: any, with
	// whatever token it shows; its webhooks are then signed with that.
	Accounts map[string]string

	// Latency is how long every answer takes, after the phone rang.
	Latency time.Duration

	// StatusDelay is the time between two events of a call; 0 is 200 ms.
	StatusDelay time.Duration

	// Rules are faults from the start, the first that fits a request rules it.
	Rules []Rule

	// PlainNumbers gives a number's ending no meaning, so that any number may be called.
	PlainNumbers bool
}

// Server is a simulated telephone company. It is safe for concurrent use.
type Server struct {
	options Options
	log     *slog.Logger
	book    *book
	client  *http.Client // for webhooks

	alive  context.Context // ends with Close
	die    context.CancelFunc
	work   sync.WaitGroup     // calls in progress and their webhooks
	refuse chan time.Duration // asks Serve to refuse connections for a while

	mu    sync.Mutex
	rules []Rule
	calls map[string]*call // by SID
	order []*call          // as they were placed
}

// New opens the ring book. The Server lives until Close.
func New(o Options) (*Server, error) {
	for _, r := range o.Rules {
		if err := r.check(); err != nil {
			return nil, fmt.Errorf("carrier simulator, rule for %q: %w", r.To, err)
		}
	}
	b, err := openBook(o.Book, !o.NoSync)
	if err != nil {
		return nil, err
	}
	if o.StatusDelay <= 0 {
		o.StatusDelay = 200 * time.Millisecond
	}
	s := &Server{
		options: o,
		log:     o.Log,
		book:    b,
		client: &http.Client{
			Timeout:       5 * time.Second,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		refuse: make(chan time.Duration),
		rules:  append([]Rule(nil), o.Rules...),
		calls:  map[string]*call{},
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	s.alive, s.die = context.WithCancel(context.Background())
	for _, e := range b.rings().Entries {
		if e.Rang {
			s.remember(restored(e))
		}
	}
	return s, nil
}

// Handler serves Twilio's paths and the simulator's own under /sim/.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /2010-04-01/Accounts/{account}/Calls.json", s.createCall)
	mux.HandleFunc("GET /2010-04-01/Accounts/{account}/Calls.json", s.authenticated(s.listCalls))
	mux.HandleFunc("GET /2010-04-01/Accounts/{account}/Calls/{sid}", s.authenticated(s.fetchCall))
	mux.HandleFunc("POST /2010-04-01/Accounts/{account}/Calls/{sid}", s.authenticated(s.updateCall))
	mux.HandleFunc("GET /sim/rings", s.showRings)
	mux.HandleFunc("GET /sim/faults", s.showFaults)
	mux.HandleFunc("POST /sim/faults", s.addFault)
	mux.HandleFunc("DELETE /sim/faults", s.clearFaults)
	mux.HandleFunc("POST /sim/refuse", s.refuseConnections)
	mux.HandleFunc("GET /{$}", s.showHelp)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		writeError(w, http.StatusNotFound, 20404, "The requested resource "+r.URL.Path+" was not found")
	})
	return mux
}

// Rings is what the ring book says.
func (s *Server) Rings() Rings { return s.book.rings() }

// AddRule adds a rule behind those there are.
func (s *Server) AddRule(r Rule) error {
	if err := r.check(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rules = append(s.rules, r)
	return nil
}

// Close ends every call in progress, without a webhook, and closes the book.
func (s *Server) Close() error {
	s.mu.Lock()
	s.die()
	s.mu.Unlock()
	s.work.Wait()
	return s.book.close()
}

// spawn runs f beside the requests, unless the server is being closed; Close waits for it.
func (s *Server) spawn(f func()) {
	s.mu.Lock() // so that nothing is added once Close has begun to wait
	defer s.mu.Unlock()
	if s.alive.Err() == nil {
		s.work.Go(f)
	}
}

// sleep reports false if the server was closed, or done was, before d had passed.
func (s *Server) sleep(done <-chan struct{}, d time.Duration) bool {
	if d <= 0 {
		return s.alive.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-done:
	case <-s.alive.Done():
	}
	return false
}
