package main

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"slices"
	"text/tabwriter"
	"time"
)

// result is all rounds of one contender.
type result struct {
	subject
	Median summary  `json:"median"`
	Rounds []sample `json:"rounds"`
}

// summary is the medians of a contender's rounds. A ratio is one of medians, 0 where it says nothing;
// a count that is not known is -1.
type summary struct {
	PerSecond  float64 `json:"items_per_second"`
	Min        float64 `json:"min"`
	Max        float64 `json:"max"`
	OfRaw      float64 `json:"of_raw16,omitempty"`
	OfTwo      float64 `json:"of_2stmt16,omitempty"`
	OfRiver    float64 `json:"of_river,omitempty"`
	Statements float64 `json:"statements_per_item"`
	Commits    float64 `json:"commits_per_item"`
	Rows       float64 `json:"items_per_commit"`
	WAL        float64 `json:"wal_bytes_per_item"`
}

// report is a whole run: only ratios within it mean anything.
type report struct {
	At       time.Time     `json:"at"`
	Took     time.Duration `json:"took_ns"`
	Cores    int           `json:"cores"`
	Server   string        `json:"server"`
	Settings string        `json:"settings"` // of the server, that are not its defaults
	Tenants  int           `json:"tenants"`
	Results  []result      `json:"results"`
	Measures []measured    `json:"measures"`
}

func newReport(ctx context.Context, srv *server, results []result, e extent, took time.Duration) report {
	summarize(results)
	r := report{At: time.Now().UTC(), Took: took, Cores: runtime.NumCPU(), Tenants: e.tenants, Results: results, Measures: measures(results)}
	err := srv.ask(ctx, `
		select 'PostgreSQL ' || current_setting('server_version'), coalesce(string_agg(name || '=' || current_setting(name), ' ' order by name), 'none')
		from pg_settings
		where source not in ('default', 'override', 'client', 'session') and setting is distinct from boot_val
		  and category not like 'Reporting%' and category not like 'Client%' and category not like 'Connections and Authentication / %TCP%'
		  and name not in ('port', 'listen_addresses', 'unix_socket_directories', 'cluster_name', 'hba_file', 'ident_file', 'config_file', 'data_directory')`,
		nil, &r.Server, &r.Settings)
	if err != nil {
		r.Settings = "not known: " + err.Error()
	}
	return r
}

// quantile of values, 0 to 1; the median for 0.5. There must be some.
func quantile(values []float64, q float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	at := q * float64(len(sorted)-1)
	low := int(at)
	if low+1 == len(sorted) {
		return sorted[low]
	}
	return sorted[low] + (at-float64(low))*(sorted[low+1]-sorted[low])
}

func (r result) each(of func(sample) float64) []float64 {
	all := make([]float64, len(r.Rounds))
	for i, one := range r.Rounds {
		all[i] = of(one)
	}
	return all
}

// perItem is the median of a count's part of each item.
func (r result) perItem(of func(sample) int64) float64 {
	return quantile(r.each(func(s sample) float64 {
		if n := of(s); n >= 0 {
			return float64(n) / float64(s.Items)
		}
		return unknown
	}), 0.5)
}

// summarize gives every result its medians.
func summarize(results []result) {
	for i, r := range results {
		all := r.each(sample.PerSecond)
		m := summary{
			PerSecond: quantile(all, 0.5), Min: slices.Min(all), Max: slices.Max(all),
			Statements: r.perItem(func(s sample) int64 { return s.Statements }),
			Commits:    r.perItem(func(s sample) int64 { return s.Commits }),
			WAL:        r.perItem(func(s sample) int64 { return s.WAL }),
		}
		if m.Commits > 0 {
			m.Rows = 1 / m.Commits
		}
		results[i].Median = m
	}
	raw, two, river := best(results, kindRaw, 0).PerSecond, best(results, kindTwo, 0).PerSecond, best(results, kindRiver, 0).PerSecond
	for i, r := range results {
		m := &results[i].Median
		switch r.Kind {
		case kindOne, kindFleet: // their carrier bounds them, and nothing else
		case kindHTTP, kindSlot: // and these in part
			m.OfRaw = ratio(m.PerSecond, raw)
		default:
			m.OfRaw, m.OfTwo, m.OfRiver = ratio(m.PerSecond, raw), ratio(m.PerSecond, two), ratio(m.PerSecond, river)
		}
	}
}

func ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

// found is the best of some results.
type found struct {
	PerSecond float64
	Name      string
}

// best is the best median of a kind, with that many dial slots unless that is 0.
func best(results []result, kind string, slots int) (f found) {
	for _, one := range results {
		if one.Kind == kind && (slots == 0 || one.Slots == slots) && one.Median.PerSecond > f.PerSecond {
			f = found{one.Median.PerSecond, one.Name}
		}
	}
	return f
}

func (r report) print(out io.Writer) {
	say(out, "%s, %d cores, %s\nSettings that are not the defaults: %s\nMedians of %d interleaved rounds, in %s; %d tenants with two due follow-ups each. Only ratios within this run mean anything.\nStatements, commits and bytes of WAL are those of one item.\n\n",
		r.At.Format(time.RFC3339), r.Cores, r.Server, r.Settings, len(r.Results[0].Rounds), r.Took.Round(time.Second), r.Tenants)
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	say(t, "items/s\tmin\tmax\t/raw16\t/2stmt16\t/River\tstatements\tcommits\tWAL\titems/commit\t\n")
	for _, one := range r.Results {
		m := one.Median
		say(t, "%.0f\t%.0f\t%.0f\t%s\t%s\t%s\t%s\t%s\t%.0f\t%s\t  %s\n", m.PerSecond, m.Min, m.Max, some("%.2f", m.OfRaw), some("%.2f", m.OfTwo), some("%.2f", m.OfRiver),
			some("%.3f", m.Statements), some("%.3f", m.Commits), m.WAL, some("%.1f", m.Rows), one.Name)
	}
	_ = t.Flush()
	for _, one := range r.Results {
		one.remark(out)
	}
	if len(r.Measures) == 0 {
		return
	}
	say(out, "\n")
	t = tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	say(t, "must be reached\tvalue\tfloor\taim\t\tat\n")
	for _, m := range r.Measures {
		say(t, "%s\t%.2f\t%g\t%s\t%s\t%s\n", m.Measure, m.Value, m.Floor, some("%g", m.Aim), m.says(), m.Setting)
	}
	_ = t.Flush()
}

// remark says what is not in the table.
func (r result) remark(out io.Writer) {
	if r.Rounds[0].AfterSlot != nil {
		median := func(of func(afterSlot) time.Duration) time.Duration {
			return time.Duration(quantile(r.each(func(s sample) float64 { return float64(of(*s.AfterSlot)) }), 0.5)).Round(time.Millisecond)
		}
		say(out, "\n%s, a slot of %s: from its boundary to an attempt p50 %s, p99 %s; to an outcome p99 %s.\n", r.Name, slotTick,
			median(func(a afterSlot) time.Duration { return a.P50 }), median(func(a afterSlot) time.Duration { return a.P99 }),
			median(func(a afterSlot) time.Duration { return a.Outcome99 }))
	}
	if r.Kind == kindFleet {
		say(out, "\n%s: daemons that had part of the work, by round: %.0f.\n", r.Name, r.each(func(s sample) float64 { return float64(s.Daemons) }))
	}
}

// some prints a figure, or - where there is none.
func some(format string, value float64) string { return unless(value <= 0, format, value) }

// unless prints a figure, or - where it is none.
func unless(none bool, format string, value float64) string {
	if none {
		return "-"
	}
	return fmt.Sprintf(format, value)
}

// say prints; that nobody reads it is no reason to stop.
func say(out io.Writer, format string, args ...any) { _, _ = fmt.Fprintf(out, format, args...) }
