package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"chasephone/internal/carrier/sim"
	"chasephone/internal/followup"
)

func (t *trial) tell(format string, args ...any) {
	_, _ = fmt.Fprintf(t.out, "   %6s  %s\n", t.at(), fmt.Sprintf(format, args...))
}

// promiseAll inserts what is to be rung: a number each, some held for a person, and some whose
// first call gets lost before it rings.
func (t *trial) promiseAll(ctx context.Context) error {
	some := make([]promise, trialPromises)
	for i := range some {
		some[i] = promise{
			tenant: t.tenants[i%len(t.tenants)], ref: fmt.Sprintf("p%03d", i), number: "+1" + t.promises.digits(""),
			due: time.Now().Add(-time.Duration(i) * time.Second).Truncate(time.Microsecond), approval: i%12 == 5,
		}
		if i%25 == 3 {
			if err := t.company.rule(ctx, sim.Rule{To: some[i].number, Next: 1, Fault: "drop_request"}); err != nil {
				return err
			}
		}
	}
	return t.promises.say(ctx, t.db, some)
}

// rung waits until so many phones rang.
func (t *trial) rung(ctx context.Context, n int) error {
	return await(ctx, fmt.Sprintf("%d phones rang", n), 2*time.Minute, func() bool { return t.ringCount() >= n })
}

func (t *trial) ringCount() int {
	book, err := readBook(t.company.book)
	if err != nil {
		return 0
	}
	n := 0
	for _, e := range book.all {
		if e.Rang {
			n++
		}
	}
	return n
}

// lost is the moment from which the database is another. What was committed in the one before may
// ring for a moment still.
func (t *trial) lost(ctx context.Context) error {
	t.db.Close()
	config, err := pgxpool.ParseConfig(t.pg.url(database))
	if err != nil {
		return fmt.Errorf("reading the database's address: %w", err)
	}
	config.MaxConns = 8
	if t.db, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return fmt.Errorf("connecting to the database: %w", err)
	}
	t.since = time.Now()
	pause(ctx, followup.SendWindow+time.Second)
	t.rungThen = t.ringCount()
	t.tell("the database is another; %d phones have rung", t.rungThen)
	return nil
}

// isHeld says that nothing rings until a person releases it, that log, metric and doctor say so,
// and that the release names exactly what was forgotten.
func (t *trial) isHeld(ctx context.Context) error {
	err := await(ctx, "all ringing is held", time.Minute, func() bool {
		var n int
		return t.db.QueryRow(ctx, `select count(*) from ringing_holds where released_at is null`).Scan(&n) == nil && n == 1
	})
	if err != nil {
		return errors.Join(err, t.noneRang(ctx))
	}
	t.tell("all ringing is held")
	pause(ctx, 25*time.Second) // longer than anybody waits by themselves
	if err := t.noneRang(ctx); err != nil {
		return err
	}
	if err := t.isSaid(ctx); err != nil {
		return err
	}
	forgotten, err := t.forgotten(ctx)
	if err != nil {
		return err
	}
	t.tell("25 s later nobody was rung; %d promises were rung that the database does not know of", len(forgotten))
	if len(forgotten) == 0 {
		return errors.New("nothing was forgotten: this proves nothing")
	}
	if said, err := t.command(ctx, "release", "--by", "ann"); err == nil || !strings.Contains(said, "NOT released") {
		return fmt.Errorf("a release that does not say what of the calls: %w: %s", err, said)
	}
	said, err := t.command(ctx, "release", "--by", "ann", "--cancel-rung", "--json")
	if err != nil {
		return err
	}
	return t.isTrue(said, forgotten)
}

func (t *trial) noneRang(ctx context.Context) error {
	var attempts int
	if err := t.db.QueryRow(ctx, `select count(*) from attempts where created_at > $1`, t.since).Scan(&attempts); err != nil {
		return fmt.Errorf("counting attempts: %w", err)
	}
	if attempts > 0 {
		return errors.Join(fmt.Errorf("%d attempts were committed before anybody released it", attempts), found{attempts})
	}
	if n := t.ringCount(); n != t.rungThen {
		return errors.Join(fmt.Errorf("%d phones rang before anybody released it", n-t.rungThen), found{1})
	}
	return nil
}

// isSaid looks into the logs, the metrics and what doctor says.
func (t *trial) isSaid(ctx context.Context) error {
	logged := slices.ContainsFunc(t.logFiles(), func(path string) bool {
		text, err := os.ReadFile(path)
		return err == nil && strings.Contains(string(text), "all ringing is held until a person releases it")
	})
	if !logged {
		return errors.New("no log says that all ringing is held")
	}
	client := &http.Client{Timeout: 5 * time.Second}
	err := await(ctx, "every daemon's metrics say that ringing is held", 20*time.Second, func() bool {
		for _, d := range t.daemons {
			if text, err := d.scrape(ctx, client); err != nil || !strings.Contains(text, "chasephone_ringing_held 1") {
				return false
			}
		}
		return true
	})
	if err != nil {
		return err
	}
	if said, err := t.command(ctx, "doctor"); err == nil || !strings.Contains(said, "all ringing is held") {
		return fmt.Errorf("doctor does not say that all ringing is held: %w: %s", err, said)
	}
	return nil
}

