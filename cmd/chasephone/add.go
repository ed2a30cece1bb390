package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"chasephone/internal/desk"
	"chasephone/internal/followup"
	"chasephone/internal/gates"
	"chasephone/internal/store"
)

type addCmd struct {
	Ref           string   `required:"" placeholder:"REF" help:"Your own name for the promise. Tenant, ref and due-at together are its key: a repeat changes nothing."`
	DueAt         moment   `required:"" placeholder:"T" help:"When to ring: RFC 3339, now, or a time from now such as +2h, by the database's clock."`
	Number        string   `required:"" placeholder:"NUMBER" help:"Whom to ring."`
	Script        string   `required:"" placeholder:"TEXT" help:"What is said; - reads it from standard input."`
	Tenant        string   `default:"default" placeholder:"TENANT" help:"Whose promise it is (default: ${default})."`
	Name          string   `placeholder:"NAME" help:"Who is called."`
	TimeZone      timeZone `placeholder:"AREA/CITY" help:"The time zone that the person called has confirmed."`
	Purpose       string   `default:"requested" enum:"requested,sales,debt" help:"Why they are called: ${enum}."`
	NeedsApproval bool     `help:"Ask a person before it is rung."`
	Line          string   `placeholder:"LINE" help:"The line to ring on (default: the tenant's)."`
	JSON          bool     `name:"json" help:"Print JSON."`
}

// added is what add prints as JSON.
type added struct {
	ID     string `json:"id"`
	Tenant string `json:"tenant_id"`
	Ref    string `json:"ref"`
	DueAt  string `json:"due_at"`
	Added  bool   `json:"added"` // false: it was there already, just so
	Notes  []note `json:"notes,omitempty"`
}

type note string

func (c addCmd) Run(ctx context.Context, p process) error {
	script, err := c.words(ctx, p)
	if err != nil {
		return err
	}
	if n := utf8.RuneCountInString(c.Ref); n < 1 || n > 500 || strings.ContainsFunc(c.Ref, acts) {
		return &desk.Misuse{Says: "--ref is 1 to 500 printable characters"}
	}
	db, _, err := p.open(ctx)
	if err != nil {
		return err
	}
	defer db.Close()
	if err := c.check(ctx, db); err != nil {
		return err
	}
	now, err := databaseNow(ctx, db)
	if err != nil {
		return err
	}
	due := c.DueAt.from(now)
	id, made, err := db.Add(ctx, store.NewFollowUp{
		Tenant: c.Tenant, Ref: c.Ref, DueAt: due, Number: c.Number, ContactName: c.Name, TimeZone: string(c.TimeZone),
		Purpose: c.Purpose, Script: script, NeedsApproval: c.NeedsApproval, Line: c.Line,
	}, identify)
	if errors.Is(err, store.ErrConflict) {
		return fmt.Errorf("%w (it is %s): nothing was changed", err, id)
	}
	if err != nil {
		return err
	}
	notes, err := c.notes(ctx, db, id, due, now)
	if err != nil {
		return err
	}
	if c.JSON {
		return printJSON(p.stdout, added{id, c.Tenant, c.Ref, due.UTC().Format(stored), made, notes})
	}
	out := &printer{w: p.stdout}
	if made {
		out.printf("%s (%s): added, to be rung at %s", c.Ref, id, when(due))
	} else {
		out.printf("%s (%s): it was there already, just so, and nothing was changed", c.Ref, id)
	}
	for _, n := range notes {
		out.printf("note: %s", plain(string(n)))
	}
	return out.err
}

// stored is how the store writes instants.
const stored = "2006-01-02T15:04:05.000000Z"

// mostScript bounds what is read from standard input: far more than any carrier speaks.
const mostScript = 1 << 20

func (c addCmd) words(ctx context.Context, p process) (string, error) {
	script := c.Script
	if script == "-" {
		in := p.input(ctx)
		defer func() { _ = in.Close() }()
		text, err := io.ReadAll(io.LimitReader(in, mostScript+1))
		if err != nil {
			return "", fmt.Errorf("reading the script from standard input: %w", err)
		}
		script = strings.TrimSpace(string(text))
	}
	switch {
	case len(script) > mostScript:
		return "", &desk.Misuse{Says: "the script is longer than 1 MiB"}
	case !utf8.ValidString(script) || strings.ContainsRune(script, 0):
		return "", &desk.Misuse{Says: "the script holds a NUL byte or is not UTF-8"}
	case strings.TrimSpace(script) == "":
		return "", &desk.Misuse{Says: "--script is empty: say what is to be said"}
	}
	return script, nil
}

