package store

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"chasephone/internal/followup"
)

// Collector publishes the gauges of the whole fleet's database as they were at the last
// Refresh: a scrape asks the database nothing. Every daemon publishes the same, so aggregate
// with max, not with sum.
type Collector struct {
	store *Store
	label func(string) string

	mu        sync.Mutex
	gauges    Gauges
	disagree  int
	refreshed time.Time
	took      time.Duration // the newest refresh
}

// refreshShare bounds what refreshing may cost where it takes long because very much is open: one part
// in so many of the time.
const refreshShare = 20

// NewCollector registers the collector. label makes of a line's name what may be published: whoever
// wrote the row may have named it by its number.
func NewCollector(s *Store, reg prometheus.Registerer, label func(string) string) *Collector {
	c := &Collector{store: s, label: label}
	reg.MustRegister(c)
	return c
}

// Refresh reads the gauges, unless that would be too often for what it costs.
func (c *Collector) Refresh(ctx context.Context) error {
	c.mu.Lock()
	soon := time.Since(c.refreshed) < refreshShare*c.took
	c.mu.Unlock()
	if soon {
		return nil
	}
	begun := time.Now()
	g, err := c.store.Gauges(ctx)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.refreshed.IsZero() && g.Limits != c.gauges.Limits {
		c.store.log.Warn("the limits in force have changed", "before", fmt.Sprintf("%+v", c.gauges.Limits), "now", fmt.Sprintf("%+v", g.Limits))
	}
	c.gauges, c.refreshed, c.took = g, time.Now(), time.Since(begun)
	return nil
}

// Disagree notes how many live daemons' environments differ from this one's.
func (c *Collector) Disagree(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.disagree = n
}

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("chasephone_"+name, help, labels, nil)
}

func describe() map[string]*prometheus.Desc {
	return map[string]*prometheus.Desc{
		"outcomes":  desc("outcomes_total", "Outcomes by kind, counted from the ledger for the whole fleet.", "outcome"),
		"followups": desc("followups", "Follow-ups in each state that is not final.", "state"),
		"due":       desc("oldest_due_age_seconds", "How long the oldest promise that is due has waited; 0: none."),
		"risk":      desc("followups_at_risk", "Follow-ups due or awaiting approval that will be missed within two hours."),
		"uncertain": desc("oldest_uncertain_age_seconds", "How long the oldest uncertain follow-up has been so; 0: none."),
		"conflicts": desc("evidence_conflicts_total", "Words of carriers that contradict what was recorded: it rang after all, or one call ended in two ways."),
		"endless":   desc("calls_without_end", "Calls that a carrier took one to eight days ago and told no end of."),
		"held":      desc("ringing_held", "Whether all ringing is held because the database may have forgotten attempts, until a person releases it."),
		"line":      desc("line_ready", "Whether the default tenant's line may be rung on now.", "line"),
		"limit":     desc("limit", "The limits in force; times in seconds.", "name"),
		"changes":   desc("limit_changes_total", "How often the limits in force were changed by a daemon's start."),
		"disagree":  desc("limits_disagree", "Live daemons whose own environment differs from this daemon's."),
		"age":       desc("gauges_age_seconds", "How old the figures taken from the database are."),
	}
}

// Describe sends every description.
func (c *Collector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range describe() {
		out <- d
	}
}

// Collect sends the figures of the last Refresh; before the first, those that are known.
func (c *Collector) Collect(out chan<- prometheus.Metric) {
	c.mu.Lock()
	g, disagree, refreshed := c.gauges, c.disagree, c.refreshed
	c.mu.Unlock()
	d := describe()
	gauge := func(name string, v float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d[name], prometheus.GaugeValue, v, labels...)
	}
	for _, o := range followup.Outcomes() {
		out <- prometheus.MustNewConstMetric(d["outcomes"], prometheus.CounterValue, float64(g.Outcomes[o]), string(o))
	}
	out <- prometheus.MustNewConstMetric(d["conflicts"], prometheus.CounterValue, float64(g.Conflicts))
	out <- prometheus.MustNewConstMetric(d["changes"], prometheus.CounterValue, float64(g.LimitChanges))
	for _, state := range followup.States() {
		if !state.Final() {
			gauge("followups", float64(g.FollowUps[state]), string(state))
		}
	}
	gauge("due", g.OldestDue.Seconds())
	gauge("risk", float64(g.AtRisk))
	gauge("uncertain", g.OldestUncertain.Seconds())
	gauge("endless", float64(g.WithoutEnd))
	gauge("disagree", float64(disagree))
	gauge("held", truth(g.Held))
	ready := map[string]bool{} // lines that are published as one are ready where all are
	for _, l := range g.Lines {
		name := c.label(l.Name)
		others, are := ready[name]
		ready[name] = l.Ready && (others || !are)
	}
	for name, is := range ready {
		gauge("line", truth(is), name)
	}
	if refreshed.IsZero() {
		return
	}
	gauge("age", time.Since(refreshed).Seconds())
	for name, v := range map[string]float64{
		"tick": g.Limits.Tick.Seconds(), "per_tick": float64(g.Limits.PerTick), "retry_after": g.Limits.RetryAfter.Seconds(),
		"max_late": g.Limits.MaxLate.Seconds(), "dial_timeout": g.Limits.DialTimeout.Seconds(), "dial_slots": float64(g.Limits.DialSlots),
		"drainers": float64(g.Limits.Drainers), "quarantine": g.Limits.Quarantine.Seconds(),
	} {
		gauge("limit", v, name)
	}
}

// defaultTenant is the one whose lines the environment configures; other tenants' lines are
// without a bound and are no labels.
const defaultTenant = "default"

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
