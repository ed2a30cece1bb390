package main

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"
)

// R2, R3: two requests per slot and never more, with one daemon and with three.
func TestFleetTwoPerSlot(t *testing.T) {
	for _, n := range []int{1, 3} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			f := newFleet(t)
			f.due(20, "1 hour")
			for range n {
				f.daemon()
			}
			f.wait("ten slots are over", func() bool { return f.count(`select count(*) from phone_followups where state = 'call_placed'`) == 20 })
			if most := f.count(`select max(n) from (select count(*) as n from followup_events where place is not null group by slot_at) x`); most != 2 {
				t.Errorf("%d in one slot", most)
			}
			f.once()
			if got := f.count(`select count(*) from attempts a join attempts b on a.created_at < b.created_at
				join phone_followups fa on fa.id = a.followup_id join phone_followups fb on fb.id = b.followup_id where fa.due_at > fb.due_at`); got > 0 {
				t.Errorf("%d pairs in the wrong order", got)
			}
		})
	}
}

// R6: a 429 is tried again after RETRY_AFTER and not before; so is a carrier that refuses the connection.
func TestFleetRetry(t *testing.T) {
	f := newFleet(t, "PHONE_FOLLOWUP_RETRY_AFTER=4s")
	f.company.script(func(w http.ResponseWriter, _ *http.Request, _ string, n int) {
		if n == 1 {
			w.WriteHeader(http.StatusTooManyRequests)
			_, _ = io.WriteString(w, `{"code": 20429, "message": "Too Many Requests", "status": 429}`)
			return
		}
		f.company.placed(w)
	})
	f.due(1, "1 hour")
	f.daemon()
	f.wait("it is placed", func() bool { return f.state("r1") == "call_placed" })
	all := f.company.requests()
	if len(all) != 2 {
		t.Fatalf("%d requests", len(all))
	}
	if gap := all[1].at.Sub(all[0].at); gap < 4*time.Second {
		t.Errorf("tried again after %s", gap)
	}
}

// R7, R8: whatever may have rung is asked for once, and is uncertain after five ticks and a restart.
func TestFleetUncertain(t *testing.T) {
	for name, answer := range map[string]func(w http.ResponseWriter, r *http.Request){
		"reply lost": func(w http.ResponseWriter, _ *http.Request) { drop(w) },
		"500":        func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) },
		"307": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", r.URL.Path)
			w.WriteHeader(307)
		},
		"408": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(408) },
		"half a 201": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "500")
			w.WriteHeader(201)
			_, _ = io.WriteString(w, `{"sid": "CA`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFleet(t)
			f.company.script(func(w http.ResponseWriter, r *http.Request, _ string, _ int) { answer(w, r) })
			f.due(5, "1 hour")
			d := f.daemon()
			f.wait("three in a row have held the line", func() bool {
				return f.count(`select count(*) from lines where held_for = 'unknown_answers'`) == 1 && f.count(`select count(*) from attempts where outcome is null`) == 0
			})
			// Where the next slot's claim came before the second answer was recorded, a fourth was under way.
			uncertain := f.count(`select count(*) from phone_followups where state = 'uncertain'`)
			if uncertain != 3 && uncertain != 4 {
				t.Fatalf("%d are uncertain", uncertain)
			}
			f.ticks(3)
			if err := d.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			<-d.done
			f.daemon()
			f.ticks(3)
			if n := len(f.company.requests()); n != uncertain {
				t.Errorf("%d requests, want %d: the rows behind are not tried", n, uncertain)
			}
			f.once()
			if n := f.count(`select count(*) from phone_followups where state = 'uncertain'`); n != uncertain {
				t.Errorf("%d uncertain, want %d", n, uncertain)
			}
		})
	}
}

