package drain

import (
	"github.com/prometheus/client_golang/prometheus"

	"chasephone/internal/gates"
)

// Metrics counts what the gates of this daemon find. Outcomes are counted from the ledger.
type Metrics struct {
	findings *prometheus.CounterVec
}

// NewMetrics registers the drain's metrics, with every label at 0.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	m := &Metrics{findings: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "chasephone_gate_findings_total",
		Help: "What each gate found, by this daemon's drains.",
	}, []string{"gate", "finding"})}
	reg.MustRegister(m.findings)
	for _, gate := range gates.Names() {
		for _, kind := range gates.Kinds() {
			m.findings.WithLabelValues(gate, kind)
		}
	}
	return m
}

func (m *Metrics) found(findings []gates.Finding) {
	if m == nil {
		return
	}
	for _, f := range findings {
		m.findings.WithLabelValues(f.Gate, f.Kind()).Inc()
	}
}
