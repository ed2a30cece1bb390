package telemetry

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

const (
	readyTimeout  = 3 * time.Second  // below the 5 to 10 s after which probes give up
	scrapeTimeout = 10 * time.Second // Prometheus's own default
	scrapes       = 4                // at once; more are answered 503
)

// Health is what the endpoints on METRICS_ADDR need.
type Health struct {
	// Addr is where to listen, host:port. Port 0 is a free one.
	Addr string
	// Registry has the metrics. Must be set.
	Registry *prometheus.Registry
	// Ready says why the daemon cannot do its work, or nil. It is asked for every /readyz, by
	// several requests at once, and must give up when its context ends, within three
	// seconds. Its error is shown to whoever asks. Nil: always ready.
	Ready func(context.Context) error
	// Log gets what goes wrong while serving. Must be set.
	Log *slog.Logger
}

// Handler serves GET and HEAD of
//
//	/metrics   the registry; what other collectors have is served though one fails
//	/healthz   200 while the process can answer at all
//	/readyz    200 while Ready says so, else 503 and its reason
func (h Health) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(h.Registry, promhttp.HandlerOpts{
		ErrorLog:            slog.NewLogLogger(h.Log.Handler(), slog.LevelError),
		ErrorHandling:       promhttp.ContinueOnError,
		MaxRequestsInFlight: scrapes,
		Timeout:             scrapeTimeout,
	}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, "ok")
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		if err := h.ready(r.Context()); err != nil {
			answer(w, http.StatusServiceUnavailable, "not ready: "+MaskText(err.Error()))
			return
		}
		answer(w, http.StatusOK, "ok")
	})
	return mux
}

func (h Health) ready(ctx context.Context) error {
	if h.Ready == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	return h.Ready(ctx)
}

func answer(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = fmt.Fprintln(w, text) // the prober hung up
}
