package carrier

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

func TestMetricsAreSetUp(t *testing.T) {
	t.Parallel()
	reg := prometheus.NewRegistry()
	m := NewMetrics(reg, "twilio", "telnyx")
	m.Observe("twilio", ResultOf(Placed{}), time.Second)
	families, err := reg.Gather()
	if err != nil || len(families) != 1 || families[0].GetName() != "chasephone_carrier_request_duration_seconds" {
		t.Fatalf("%v, %v", families, err)
	}
	if n := len(families[0].GetMetric()); n != 12 {
		t.Errorf("%d series; want 2 carriers by 6 results", n)
	}
	var observed uint64
	for _, series := range families[0].GetMetric() {
		observed += series.GetHistogram().GetSampleCount()
	}
	if observed != 1 {
		t.Errorf("%d observations", observed)
	}
}

func TestResultOf(t *testing.T) {
	t.Parallel()
	for answer, want := range map[Answer]Result{
		Placed{}: ResultPlaced, Refused{}: ResultRefused, NotPlaced{}: ResultNotPlaced, Unknown{}: ResultUnknown, nil: ResultUnknown,
	} {
		if got := ResultOf(answer); got != want {
			t.Errorf("%T: %q, want %q", answer, got, want)
		}
	}
}
