package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"chasephone/internal/mutants"
)

// foundOut are those that the drill finds within the minute, whatever it begins with. Others need
// a moment that comes by too seldom, and are the other proofs' to find.
func foundOut() []string {
	return []string{
		"orphans-redialed", "replaying-transport", "commit-unknown-rings", "quarantine-skipped", "places-not-counted", "no-attempt-committed",
		"no-compare-and-set", "no-ledger-row", "no-answer-is-no-call", "unlisted-answer-is-no-call", "signature-not-checked", "lateness-not-checked",
	}
}

// drillMutants drills several mutants, each in a process of its own, and fails where one of them
// is not found out.
func drillMutants(ctx context.Context, o options, out io.Writer) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("finding this program: %w", err)
	}
	names := o.only
	if len(names) == 0 {
		names = foundOut()
	}
	for _, name := range names {
		if _, ok := mutants.Named(name); !ok {
			return fmt.Errorf("there is no mutant %s", name)
		}
	}
	logs, err := os.MkdirTemp("", "chasephone-drill-mutants-")
	if err != nil {
		return fmt.Errorf("making a folder for what the drills say: %w", err)
	}
	n := newNursery()
	defer n.end()
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	var missed []string
	for _, name := range names {
		file := filepath.Join(logs, name+".txt")
		p, err := n.start(birth{
			program: self, dir: o.root, env: os.Environ(), log: file,
			args: []string{"-mutant", name, "-for", o.lasts.String(), "-seed", strconv.FormatUint(o.seed, 10), "-race=false"},
		})
		if err != nil {
			return err
		}
		select {
		case <-p.done:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		said, err := os.ReadFile(file)
		if err != nil {
			return fmt.Errorf("reading what a drill said: %w", err)
		}
		code := p.ProcessState.ExitCode()
		if code != exitViolated {
			missed = append(missed, name)
		}
		_, _ = fmt.Fprintf(t, "%s\t%s\n", name, outcome(code, string(said)))
		_ = t.Flush()
	}
	if len(missed) > 0 {
		return fmt.Errorf("not found out: %s; what their drills said is in %s", strings.Join(missed, ", "), logs)
	}
	_, _ = fmt.Fprintf(out, "\nevery one of them was found out\n")
	return errors.Join(os.RemoveAll(logs))
}

// outcome is a mutant's drill in a line.
func outcome(code int, said string) string {
	if code != exitViolated {
		return fmt.Sprintf("NOT FOUND OUT (it ended with %d): %s", code, lastLines(said, 1))
	}
	rule, after := "", ""
	for line := range strings.Lines(said) {
		if is, ok := strings.CutPrefix(line, "VIOLATED: "); ok && rule == "" {
			rule = strings.TrimSpace(is)
		}
		if is, ok := strings.CutPrefix(line, "found "); ok {
			after = strings.TrimSpace(is)
		}
	}
	if after == "" {
		after = "found at the end"
	}
	return "violated: " + rule + "; " + after
}

// mutantsLast is how long a mutant has to be found out in.
const mutantsLast = 45 * time.Second