// forgotten are the promises that wait to be rung, and were: the ring book has their numbers.
func (t *trial) forgotten(ctx context.Context) ([]string, error) {
	f, err := t.look(ctx)
	if err != nil {
		return nil, err
	}
	rang := t.byNumber(f.rings)
	var all []string
	for id, of := range f.followups {
		if (of.state == "due" || of.state == "awaiting_approval") && rang[of.number] > 0 {
			all = append(all, id)
		}
	}
	slices.Sort(all)
	return all, nil
}

func (t *trial) byNumber(r rings) map[string]int {
	rang := map[string]int{}
	for _, e := range r.all {
		if e.Rang {
			rang[e.To]++
		}
	}
	return rang
}

// isTrue compares what a release said that it cancelled with what the ring book has.
func (t *trial) isTrue(said string, forgotten []string) error {
	var answer struct {
		Cancelled []string `json:"cancelled"`
		Released  bool     `json:"released"`
	}
	if err := json.Unmarshal([]byte(said), &answer); err != nil {
		return fmt.Errorf("reading what release said: %w: %s", err, said)
	}
	slices.Sort(answer.Cancelled)
	if !answer.Released || !slices.Equal(answer.Cancelled, forgotten) {
		return errors.Join(found{1}, fmt.Errorf("released=%t; it cancelled %d promises, and %d were forgotten: %v",
			answer.Released, len(answer.Cancelled), len(forgotten), difference(answer.Cancelled, forgotten)))
	}
	t.tell("released; the %d were named, and are cancelled", len(answer.Cancelled))
	return nil
}

// difference is what only one of two has.
func difference(a, b []string) []string {
	in := map[string]int{}
	for _, one := range a {
		in[one]++
	}
	for _, one := range b {
		in[one]--
	}
	maps.DeleteFunc(in, func(_ string, n int) bool { return n == 0 })
	return slices.Sorted(maps.Keys(in))
}

// goesOn says that after a failover which lost nothing nobody holds anything.
func (t *trial) goesOn(ctx context.Context) error {
	err := await(ctx, "it rings on", 90*time.Second, func() bool { return t.decideAll(ctx) == nil && t.ringCount() >= t.rungThen+10 })
	if err != nil {
		return err
	}
	var holds int
	if err := t.db.QueryRow(ctx, `select count(*) from ringing_holds`).Scan(&holds); err != nil {
		return fmt.Errorf("asking for holds: %w", err)
	}
	if holds > 0 {
		return errors.Join(found{1}, errors.New("ringing was held, and nothing was lost"))
	}
	t.tell("nobody held anything, and it rings on")
	return nil
}

// comesToItsEnd has everything rung that is to be rung, and says that every phone rang once.
func (t *trial) comesToItsEnd(ctx context.Context) error {
	err := await(ctx, "nothing is open", 3*time.Minute, func() bool {
		if t.decideAll(ctx) != nil {
			return false
		}
		var open int
		return t.db.QueryRow(ctx, `select count(*) from phone_followups where state in ('due', 'awaiting_approval', 'dialing', 'uncertain')`).Scan(&open) == nil && open == 0
	})
	if err != nil {
		return err
	}
	f, err := t.look(ctx)
	if err != nil {
		return err
	}
	rang := t.byNumber(f.rings)
	var bad []violation
	for id, of := range f.followups {
		if n := rang[of.number]; n != 1 {
			bad = append(bad, violation{"every phone rings once", id, fmt.Sprintf("it rang %d times", n)})
		}
	}
	bad = append(bad, f.ledgerWhole()...)
	if len(bad) > 0 {
		report(t.out, f, sorted(bad))
		return found{len(bad)}
	}
	t.tell("nothing is open, and each of %d phones rang once", len(rang))
	return nil
}

// decideAll has a person approve what waits for it, and settle what is uncertain: by the number,
// as the carrier's own list is read.
func (t *trial) decideAll(ctx context.Context) error {
	book, err := readBook(t.company.book)
	if err != nil {
		return err
	}
	rang := t.byNumber(book)
	rows, err := t.db.Query(ctx, `
		select f.id::text, f.phone_number, coalesce(a.no, 0), f.state = 'awaiting_approval', coalesce(clock_timestamp() > a.answer_by + l.quarantine, false)
		from phone_followups f left join attempts a on a.followup_id = f.id and a.no = f.attempt_no
		cross join fleet join limits l on l.id = fleet.limits_id
		where f.state in ('uncertain', 'awaiting_approval')`)
	if err != nil {
		return fmt.Errorf("listing what waits for a person: %w", err)
	}
	type open struct {
		ID, Number    string
		No            int
		Awaits, Opens bool
	}
	all, err := pgx.CollectRows(rows, pgx.RowToStructByPos[open])
	if err != nil {
		return fmt.Errorf("listing what waits for a person: %w", err)
	}
	p := personally(t.world, 40)
	for _, one := range all {
		settle := []string{"settle", one.ID, "--attempt", strconv.Itoa(one.No)}
		switch {
		case one.Awaits:
			p.did(ctx, "approve", one.ID)
		case rang[one.Number] > 0:
			p.did(ctx, append(settle, "--rang")...)
		case one.Opens:
			p.did(ctx, append(settle, "--did-not-ring")...)
		}
	}
	return nil
}
