package proof_test

import (
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"chasephone/internal/carrier/sim"
)

// elsewhere are writes that no scene comes by, and why that is no gap.
var elsewhere = map[string]string{
	"Migrate·3": "before there is a daemon, and all of it one transaction: store's own tests",
}

// Every INSERT, UPDATE and DELETE of the product is made to fail once: refused as something that
// may be tried again, refused for its row, and with the connection dropped before and after it took
// effect. Whoever called it goes on as in production. The invariants hold, and what it all comes to
// is what it comes to undisturbed.
func TestEveryWriteFails(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes half a minute")
	}
	began := time.Now()
	source := readStatements(t, filepath.Join(repository(t), "internal", "store"))
	var worlds []*world
	for range min(*workers, 4) {
		w := newWorld(t, source)
		w.refusals()
		w.poisons()
		worlds = append(worlds, w)
	}
	e := &everyWrite{t: t, source: source, comesTo: map[string]string{}, failed: map[write]map[fault]int{}}
	var blank []written
	for _, s := range append(stories(), scenes()...) {
		for _, v := range e.variants(s) {
			blank = append(blank, written{story: s, variant: v})
		}
	}
	e.all(worlds, blank)
	if t.Failed() {
		t.Fatal("even undisturbed it does not come out right")
	}
	found := e.found
	e.all(worlds, found)
	e.report(found, time.Since(began))
}

// written is one write of a story, and what goes wrong with it.
type written struct {
	story   *story
	variant variant
	write   write
	fault   fault
}

type everyWrite struct {
	t      *testing.T
	source *statements

	mu      sync.Mutex
	found   []written
	comesTo map[string]string // undisturbed, by story and variant
	failed  map[write]map[fault]int
	missed  []written
	wrong   int
}

// variants are as few as bring every statement of a story.
func (e *everyWrite) variants(s *story) []variant {
	answers := map[string][]string{
		"tick":   {"ok before", "ok after", "no_number", "http_429", "http_500", "credentials"},
		"orphan": {"http_500", "ok after"}, "named later": {"drop_reply after"},
	}
	var all []variant
	of := answers[s.name]
	if of == nil {
		of = []string{"ok"}
	}
	for _, name := range of {
		answer, hooks, _ := strings.Cut(name, " ")
		i := slices.IndexFunc(sim.Faults(), func(f sim.Fault) bool { return f.Name == answer })
		all = append(all, variant{sim.Faults()[i], map[string]string{"": hooksNone, "before": hooksBefore, "after": hooksAfter}[hooks]})
	}
	return all
}

func (e *everyWrite) all(worlds []*world, all []written) {
	overWorlds(worlds, all, func(w *world, one written) {
		if !e.tooMany() {
			e.one(w, one)
		}
	})
}

func (e *everyWrite) tooMany() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.wrong > 20
}

