package proof_test

import "fmt"

// What can go wrong with one write.
const (
	refusedOnce fault = "refused once"        // the server says that it may be tried again
	refusedRow  fault = "refused for the row" // it says that the row is at fault
	lostBefore  fault = "lost before"         // the connection drops, and nothing was done
	lostAfter   fault = "lost after"          // it drops, and the statement took effect
)

func writeFaults() []fault { return []fault{refusedOnce, refusedRow, lostBefore, lostAfter} }

// refusals installs, on every table of the product, what refuses one write of a session that asks for it.
func (w *world) refusals() {
	w.t.Helper()
	w.exec(`create function proof_refuses() returns trigger language plpgsql as $$
		declare asked text := coalesce(current_setting('proof.refuses', true), '');
		begin
		  if asked like lower(tg_op) || ' ' || tg_table_name || ' %' then
		    raise exception using errcode = split_part(asked, ' ', 3), message = 'this write is refused';
		  end if;
		  return null;
		end $$`)
	w.exec(`do $$ declare t text; begin
		for t in select tablename from pg_tables where schemaname = current_schema() and tablename !~ '^(river_|proof_)' loop
		  execute format('create trigger proof_refuses before insert or update or delete on %I for each statement execute function proof_refuses()', t);
		end loop; end $$`)
}

// hits reports whether a round trip has the write that something is to happen to, for the first time.
func (m *machine) hits(sql []string, faults ...fault) bool {
	if m.armed.write.statement == "" {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, f := range faults {
		if m.fired || m.armed.fault != f {
			continue
		}
		for _, text := range sql {
			if one := m.w.source.named(text); one != nil && one.name == m.armed.write.statement && has(writesIn(one.name, text), m.armed.write) {
				m.fired = true
				close(m.happens)
				return true
			}
		}
	}
	return false
}

func has(all []write, one write) bool {
	for _, w := range all {
		if w == one {
			return true
		}
	}
	return false
}

func (m *machine) breaksAt(sql []string, when string) error {
	f := lostBefore
	if when == "after" {
		f = lostAfter
	}
	if m.hits(sql, f) {
		return errBroken
	}
	return nil
}

// refuses has the server refuse the write of this round trip, if it is to be refused.
func (m *machine) refuses(s *session, sql []string) (bool, error) {
	if !m.hits(sql, refusedOnce, refusedRow) {
		return false, nil
	}
	code := "40001"
	if m.armed.fault == refusedRow {
		code = "23514"
	}
	return true, s.say(fmt.Sprintf(`select set_config('proof.refuses', '%s %s %s', false)`, m.armed.write.verb, m.armed.write.table, code))
}

// relents ends that; where the transaction has failed it has ended already.
func (m *machine) relents(s *session, status byte) error {
	if status == 'E' {
		return nil
	}
	return s.say(`select set_config('proof.refuses', '', false)`)
}
