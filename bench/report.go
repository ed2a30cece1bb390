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
	Name   string   `json:"name"`
	Kind   string   `json:"kind"`
	Rounds []sample `json:"rounds"`
}

// report is a whole run: only ratios within it mean anything.
type report struct {
	At       time.Time     `json:"at"`
	Took     time.Duration `json:"took_ns"`
	Cores    int           `json:"cores"`
	Server   string        `json:"server"`
	Settings string        `json:"settings"` // of the server, that are not its defaults
	Results  []result      `json:"results"`
	Measures []measured    `json:"measures"`
}

func newReport(ctx context.Context, srv *server, results []result, took time.Duration) report {
	r := report{At: time.Now().UTC(), Took: took, Cores: runtime.NumCPU(), Results: results, Measures: measures(results)}
	_ = srv.ask(ctx, `select version(), (select coalesce(string_agg(name || '=' || setting, ' ' order by name), '') from pg_settings
		where source not in ('default', 'override') and name in ('fsync', 'synchronous_commit', 'full_page_writes', 'shared_buffers', 'max_wal_size', 'wal_compression', 'max_connections', 'commit_delay', 'wal_level', 'work_mem'))`,
		nil, &r.Server, &r.Settings)
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

// rate is the median of items per second.
func (r result) rate() float64 { return quantile(r.each(sample.PerSecond), 0.5) }

// best is the best median of a kind; zero where there is none.
func best(results []result, kind string, fits func(result) bool) (rate float64, name string) {
	for _, one := range results {
		if one.Kind == kind && (fits == nil || fits(one)) && one.rate() > rate {
			rate, name = one.rate(), one.Name
		}
	}
	return rate, name
}

// measured is one line of what must be reached.
type measured struct {
	Measure string  `json:"measure"`
	Setting string  `json:"setting"`
	Value   float64 `json:"value"`
	Floor   float64 `json:"floor"`
	Aim     float64 `json:"aim,omitempty"`
	Below   bool    `json:"below,omitempty"` // the value is to be below, not above
}

func (m measured) says() string {
	better := func(than float64) bool { return m.Value >= than && !m.Below || m.Value < than && m.Below }
	switch {
	case m.Aim > 0 && better(m.Aim):
		return "aim reached"
	case better(m.Floor):
		return "floor reached"
	}
	return "MISSED"
}

func measures(results []result) []measured {
	raw, _ := best(results, kindRaw, nil)
	two, _ := best(results, kindTwo, nil)
	jobs, _ := best(results, kindRiver, nil)
	instant, instantAt := best(results, kindInstant, nil)
	small, smallAt := best(results, kindInstant, func(r result) bool { return r.Rounds[0].Slots == 256 })
	few, fewAt := best(results, kindHTTP, func(r result) bool { return r.Rounds[0].Slots == 64 })
	many, manyAt := best(results, kindHTTP, nil)
	one, _ := best(results, kindFleet+"1", nil)
	two2, twoAt := best(results, kindFleet+"2", nil)
	last := 0.0
	for _, r := range results {
		if r.Name == instantAt {
			last = quantile(r.each(func(s sample) float64 { return s.LastAttempt.Seconds() }), 1)
		}
	}
	return []measured{
		{"instant carrier, best / raw16", instantAt, instant / raw, 0.9, 1.5, false},
		{"instant carrier, best / River no-op", instantAt, instant / jobs, 0.7, 1, false},
		{"instant carrier, 256 dial slots / 2stmt16", smallAt, small / two, 1.5, 2.5, false},
		{"HTTP in 20 ms, 64 dial slots / 3,200 a second", fewAt, few / (64 / answersIn.Seconds()), 0.65, 0.85, false},
		{"HTTP in 20 ms, best / raw16", manyAt, many / raw, 0.5, 0.75, false},
		{"two daemons, DRAINERS=2 / one with 1", twoAt, two2 / one, 1.8, 0, false},
		{"slot's begin to its attempts' commits, p99, seconds, the longest round", instantAt, last, 60, 6, true},
	}
}

func (r report) print(out io.Writer) {
	raw, _ := best(r.Results, kindRaw, nil)
	say(out, "%s, %d cores, %s. Settings that are not the defaults: %s\nMedians of %d interleaved rounds; only ratios within this run mean anything.\n\n",
		r.At.Format(time.RFC3339), r.Cores, r.Server, r.Settings, len(r.Results[0].Rounds))
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	say(t, "items/s\tmin\tmax\tof raw16\trows/commit\tcommits\tstatements\tWAL B\t  each item;\n")
	for _, one := range r.Results {
		all := one.each(sample.PerSecond)
		item := func(of func(sample) int64) float64 {
			return quantile(one.each(func(s sample) float64 { return float64(of(s)) / float64(s.Items) }), 0.5)
		}
		commits := item(func(s sample) int64 { return s.Commits })
		say(t, "%.0f\t%.0f\t%.0f\t%.2f\t%s\t%.3f\t%s\t%.0f\t  %s\n", one.rate(), slices.Min(all), slices.Max(all), one.rate()/raw,
			unless(commits == 0, "%.1f", 1/max(commits, 1e-9)), commits, unless(one.Rounds[0].Statements == 0, "%.2f", item(func(s sample) int64 { return s.Statements })),
			item(func(s sample) int64 { return s.WAL }), one.Name)
	}
	_ = t.Flush()
	say(out, "\n")
	t = tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	say(t, "measure\tvalue\tfloor\taim\t\tat\n")
	for _, m := range r.Measures {
		say(t, "%s\t%.2f\t%g\t%s\t%s\t%s\n", m.Measure, m.Value, m.Floor, unless(m.Aim == 0, "%g", m.Aim), m.says(), m.Setting)
	}
	_ = t.Flush()
}

// unless prints a figure, or - where it is none.
func unless(none bool, format string, value float64) string {
	if none {
		return "-"
	}
	return fmt.Sprintf(format, value)
}

// say prints; that nobody reads it is no reason to stop.
func say(out io.Writer, format string, args ...any) { _, _ = fmt.Fprintf(out, format, args...) }
