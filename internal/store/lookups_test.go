package store_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"chasephone/internal/carrier"
	"chasephone/internal/lookup"
	"chasephone/internal/store"
)

// archive is a carrier's records, as a test has them.
type archive struct {
	found     carrier.Found
	findErr   error
	record    string
	fetchErr  error
	cancelErr error
	cancelled []string
	sought    []carrier.Sought
}

func (a *archive) Find(_ context.Context, s carrier.Sought) (carrier.Found, error) {
	a.sought = append(a.sought, s)
	return a.found, a.findErr
}

func (a *archive) Fetch(context.Context, string) ([]byte, error) { return []byte(a.record), a.fetchErr }

func (a *archive) Cancel(_ context.Context, id string) error {
	a.cancelled = append(a.cancelled, id)
	return a.cancelErr
}
func (a *archive) QueuesFor() time.Duration { return 24 * time.Hour }

func lookUp(t *testing.T, db *store.Store, o office, from lookup.Carrier) {
	t.Helper()
	l := lookup.Lookups{Store: db, Carrier: func(string) (lookup.Carrier, bool) { return from, true }, Read: readers, Log: slog.New(slog.DiscardHandler)}
	if err := l.Do(t.Context(), lookup.Ref{FollowUp: o.followUp, No: 1}); err != nil {
		t.Fatal(err)
	}
	bridge(t, db, 500)
}

// known is what was written down of look-ups: question, answered, words, the calls found; and
// minutes from the last to the next, -1 for never.
func (o office) known(t *testing.T) string {
	t.Helper()
	var text string
	var next float64
	if err := o.db.Pool.QueryRow(t.Context(), `
		select coalesce(string_agg(question || case when answered then ' answered: ' else ' not answered: ' end || says || ' ' || (select coalesce(string_agg(x->>'call_id', ','), '') from jsonb_array_elements(found) x), E'\n' order by l.id), ''),
		  (select coalesce(round(extract(epoch from look_at - coalesce((select max(k.asked_at) from lookups k where k.followup_id = $1), look_at)) / 60, 1), -1) from attempts where followup_id = $1 and no = 1)::float8
		from lookups l where followup_id = $1`, o.followUp).Scan(&text, &next); err != nil {
		t.Fatal(err)
	}
	return strings.NewReplacer(sid("CA", 1), "ONE", sid("CA", 2), "TWO", sid("CA", 3), "ANOTHER'S").Replace(fmt.Sprintf("%s | next in %v min", text, next))
}

func (o office) due(t *testing.T, more string) {
	t.Helper()
	if _, err := o.db.Pool.Exec(t.Context(), `update attempts set look_at = now() - interval '1 second'`+more+` where followup_id = $1`, o.followUp); err != nil {
		t.Fatal(err)
	}
}

func recordOf(o office, id, status string) string {
	return fmt.Sprintf(`{"sid": %q, "status": %q, "direction": "outbound-api", "from": %q, "to": %q, "date_created": "Mon, 02 Nov 2026 10:00:00 +0000"}`, id, status, o.us, o.them)
}

