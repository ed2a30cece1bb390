package sim

import (
	"encoding/json"
	"fmt"
	"net/http"
	"text/tabwriter"
	"time"
)

// The simulator's own paths. They need no password: it listens for tests and demos only.

func (s *Server) showRings(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, s.Rings())
}

// showFaults lists the rules in force and the faults there are.
func (s *Server) showFaults(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	rules := append([]Rule{}, s.rules...)
	s.mu.Unlock()
	writeJSON(w, http.StatusOK, map[string]any{"rules": rules, "faults": Faults()})
}

// addFault takes a Rule as JSON: {"to":"+14155550123","next":1,"fault":"drop_reply"}.
func (s *Server) addFault(w http.ResponseWriter, r *http.Request) {
	var rule Rule
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxForm)).Decode(&rule); err != nil {
		http.Error(w, "no rule: "+err.Error(), http.StatusBadRequest)
		return
	}
	if err := s.AddRule(rule); err != nil {
		http.Error(w, "no rule: "+err.Error(), http.StatusBadRequest)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func (s *Server) clearFaults(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rules = nil
	w.WriteHeader(http.StatusNoContent)
}

// refuseConnections takes {"for":"3s"}: so long no connection can be made.
func (s *Server) refuseConnections(w http.ResponseWriter, r *http.Request) {
	var ask struct {
		For string `json:"for"`
	}
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxForm)).Decode(&ask); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	d, err := time.ParseDuration(ask.For)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if err := s.Refuse(d); err != nil {
		http.Error(w, err.Error(), http.StatusConflict)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// showHelp is what a browser sees.
func (s *Server) showHelp(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = fmt.Fprintf(w, `A telephone company that rings nobody, in the shape of Twilio's API.

GET    /sim/rings    the ring book: how often each number, and each attempt's token, rang
GET    /sim/faults   rules in force, and all faults
POST   /sim/faults   {"to":"+14155550123","next":1,"fault":"drop_reply"}
                     to: a number, an ending or *; also delay, code, webhooks, final
DELETE /sim/faults   no rules
POST   /sim/refuse   {"for":"3s"}: refuse connections

`)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(t, "NUMBER ENDS\tFAULT\tRINGS\tANSWER")
	for _, f := range table {
		rings := "no"
		if f.Rings {
			rings = "yes"
		}
		_, _ = fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", f.Ending, f.Name, rings, f.Says)
	}
	_ = t.Flush()
}
