//go:build mutants

package proof_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"chasephone/internal/mutants"
)

// where says which part of the walk is lived against a mutant. Most are found out before that, with
// no fault at all; the others only by this.
var where = map[string]string{
	"commit-unknown-rings":       "claim/commit",
	"orphans-redialed":           "sweep/",
	"quarantine-skipped":         "hasty/commit",
	"replaying-transport":        "dial/",
	"places-not-counted":         "claim/rulings",
	"no-attempt-committed":       "claim/commit",
	"no-compare-and-set":         "record/begin",
	"redirects-followed":         "dial/",
	"unlisted-answer-is-no-call": "record/commit",
	"no-answer-is-no-call":       "dial/",
	"send-by-not-checked":        "claim/commit",
	"lateness-not-checked":       "close/",
	"approval-spent-twice":       "approve/commit",
	"stop-not-looked-at":         "stop/commit",
	"signature-not-checked":      "keep/commit",
	"foreign-evidence-settles":   "bridge/markBridged",
	"decided-without-lock":       "settle/snapshot",
	"no-ledger-row":              "sweep/",
}

// byOthers are those that take two daemons at once, which the walk has one after the other, and who
// finds them out.
var byOthers = map[string]string{
	"settled-by-number": "the model (T2_BY_NUMBER), TestGivingBackAnothersAttempt, and the drill where chance has it",
}

// Without any one guard the walk finds a violation of an invariant; with all of them, and by the
// same command, it finds none.
func TestMutants(t *testing.T) {
	root := repository(t)
	var (
		mu   sync.Mutex
		rows []string
	)
	t.Run("each", func(t *testing.T) {
		t.Run("unchanged", func(t *testing.T) {
			t.Parallel()
			var parts []string
			for _, part := range where {
				if !slices.Contains(parts, part) {
					parts = append(parts, part)
				}
			}
			if out, err := walkAgainst(t.Context(), root, "", "", strings.Join(parts, "|")); err != nil {
				t.Errorf("the product as it is: %v\n%s", err, tail(out))
			}
		})
		for _, m := range mutants.All() {
			t.Run(m.Name, func(t *testing.T) {
				t.Parallel()
				if by, is := byOthers[m.Name]; is {
					t.Skip("found out by " + by)
				}
				part, ok := where[m.Name]
				if !ok {
					t.Fatal("it is not said which part of the walk finds it out")
				}
				overlay, err := mutants.Overlay(root, t.TempDir(), m)
				if err != nil {
					t.Fatal(err)
				}
				began := time.Now()
				out, err := walkAgainst(t.Context(), root, overlay, m.Name, part)
				violation, by := firstViolation(out)
				if failed := new(exec.ExitError); !errors.As(err, &failed) || violation == "" {
					t.Fatalf("the walk finds nothing (%v)\n%s", err, tail(out))
				}
				mu.Lock()
				defer mu.Unlock()
				rows = append(rows, fmt.Sprintf("%-26s | %-66s | %s | %s | %.0f s", m.Name, m.Guard, violation, by, time.Since(began).Seconds()))
			})
		}
	})
	slices.Sort(rows)
	t.Logf("%d mutants found out:\n%s", len(rows), strings.Join(rows, "\n"))
}

// walkAgainst lives a part of the walk, in a process of its own, against what the overlay makes of
// the product.
func walkAgainst(ctx context.Context, root, overlay, mutant, part string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	args := []string{"test"}
	if overlay != "" {
		args = append(args, "-overlay", overlay)
	}
	args = append(args, "-count=1", "-timeout", "4m", "-run", "^TestCrashPoints$", "-v", "./internal/proof", "-thin", "fault", "-only", part, "-workers", "4")
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), mutantVariable+"="+mutant)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// firstViolation is what caught a mutant, and in which combination.
func firstViolation(out string) (violation, by string) {
	lines := strings.Split(out, "\n")
	for i, line := range lines {
		if _, text, ok := strings.Cut(line, "VIOLATION of "); ok && i+1 < len(lines) {
			return text, strings.TrimSpace(lines[i+1])
		}
	}
	return "", ""
}

func tail(out string) string {
	lines := strings.Split(out, "\n")
	lines = slices.DeleteFunc(lines, func(l string) bool { return strings.Contains(l, " points: ") })
	return strings.Join(lines[max(0, len(lines)-40):], "\n")
}
