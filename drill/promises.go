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
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// promise is a row as the integrator inserts it.
type promise struct {
	tenant, ref string
	due         time.Time
	forever     bool // due at infinity
	number      string
	approval    bool
	line        *string
}

// key is the promise's natural key.
func (p promise) key() string {
	at := p.due.UTC().Format(time.RFC3339Nano)
	if p.forever {
		at = "infinity"
	}
	return p.tenant + "|" + p.ref + "|" + at
}

// promises invents rows, and remembers all that were inserted.
type promises struct {
	tenants []string

	mu     sync.Mutex
	rnd    *rand.Rand
	made   []promise
	known  map[string]bool // numbers in use, by their ten digits
	paired map[string]bool // those that two promises have
	said   map[string]promise
}

func newPromises(tenants []string, rnd *rand.Rand) *promises {
	return &promises{tenants: tenants, rnd: rnd, known: map[string]bool{}, paired: map[string]bool{}, said: map[string]promise{}}
}

// Endings of numbers at which the simulated company does something else than to take the call.
// Those that say "not ready" are asked for by rules instead: a number that is never ready would
// be tried for a day.
var (
	ringsAll  = []string{"0000", "0002", "0003", "0015", "0201", "0200", "0202", "0999", "0500", "0504", "0409"}           //nolint:gochecknoglobals // constants
	doesNot   = []string{"0001", "0016", "0307", "0308", "0501", "0502", "0503", "0408"}                                   //nolint:gochecknoglobals // constants
	isRefused = []string{"0211", "0214", "0215", "0216", "0217", "0219", "0400", "0404"}                                   //nolint:gochecknoglobals // constants
	areas     = []string{"415", "212", "303", "512", "206", "617", "312", "404", "602", "702", "619", "503", "704", "816"} //nolint:gochecknoglobals // constants
)

// digits are ten that nobody has yet, with the ending.
func (p *promises) digits(ending string) string {
	for {
		exchange := 220 + p.rnd.IntN(700)
		if exchange%100 == 11 || exchange == 555 || exchange == 911 {
			continue
		}
		last := ending
		if last == "" {
			last = strconv.Itoa(1000 + p.rnd.IntN(9000)) // no ending that means something begins like that
		}
		ten := areas[p.rnd.IntN(len(areas))] + strconv.Itoa(exchange) + last
		if !p.known[ten] {
			p.known[ten] = true
			return ten
		}
	}
}

// written is a number in one of the ways in which people write it.
func (p *promises) written(ten string) string {
	switch p.rnd.IntN(4) {
	case 0:
		return fmt.Sprintf("(%s) %s-%s", ten[:3], ten[3:6], ten[6:])
	case 1:
		return fmt.Sprintf("%s-%s-%s", ten[:3], ten[3:6], ten[6:])
	}
	return "+1" + ten
}

// invent makes up a promise that is due within the next spread, or has been for as long.
func (p *promises) invent(now time.Time, spread time.Duration) promise {
	p.mu.Lock()
	defer p.mu.Unlock()
	some := func(from []string) string { return from[p.rnd.IntN(len(from))] }
	one := promise{
		tenant: p.tenants[p.rnd.IntN(len(p.tenants))],
		ref:    fmt.Sprintf("r%05d", len(p.made)+1),
		due:    now.Add(time.Duration(p.rnd.Int64N(2*int64(spread))) - spread).Truncate(time.Microsecond),
	}
	ending, at := "", p.rnd.IntN(1000)
	switch { // of the carrier
	case at < 130:
		ending = some(ringsAll)
	case at < 200:
		ending = some(doesNot)
	case at < 230:
		ending = some(isRefused)
	}
	ten := p.digits(ending)
	one.number = p.written(ten)
	switch at = p.rnd.IntN(1000); { // of the promise
	case at < 50:
		one.approval = true
	case at < 70:
		one.due = now.Add(-maxLate - time.Duration(1+p.rnd.IntN(3600))*time.Second).Truncate(time.Microsecond)
	case at < 100: // near the bound: some are rung, some missed
		one.due = now.Add(-maxLate + time.Duration(2+p.rnd.IntN(40))*time.Second).Truncate(time.Microsecond)
	case at < 110:
		one.number = some([]string{"12", "911", "none", "+442079460000", "+1900" + ten[3:]})
	case at < 113:
		one.forever = true
	case at < 118:
		line := "nobody's"
		one.line = &line
	case at < 150 && len(p.made) > 0: // the same number again: another call
		other := p.made[p.rnd.IntN(len(p.made))]
		if digits := onlyDigits(other.number); len(digits) >= 10 && strings.HasPrefix(digits[len(digits)-4:], "0") == (ending != "") {
			one.number = other.number
			p.paired[digits[len(digits)-10:]] = true
		}
	case at < 250 && strings.HasSuffix(one.tenant, "3"):
		line := "second"
		one.line = &line
	}
	p.made = append(p.made, one)
	return one
}

