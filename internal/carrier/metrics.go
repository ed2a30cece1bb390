package carrier

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Result is the metric's word for an answer.
type Result string

// The closed set of results.
const (
	ResultPlaced    Result = "placed"
	ResultRefused   Result = "refused"
	ResultNotPlaced Result = "not_placed"
	ResultUnknown   Result = "unknown"

	// Of questions, which ring nobody:
	ResultAnswered Result = "answered"
	ResultFailed   Result = "failed"
)

// ResultOf names an answer. No answer at all is an unknown one.
func ResultOf(a Answer) Result {
	switch a.(type) {
	case Placed:
		return ResultPlaced
	case Refused:
		return ResultRefused
	case NotPlaced:
		return ResultNotPlaced
	}
	return ResultUnknown
}

// Metrics counts and times requests to carriers. No number is ever a label.
type Metrics struct {
	requests *prometheus.HistogramVec
}

// NewMetrics registers chasephone_carrier_request_duration_seconds{carrier,result} and
// sets up its series for the carriers named, so that a rate is there before the first call.
// It panics, as every MustRegister does, when reg has them already.
func NewMetrics(reg prometheus.Registerer, carriers ...string) *Metrics {
	m := &Metrics{requests: prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "chasephone_carrier_request_duration_seconds",
		Help: "Time from taking up a request to a carrier until what is known of it, by what is known.",
		// The answer is awaited for 10 s unless told otherwise; beyond 30 s nothing is told apart.
		Buckets: []float64{0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30},
	}, []string{"carrier", "result"})}
	reg.MustRegister(m.requests)
	for _, carrier := range carriers {
		for _, r := range []Result{ResultPlaced, ResultRefused, ResultNotPlaced, ResultUnknown, ResultAnswered, ResultFailed} {
			m.requests.WithLabelValues(carrier, string(r))
		}
	}
	return m
}

// Observe is an Options.Observe.
func (m *Metrics) Observe(carrier string, result Result, took time.Duration) {
	m.requests.WithLabelValues(carrier, string(result)).Observe(took.Seconds())
}