// R1: whichever daemon leads River, killing it costs at most two slots.
func TestFleetLeaderKilled(t *testing.T) {
	f := newFleet(t)
	daemons := []*running{f.daemon(), f.daemon(), f.daemon()}
	f.wait("there is a leader", func() bool { return f.count(`select count(*) from river_leader`) == 1 })
	var leader string
	if err := f.db.QueryRow(t.Context(), `select leader_id from river_leader`).Scan(&leader); err != nil {
		t.Fatal(err)
	}
	f.ticks(2)
	var victim *running
	for _, d := range daemons {
		if strings.Contains(d.log.String(), "daemon="+leader) {
			victim = d
		}
	}
	if victim == nil {
		t.Fatalf("no daemon of ours leads: %s", leader)
	}
	_ = victim.Process.Kill()
	f.ticks(6)
	var slots []int64
	rows, err := f.db.Query(t.Context(), `select (args->>'slot_ms')::bigint / 1000 from river_job where kind = 'tick' and state = 'completed' order by 1`)
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		var s int64
		if err := rows.Scan(&s); err != nil {
			t.Fatal(err)
		}
		slots = append(slots, s)
	}
	for i := 1; i < len(slots); i++ {
		if gap := slots[i] - slots[i-1]; gap > 3 {
			t.Errorf("%d slots without a tick", gap-1)
		}
	}
}

// R7, invariants 1, 2 and 5: killed in the middle of a dial, again and again, with
// restarts: no number is asked for twice, and what was out is uncertain within 15 s of its answer_by.
func TestKilledMidDial(t *testing.T) {
	f := newFleet(t, "PHONE_FOLLOWUP_DIAL_TIMEOUT=1s")
	hang := make(chan struct{})
	t.Cleanup(func() { close(hang) })
	f.company.script(func(w http.ResponseWriter, r *http.Request, _ string, _ int) {
		select {
		case <-hang:
		case <-r.Context().Done():
		}
		drop(w)
	})
	f.due(6, "1 hour")
	d := f.daemon()
	f.wait("a call is out", func() bool { return len(f.company.requests()) >= 1 })
	_ = d.Process.Kill()
	<-d.done
	f.company.script(nil)
	f.daemon()
	f.wait("all is settled", func() bool {
		return f.count(`select count(*) from phone_followups where state in ('due', 'dialing')`) == 0
	})
	f.once()
	if late := f.count(`select count(*) from attempts where outcome = 'uncertain' and outcome_at > answer_by + interval '15 seconds'`); late > 0 {
		t.Errorf("%d were swept late", late)
	}
	if n := f.count(`select count(*) from phone_followups where state = 'uncertain'`); n < 1 || n > 2 {
		t.Errorf("%d uncertain", n)
	}
}

// A graceful stop awaits the call in progress, records it, and leaves with 0.
func TestFleetGracefulStop(t *testing.T) {
	f := newFleet(t)
	out, answer := make(chan struct{}), make(chan struct{})
	f.company.script(func(w http.ResponseWriter, _ *http.Request, _ string, _ int) {
		close(out)
		<-answer
		f.company.placed(w)
	})
	f.due(1, "1 hour")
	d := f.daemon()
	<-out
	if err := d.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	f.wait("it is stopping", func() bool { return strings.Contains(d.log.String(), "awaiting calls in progress") })
	close(answer)
	<-d.done
	if code := d.ProcessState.ExitCode(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if s := f.state("r1"); s != "call_placed" {
		t.Errorf("r1 is %s", s)
	}
}

// R6, row 39: a daemon without the carrier costs no slot: the other one rings its two in each.
func TestFleetOneWithoutTheCarrier(t *testing.T) {
	f := newFleet(t)
	f.due(12, "1 hour")
	able := f.daemon()
	all := f.environ
	f.environ = nil
	for _, pair := range all {
		if !strings.HasPrefix(pair, "TWILIO_") {
			f.environ = append(f.environ, pair)
		}
	}
	f.daemon()
	f.environ = all
	f.wait("all are placed", func() bool { return f.count(`select count(*) from phone_followups where state = 'call_placed'`) == 12 })
	if empty := f.count(`select extract(epoch from max(slot_at) - min(slot_at))::int + 1 - count(distinct slot_at) from followup_events where place is not null`); empty > 1 {
		t.Errorf("%d slots in which nobody was rung", empty)
	}
	f.once()
	_ = able
}
