package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// people are honest: before they say whether it rang they look into the ring book. They decide by
// chasephone's own commands, at any moment, some of them too soon.
type people struct {
	w    *world
	name string
	rnd  *rand.Rand
	last bool // the faults are over: they decide everything that can be decided
}

// askedFor is a follow-up that waits for a person.
type askedFor struct {
	ID, Token string
	No        int
	Opens     bool // "it did not ring" can be said
}

// work decides until ctx ends.
func (p *people) work(ctx context.Context, every time.Duration) {
	for pause(ctx, time.Duration(p.rnd.Int64N(2*int64(every)))) {
		switch n := p.rnd.IntN(100); {
		case n < 60:
			p.settle(ctx)
		case n < 85:
			p.decide(ctx)
		case n < 95:
			p.cancel(ctx)
		default:
			p.reschedule(ctx)
		}
	}
}

// did runs a command and counts how it went.
func (p *people) did(ctx context.Context, args ...string) (string, bool) {
	said, err := p.w.command(ctx, append(args, "--by", p.name)...)
	var refused *failed
	switch {
	case err == nil:
		p.w.count("decisions: "+args[0], 1)
		return said, true
	case errors.As(err, &refused):
		p.w.count("decisions refused: "+args[0], 1)
		if strings.Contains(refused.said, "panic:") || refused.code == 2 {
			p.w.find(violation{Rule: "a command failed", Says: refused.Error()})
		}
		return refused.said, false
	}
	return said, false
}

// uncertainSQL is what may be settled, in no order, or what turned uncertain last.
const uncertainSQL = `
select f.id::text, a.token::text, a.no, clock_timestamp() > a.answer_by + l.quarantine
from phone_followups f join attempts a on a.followup_id = f.id and a.no = f.attempt_no
cross join fleet join limits l on l.id = fleet.limits_id
where f.state = 'uncertain' order by case when $1 then f.updated_at end desc, random() limit $2`

// hurry says "it did not ring" as soon as it is true, and before it is safe: it must be told that
// this is too early, for the request may be on its way still.
func (p *people) hurry(ctx context.Context) {
	for pause(ctx, somewhere(p.rnd, 200*time.Millisecond, 600*time.Millisecond)) {
		book, err := readBook(p.w.company.book)
		if err != nil {
			continue
		}
		rows, err := p.w.db.Query(ctx, uncertainSQL, true, 10)
		if err != nil {
			continue // no database
		}
		all, err := pgx.CollectRows(rows, pgx.RowToStructByPos[askedFor])
		for _, one := range all {
			if n, _ := book.rang(one.Token); err == nil && n == 0 && !one.Opens {
				p.did(ctx, "settle", one.ID, "--attempt", strconv.Itoa(one.No), "--did-not-ring", "--despite-records")
				break
			}
		}
	}
}

// settle settles one that is uncertain.
func (p *people) settle(ctx context.Context) {
	var one askedFor
	if p.w.db.QueryRow(ctx, uncertainSQL, false, 1).Scan(&one.ID, &one.Token, &one.No, &one.Opens) != nil {
		return // there is none, or no database
	}
	p.settleOne(ctx, one)
}

func (p *people) settleOne(ctx context.Context, one askedFor) {
	book, err := readBook(p.w.company.book)
	if err != nil {
		p.w.fail(err)
		return
	}
	args := []string{"settle", one.ID, "--attempt", strconv.Itoa(one.No)}
	if n, sid := book.rang(one.Token); n > 0 {
		args = append(args, "--rang")
		if p.rnd.IntN(2) == 0 {
			args = append(args, "--call", sid)
		}
		p.did(ctx, args...)
		return
	}
	if !one.Opens && (p.last || p.rnd.IntN(4) > 0) {
		return // most know how long to wait
	}
	args = append(args, "--did-not-ring")
	if p.last || one.No > 1 || p.rnd.IntN(4) == 0 {
		args = append(args, "--cancel")
	}
	if said, ok := p.did(ctx, args...); !ok && strings.Contains(said, "--despite-records") {
		p.did(ctx, append(args, "--despite-records")...) // the calls that are listed are others: the book says so
	}
}

// decide approves or declines; sometimes two persons do at once.
func (p *people) decide(ctx context.Context) {
	var id string
	if p.w.db.QueryRow(ctx, `select id::text from phone_followups where state = 'awaiting_approval' order by random() limit 1`).Scan(&id) != nil {
		return
	}
	verbs := []string{"approve"}
	switch n := p.rnd.IntN(10); {
	case n < 2:
		verbs = []string{"decline"}
	case n < 4:
		verbs = []string{"approve", "decline"}
	case n < 5:
		verbs = []string{"approve", "approve"}
	}
	done := make(chan bool)
	for i, verb := range verbs {
		other := &people{w: p.w, name: fmt.Sprintf("%s-%d", p.name, i), rnd: p.rnd}
		go func() { _, ok := other.did(ctx, verb, id); done <- ok }()
	}
	for range verbs {
		<-done
	}
}

// cancel withdraws a promise that may be claimed at this very moment.
func (p *people) cancel(ctx context.Context) {
	var id string
	err := p.w.db.QueryRow(ctx, `
		select id::text from phone_followups where state in ('due', 'awaiting_approval', 'dialing') and isfinite(due_at)
		order by abs(extract(epoch from due_at - clock_timestamp())) limit 1 offset $1`, p.rnd.IntN(20)).Scan(&id)
	if err == nil {
		p.did(ctx, "cancel", id)
	}
}

func (p *people) reschedule(ctx context.Context) {
	var id string
	err := p.w.db.QueryRow(ctx, `
		select id::text from phone_followups where state = 'due' and isfinite(due_at) and due_at > clock_timestamp() - interval '1 hour'
		order by random() limit 1`).Scan(&id)
	if err == nil {
		p.did(ctx, "reschedule", id, "--due-at", "+"+strconv.Itoa(1+p.rnd.IntN(10))+"s")
	}
}

// finish has several persons decide everything that waits for one, once.
func (w *world) finish(ctx context.Context) error {
	rows, err := w.db.Query(ctx, `
		select f.id::text, coalesce(a.token::text, ''), coalesce(a.no, 0), coalesce(clock_timestamp() > a.answer_by + l.quarantine, false), f.state = 'uncertain'
		from phone_followups f left join attempts a on a.followup_id = f.id and a.no = f.attempt_no
		cross join fleet join limits l on l.id = fleet.limits_id
		where f.state in ('uncertain', 'awaiting_approval') order by f.id`)
	if err != nil {
		return fmt.Errorf("listing what waits for a person: %w", err)
	}
	type open struct {
		askedFor
		Uncertain bool
	}
	all, err := pgx.CollectRows(rows, pgx.RowToStructByPos[open])
	if err != nil {
		return fmt.Errorf("listing what waits for a person: %w", err)
	}
	todo := make(chan open)
	var busy sync.WaitGroup
	for n := range uint64(4) {
		p := personally(w, 30+n)
		p.last = true
		busy.Go(func() {
			for one := range todo {
				if one.Uncertain {
					p.settleOne(ctx, one.askedFor)
					continue
				}
				p.did(ctx, []string{"approve", "approve", "decline"}[p.rnd.IntN(3)], one.ID)
			}
		})
	}
	for _, one := range all {
		todo <- one
	}
	close(todo)
	busy.Wait()
	return nil
}

// personally gives every person a name and a mind of their own.
func personally(w *world, n uint64) *people {
	return &people{w: w, name: fmt.Sprintf("person-%d", n), rnd: rand.New(rand.NewPCG(w.seed, 1000+n))}
}
