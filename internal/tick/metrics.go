package tick

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// The closed set of a tick's results.
const (
	resultDone    = "done"
	resultFailed  = "failed"
	resultSkipped = "skipped" // the fence: the slot was worked already, or was past
)

// Metrics counts the slots that this daemon worked.
type Metrics struct {
	ticks    *prometheus.CounterVec
	duration prometheus.Histogram
	last     prometheus.Gauge
}

// NewMetrics registers the tick's metrics, with every label at 0.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	m := &Metrics{
		ticks: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "chasephone_ticks_total", Help: "Slots whose job this daemon ran, by result.",
		}, []string{"result"}),
		duration: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "chasephone_tick_duration_seconds", Help: "How long a slot's claims took; calls in progress not included.",
			Buckets: []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60},
		}),
		last: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "chasephone_last_tick_timestamp_seconds", Help: "When this daemon last finished a slot's claims, Unix time; 0: not yet.",
		}),
	}
	reg.MustRegister(m.ticks, m.duration, m.last)
	for _, result := range []string{resultDone, resultFailed, resultSkipped} {
		m.ticks.WithLabelValues(result)
	}
	return m
}

func (m *Metrics) ticked(begun time.Time, err error) {
	m.duration.Observe(time.Since(begun).Seconds())
	if err != nil {
		m.ticks.WithLabelValues(resultFailed).Inc()
		return
	}
	m.ticks.WithLabelValues(resultDone).Inc()
	m.last.SetToCurrentTime()
}
