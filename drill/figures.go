package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// figure is a line of the table.
type figure struct {
	what  string
	n     int
	floor int // 0: none
}

// tooLittle says that too little of it happened for the drill to have proven anything.
func (f figure) tooLittle() bool { return f.n < f.floor }

// floors are what must have happened at least in a minute.
func floors() map[string]float64 {
	return map[string]float64{
		"promises": 650, "rings": 330, "attempts": 420, "kill -9 of a daemon": 34, "killed within a dial": 11,
		"uncertain": 40, "PostgreSQL restarted at once": 2, "webhooks taken": 400, "decisions": 35,
		"cut before the attempt's commit": 1, "cut after the attempt's commit": 0.6, "daemons paused (SIGSTOP)": 2,
	}
}

// figures are what happened, in the tables, in the ring book and by the drill's own count.
func (w *world) figures(f *facts, lasted time.Duration) []figure {
	w.mu.Lock()
	counts := maps.Clone(w.counts)
	w.mu.Unlock()
	all := map[string]int{"promises": len(f.followups), "attempts": len(f.attempts), "requests to the carrier": len(f.rings.all), "evidence in conflict": f.conflicts}
	for _, e := range f.rings.all {
		if e.Rang {
			all["rings"]++
		}
	}
	for _, of := range f.followups {
		all["ended as "+of.state]++
		for _, e := range of.events {
			if e.to == "uncertain" && e.from != "uncertain" {
				all["uncertain"]++
			}
			if e.from == "uncertain" && e.to != "uncertain" {
				all["uncertain, settled by a "+e.actor]++
			}
		}
	}
	for what, n := range counts {
		all[what] += n
		if strings.HasPrefix(what, "decisions: ") {
			all["decisions"] += n
		}
	}
	var table []figure
	least := floors()
	for _, what := range slices.Sorted(maps.Keys(all)) {
		table = append(table, figure{what, all[what], int(least[what] * lasted.Minutes())})
		delete(least, what)
	}
	for what, floor := range least {
		if n := int(floor * lasted.Minutes()); n > 0 {
			table = append(table, figure{what, 0, n})
		}
	}
	return table
}

// printFigures prints the table; the error says of what too little happened.
func printFigures(out io.Writer, all []figure) error {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	var short []string
	for _, f := range all {
		at := ""
		if f.floor > 0 {
			at = fmt.Sprintf("at least %d", f.floor)
		}
		if f.tooLittle() {
			short = append(short, fmt.Sprintf("%s: %d, and at least %d are wanted", f.what, f.n, f.floor))
			at += "  TOO FEW"
		}
		_, _ = fmt.Fprintf(t, "  %s\t%d\t%s\n", f.what, f.n, at)
	}
	_ = t.Flush()
	if len(short) > 0 {
		return fmt.Errorf("too little happened: %s", strings.Join(short, "; "))
	}
	return nil
}