func (e *everyWrite) one(w *world, c written) {
	undisturbed := c.fault == ""
	var did []write
	for range 3 {
		r := &run{w: w, story: c.story, variant: c.variant, second: w.second, armed: armed{write: c.write, fault: c.fault}}
		if undisturbed {
			r.armed.fault = none
			r.armed.tells = func(text string) {
				if one := e.source.named(text); one != nil {
					did = append(did, writesIn(one.name, text)...)
				}
			}
		}
		for _, p := range c.story.rows {
			r.all = append(r.all, &p)
		}
		happened := r.live()
		for _, v := range r.found {
			e.mu.Lock()
			e.wrong++
			e.mu.Unlock()
			e.t.Errorf("VIOLATION of %s\n\t%s: %s at %s; the company: %s", v, c.story.name, c.fault, c.write, c.variant)
		}
		to := r.comesTo()
		e.mu.Lock()
		key := c.story.name + c.variant.String()
		switch {
		case undisturbed:
			e.comesTo[key] = to
			slices.SortFunc(did, func(a, b write) int { return strings.Compare(a.String(), b.String()) })
			for _, one := range slices.Compact(did) {
				for _, f := range writeFaults() {
					e.found = append(e.found, written{c.story, c.variant, one, f})
				}
			}
		case happened:
			if e.failed[c.write] == nil {
				e.failed[c.write] = map[fault]int{}
			}
			e.failed[c.write][c.fault]++
			if !sameEnd(to, e.comesTo[key]) {
				e.wrong++
				e.t.Errorf("%s: %s at %s; the company: %s: it comes to\n%s\nand undisturbed to\n%s", c.story.name, c.fault, c.write, c.variant, to, e.comesTo[key])
			}
		}
		e.mu.Unlock()
		if undisturbed || happened {
			return
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.missed = append(e.missed, c)
}

// comesTo is what the tables say at the end: of follow-ups, lists, lines and what was heard. How it
// came so (by the company's word or a person's, at once or later) may differ.
func (r *run) comesTo() (text string) {
	err := r.w.sees.QueryRow(r.w.ctx, `
		select concat_ws(E'\n',
		  (select string_agg(ref || ': ' || case when exists (select from followup_events e where e.followup_id = f.id and e.to_state = 'uncertain') then 'settled' else state end,
		    ', ' order by ref, due_at) from phone_followups f where tenant_id = $1),
		  (select string_agg(concat_ws(' ', name, carrier, coalesce(held_until = 'infinity', false), stopped_at is not null), ', ' order by name) from lines where tenant_id = $1),
		  (select string_agg(concat_ws(' ', region, approval, stopped_at is not null), ', ' order by id) from tenants where id in ($1, $1 || 'x')),
		  (select count(*) || ' opted out' from do_not_call where tenant_id = $1),
		  (select count(*) || ' consents' from consents where tenant_id = $1),
		  (select count(*) || ' other calls, talked ' || coalesce(bool_and(talked), false) from other_calls where tenant_id = $1 and message_id is null),
		  (select count(*) || ' arrivals to bridge' from tenant_twilio_events where tenant_id = $1 and bridged_at is null),
		  (select string_agg(distinct verb, ', ') from desk_events where tenant_id in ($1, $1 || 'x')),
		  (select concat_ws(' ', f.stopped_at is not null, f.demo, l.retry_after) from fleet f join limits l on l.id = f.limits_id),
		  (select count(*) || ' held' from ringing_holds where released_at is null))`, r.tenant).Scan(&text)
	if err != nil {
		r.w.t.Errorf("reading what it comes to: %v", err)
	}
	return text
}

// sameEnd compares what two lives came to. A follow-up that was uncertain may have come to another
// end by a person's word: the invariants say whether it is the right one.
func sameEnd(a, b string) bool {
	one, other := strings.Split(a, "\n"), strings.Split(b, "\n")
	if len(one) != len(other) || !slices.Equal(one[1:], other[1:]) {
		return false
	}
	rows, others := strings.Split(one[0], ", "), strings.Split(other[0], ", ")
	if len(rows) != len(others) {
		return false
	}
	for i := range rows {
		ref, _, _ := strings.Cut(rows[i], ": ")
		settled := ref + ": settled"
		if rows[i] != others[i] && rows[i] != settled && others[i] != settled {
			return false
		}
	}
	return true
}

// report wants every write of the source to have failed in every way.
func (e *everyWrite) report(found []written, took time.Duration) {
	failed, writes, runs := 0, 0, 0
	for _, s := range e.source.all {
		for _, want := range writesIn(s.name, s.text) {
			if _, known := elsewhere[s.name]; known {
				continue
			}
			writes++
			ways := map[fault]int{}
			for did, of := range e.failed {
				if did.statement == want.statement && did.verb == want.verb && (did.table == want.table || want.table == hole) {
					for f, n := range of {
						ways[f] += n
						runs += n
					}
				}
			}
			e.t.Logf("%-16s %-60s %v", s.file, want, ways)
			if len(ways) < len(writeFaults()) {
				e.t.Errorf("%s of %s was not made to fail in every way", want, s.file)
			} else {
				failed++
			}
		}
	}
	for _, c := range e.missed {
		e.t.Logf("not reached: %s: %s at %s; the company: %s", c.story.name, c.fault, c.write, c.variant)
	}
	e.t.Logf("%d writes of the source, %d made to fail in %d ways: %d of %d combinations, %.0f s", writes, failed, len(writeFaults()), runs, len(found), took.Seconds())
}
