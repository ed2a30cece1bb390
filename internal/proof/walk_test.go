package proof_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

var (
	full    = flag.Bool("full", false, "every point with every fault and every answer")
	only    = flag.String("only", "", "live only combinations whose description has this in it, or this|or this")
	thinly  = flag.String("thin", "", "what every combination lived has of its own: a point, a fault at it, or an answer to both")
	workers = flag.Int("workers", 6, "databases, each with a fleet and a telephone company of its own")
)

// Whatever fails, and when: a phone rings once, nothing is lost, and the tables say what was so
// (invariants 1 to 7 and 10; facts of every row of failures that has to do with one machine).
func TestCrashPoints(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes half a minute")
	}
	began := time.Now()
	source := readStatements(t, filepath.Join(repository(t), "internal", "store"))
	walk := &walk{points: map[string]map[string]bool{}}

	var blank []combination
	for _, s := range stories() {
		for _, v := range variants() {
			if s.fits(v) {
				blank = append(blank, combination{story: s, variant: v, armed: armed{fault: none}})
			}
		}
	}
	var worlds []*world
	for range *workers {
		worlds = append(worlds, newWorld(t, source))
	}
	walk.all(worlds, blank)
	if t.Failed() {
		t.Fatal("even with no fault there is a violation")
	}
	all := slices.DeleteFunc(walk.found, func(c combination) bool { return !c.isAbout(*only) })
	whole := len(all)
	switch {
	case *full, *thinly == "answer":
		all = thin(all, byAnswer)
	case *thinly == "fault":
		all = thin(all, byFault)
	case *only == "", *thinly == "point":
		all = thin(all, byPoint)
	}
	t.Logf("%d combinations of %d", len(all), whole)
	walk.all(worlds, all)
	walk.report(t, whole, time.Since(began))
}

// isAbout reports whether one of several words is in the combination's description.
func (c combination) isAbout(words string) bool {
	return slices.ContainsFunc(strings.Split(words, "|"), func(word string) bool { return strings.Contains(c.String(), word) })
}

func (c combination) String() string {
	return (&run{story: c.story, variant: c.variant, armed: c.armed}).String()
}

// walk is what came of it all.
type walk struct {
	mu         sync.Mutex
	found      []combination              // that the undisturbed runs came by
	points     map[string]map[string]bool // by part
	faults     map[fault]int
	answers    map[string]int
	lived      int
	unreached  []string
	rings      int
	uncertain  int
	violations int
}

// all lives combinations.
func (wk *walk) all(worlds []*world, all []combination) {
	overWorlds(worlds, all, func(w *world, c combination) {
		if !wk.tooMany() {
			wk.one(w, c)
		}
	})
}

// overWorlds does all things: one after the other in each database, in parallel over the databases.
func overWorlds[T any](worlds []*world, all []T, do func(*world, T)) {
	next := make(chan T)
	var living sync.WaitGroup
	for _, w := range worlds {
		living.Go(func() {
			for one := range next {
				do(w, one)
			}
		})
	}
	for _, one := range all {
		next <- one
	}
	close(next)
	living.Wait()
}

// tooMany violations are not worth waiting for.
func (wk *walk) tooMany() bool {
	wk.mu.Lock()
	defer wk.mu.Unlock()
	return wk.violations > 20 || wk.violations > 0 && os.Getenv(mutantVariable) != ""
}

// one lives a combination. Where its fault did not happen, because the machine it runs on was busy
// and came another way, it is lived again.
func (wk *walk) one(w *world, c combination) {
	for try := range 4 {
		r := &run{w: w, story: c.story, variant: c.variant, armed: c.armed, second: w.second}
		r.armed.hangs = c.variant.hangs()
		switch f := c.armed.fault; {
		case f == none && c.variant.hangs():
			r.armed.hurry = time.Second
		case c.variant.hangs():
			r.armed.hurry = 150 * time.Millisecond << (2 * try)
		case f == pause || f == longPause:
			r.armed.hurry = 60 * time.Millisecond << (2 * try)
		}
		for _, p := range c.story.rows {
			r.all = append(r.all, &p)
		}
		happened := r.live()
		wk.note(r, c, happened)
		if happened || len(r.found) > 0 {
			return
		}
	}
	wk.mu.Lock()
	defer wk.mu.Unlock()
	wk.unreached = append(wk.unreached, c.String())
}