// R7, R8: a look-up of an uncertain attempt is kept for a person; only a record with our own token
// settles it. A wrong answer leaves it as it is.
func TestLookingUpAnUncertainOne(t *testing.T) {
	t.Parallel()
	call := func(id string) carrier.Record {
		return carrier.Record{CallID: id, Status: carrier.StatusCompleted, Created: time.Now().UTC()}
	}
	for name, row := range map[string]struct {
		archive  archive
		token    bool // the first record carries it
		known    string
		standing string
	}{
		"401":                                    {archive{findErr: &carrier.AskError{Status: 401, Text: "20003, Authenticate"}}, false, "search not answered: no answer to go by: answered 401: 20003, Authenticate  | next in 0.5 min", "uncertain - - attempt uncertain - evidence - events 1"},
		"404":                                    {archive{findErr: &carrier.AskError{Status: 404, Text: "not Twilio's own word"}}, false, "search not answered: no answer to go by: answered 404: not Twilio's own word  | next in 0.5 min", "uncertain - - attempt uncertain - evidence - events 1"},
		"no answer":                              {archive{findErr: errors.New("unexpected EOF")}, false, "search not answered: no answer to go by: unexpected EOF  | next in 0.5 min", "uncertain - - attempt uncertain - evidence - events 1"},
		"none":                                   {archive{}, false, "search answered: no such call is listed  | next in 0.5 min", "uncertain - - attempt uncertain - evidence - events 1"},
		"some":                                   {archive{found: carrier.Found{Records: []carrier.Record{call(sid("CA", 1)), call(sid("CA", 2))}, Cut: true}}, false, "search answered: 2 call(s) listed, of which 2 may be this one; there are more than were looked at ONE,TWO | next in 0.5 min", "uncertain - - attempt uncertain - evidence - events 1"},
		"another's":                              {archive{found: carrier.Found{Records: []carrier.Record{call(sid("CA", 3)), call(sid("CA", 1))}}}, false, "search answered: 2 call(s) listed, of which 1 may be this one ONE | next in 0.5 min", "uncertain - - attempt uncertain - evidence - events 1"},
		"with our token":                         {archive{found: carrier.Found{Records: []carrier.Record{call(sid("CA", 1))}}}, true, "search answered: 1 call(s) listed, of which 1 may be this one ONE | next in -1 min", "call_placed ONE completed attempt placed ONE evidence placed events 2"},
		"with our token, and then not to be had": {archive{found: carrier.Found{Records: []carrier.Record{call(sid("CA", 1))}}, fetchErr: errors.New("gone")}, true, "search answered: 1 call(s) listed, of which 1 may be this one ONE | next in 0.5 min", "uncertain - - attempt uncertain - evidence - events 1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := open(t)
			newOffice(t, db, 1, "placed", sid("CA", 3))
			o := newOffice(t, db, 2, "uncertain", "")
			o.due(t, "")
			row.archive.record = recordOf(o, sid("CA", 1), "completed")
			if row.token {
				row.archive.found.Records[0].Token = o.token
			}
			lookUp(t, db, o, &row.archive)
			if got := o.known(t); got != row.known {
				t.Errorf("\n%s, want\n%s", got, row.known)
			}
			if got := o.standing(t); got != row.standing {
				t.Errorf("\n%s, want\n%s", got, row.standing)
			}
			if s := row.archive.sought; len(s) != 1 || s[0].To.E164() != o.them || s[0].From.E164() != o.us || s[0].Token != o.token || s[0].Since.IsZero() {
				t.Errorf("sought %+v", s)
			}
		})
	}
}

// R7: what became of a call that was placed and of which nothing is told; and one that is queued
// still when it is too late to ring is cancelled there.
func TestLookingUpAPlacedOne(t *testing.T) {
	t.Parallel()
	const late = `, late_at = greatest(send_by, now() - interval '1 minute')`
	for name, row := range map[string]struct {
		status    string
		late      bool
		archive   archive
		known     string
		standing  string
		cancelled int
	}{
		"over":                        {"completed", false, archive{}, "fetch answered: the call is completed  | next in -1 min", "call_placed ONE completed attempt placed ONE evidence - events 1", 0},
		"ringing":                     {"ringing", false, archive{}, "fetch answered: the call is ringing  | next in 0.5 min", "call_placed ONE ringing attempt placed ONE evidence - events 1", 0},
		"queued":                      {"queued", false, archive{}, "fetch answered: the call is queued  | next in 0.5 min", "call_placed ONE queued attempt placed ONE evidence - events 1", 0},
		"queued, too late":            {"queued", true, archive{}, "fetch answered: the call is queued \ncancel answered: it was queued still, and too late to ring: the carrier was told to let it be  | next in 0.5 min", "call_placed ONE queued attempt placed ONE evidence - events 2", 1},
		"queued, not to be cancelled": {"queued", true, archive{cancelErr: errors.New("21220")}, "fetch answered: the call is queued \ncancel not answered: it is queued still, and too late to ring, and could not be cancelled: 21220  | next in 0.5 min", "call_placed ONE queued attempt placed ONE evidence - events 1", 1},
		"answered, too late":          {"in-progress", true, archive{}, "fetch answered: the call is in-progress  | next in 0.5 min", "call_placed ONE in-progress attempt placed ONE evidence - events 1", 0},
		"404":                         {"", true, archive{fetchErr: &carrier.AskError{Status: 404, Text: "x"}}, "fetch not answered: no answer to go by: answered 404: x  | next in 0.5 min", "call_placed ONE - attempt placed ONE evidence - events 1", 0},
		"another call's record":       {"other", false, archive{}, "fetch not answered: its record is of another call  | next in 0.5 min", "call_placed ONE - attempt placed ONE evidence - events 1", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := open(t)
			o := newOffice(t, db, 1, "placed", sid("CA", 1))
			if row.late {
				o.due(t, late)
			} else {
				o.due(t, "")
			}
			row.archive.record = recordOf(o, sid("CA", 1), row.status)
			if row.status == "other" {
				row.archive.record = recordOf(o, sid("CA", 2), "completed")
			}
			lookUp(t, db, o, &row.archive)
			if got := o.known(t); got != row.known {
				t.Errorf("\n%s, want\n%s", got, row.known)
			}
			if got := o.standing(t); got != row.standing {
				t.Errorf("\n%s, want\n%s", got, row.standing)
			}
			if len(row.archive.cancelled) != row.cancelled {
				t.Errorf("cancelled %v", row.archive.cancelled)
			}
		})
	}
}

