package arrivals

import "github.com/prometheus/client_golang/prometheus"

// result is the metric's word for what became of a request to a webhook.
type result string

// The closed set of results. A request that names no carrier that is known is not counted.
const (
	resultKept      result = "kept"      // stored, and the carrier was told so
	resultForeign   result = "foreign"   // the same, and it concerns no attempt and no line of any tenant
	resultForged    result = "forged"    // no account of the carrier signed it
	resultStale     result = "stale"     // signed, but not just now
	resultMalformed result = "malformed" // cut off on its way, without a legible signature, or in words that cannot be taken apart
	resultTooLarge  result = "too_large"
	resultRefused   result = "refused" // no delivery at all, and not read: another method, a webhook that is not there, an encoding, no PUBLIC_URL
	resultFailed    result = "failed"  // the database did not say in time that it has it; the carrier is to deliver it again
)

func results() []result {
	return []result{
		resultKept, resultForeign, resultForged, resultStale,
		resultMalformed, resultTooLarge, resultRefused, resultFailed,
	}
}

// Metrics counts what carriers send. No number, token or path is ever a label.
type Metrics struct {
	arrivals *prometheus.CounterVec
}

// NewMetrics registers chasephone_arrivals_total{carrier,result} and sets up its series for
// the carriers named, so that a rate is there before the first delivery.
func NewMetrics(reg prometheus.Registerer, carriers ...string) *Metrics {
	m := &Metrics{arrivals: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "chasephone_arrivals_total", Help: "Requests to the carriers' webhooks, by what became of them.",
	}, []string{"carrier", "result"})}
	reg.MustRegister(m.arrivals)
	for _, carrier := range carriers {
		for _, r := range results() {
			m.arrivals.WithLabelValues(carrier, string(r))
		}
	}
	return m
}

// Kept counts a delivery that came by no webhook: a step of a trunk's own call.
func (m *Metrics) Kept(carrier string, foreign bool, err error) {
	switch {
	case err != nil:
		m.count(carrier, resultFailed)
	case foreign:
		m.count(carrier, resultForeign)
	default:
		m.count(carrier, resultKept)
	}
}

func (m *Metrics) count(carrier string, r result) {
	m.arrivals.WithLabelValues(carrier, string(r)).Inc()
}