func (wk *walk) note(r *run, c combination, happened bool) {
	var uncertain int
	if err := r.w.sees.QueryRow(r.w.ctx, `select count(*) from followup_events where tenant_id = $1 and to_state = 'uncertain'`, r.tenant).Scan(&uncertain); err != nil {
		r.w.t.Errorf("counting uncertain ones: %v", err)
	}
	wk.mu.Lock()
	defer wk.mu.Unlock()
	wk.rings += r.company.Rings().Rings
	wk.uncertain += uncertain
	for _, v := range r.found {
		wk.violations++
		r.w.t.Errorf("VIOLATION of %s\n\t%s", v, r)
	}
	if c.armed.fault == none {
		points := r.victim.newPoints()
		wk.found = append(wk.found, combinations(c.story, c.variant, points)...)
		for _, p := range points {
			part, _, _ := strings.Cut(p, "/")
			if wk.points[part] == nil {
				wk.points[part] = map[string]bool{}
			}
			wk.points[part][p] = true
		}
		return
	}
	if !happened {
		return
	}
	if wk.lived++; wk.lived%2000 == 0 {
		r.w.t.Logf("%d combinations lived", wk.lived)
	}
	if wk.faults == nil {
		wk.faults, wk.answers = map[fault]int{}, map[string]int{}
	}
	wk.faults[c.armed.fault]++
	wk.answers[c.variant.String()]++
}

// floors are how many points each part has at least: the walk cannot shrink and nobody notice.
var floors = map[string]int{
	"close": 2, "admit": 8, "claim": 18, "dial": 4, "record": 24, "keep": 6, "bridge": 56, "sweep": 2,
	"hasty": 16, "settle": 20, "approve": 18, "decline": 14, "cancel": 12, "stop": 12, "resume": 14,
}

func (wk *walk) report(t *testing.T, whole int, took time.Duration) {
	names := 0
	for _, part := range slices.Sorted(maps.Keys(wk.points)) {
		points := slices.Sorted(maps.Keys(wk.points[part]))
		names += len(points)
		t.Logf("%-8s %3d points: %s", part, len(points), strings.Join(points, ", "))
		for _, p := range points {
			if strings.Contains(p, "?") && os.Getenv(mutantVariable) == "" {
				t.Errorf("a statement that the source does not have: %s", p)
			}
		}
	}
	for part, least := range floors {
		if n := len(wk.points[part]); n < least && os.Getenv(mutantVariable) == "" {
			t.Errorf("part %s has %d points, and had %d", part, n, least)
		}
	}
	for _, c := range wk.unreached {
		t.Logf("not reached: %s", c)
	}
	t.Logf("%s", wk.figures(names, whole, took))
	switch {
	case *only != "":
	case *full && wk.lived < 10000:
		t.Errorf("%d combinations were lived, and 10000 are wanted", wk.lived)
	case len(wk.unreached) > whole/50:
		t.Errorf("%d combinations were not reached", len(wk.unreached))
	case len(wk.faults) < 5 || len(wk.answers) < len(variants()):
		t.Errorf("only %d faults and %d variants were tried", len(wk.faults), len(wk.answers))
	}
}

func (wk *walk) figures(names, whole int, took time.Duration) string {
	return fmt.Sprintf("%d points, %d faults, %d answers with and without webhooks: %d combinations of %d lived, %d not reached; %d rings, %d times uncertain, %d violations, %.0f s",
		names, len(wk.faults), len(wk.answers), wk.lived, whole, len(wk.unreached), wk.rings, wk.uncertain, wk.violations, took.Seconds())
}
