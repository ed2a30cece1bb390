package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// inLogs looks for what no log may hold: a number that was used, in whatever way it is written, a
// panic, a data race.
func inLogs(files []string, numbers map[string]bool) ([]violation, int, error) {
	var all []violation
	lines := 0
	for _, path := range files {
		file, err := os.Open(path)
		if err != nil {
			return all, lines, fmt.Errorf("reading a log: %w", err)
		}
		in := bufio.NewScanner(file)
		in.Buffer(nil, 16<<20)
		for in.Scan() {
			lines++
			if says := amiss(in.Text(), numbers); says != "" {
				all = append(all, violation{Rule: "logs hold no " + says, Says: fmt.Sprintf("%s, line %d: %s", filepath.Base(path), lines, in.Text())})
			}
		}
		err = in.Err()
		_ = file.Close()
		if err != nil {
			return all, lines, fmt.Errorf("reading a log: %w", err)
		}
	}
	return all, lines, nil
}

var (
	written = regexp.MustCompile(`\+?1?[ -]?\(?\d{3}\)?[ .-]?\d{3}[ .-]?\d{4}`)                         //nolint:gochecknoglobals // constants
	broken  = regexp.MustCompile(`^panic: |^fatal error: |^goroutine \d+ \[|DATA RACE|panicked|panic=`) //nolint:gochecknoglobals // constants
)

// amiss says what is wrong with a line of a log; "" where nothing is.
func amiss(line string, numbers map[string]bool) string {
	if broken.MatchString(line) {
		return "panic and no race"
	}
	for at := 0; at < len(line); {
		found := written.FindStringIndex(line[at:])
		if found == nil {
			return ""
		}
		digits := onlyDigits(line[at+found[0] : at+found[1]])
		if len(digits) >= 10 && numbers[digits[len(digits)-10:]] {
			return "telephone number"
		}
		at += found[0] + 1 // the next may begin within
	}
	return ""
}

var outcomeLine = regexp.MustCompile(`(?m)^chasephone_outcomes_total\{outcome="(\w+)"\} (\S+)$`) //nolint:gochecknoglobals // a constant

// totals reads the outcomes out of a daemon's metrics.
func totals(text string) map[string]int {
	all := map[string]int{}
	for _, m := range outcomeLine.FindAllStringSubmatch(text, -1) {
		if n, err := strconv.ParseFloat(m[2], 64); err == nil {
			all[m[1]] = int(n)
		}
	}
	return all
}

// metricsAgree waits until a daemon's totals are the ledger's, for they are counted every few seconds.
func (w *world) metricsAgree(ctx context.Context, f *facts) []violation {
	ledger := map[string]int{}
	for _, of := range f.followups {
		for _, e := range of.events {
			if e.outcome != "" {
				ledger[e.outcome]++
			}
		}
	}
	client := &http.Client{Timeout: 5 * time.Second}
	var last string
	err := await(ctx, "the metrics agree", 40*time.Second, func() bool {
		for _, d := range w.daemons {
			text, err := d.scrape(ctx, client)
			if err != nil {
				last = err.Error()
				return false
			}
			if has := totals(text); !sameTotals(has, ledger) {
				last = fmt.Sprintf("%s says %v", d.name, has)
				return false
			}
		}
		return true
	})
	if err == nil || errors.Is(err, context.Canceled) {
		return nil
	}
	return []violation{{Rule: "the metrics' outcomes are the ledger's", Says: fmt.Sprintf("the ledger has %v; %s", ledger, strings.TrimSpace(last))}}
}

func sameTotals(a, b map[string]int) bool {
	for _, all := range []map[string]int{a, b} {
		for name := range all {
			if a[name] != b[name] {
				return false
			}
		}
	}
	return true
}