// check refuses what could only come to a refusal later. An integrator's row gets an outcome
// of its own instead; a person at a terminal would rather hear it now.
func (c addCmd) check(ctx context.Context, db *store.Store) error {
	region, err := db.Region(ctx, c.Tenant)
	if err != nil {
		return err
	}
	if _, problem := identify(c.Number, region); problem != "" {
		return &desk.Misuse{Says: fmt.Sprintf("--number cannot be rung: %s (it was read as in region %s)", problem.Sentence(), region)}
	}
	if c.Line == "" {
		return nil
	}
	all, err := db.Lines(ctx, c.Tenant)
	if err != nil {
		return err
	}
	names := make([]string, len(all))
	for i, l := range all {
		if names[i] = l.Name; l.Name == c.Line {
			return nil
		}
	}
	return &desk.Misuse{Says: fmt.Sprintf("tenant %s has no line %s: it has %s", c.Tenant, c.Line, either(strings.Join(names, ", "), "no lines"))}
}

// notes are what may surprise about a follow-up that is in.
func (c addCmd) notes(ctx context.Context, db *store.Store, id string, due, now time.Time) ([]note, error) {
	limits, err := db.Limits(ctx)
	if err != nil {
		return nil, err
	}
	var all []note
	if followup.Late(now, due, limits.MaxLate) {
		all = append(all, note(fmt.Sprintf("it is more than %s late already: it will be closed as missed, not rung", hours(limits.MaxLate))))
	}
	const most = 100
	same, err := db.List(ctx, store.Filter{Tenant: c.Tenant, Ref: c.Ref, Most: most})
	if err != nil {
		return nil, err
	}
	others := 0
	for _, f := range same {
		if f.ID != id && !f.State.Final() {
			others++
		}
	}
	if others > 0 {
		all = append(all, note(fmt.Sprintf("%d other follow-up(s) with this ref, due at another instant, will be rung as well", others)))
	}
	return all, nil
}

func hours(d time.Duration) string {
	if d%time.Hour == 0 {
		return fmt.Sprintf("%d hours", d/time.Hour)
	}
	return d.String()
}

// moment is an instant as a person gives it.
type moment struct {
	at       time.Time
	after    time.Duration // from now, where relative
	relative bool
}

// UnmarshalText reads RFC 3339, now, or a duration with a plus sign.
func (m *moment) UnmarshalText(text []byte) error {
	s := string(text)
	if s == "now" {
		*m = moment{relative: true}
		return nil
	}
	if ahead, found := strings.CutPrefix(s, "+"); found {
		if d, err := time.ParseDuration(ahead); err == nil && d >= 0 && !strings.ContainsAny(ahead, "+-") {
			*m = moment{after: d, relative: true}
			return nil
		}
	}
	at, err := time.Parse(time.RFC3339, s)
	if err != nil || at.Year() < 1 {
		return fmt.Errorf("%q is no instant: give it as 2026-10-06T13:30:00-04:00, now, or +2h30m", s)
	}
	// The database keeps microseconds.
	*m = moment{at: at.Truncate(time.Microsecond)}
	return nil
}

// from is the instant that is meant, where it is now by the database's clock.
func (m moment) from(now time.Time) time.Time {
	if m.relative {
		return now.Add(m.after)
	}
	return m.at
}

// databaseNow is the only clock there is (R4): this machine's may be anything.
func databaseNow(ctx context.Context, db *store.Store) (time.Time, error) {
	var now time.Time
	if err := db.Pool.QueryRow(ctx, `select clock_timestamp()`).Scan(&now); err != nil {
		return now, fmt.Errorf("asking the database for the time: %w", err)
	}
	return now, nil
}

// timeZone is the name of a zone that the gates can judge by.
type timeZone string

// UnmarshalText refuses a zone that nobody knows.
func (z *timeZone) UnmarshalText(text []byte) error {
	if !gates.KnownZone(string(text)) {
		return fmt.Errorf("there is no time zone %q: give it as Area/City, America/Denver for instance", text)
	}
	*z = timeZone(text)
	return nil
}
