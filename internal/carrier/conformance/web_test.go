package conformance_test

import (
	"fmt"
	"net/url"
	"strings"
)

// web is what the far ends that speak HTTP have in common.
type web struct {
	kept []string // paths, up to an id, of calls that there are: what is sent there places none
}

// mayRing is true of every request but those that are known to read, or to be about a call that
// there is already.
func (w web) mayRing(m *message) bool {
	method, rest, _ := strings.Cut(m.start, " ")
	path, _, _ := strings.Cut(rest, " ")
	for _, kept := range w.kept {
		if id, ok := strings.CutPrefix(path, kept); ok && len(id) > 15 {
			return false
		}
	}
	return method != "GET"
}

// page is an answer that offers to keep the connection, as every answer here does.
func page(status int, kind, body string) string {
	return fmt.Sprintf("HTTP/1.1 %d So\r\nContent-Type: %s\r\nConnection: keep-alive\r\nContent-Length: %d\r\n\r\n%s", status, kind, len(body), body)
}

func json(status int, body string) string { return page(status, "application/json", body) }

// status quotes everything that was said, as a proxy's page does for whoever repairs it.
func (web) status(m *message, code int) string {
	if code == 204 {
		return "HTTP/1.1 204 No Content\r\nConnection: keep-alive\r\n\r\n"
	}
	body, _ := url.QueryUnescape(m.raw())
	return page(code, "text/html", "<html>"+body+"</html>")
}

func (web) redirect(m *message, code int, elsewhere string) string {
	path := strings.Fields(m.start)[1]
	return fmt.Sprintf("HTTP/1.1 %d Moved\r\nLocation: %s%s\r\nConnection: keep-alive\r\nContent-Length: 0\r\n\r\n", code, elsewhere, path)
}

func (web) provisional(*message) string { return "HTTP/1.1 100 Continue\r\n\r\n" }
func (web) rings(*message) string       { return "" } // it has no word for that
func (web) polite(*message) string      { return "" } // nothing follows