func onlyDigits(s string) string {
	return strings.Map(func(r rune) rune {
		if r < '0' || r > '9' {
			return -1
		}
		return r
	}, s)
}

// isPaired says that two promises have a number, given in any form.
func (p *promises) isPaired(number string) bool {
	digits := onlyDigits(number)
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(digits) >= 10 && p.paired[digits[len(digits)-10:]]
}

const insertSQL = `
insert into phone_followups (tenant_id, ref, due_at, phone_number, script, needs_approval, line)
values (@tenant, @ref, @due::text::timestamptz, @number, 'Hello, this is the drill.', @approval, @line)`

func (p promise) args() pgx.StrictNamedArgs {
	due := p.due.UTC().Format(time.RFC3339Nano)
	if p.forever {
		due = "infinity"
	}
	return pgx.StrictNamedArgs{"tenant": p.tenant, "ref": p.ref, "due": due, "number": p.number, "approval": p.approval, "line": p.line}
}

// say inserts promises in one transaction, again and again until the database has taken them: an
// integrator who does not know whether a commit succeeded repeats it.
func (p *promises) say(ctx context.Context, db *pgxpool.Pool, some []promise) error {
	for ctx.Err() == nil {
		err := pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
			batch := &pgx.Batch{}
			for _, one := range some {
				batch.Queue(insertSQL+` on conflict (tenant_id, ref, due_at) do nothing`, one.args())
			}
			return tx.SendBatch(ctx, batch).Close()
		})
		var refused *pgconn.PgError
		switch {
		case err == nil:
			p.mu.Lock()
			for _, one := range some {
				p.said[one.key()] = one
			}
			p.mu.Unlock()
			return nil
		case errors.As(err, &refused) && !strings.HasPrefix(refused.Code, "57") && !strings.HasPrefix(refused.Code, "08"):
			return fmt.Errorf("inserting promises: %w", err)
		}
		pause(ctx, 100*time.Millisecond) // it is being restarted
	}
	return context.Cause(ctx)
}

// repeat inserts a promise again that was inserted before, with another number: it must be refused.
func (p *promises) repeat(ctx context.Context, db *pgxpool.Pool) (bool, error) {
	p.mu.Lock()
	if len(p.made) < 2 {
		p.mu.Unlock()
		return false, nil
	}
	one := p.made[p.rnd.IntN(len(p.made))]
	_, known := p.said[one.key()]
	one.number = "+1" + p.digits("")
	p.mu.Unlock()
	if !known {
		return false, nil
	}
	_, err := db.Exec(ctx, insertSQL, one.args())
	var refused *pgconn.PgError
	switch {
	case err == nil:
		return false, fmt.Errorf("%s was inserted a second time", one.key())
	case errors.As(err, &refused) && refused.ConstraintName == "phone_followups_natural_key":
		return true, nil
	}
	return false, nil // the database was not there
}

// all are those that the database has taken.
func (p *promises) all() map[string]promise {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := map[string]promise{}
	for key, one := range p.said {
		all[key] = one
	}
	return all
}

// numbers are all digits that were ever used, ten by ten.
func (p *promises) numbers() map[string]bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := map[string]bool{}
	for ten := range p.known {
		all[ten] = true
	}
	return all
}
