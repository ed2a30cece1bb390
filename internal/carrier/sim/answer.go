package sim

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
)

// answer gives the answer that f asks for. c is the call, if the phone rang, and problem
// what Twilio would say against the request, if anything.
func (s *Server) answer(w http.ResponseWriter, r *http.Request, f Fault, c *call, p *problem) {
	switch f.reply {
	case replyCall:
		writeJSON(w, f.status, s.resource(c))
	case replyEnvelope:
		message := f.Says
		if p != nil {
			message = p.message
		} else if to := r.PostForm.Get("To"); f.status == http.StatusBadRequest {
			message += " " + to // Twilio repeats the number, too
		}
		writeError(w, f.status, f.code, message)
	case replyPage:
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(f.status)
		_, _ = fmt.Fprintf(w, "<html><title>%d</title><h1>%s</h1></html>", f.status, http.StatusText(f.status))
	case replyNoSID:
		writeJSON(w, f.status, map[string]string{"status": "queued"})
	case replyBadSID:
		writeJSON(w, f.status, map[string]string{"status": "queued", "sid": "CAnone"})
	case replyAgain:
		w.Header().Set("Location", r.URL.RequestURI())
		w.WriteHeader(f.status)
	case replyHalf:
		body, _ := json.Marshal(s.resource(c))
		raw(w, fmt.Sprintf("HTTP/1.1 %d Created\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
			f.status, len(body), body[:len(body)/2]), false)
	case replyGarbage:
		raw(w, "\x16\x03\x01 this is not HTTP\r\n\r\n", false)
	case replyClose:
		panic(http.ErrAbortHandler)
	case replyReset:
		raw(w, "", true)
	case replyNever:
		select {
		case <-r.Context().Done():
		case <-s.alive.Done():
		}
		panic(http.ErrAbortHandler)
	}
}

// raw takes the connection over, says text and closes or resets it.
func raw(w http.ResponseWriter, text string, reset bool) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	defer func() { _ = conn.Close() }()
	_, _ = io.WriteString(conn, text)
	if tcp, ok := conn.(*net.TCPConn); ok && reset {
		_ = tcp.SetLinger(0)
	}
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		panic(err) // only our own structs come here
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

// writeError is Twilio's envelope.
func writeError(w http.ResponseWriter, status, code int, message string) {
	writeJSON(w, status, map[string]any{
		"code":      code,
		"message":   message,
		"more_info": "https://www.twilio.com/docs/errors/" + strconv.Itoa(code),
		"status":    status,
	})
}
