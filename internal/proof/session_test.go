package proof_test

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// session is a session of the server's. Machines come and go by the thousand, and a session costs
// more than all that one of them does; so a session that a machine has left, or lost, is rolled
// back, as the server does by itself, and is the next one's. What was prepared in it stays so.
type session struct {
	net.Conn
	texts map[string]string // prepared statements by name
	tells []byte            // what it tells whoever begins
}

// session is one that nobody has.
func (w *world) session(ctx context.Context, config *pgconn.Config) (*session, error) {
	w.mu.Lock()
	if n := len(w.idle); n > 0 {
		s := w.idle[n-1]
		w.idle = w.idle[:n-1]
		w.mu.Unlock()
		return s, nil
	}
	w.mu.Unlock()
	conn, err := pgconn.ConnectConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	if err := conn.SyncConn(ctx); err != nil { // or its own reader has the first reply
		return nil, err
	}
	begun, err := conn.Hijack()
	if err != nil {
		return nil, err
	}
	s := &session{Conn: begun.Conn, texts: map[string]string{}}
	s.tell('R', binary.BigEndian.AppendUint32(nil, 0))
	for name, value := range begun.ParameterStatuses {
		s.tell('S', []byte(name+"\x00"+value+"\x00"))
	}
	s.tell('K', make([]byte, 8))
	s.tell('Z', []byte{'I'})
	return s, nil
}

func (s *session) tell(kind byte, body []byte) {
	s.tells = binary.BigEndian.AppendUint32(append(s.tells, kind), uint32(len(body)+4))
	s.tells = append(s.tells, body...)
}

// end is what the server does of itself when it finds that nobody is there any more.
func (w *world) end(s *session, status byte, reusable bool) {
	_ = s.SetDeadline(time.Now().Add(10 * time.Second))
	if reusable && status != 'I' {
		reusable = s.say("rollback") == nil
	}
	if !reusable {
		_ = s.Close()
		return
	}
	_ = s.SetDeadline(time.Time{})
	w.mu.Lock()
	defer w.mu.Unlock()
	w.idle = append(w.idle, s)
}

// message reads one of the server's.
func (s *session) message() (kind byte, body []byte, err error) {
	head := make([]byte, 5)
	if _, err := io.ReadFull(s.Conn, head); err != nil {
		return 0, nil, err
	}
	body = make([]byte, binary.BigEndian.Uint32(head[1:])-4)
	_, err = io.ReadFull(s.Conn, body)
	return head[0], body, err
}

// say has the server do something, and forgets what it answers.
func (s *session) say(sql string) error {
	var out session
	out.tell('Q', []byte(sql+"\x00"))
	_, err := s.Write(out.tells)
	for kind := byte(0); err == nil && kind != 'Z'; {
		kind, _, err = s.message()
	}
	return err
}

// stuck tells of a round trip that the server does not answer, and what its sessions do.
func (w *world) stuck(t trip) {
	var all string
	err := w.sees.QueryRow(w.ctx, `
		select string_agg(concat_ws(' ', pid, state, wait_event_type, wait_event, pg_blocking_pids(pid), left(regexp_replace(query, '\s+', ' ', 'g'), 60)), E'\n')
		from pg_stat_activity where datname = current_database()`).Scan(&all)
	w.t.Errorf("the server does not answer %d messages (%v %v); its sessions (%v):\n%s", t.waits, t.sql, t.prepares, err, all)
}