// One whose time has not come is not asked about; nor is one that a person settled.
func TestLookUpsInTheirTime(t *testing.T) {
	t.Parallel()
	db := open(t)
	later, settled := newOffice(t, db, 1, "uncertain", ""), newOffice(t, db, 2, "did_not_ring", "")
	if _, err := db.Pool.Exec(t.Context(), `update attempts set look_at = now() + interval '1 minute' where followup_id = $1`, later.followUp); err != nil {
		t.Fatal(err)
	}
	settled.due(t, "")
	asked := &archive{}
	lookUp(t, db, later, asked)
	lookUp(t, db, settled, asked)
	if len(asked.sought) > 0 {
		t.Errorf("asked %v", asked.sought)
	}
}

// A carrier that keeps no records is asked once, and that is written down.
func TestLookUpWhereNothingIsKept(t *testing.T) {
	t.Parallel()
	db := open(t)
	o := newOffice(t, db, 1, "uncertain", "")
	o.due(t, "")
	lookUp(t, db, o, nil)
	if got := o.known(t); got != "search not answered: this carrier keeps no records that could be asked  | next in -1 min" {
		t.Error(got)
	}
}

// stuck is a carrier that takes the question and does not answer until the time for it is over.
type stuck struct {
	archive
	over context.CancelFunc
}

func (s *stuck) Find(ctx context.Context, _ carrier.Sought) (carrier.Found, error) {
	s.over()
	<-ctx.Done()
	return carrier.Found{}, ctx.Err()
}

// A carrier that never answers is not asked again at once: what was asked is written down, in time of its own.
func TestLookUpWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	db := open(t)
	o := newOffice(t, db, 1, "uncertain", "")
	o.due(t, "")
	ctx, over := context.WithCancel(t.Context())
	defer over()
	l := lookup.Lookups{Store: db, Carrier: func(string) (lookup.Carrier, bool) { return &stuck{over: over}, true }, Read: readers, Log: slog.New(slog.DiscardHandler)}
	if err := l.Do(ctx, lookup.Ref{FollowUp: o.followUp, No: 1}); err != nil {
		t.Fatal(err)
	}
	if got := o.known(t); got != "search not answered: no answer to go by: context canceled  | next in 0.5 min" {
		t.Error(got)
	}
}

// What a daemon of a release before has recorded is looked up too.
func TestLookUpOlder(t *testing.T) {
	t.Parallel()
	db := open(t)
	uncertain, placed, over := newOffice(t, db, 1, "uncertain", ""), newOffice(t, db, 2, "placed", sid("CA", 2)), newOffice(t, db, 3, "placed", sid("CA", 3))
	if _, err := db.Pool.Exec(t.Context(), `update phone_followups set call_status = 'busy' where id = $1`, over.followUp); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := db.LookUpOlder(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for _, row := range []struct {
		office
		want string
	}{{uncertain, " | next in 0 min"}, {placed, " | next in 0 min"}, {over, " | next in -1 min"}} {
		if got := row.known(t); got != row.want {
			t.Errorf("%q, want %q", got, row.want)
		}
	}
}
